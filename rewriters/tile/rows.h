// What is done to sums in registers between products: element by element, and by rows. Part of
// program.h; names are places in the program, as there.
//
// A lane has some columns of two rows of each 16 that its warp has. What a row has one of, such as
// its largest element, is in all four lanes that have a part of the row. Sums are those of wgmma,
// of which a warp has 16 rows, or in a role that streams those of mma.sync. There they may also be
// of half a warp: then 16 lanes have a part of each row.
#pragma once

#include <cstdint>
#include <string>

#include "candidates/scalar_type.h"
#include "rewriters/affine/node.h"

namespace hone::tile {

/// One f32 for each row of a role's sums.
struct Rows {
  std::string name;
  nest::Ref value = nullptr;  ///< a leaf that stands for it in values
  int warp_rows = 16;         ///< of each warp
};

/// warp_rows x columns elements in the registers of each warp, as wgmma and mma.sync read A.
struct Fragments {
  std::string name;
  int columns = 64;
  ScalarType type = ScalarType::kF16;  ///< f32: rounded to tf32
  int warp_rows = 16;                  ///< of wgmma 16; blocks of so many lie one after the other

  /// Of each thread: four for each instruction.
  [[nodiscard]] int registers() const {
    return warp_rows / 16 * columns * static_cast<int>(size_of(type)) / 8;
  }
};

/// sums[row, column] = value, in which `sum` stands for what the element was and a Rows' leaf for
/// what its row has; "exp2" is the approximation of the hardware. `unless`: a condition under which
/// the sums stay as they are: of integers, or of rows, then for all rows of a warp together.
struct MapSums {
  int sums = 0;
  nest::Ref sum = nullptr, value = nullptr;
  nest::Ref row = nullptr, column = nullptr;           ///< of the sums' first element; or nullptr
  nest::SymbolId row_symbol = -1, column_symbol = -1;  ///< what they are called in `value`
  nest::Ref unless = nullptr;
  /// With `unless`: all products are waited for first; where the sums stay, none is. What was
  /// computed before then goes on under the products, instead of being moved behind their wait.
  bool awaits = false;
};

/// rows = value, over leaves of rows.
struct MapRows {
  int rows = 0;
  nest::Ref value = nullptr;
};

/// rows = the row's elements of the sums, folded by kMax or kAdd. `onto`: and what was there
/// before. `in_lanes`: each lane folds its own elements only; FoldRows finishes that.
struct ReduceRows {
  int rows = 0, sums = 0;
  nest::Op op = nest::Op::kMax;
  bool onto = false, in_lanes = false;
};
struct FoldRows {
  int rows = 0;
  nest::Op op = nest::Op::kMax;
};

/// fragments = sums, rounded. In a role that streams they may be f32, and are rounded to tf32, of
/// which `rest`, other fragments, are what that leaves. Of each eight columns these then have 0, 2,
/// 4 and 6 first, which a lane has without asking others; WarpMultiply reads b in the same order.
struct RoundSums {
  int fragments = 0, sums = 0;
  int rest = -1;  ///< -1: is not needed
};

/// Consumer, between Wait and Release: fragments = 64 rows of a tile of f32, rounded to tf32, and
/// `rest`, other fragments: what that leaves, as tf32. In a Stream, before its first round:
/// fragments = the rows of each warp of a tile of 16 bits, as they are.
struct ReadFragments {
  int fragments = 0;
  int rest = -1;  ///< -1: is not needed
  int ring = 0, tile = 0;
  nest::Ref row = nullptr;  ///< of this warp group in the tile, a multiple of 64; or of this warp
  bool rounded = false;     ///< copies have rounded the tile: nothing is left
};

/// The same of a patch: the box of a convolution's input that all windows of a tile of outputs
/// reach, of which this reads one place of the windows. Output r has, in column `first` + k,
///
///   from + r / width * down + r % width * across + k * (elements of the tile from k to k + 1)
///
/// or 0 where `there`, a condition, does not hold; other columns stay. From place to place the box
/// stays, only `from` moves.
struct ReadPatch {
  int fragments = 0;
  int rest = -1;  ///< -1: is not needed; then copies have rounded the tile
  int ring = 0, tile = 0;
  int first = 0;
  nest::Ref row = nullptr;   ///< of this warp group among the outputs, a multiple of 64
  nest::Ref from = nullptr;  ///< the element that output 0 reads at k = 0
  nest::Ref there = nullptr;
  std::int64_t width = 64, across = 1, down = 0;  // [elements]
};

/// Waits until at most `left` of the products that were started are on their way.
struct Await {
  int left = 0;
};

/// The warp groups of a role go through what is between these one after the other, group 0 first:
/// one group starts its products while another one does what follows.
struct TakeTurn {};
struct PassTurn {};

}  // namespace hone::tile
