// How one operand's tile lies in shared memory, and how it gets there.
#pragma once

#include <cstdint>
#include <string>

#include "rewriters/schedules/contract/schedule.h"

namespace hone::schedules::contract {

struct Tile {
  ScalarType type = ScalarType::kF32;  ///< of its elements in shared memory
  int outer = 0;                       ///< rows of A or columns of B [elements]
  int bk = 0;
  /// A row of shared memory holds elements of one k, else of one outer index.
  bool k_rows = true;
  int rows = 0, columns = 0;
  int stride = 0;         ///< between rows where not swizzled [elements]
  bool swizzled = false;  ///< 16-byte pieces of a row at places that depend on the row
  bool async = false;     ///< cp.async; else through registers
  bool direct = false;    ///< through registers at once: too much to keep until the end of a tile
  bool along_k = false;   ///< a thread's piece runs along k, else along the outer index
  int piece = 1;          ///< elements that a thread moves at once
  bool vector = false;    ///< a piece is one load

  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] int pieces() const { return outer * bk / piece; }
};

[[nodiscard]] Tile tile_of(const Contraction& c, const Operand& operand, const Schedule& schedule,
                           bool is_a);

}  // namespace hone::schedules::contract
