// From a launch's arguments to the parameter block that PTX declares. Used with null addresses to
// check a launch before anything runs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "candidates/program.h"
#include "candidates/result.h"
#include "evaluator/compile_types.h"

namespace hone {

/// A CUtensorMap as the device takes it.
using TensorMapEncoder =
    std::function<Result<std::array<std::uint8_t, kTensorMapBytes>>(const TensorMapSpec&)>;

/// The packed parameter block. `addresses` holds one device address per buffer of the program, or
/// is empty to check only: then no `encode` is needed. Errors (kInvalidInput) name the argument:
/// "launches[0].args[2]: …".
[[nodiscard]] Result<std::vector<std::uint8_t>> pack_arguments(
    const ConcreteProgram& program, std::size_t launch_index, const CompiledKernel& kernel,
    std::span<const std::uint64_t> addresses = {}, const TensorMapEncoder& encode = {});

/// What a device accepts at most.
struct LaunchLimits {
  int threads_per_block = 1024;
  std::int64_t shared_per_block = 0;  ///< static + dynamic, with opt-in [B]
  std::int64_t registers_per_block = 65536;
};

/// Every launch against its kernel and the device. Errors (kInvalidInput): "launches[1]: …".
[[nodiscard]] Result<void> check_launches(const ConcreteProgram& program,
                                          const CompiledProgram& compiled,
                                          const LaunchLimits& limits);

}  // namespace hone
