// The time below which no honest program can be, for the alarm. Unlike the roof (evaluator.h),
// which is a yardstick, it counts only what surely has to happen.
#pragma once

#include <set>
#include <string>

#include "candidates/ceilings.h"
#include "candidates/program.h"
#include "candidates/task.h"

namespace hone {

/// Arithmetic of a task on these types and at this level [FLOP/s]; 0: not known. `generous`: with
/// every unit that could give answers as good, the level or not.
[[nodiscard]] double arithmetic_rate(const ConcreteProgram& reference, MathLevel math,
                                     const Ceilings& ceilings, bool generous);

/// In the arithmetic that `math` allows [us]; 0: not known. The operations are the user's word: a
/// program that needs fewer is faster, and right.
[[nodiscard]] double arithmetic_us(const ConcreteProgram& reference, double flops, MathLevel math,
                                   const Ceilings& ceilings);

struct Floor {
  double time_us = 0;  ///< 0: none is known
  std::string why;     ///< "reading 256.0 MiB takes 57.1 us at 4.70 TB/s"
};

/// `read_whole`: the inputs that every program must read to the last byte at the timed size; of
/// others it may need less, and they count as nothing. Written bytes may stay in the L2 cache when
/// the timer stops; caches start cold.
[[nodiscard]] Floor floor_of(const ConcreteProgram& reference,
                             const std::set<std::string>& read_whole, const Ceilings& ceilings);

/// May contents choose what is read? Integers may be indices, masks or lengths. For the roof, which
/// is stated before anything ran.
[[nodiscard]] bool has_indices(const ConcreteProgram& reference);

/// No program takes so little [us], also where the ceilings are as wrong as they may be.
[[nodiscard]] bool is_impossible(double time_us, const Floor& floor, const Ceilings& ceilings);

}  // namespace hone
