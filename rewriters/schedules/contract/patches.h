// Operands of convolutions as patches of a tensor: what a tile of outputs needs of some channels is
// a box of the input with the edges that its windows reach. One bulk copy brings it, with zeros for
// what lies beyond the tensor, and each place in the window reads it from shared memory, a step on.
//
//   input[image, channel, y + r, x + s], outputs at (image, y, x), terms (channel, r, s)
//     ──► a tile of 4 x 32 outputs, 3 x 3 places and 32 channels: a box of 6 rows, each of 32
//         channels x 40 elements
//
// Copies begin at multiples of 16 bytes only (an H200 ends with an illegal instruction elsewhere):
// so the box and not the copy is what moves by (r, s).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rewriters/affine/node.h"

namespace hone::schedules::contract {

struct Contraction;
struct Operand;

/// An operand that is read so. Its rows and k are numbers whose digits, outermost first, are the
/// indices of the nest; digits are named by their places.
struct Patches {
  /// A dimension of the tensor: at = constant + sum of coefficients x digits, from 0 on below
  /// `extent`; what lies beyond is 0.
  struct Dimension {
    std::int64_t stride = 1;  // [elements]
    std::int64_t extent = 1;
    std::int64_t constant = 0;
    std::vector<std::int64_t> of_rows, of_k;  ///< a coefficient for each digit
  };
  std::string buffer;
  /// Outermost first: others, then the height if there is one, channels and the width.
  std::vector<Dimension> dimensions;
  std::vector<std::int64_t> rows, k;  ///< extents of the digits
  int width = -1, height = -1;        ///< digits of the rows; -1: there is no height
  int channel = -1;                   ///< a digit of k
  std::vector<int> window;            ///< digits of k that move along height and width

  [[nodiscard]] const Dimension& across() const { return dimensions.back(); }
  [[nodiscard]] const Dimension& down() const { return dimensions[dimensions.size() - 3]; }
  /// Places in the window, and points of the digits of k that are neither there nor the channel.
  [[nodiscard]] std::int64_t places() const;
  [[nodiscard]] std::int64_t others() const;
};

/// How rows and k are cut into tiles. k runs through blocks of channels, other digits, groups of
/// places in the window, the places of a group, and channels.
struct PatchTiling {
  std::int64_t width = 32, height = 1;  ///< outputs of a tile
  std::int64_t tiles_across = 1, tiles_down = 1;
  std::int64_t others = 1;     ///< points of the rows' digits that are neither width nor height
  std::int64_t channels = 32;  ///< of a box: 8, 16 or 32
  std::int64_t blocks = 1;     ///< of channels
  std::int64_t groups = 1;     ///< of 32 / channels places: each is one tile of k
  std::int64_t steps = 1;      ///< boxes for one output: blocks x other digits of k
  /// Of a box [elements]: a row has `channels` lines.
  std::int64_t line = 40, box_rows = 1;

  [[nodiscard]] std::int64_t tiles() const { return others * tiles_down * tiles_across; }
  [[nodiscard]] std::int64_t k_size() const { return steps * groups * 32; }
  [[nodiscard]] std::int64_t box_elements() const { return box_rows * channels * line; }
};

/// Of an f32 operand that is one plain load, at sums of strides x digits; empty: it is not read in
/// patches, or a tensor map cannot have its strides.
[[nodiscard]] std::optional<Patches> patches_of(const Contraction& c, const Operand& operand);

/// The tiles of `rows` outputs that pad rows and k least; empty: no box is small enough.
[[nodiscard]] std::optional<PatchTiling> tiling_of(const Patches& patches, std::int64_t rows);

/// Digits, some of which may be null, and a condition: there are such digits.
struct PatchDigits {
  std::vector<nest::Ref> digits;
  nest::Ref there = nullptr;
};
[[nodiscard]] PatchDigits digits_of_row(nest::Nodes& nodes, const Patches& patches,
                                        const PatchTiling& tiling, nest::Ref row);
[[nodiscard]] PatchDigits digits_of_k(nest::Nodes& nodes, const Patches& patches,
                                      const PatchTiling& tiling, nest::Ref k);

/// Where the box of a tile of rows and of a step of k begins in the tensor, outermost first.
[[nodiscard]] std::vector<nest::Ref> place_of_box(nest::Nodes& nodes, const Patches& patches,
                                                  const PatchTiling& tiling, nest::Ref tile,
                                                  nest::Ref step);
/// How far in the box a place in the window, by its number, is from the first output's element of
/// the box [elements].
[[nodiscard]] PatchDigits place_in_box(nest::Nodes& nodes, const Patches& patches,
                                       const PatchTiling& tiling, nest::Ref number);

/// How far apart in the box neighbouring outputs of a tile are, across and down [elements].
struct PatchSteps {
  std::int64_t across = 1, down = 0;
};
[[nodiscard]] PatchSteps steps_in_box(const Patches& patches, const PatchTiling& tiling);

/// The number that has these digits.
[[nodiscard]] nest::Ref number_of(nest::Nodes& nodes, const std::vector<std::int64_t>& extents,
                                  const std::vector<nest::Ref>& digits);

}  // namespace hone::schedules::contract
