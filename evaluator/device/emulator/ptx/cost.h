// What a PTX instruction costs in machine instructions, for the time model. Estimates: ptxas is not
// run here. Counted on sm_90 SASS of small kernels; see cost.cpp.
#pragma once

#include <cstdint>

#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {

struct Statement;

/// Warp instructions by pipe; `issue` is all of them.
struct Cost {
  std::uint8_t issue = 1;
  std::uint8_t alu = 0;      ///< integer adds, logic, compares, selects, min, max
  std::uint8_t fma = 0;      ///< f32 add, mul, fma
  std::uint8_t imad = 0;     ///< integer multiplies
  std::uint8_t xu = 0;       ///< MUFU, conversions between int and float, popc
  std::uint8_t fp64 = 0;     ///< f64 arithmetic
  std::uint8_t latency = 0;  ///< [cycles] of the whole sequence; 0: the instruction's own
  bool branches = false;     ///< the sequence holds a branch, which no load moves across
};

/// Index of the cost for Inst::cost; 0: one instruction of its class.
[[nodiscard]] std::uint8_t cost_index(const Statement& s);
[[nodiscard]] const Cost& cost_at(std::uint8_t index);
[[nodiscard]] Cost cost_of(const Inst& inst);

/// Sets Inst::sync: where a warp's issue waits for everything before it. ptxas predicates short
/// branches and unrolls small loops four times, so that loads of several iterations overlap.
void plan_issue(Function& f);

}  // namespace hone::emulator
