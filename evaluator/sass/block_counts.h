// How often each block of machine code is issued, from how often the emulator ran the PTX that it
// was made of. ptxas copies PTX (unrolled loops, their remainders, peeled iterations), moves it and
// makes it predicated, so this is an estimate: exact where code was neither copied nor moved.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluator/sass/cubin.h"
#include "evaluator/sass/flow.h"

namespace hone::sass {

struct PtxCounts {
  static constexpr std::int64_t kNoInstruction = -1;
  std::vector<std::int64_t> by_line;  ///< warps that issued the PTX instruction on a line, by line
  std::int64_t warps = 0;             ///< that ran the kernel
};

/// Was any PTX of it issued?
[[nodiscard]] bool ran(const Function& function, const PtxCounts& ptx);

/// By block. Of a kernel, a block outside of loops is issued at most once a warp. A block that no
/// PTX accounts for gets what its loop gets, and where nothing of the loop is accounted for, or
/// `function` has no lines, what the hottest PTX instruction got: never too little.
[[nodiscard]] std::vector<double> block_counts(const Function& function,
                                               const std::vector<Instruction>& code,
                                               const Flow& flow, const PtxCounts& ptx,
                                               bool is_kernel);

}  // namespace hone::sass
