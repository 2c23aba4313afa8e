// Plans: a program's machine code for one architecture and its launches, packed, as one run of
// bytes that candidates/launch/hone_launch.h loads and launches. candidates/launch/README.md has
// the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/program.h"
#include "candidates/result.h"
#include "evaluator/evaluator.h"

namespace hone {

struct CompiledProgram;

/// A pointer in a kernel's parameter block.
struct PlanPointer {
  std::uint32_t offset = 0;          // in the block [B]
  std::uint32_t buffer = 0;          ///< of the caller's buffers, or kPlanScratch
  std::uint64_t scratch_offset = 0;  // [B]
};
inline constexpr std::uint32_t kPlanScratch = 0xFFFFFFFF;

/// A tensor map in a kernel's parameter block, encoded at each call.
struct PlanTensorMap {
  PlanPointer place;
  TensorMapSpec spec;  ///< without an address
};

struct PlanLaunch {
  std::uint32_t kernel = 0;  ///< index into Plan::kernels
  Dim3 grid{1, 1, 1}, block{1, 1, 1};
  std::uint32_t shared_bytes = 0;  // dynamic shared memory [B]
  std::vector<std::uint8_t>
      parameters;  ///< the kernel's parameter block; its pointers and tensor maps are zero
  std::vector<std::uint32_t> offsets;  ///< where each parameter begins in these [B]
  std::vector<PlanPointer> pointers;
  std::vector<PlanTensorMap> tensor_maps;
};

struct Plan {
  std::uint32_t buffers = 0;         ///< that the caller gives
  std::uint64_t scratch_bytes = 0;   // that the caller allocates for each call [B]
  std::vector<std::string> kernels;  ///< names in the image
  std::vector<PlanLaunch> launches;
  std::string image;  ///< a cubin, or whatever else cuModuleLoadData takes
};

[[nodiscard]] std::string to_bytes(const Plan& plan);

/// `callers`: the buffers of the program that the caller gives, in its order; all others are
/// scratch, each aligned to 256 bytes. Errors (kInvalidInput): an argument that does not fit its
/// kernel, parameters of more than 4096 bytes.
[[nodiscard]] Result<Plan> plan_of(const ConcreteProgram& program, const CompiledProgram& compiled,
                                   const std::vector<std::size_t>& callers);

/// Compiles a program for an architecture ("sm_90"), in a confined process of its own and not by
/// what the cache of compiled programs has, as the final stage does; no GPU is needed. Errors:
/// kInvalidInput (it does not compile, or as plan_of()), kEnvironment (NVRTC is missing, or does
/// not know the architecture).
[[nodiscard]] Result<Plan> compile_plan(const ConcreteProgram& program,
                                        const std::vector<std::size_t>& callers,
                                        const std::string& arch, const EvaluatorOptions& options);

}  // namespace hone
