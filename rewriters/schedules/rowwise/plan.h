// What a kernel of whole rows does: rows, the spaces that are looped over in each row, reductions
// in the order in which they need each other, and outputs.
//
//   softmax:  loop 0: max;   loop 1: sum of exp(x - max);   loop 2: store
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewriters/schedules/generator.h"
#include "rewriters/schedules/nests.h"

namespace hone::schedules::rowwise {

/// Indices that are looped over within a row, as one number.
struct Space {
  std::int64_t length = 0;
  SymbolId column = -1;
};

struct Reduction {
  Ref node = nullptr;  ///< over rows; what other values name it by
  Ref body = nullptr;  ///< over rows and the space's column
  int space = 0;
  int level = 0;  ///< reductions that must come before it: the loop that makes it
};

struct Output {
  std::string buffer;
  ScalarType type = ScalarType::kF32;
  Ref element = nullptr, value = nullptr, guard = nullptr;
  int space = -1;  ///< -1: one element per row
  int level = 0;   ///< the loop that stores it
};

struct Plan {
  std::int64_t rows = 1;
  SymbolId row = -1;
  std::vector<Space> spaces;
  std::vector<Reduction> reductions;
  std::vector<Output> outputs;
  int levels = 0;       ///< loops: the highest level + 1
  bool across = false;  ///< neighbours in memory are rows, not columns

  /// Values evaluated in the loop of a level over a space.
  [[nodiscard]] std::vector<Ref> roots(int level, int space) const;
  [[nodiscard]] bool has_loop(int level, int space) const;
};

/// kRefused, with the reason: not rows.
[[nodiscard]] Result<Plan> plan_rows(const Goal& goal);

/// Loads that depend on the column in the loops over a space, each once, with the loops that use
/// it.
struct Stream {
  Ref load = nullptr;
  std::vector<int> levels;
  bool certain = false;  ///< the first of them reads it in any case, or it never leaves its buffer
};
[[nodiscard]] std::vector<Stream> streams_of(const Goal& goal, const Plan& plan, int space);

}  // namespace hone::schedules::rowwise
