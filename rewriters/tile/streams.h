// Operations of a kernel whose only role fills and reads a ring by itself: cp.async or registers
// bring tiles, mma.sync or multiply-adds multiply them. Part of program.h; names are places in the
// program, as there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewriters/affine/node.h"

namespace hone::tile {

struct Operation;
using Body = std::vector<Operation>;

/// How threads bring a tile to shared memory.
enum class CopyWay {
  kAsync,      ///< cp.async of 4, 8 or 16 bytes: a load of the tile's own type, from a place that
               ///< nobody has to read
  kRegisters,  ///< loaded at the beginning of a round, written to shared memory at its end
  kAtOnce,     ///< loaded and written at the beginning: too much to keep in registers
};

/// All of one tile of a stage, by all threads: (row, k) is `value` there, and 0 where `mask` does
/// not hold, and beyond the operand.
struct CopyTile {
  int tile = 0;
  nest::Ref value = nullptr, mask = nullptr;
  nest::SymbolId row_symbol = -1, k_symbol = -1;  ///< what row and k are called in both
  nest::Ref row = nullptr, k = nullptr;           ///< of the tile's first element
  std::int64_t rows = 0, ks = 0;                  ///< of the operand
  CopyWay way = CopyWay::kAsync;
  bool along_k = true;  ///< a thread's pieces run along k, else along the rows
  int piece = 1;        ///< elements of one; of more than one side by side in memory: one load
};

/// for (symbol = first; symbol < end; ++symbol), by all threads of the only role: `copies` fill the
/// stages of this round's ring `stages - 1` rounds before `body` reads them. Between a stage's
/// readers and those who fill it again, and between these and its readers, all threads meet.
///
/// A ring of one stage has two tiles, and the body an Exchange. What stands before that reads the
/// first tile while the round's second one is copied; what follows reads the second while the next
/// round's first one is copied.
struct Stream {
  int ring = 0;
  nest::SymbolId symbol = -1;
  nest::Ref first = nullptr, end = nullptr;
  std::vector<CopyTile> copies;
  Body body;
  /// Not -1: `once` fill all tiles of this ring, of one stage, with the first round's copies. All
  /// rounds may read it, and `before`: ReadFragments before the first round.
  int once_ring = -1;
  std::vector<CopyTile> once;
  Body before;
};
struct Exchange {};

/// In a Stream: sums += a * b over all of the tiles' k, by mma.sync of 16 x 8 sums. Each warp
/// multiplies the rows of its sums in a from `a_row` on by their columns in b from `b_row` on.
/// Tiles of f32 are multiplied as tf32: rounded, or with `thrice` three products of what is rounded
/// and what that leaves, the small ones first.
struct WarpMultiply {
  int sums = 0;
  int ring = 0, a = 0, b = 1;
  nest::Ref a_row = nullptr, b_row = nullptr;
  bool fresh = false;  ///< what the sums were does not count
  bool thrice = false;
  int a_ring = -1;                ///< where a is: in `ring`, or in the ring that was filled once
  int fragments = -1, rest = -1;  ///< not -1: a is these, and what rounding them has left
  /// Fragments of the next step of k are read during this step's products. Else b's are read one
  /// after the other where they are multiplied: fewer registers, where other sums need them.
  bool ahead = true;
  /// Sums of a tile are added up by themselves, and then to the sums: in f32, which rounds to
  /// nearest, where tensor cores do not.
  bool in_parts = false;
};

/// The first in a Stream's body: sums += a * b over all of the tiles' k, by multiply-adds. Its last
/// k reads the first of the next round's tiles, so that none waits for shared memory.
struct ThreadMultiply {
  int sums = 0;
  int ring = 0, a = 0, b = 1;
};

/// In a Stream: sums += a * b over all of the tiles' k, by multiply-adds into sums of half a warp.
/// Each warp multiplies the rows of its sums in a from `a_row` on by all columns of b.
struct HalfWarpMultiply {
  int sums = 0;
  int ring = 0, b = 1;
  int a_ring = 1, a = 0;  ///< of the ring that was filled once, or of one that has kept sums
  nest::Ref a_row = nullptr;
  bool fresh = false;  ///< what the sums were does not count
};

/// In a Stream: sums of half a warp to a tile of a ring of one stage, as its rows from `row` on and
/// all of its k, for products of the same warp.
struct KeepSums {
  int sums = 0;
  int ring = 2, tile = 0;
  nest::Ref row = nullptr;
};

/// AddRuns and Stores that are done only where a condition holds, which is the same for all threads
/// of a warp.
struct When {
  nest::Ref condition = nullptr;
  Body body;
};

}  // namespace hone::tile
