// What a kernel's machine code issues, and to which pipes. PTX has instructions that ptxas makes a
// hundred of, others that cost nothing, and logic on predicates that looks free.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "evaluator/sass/block_counts.h"
#include "evaluator/sass/cubin.h"

namespace hone::sass {

/// Warp-instructions of all warps that ran, without accesses to local memory (local_accesses.h).
struct MachineCounts {
  double issued = 0;
  double alu = 0, fma = 0, imad = 0, xu = 0, fp64 = 0;  ///< of those, by pipe; wide products twice
  double uniform_constants = 0;                         ///< ULDC with an address in a register
  /// Of loops, and of kernels outside of their loops, whose code exceeds an SM's own instruction
  /// caches, what is not in them; and all of those that exceed the cache behind them, too.
  double code_far = 0, code_farther = 0;
};

/// Of the kernel and of the functions beside it that ran. `left_out`: PTX lines, by number, of
/// instructions with a subroutine for rare operands, which nobody counts here. Nothing where a
/// table of targets decides what runs, or the code has no lines.
[[nodiscard]] std::optional<MachineCounts> machine_counts(
    const Cubin& cubin, std::string_view kernel, const PtxCounts& ptx,
    const std::vector<std::uint8_t>& left_out);

/// A loop of the PTX: its lines.
struct PtxLoop {
  std::uint32_t first = 0, last = 0;  ///< of the label's first instruction, and of the branch back
};
inline constexpr int kWholly = 64;  ///< more than anybody asks
/// How often the machine code has the loop's loads in one round of its own loop; kWholly: it has no
/// loop any more. Nothing where that cannot be told.
[[nodiscard]] std::optional<int> unrolled(const Cubin& cubin, std::string_view kernel,
                                          const PtxLoop& loop);

/// PTX lines whose branches are conditional branches of the machine code, too. Nothing where the
/// code has no lines.
[[nodiscard]] std::optional<std::set<std::uint32_t>> kept_branches(const Cubin& cubin,
                                                                   std::string_view kernel);

}  // namespace hone::sass
