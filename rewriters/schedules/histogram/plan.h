// What a histogram does: points, the element that each of them is combined with, and which part of
// a buffer the points of one row can reach.
//
//   counts[256 * row + keys[row, point] % 256] += 1    first: 256 * row, slot: keys[…] % 256
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewriters/schedules/lane_body.h"

namespace hone::schedules::histogram {

/// buffer[first + slot] = buffer[first + slot] (combine) value, where the guard holds.
struct Scatter {
  std::string buffer;
  ScalarType type = ScalarType::kF32;
  Op combine = Op::kAdd;
  Ref first = nullptr;  ///< of the row alone
  Ref slot = nullptr;
  Ref value = nullptr;
  Ref guard = nullptr;
  std::int64_t slots = 0;  ///< of a row: its table
  bool sure = false;       ///< 0 <= slot < slots, whatever the data are
  bool huge = false;       ///< the buffer goes beyond 2^31 elements
};

/// Scatters over the same points: one kernel. Rows have tables of their own.
struct Group {
  std::int64_t rows = 1;
  std::int64_t count = 1;  ///< points of a row
  SymbolId row = -1;
  SymbolId point = -1;
  std::int64_t steps = 1;  ///< of a walk: at each point these follow each other
  SymbolId step = -1;
  std::vector<Scatter> scatters;

  /// Of one copy of a row's tables, or of a part of each of `parts` [B].
  [[nodiscard]] std::int64_t table_bytes(std::int64_t parts) const;
  /// Are lanes with the same slot to be told by their count alone?
  [[nodiscard]] bool counts() const;
  /// What decides how many points are moved at once.
  [[nodiscard]] std::vector<Ref> values(nest::Nodes& nodes) const;
};

/// With up to `row_dims` of the dims of each nest as rows: those that the element counts beside
/// what is read. With `walk` beyond 1 a thread goes up to as many steps along the dim around the
/// innermost. kRefused: nothing is scattered, or not into a type with atomics.
[[nodiscard]] Result<std::vector<Group>> plan_scatters(const Goal& goal, int row_dims,
                                                       std::int64_t walk = 1);
/// The most that can be rows.
[[nodiscard]] int most_row_dims(const Goal& goal);

/// The same points but for the last, which are no multiple of `unit`; and those.
[[nodiscard]] Group without_tail(nest::Nodes& nodes, const Group& group, std::int64_t unit);
[[nodiscard]] Group tail_of(nest::Nodes& nodes, const Group& group, std::int64_t unit);

}  // namespace hone::schedules::histogram
