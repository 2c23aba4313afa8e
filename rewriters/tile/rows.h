// What is done to sums in registers between products: element by element, and by rows. Part of
// program.h; names are places in the program, as there.
//
// A lane has some columns of two rows of its warp's 16. What a row has one of, such as its largest
// element, is in all four lanes that have a part of the row.
#pragma once

#include <string>

#include "candidates/scalar_type.h"
#include "rewriters/affine/node.h"

namespace hone::tile {

/// One f32 for each of a warp group's 64 rows.
struct Rows {
  std::string name;
  nest::Ref value = nullptr;  ///< a leaf that stands for it in values
};

/// 64 x columns elements of 16 bits in the registers of a warp group, as wgmma reads A.
struct Fragments {
  std::string name;
  int columns = 64;
  ScalarType type = ScalarType::kF16;
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

/// rows = the row's elements of the sums, folded by "max" or "+". `onto`: and what was there
/// before. `in_lanes`: each lane folds its own elements only; FoldRows finishes that.
struct ReduceRows {
  int rows = 0, sums = 0;
  std::string op;
  bool onto = false, in_lanes = false;
};
struct FoldRows {
  int rows = 0;
  std::string op;
};

/// fragments = sums, rounded.
struct RoundSums {
  int fragments = 0, sums = 0;
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
