// What a program's nests leave in its buffers, done directly: to be compared with what its kernels
// leave there. In the child that lifts, and in tests.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "candidates/program.h"
#include "candidates/result.h"

namespace hone {

/// The bytes of buffers, by name.
using BufferBytes = std::map<std::string, std::string>;

struct NestOutputs {
  bool lifted = false;    ///< every launch
  std::string unchecked;  ///< why there are no contents; else empty
  BufferBytes after;      ///< out and inout buffers
};

/// In and inout buffers start as evaluator/fill fills them with `seed`, others with bytes of 0xFF,
/// as on the emulator. Errors: kRefused, the program does not parse at these sizes.
[[nodiscard]] Result<NestOutputs> run_nests(const Program& program, const Bindings& sizes,
                                            std::uint64_t seed);

}  // namespace hone
