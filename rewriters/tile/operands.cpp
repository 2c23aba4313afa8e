#include "rewriters/tile/operands.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::tile {

std::int64_t line_of(ScalarType type) { return 128 / static_cast<std::int64_t>(size_of(type)); }

std::int64_t wgmma_k(ScalarType type) { return line_of(type) / 4; }

Layout wgmma_operand(std::int64_t rows, std::int64_t k, bool along_k, ScalarType type) {
  const std::int64_t line = line_of(type);
  // Lines of one row; further k in bands after all rows.
  if (along_k) return Layout({{{rows, line}}, {{line, 1}, {k / line, rows * line}}}, 128);
  return Layout({{{line, 1}, {rows / line, k * line}}, {{k, line}}}, 128);
}

Layout swizzled_lines(std::int64_t rows, std::int64_t k, bool along_k, ScalarType type) {
  const std::int64_t lines = along_k ? rows : k, width = along_k ? k : rows;
  const std::int64_t band = std::min(width, line_of(type));
  std::vector<Dimension> dimensions = {{{lines, band}}, {{band, 1}, {width / band, lines * band}}};
  if (!along_k) std::swap(dimensions[0], dimensions[1]);
  return Layout(std::move(dimensions), static_cast<int>(band * static_cast<int>(size_of(type))));
}

Layout padded_lines(std::int64_t rows, std::int64_t k, bool along_k, std::int64_t step) {
  std::vector<Dimension> dimensions = {{{rows, step}}, {{k, 1}}};
  if (!along_k) dimensions = {{{rows, 1}}, {{k, step}}};
  return Layout(std::move(dimensions));
}

bool is_in_lines(const SharedTile& tile) {
  if (tile.layout.rank() != 2) return false;
  const std::int64_t rows = tile.layout.extent(0), k = tile.layout.extent(1);
  const bool along_k = is_along_k(tile);
  const std::int64_t width = along_k ? k : rows;
  if (tile.layout.swizzle() == 0) {
    return line_step(tile) >= width &&
           tile.layout == padded_lines(rows, k, along_k, line_step(tile));
  }
  return width % std::min(width, line_of(tile.type)) == 0 &&
         tile.layout == swizzled_lines(rows, k, along_k, tile.type);
}

bool has_aligned_lines(const SharedTile& tile) {
  return tile.layout.swizzle() != 0 ||
         line_step(tile) * static_cast<std::int64_t>(size_of(tile.type)) % 16 == 0;
}

std::int64_t line_step(const SharedTile& tile) {
  return tile.layout.dimension(is_along_k(tile) ? 0 : 1)[0].stride;
}

std::int64_t staged_columns(ScalarType type) { return line_of(type); }

Layout staged_outputs(std::int64_t columns, ScalarType type) {
  const std::int64_t band = staged_columns(type);
  return Layout({{{64, band}}, {{band, 1}, {columns / band, 64 * band}}}, 128);
}

Layout turned_outputs(std::int64_t columns) { return Layout({{{64, 1}}, {{columns, 68}}}); }

Layout exchanged_sums(std::int64_t columns) {
  return Layout({{{128, 4}}, {{4, 1}, {columns / 8, 512}}});
}

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

std::string copy_mistake(const CopyTile& copy, const SharedTile& tile) {
  const auto size = static_cast<int>(size_of(tile.type));
  const std::int64_t along = tile.layout.extent(copy.along_k ? 1 : 0);
  const bool loads = copy.value->kind == nest::Node::Kind::kLoad;
  if (!is_in_lines(tile))
    return fmt::format("'{}' does not lie in lines: {}", tile.name, tile.layout.describe());
  if (tile.layout.swizzle() != 0 && is_along_k(tile) != copy.along_k)
    return fmt::format("'{}' is copied across its swizzled lines", tile.name);
  if (copy.piece < 1 || along % copy.piece != 0 || 16 % size != 0 || copy.piece * size > 16 ||
      (copy.piece > 1 && !loads)) {
    return fmt::format("'{}' is copied in pieces of {} of {}", tile.name, copy.piece,
                       to_string(tile.type));
  }
  if (copy.way == CopyWay::kAsync &&
      (!loads || copy.value->type != tile.type || copy.piece * size < 4 ||
       copy.value->args[0]->has_load || (copy.piece > 1 && is_along_k(tile) != copy.along_k) ||
       (copy.piece > 1 && !copy.mask->is_constant()))) {
    return fmt::format("cp.async cannot make '{}', {} of {} at a time", tile.name, copy.piece,
                       to_string(tile.type));
  }
  return {};
}

std::string product_mistake(const WarpMultiply& multiply, const SharedTile& a, const SharedTile& b,
                            const Sums& sums) {
  const bool fp8 = is_fp8(a.type) && is_fp8(b.type), tf32 = a.type == ScalarType::kF32;
  const bool half = a.type == ScalarType::kF16 || a.type == ScalarType::kBf16;
  if (!fp8 && (a.type != b.type || (!half && !tf32)))
    return fmt::format("mma.sync does not multiply {} by {}", to_string(a.type), to_string(b.type));
  if (multiply.thrice && !tf32)
    return fmt::format("three products of {}, of which one leaves nothing", to_string(a.type));
  if (sums.of != SumsOf::kWarp || sums.type != ScalarType::kF32 || sums.rows < 16 ||
      sums.rows % 16 != 0 || sums.columns < 16 || sums.columns % 16 != 0)
    return fmt::format("'{}' are no blocks of 16 x 16 of a warp", sums.name);
  const std::int64_t k = a.layout.extent(1);
  if (k != b.layout.extent(1) || k % wgmma_k(a.type) != 0) {
    return fmt::format("{} and {} of k in '{}' and '{}'; mma.sync has a same multiple of {}", k,
                       b.layout.extent(1), a.name, b.name, wgmma_k(a.type));
  }
  for (const SharedTile* tile : {&a, &b}) {
    const bool along_k = is_along_k(*tile);
    if (fp8 && !along_k) {
      return fmt::format("'{}' lies along its rows; mma.sync reads 8-bit floats along k only",
                         tile->name);
    }
    const bool matrices = along_k || !tf32;
    if (matrices && !has_aligned_lines(*tile))
      return fmt::format("lines of '{}' do not begin at multiples of 16 bytes", tile->name);
  }
  return {};
}

std::string product_mistake(const SharedTile& a, const SharedTile& b, const Sums& sums,
                            int threads) {
  if (sums.of != SumsOf::kThread || a.type != sums.type || b.type != sums.type ||
      (sums.type != ScalarType::kF32 && sums.type != ScalarType::kF64)) {
    return fmt::format("{} by {} is not added up in '{}' of a thread", to_string(a.type),
                       to_string(b.type), sums.name);
  }
  const int run = sums.run();
  if (sums.rows % run != 0 || sums.columns % run != 0 || sums.across < 8 || sums.across % 8 != 0 ||
      threads % (4 * sums.across) != 0 || a.layout.extent(0) != threads / sums.across * sums.rows ||
      b.layout.extent(0) != std::int64_t{sums.across} * sums.columns ||
      a.layout.extent(1) != b.layout.extent(1)) {
    return fmt::format("{} threads with {} x {} sums each do not fill '{}' by '{}'", threads,
                       sums.rows, sums.columns, a.name, b.name);
  }
  if (a.layout.extent(1) % 2 != 0) {
    return fmt::format("{} of k in '{}' and '{}'; multiply-adds take two in turns",
                       a.layout.extent(1), a.name, b.name);
  }
  for (const SharedTile* tile : {&a, &b}) {
    if (is_along_k(*tile) || tile->layout.swizzle() != 0 || line_step(*tile) % run != 0) {
      return fmt::format("'{}' does not lie as threads read it: {}", tile->name,
                         tile->layout.describe());
    }
  }
  return {};
}

std::string half_warp_mistake(const SharedTile& tile, const Sums& sums) {
  if (sums.of == SumsOf::kHalfWarp && sums.type == ScalarType::kF32 && sums.rows % 4 == 0 &&
      tile.type == ScalarType::kF32 && is_in_lines(tile) && !is_along_k(tile) &&
      tile.layout.swizzle() == 0 && line_step(tile) % 4 == 0)
    return {};
  return fmt::format("half a warp does not add up rows of '{}' in '{}'", tile.name, sums.name);
}

}  // namespace hone::tile
