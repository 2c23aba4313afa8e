// Where the elements of a tile lie: in memory, or in the registers of a group of threads. A layout
// gives a number for coordinates. A dimension may be cut into modes, the fastest first, each with a
// stride of its own: 64 columns in bands of 8 that lie 512 apart are {(8, 1), (8, 512)}.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "candidates/result.h"

namespace hone::tile {

struct Mode {
  std::int64_t extent = 1;
  std::int64_t stride = 0;
  bool operator==(const Mode&) const = default;
};
using Dimension = std::vector<Mode>;

class Layout {
 public:
  Layout() = default;
  /// `swizzle`: 0, 32, 64 or 128: the 16-byte pieces of lines of so many bytes change places by the
  /// number of their line, as tensor maps and wgmma have it.
  explicit Layout(std::vector<Dimension> dimensions, int swizzle = 0)
      : dimensions_(std::move(dimensions)), swizzle_(swizzle) {}

  [[nodiscard]] std::size_t rank() const { return dimensions_.size(); }
  [[nodiscard]] const Dimension& dimension(std::size_t d) const { return dimensions_[d]; }
  [[nodiscard]] std::int64_t extent(std::size_t d) const;
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] int swizzle() const { return swizzle_; }
  /// One more than the largest offset.
  [[nodiscard]] std::int64_t reach() const;

  /// The number for coordinates, without the swizzle.
  [[nodiscard]] std::int64_t offset(std::span<const std::int64_t> at) const;
  [[nodiscard]] std::int64_t offset(std::initializer_list<std::int64_t> at) const {
    return offset(std::span(at.begin(), at.size()));
  }
  /// Where the element lies in memory that begins at a multiple of 1024 bytes, swizzled [B].
  [[nodiscard]] std::int64_t byte_of(std::initializer_list<std::int64_t> at, int bytes) const;

  /// A dimension cut into `extent` elements, and how many such there are, which becomes the last
  /// dimension. kInvalidInput: it cannot be cut so.
  [[nodiscard]] Result<Layout> divided(std::size_t d, std::int64_t extent) const;
  /// Composition: `inner` numbers this layout's elements, dimension 0 fastest; the result maps its
  /// coordinates to this layout's offsets. A swizzle stays. kInvalidInput: the strides do not fit.
  [[nodiscard]] Result<Layout> after(const Layout& inner) const;

  /// How many elements along a dimension lie side by side at an offset that is a multiple of as
  /// many: a power of two, at most `most`.
  [[nodiscard]] int vector_width(std::size_t d, int most) const;

  /// "(8:64, 16:512) x (64:1) swizzle 128"
  [[nodiscard]] std::string describe() const;
  bool operator==(const Layout&) const = default;

 private:
  std::vector<Dimension> dimensions_;
  int swizzle_ = 0;
};

/// How often shared memory has to be asked until 32 lanes have `width` bytes each: 1 is the best
/// there is for 4 bytes, 4 for 16. `bytes` says where each lane's begin.
/// Source: shared memory has 32 banks of 4 bytes; lanes that ask for the same word are one.
[[nodiscard]] int shared_rounds(std::span<const std::int64_t> bytes, int width);

/// The sums of one wgmma of 64 x n: (thread of 128, value of n / 2) -> row * n + column.
/// Source: PTX ISA, "Register Fragments and Shared Memory Matrix Layouts" of wgmma, matrix D.
[[nodiscard]] Layout wgmma_sums(int n);
/// The sums of mma.sync m16n8: (lane of 32, value of 4) -> row * 8 + column.
[[nodiscard]] Layout mma_sums();

}  // namespace hone::tile
