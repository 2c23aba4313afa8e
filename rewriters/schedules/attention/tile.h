// How a tile of queries, keys or values lies in shared memory, and how it gets there.
#pragma once

#include <cstdint>

#include "rewriters/schedules/attention/schedule.h"

namespace hone::schedules::attention {

enum class Which { kQuery, kKey, kValues };

struct Tile {
  ScalarType type = ScalarType::kF32;  ///< of its elements in shared memory
  int rows = 0;                        ///< queries or keys
  int columns = 0;                     ///< depth or columns, padded
  bool transposed = false;             ///< a row of shared memory is of one column
  int stride = 0;                      ///< of a row of shared memory [elements]
  bool along_rows = false;             ///< a piece, and neighbouring threads, go along the rows
  int piece = 1;                       ///< elements that a thread moves at once
  bool async = false;                  ///< by cp.async; else through registers at once

  [[nodiscard]] std::int64_t elements() const {
    return std::int64_t{transposed ? columns : rows} * stride;
  }
  [[nodiscard]] std::int64_t bytes() const {
    return elements() * static_cast<std::int64_t>(size_of(type));
  }
};

[[nodiscard]] const Operand& operand_of(const Attention& a, Which which);
[[nodiscard]] Tile tile_of(const Attention& a, const Schedule& schedule, Which which);

}  // namespace hone::schedules::attention
