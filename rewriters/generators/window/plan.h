// Reductions over small windows: pooling, depthwise convolution. Outputs are numbered by a row and
// a column; the columns are neighbours in memory.
//
//   out[row, w] = max over a < 3, b < 3 of x[…, 2*h + a - 1, 2*w + b - 1]   (where inside)
//
// Neighbouring outputs read the same elements: at column w + v and window index b stands what
// stands at column w and index stride * v + b. Such values are loaded once for all of a thread's
// outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewriters/generators/generator.h"
#include "rewriters/generators/lane_body.h"

namespace hone::generators::window {

struct Shared {
  Ref value = nullptr;      ///< over row, column, outer window indices and the innermost one
  Ref at_offset = nullptr;  ///< the same over `offset` in place of the innermost
  SymbolId offset = -1;
  std::int64_t stride = 1;
  std::int64_t span = 1;  ///< values that a thread's outputs need
};

/// Reductions of the same window extents: one nest of loops.
struct Fold {
  std::vector<Ref> nodes;       ///< the reductions
  std::vector<Ref> bodies;      ///< over the symbols below
  std::vector<SymbolId> outer;  ///< window indices
  SymbolId inner = -1;
  std::vector<Shared> shared;
};

struct Plan {
  std::int64_t rows = 1;
  std::int64_t columns = 1;  ///< of the outputs, and rounded up to whole vectors
  std::int64_t padded = 1;
  SymbolId row = -1;
  SymbolId column = -1;
  std::int64_t window = 1;  ///< points
  std::vector<Fold> folds;
  std::vector<LaneBody::Store> stores;
};

/// `width`: outputs of a thread. kRefused: windows too large, or none.
[[nodiscard]] Result<Plan> plan_window(const Goal& goal, int width);

}  // namespace hone::generators::window
