#include "rewriters/tile/operands.h"

#include <fmt/format.h>

namespace hone::tile {

std::int64_t line_of(ScalarType type) { return 128 / static_cast<std::int64_t>(size_of(type)); }

std::int64_t wgmma_k(ScalarType type) { return line_of(type) / 4; }

Layout wgmma_operand(std::int64_t rows, std::int64_t k, bool along_k, ScalarType type) {
  const std::int64_t line = line_of(type);
  // Lines of one row; further k in bands after all rows.
  if (along_k) return Layout({{{rows, line}}, {{line, 1}, {k / line, rows * line}}}, 128);
  return Layout({{{line, 1}, {rows / line, k * line}}, {{k, line}}}, 128);
}

std::int64_t staged_columns(ScalarType type) { return line_of(type); }

Layout staged_outputs(std::int64_t columns, ScalarType type) {
  const std::int64_t band = staged_columns(type);
  return Layout({{{64, band}}, {{band, 1}, {columns / band, 64 * band}}}, 128);
}

Layout turned_outputs(std::int64_t columns) { return Layout({{{64, 1}}, {{columns, 68}}}); }

bool is_along_k(const SharedTile& tile) { return tile.layout.dimension(1)[0].stride == 1; }

ConcreteTensorMap tensor_map(const View& view) {
  return {0, view.shape, view.strides, view.box, view.swizzle, view.as_tf32};
}

std::string copy_mistake(const View& view, const SharedTile& tile,
                         const std::vector<std::int64_t>& to) {
  if (view.type != tile.type) return "their types differ";
  if (view.swizzle != tile.layout.swizzle())
    return fmt::format("a swizzle of {} bytes is read as one of {}", view.swizzle,
                       tile.layout.swizzle());
  if (const std::string mistake = mistake_in(tensor_map(view), view.type); !mistake.empty())
    return mistake;
  // The box's last dimension is x; of the others one is y, or z and y, and the rest are 1.
  const std::size_t rank = view.box.size();
  const bool along_k = is_along_k(tile);
  const std::int64_t x_extent = view.box[rank - 1], y_extent = rank > 1 ? view.box[rank - 2] : 1,
                     z_extent = !along_k && rank > 2 ? view.box[rank - 3] : 1;
  for (std::size_t d = 0; d + (along_k ? 2 : 3) < rank; ++d)
    if (view.box[d] != 1)
      return fmt::format("more than {} dimensions of the box are not 1", along_k ? 2 : 3);
  if (to.size() != 2 || to[0] < 0 || to[1] < 0) return "its place is no place in the tile";
  const std::int64_t first = tile.layout.offset({to[0], to[1]});
  const int aligned = view.swizzle != 0 ? 1024 : 128;
  if (first * static_cast<std::int64_t>(size_of(tile.type)) % aligned != 0)
    return fmt::format("it does not begin at a multiple of {} bytes", aligned);
  for (std::int64_t z = 0; z < z_extent; ++z) {
    for (std::int64_t y = 0; y < y_extent; ++y) {
      for (std::int64_t x = 0; x < x_extent; ++x) {
        const std::int64_t row = to[0] + (along_k ? y : z * x_extent + x),
                           k = to[1] + (along_k ? x : y);
        if (row >= tile.layout.extent(0) || k >= tile.layout.extent(1))
          return fmt::format("({}, {}) is outside of the tile", row, k);
        if (tile.layout.offset({row, k}) != first + (z * y_extent + y) * x_extent + x)
          return fmt::format("({}, {}) does not lie where the copy writes it", row, k);
      }
    }
  }
  return {};
}

bool is_operand(const SharedTile& tile, bool along_k) {
  if (tile.layout.rank() != 2) return false;
  const std::int64_t rows = tile.layout.extent(0), k = tile.layout.extent(1);
  return (along_k ? k : rows) % line_of(tile.type) == 0 &&
         tile.layout == wgmma_operand(rows, k, along_k, tile.type);
}

namespace {

/// Of what tf32 operations read: f32, one line of k.
std::string tf32_mistake(const SharedTile& tile) {
  if (tile.type != ScalarType::kF32)
    return fmt::format("'{}' are {}; f32 is rounded to tf32", tile.name, to_string(tile.type));
  if (tile.layout.extent(1) != line_of(tile.type) ||
      (!is_operand(tile, true) && !is_operand(tile, false)))
    return fmt::format("'{}' does not lie as a line of k, or of rows: {}", tile.name,
                       tile.layout.describe());
  return {};
}

}  // namespace

std::string read_mistake(const SharedTile& tile, const Fragments& to) {
  if (std::string why = tf32_mistake(tile); !why.empty()) return why;
  if (to.type != ScalarType::kF32 || to.columns != tile.layout.extent(1))
    return fmt::format("{} of k of '{}' are read to {} columns of {} of '{}'",
                       tile.layout.extent(1), tile.name, to.columns, to_string(to.type), to.name);
  return {};
}

std::string split_mistake(const SharedTile& tile, const SharedTile& to, int threads) {
  if (std::string why = tf32_mistake(tile); !why.empty()) return why;
  if (to.type != tile.type || to.layout.rank() != 2 ||
      to.layout.extent(0) != tile.layout.extent(0) || to.layout.extent(1) != tile.layout.extent(1))
    return fmt::format("'{}' is split to '{}', which is of another type or shape", tile.name,
                       to.name);
  if (!is_operand(to, true))
    return fmt::format("'{}' does not lie as wgmma reads it: {}", to.name, to.layout.describe());
  if (tile.layout.elements() % (std::int64_t{4} * threads) != 0)
    return fmt::format("{} threads do not split the {} elements of '{}' in fours", threads,
                       tile.layout.elements(), tile.name);
  return {};
}

std::string product_mistake(const Fragments& a, const SharedTile& b, int columns) {
  if (is_fp8(a.type))
    return fmt::format("'{}' are {}; fragments are f16, bf16 or f32", a.name, to_string(a.type));
  // As of a tile that lies as it should.
  if (a.type == ScalarType::kF32)
    return product_mistake({a.name, a.type, wgmma_operand(64, a.columns, true, a.type)}, b,
                           columns);
  const std::int64_t k = (a.columns + 63) / 64 * 64;
  SharedTile tile{a.name, a.type, wgmma_operand(64, k, true)};
  if (a.columns != k) {
    if (a.columns % 16 != 0) return fmt::format("'{}' has {} columns of k", a.name, a.columns);
    tile.layout = wgmma_operand(64, a.columns, false);
  }
  return product_mistake(tile, b, columns);
}

std::string product_mistake(const SharedTile& a, const SharedTile& b, int columns) {
  const bool fp8 = is_fp8(a.type) && is_fp8(b.type);
  const bool half = a.type == ScalarType::kF16 || a.type == ScalarType::kBf16;
  const bool tf32 = a.type == ScalarType::kF32;
  if (!fp8 && (a.type != b.type || (!half && !tf32)))
    return fmt::format("wgmma does not multiply {} by {}", to_string(a.type), to_string(b.type));
  if (columns < 8 || columns > 256 || columns % 8 != 0)
    return fmt::format("{} columns; wgmma has 8 to 256 in steps of 8", columns);
  const std::int64_t k = a.layout.extent(1);
  if (k != b.layout.extent(1) || k % wgmma_k(a.type) != 0)
    return fmt::format("{} and {} of k in '{}' and '{}'; both must have a same multiple of {}", k,
                       b.layout.extent(1), a.name, b.name, wgmma_k(a.type));
  if (b.layout.extent(0) != columns)
    return fmt::format("'{}' has {} columns, the sums have {}", b.name, b.layout.extent(0),
                       columns);
  if (a.layout.extent(0) % 64 != 0)
    return fmt::format("'{}' has {} rows; each warp group multiplies 64", a.name,
                       a.layout.extent(0));
  for (const SharedTile* tile : {&a, &b}) {
    const std::int64_t rows = tile->layout.extent(0);
    const bool along_k = is_along_k(*tile);
    if ((fp8 || tf32) && !along_k)
      return fmt::format("'{}' lies along its rows; wgmma reads {} along k only", tile->name,
                         fp8 ? "8-bit floats" : "tf32");
    if (rows % 8 != 0 || !is_operand(*tile, along_k))
      return fmt::format("'{}' does not lie as wgmma reads it: {}", tile->name,
                         tile->layout.describe());
  }
  return {};
}

}  // namespace hone::tile
