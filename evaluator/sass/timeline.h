// How long one warp takes for the machine code alone on its scheduler. A warp issues in order, and
// ptxas writes into each instruction how many cycles the next one has to wait, and for which
// earlier results: so chains of dependent instructions cost what they do on the GPU.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "evaluator/sass/block_counts.h"
#include "evaluator/sass/cubin.h"

namespace hone::sass {

/// Until a result is there [cycles].
struct Latencies {
  double l1 = 33, shared = 23, l2 = 280, constant = 30;
  double special = 18, conversion = 14, shuffle = 24, fp64 = 8, tensor = 33, barrier = 20;
  /// Of the loads and atomics of a PTX line, as the emulator saw them; 0: not known.
  std::vector<float> by_line;
};

/// Of all warps that ran, summed [cycles]; subroutines for rare operands are left out. Nothing
/// where a table of targets that nobody knows decides what runs, or the code has no lines.
[[nodiscard]] std::optional<double> warp_cycles(const Cubin& cubin, std::string_view kernel,
                                                const PtxCounts& ptx, const Latencies& latencies);

}  // namespace hone::sass
