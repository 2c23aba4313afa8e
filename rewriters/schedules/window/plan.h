// Reductions over small windows: pooling, depthwise convolution. One dim of the outputs is the
// column: a thread makes `width` neighbours along it; the other dims are numbered by a row.
//
//   out[row, h] = max over a < 3, b < 3 of x[…, 2*h + a - 1, 2*w + b - 1]   (where inside)
//
// Neighbouring outputs read the same elements: at column h + v and window index a stands what
// stands at column h and index stride * v + a. Such values are loaded once for all of a thread's
// outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewriters/schedules/generator.h"
#include "rewriters/schedules/lane_body.h"

namespace hone::schedules::window {

struct Shared {
  Ref value = nullptr;      ///< over row, column, outer window indices and the innermost one
  Ref at_offset = nullptr;  ///< the same over `offset` in place of the innermost
  SymbolId offset = -1;
  std::int64_t stride = 1;
  std::int64_t span = 1;  ///< values that a thread's outputs need
};

/// Reductions of the same window extents: one nest of loops.
struct Fold {
  std::vector<Ref> nodes;        ///< the reductions
  std::vector<Ref> bodies;       ///< over the symbols below
  std::vector<SymbolId> window;  ///< its indices
  SymbolId inner = -1;           ///< the one of them that goes with the column
  std::vector<Shared> shared;
};

struct Plan {
  std::int64_t rows = 1;
  std::int64_t columns = 1;  ///< of the outputs, and rounded up to whole vectors
  std::int64_t padded = 1;
  SymbolId row = -1;
  SymbolId column = -1;
  std::int64_t window = 1;  ///< points
  bool overlaps = false;    ///< neighbours along the column share elements
  std::vector<Fold> folds;
  std::vector<LaneBody::Store> stores;
};

/// `width`: outputs of a thread. `along`: which dim is the column: 0, that of neighbours in memory;
/// 1, the next outer one; and so on. kRefused: windows too large, or none.
[[nodiscard]] Result<Plan> plan_window(const Goal& goal, int width, int along);

}  // namespace hone::schedules::window
