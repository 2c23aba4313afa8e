#include "rewriters/schedules/contract/tile.h"

#include <algorithm>

namespace hone::schedules::contract {

std::int64_t Tile::elements() const {
  return swizzled ? std::int64_t{rows} * columns : std::int64_t{rows} * stride;
}

std::int64_t Tile::bytes() const { return elements() * static_cast<std::int64_t>(size_of(type)); }

Tile tile_of(const Contraction& c, const Operand& operand, const Schedule& s, bool is_a) {
  Tile tile;
  tile.outer = is_a ? s.bm : s.bn;
  tile.bk = s.bk;
  tile.along_k = operand.along_k;
  const bool fma = is_fma(s.pipe);
  const bool tf32 = s.pipe == Pipe::kTf32 || s.pipe == Pipe::kTf32x3;
  tile.type = fma                     ? sum_type(c, s.pipe)
              : tf32                  ? ScalarType::kF32
              : s.pipe == Pipe::kBf16 ? ScalarType::kBf16
                                      : operand.type;
  const int size = static_cast<int>(size_of(tile.type));
  const bool same =
      operand.value->kind == nest::Node::Kind::kLoad && operand.value->type == tile.type;

  tile.piece = std::min({operand.contiguous, tile.along_k ? s.bk : tile.outer, 16 / size});
  tile.k_rows = fma || !operand.along_k;
  if (fma && tile.along_k && s.async_transpose) tile.piece = 1;
  // A mask is for a whole piece where that is one element.
  tile.async = same && (operand.mask->is_constant() || tile.piece == 1) && tile.piece * size >= 4 &&
               (!fma || !tile.along_k || s.async_transpose);
  tile.vector = tile.piece > 1;
  tile.direct = !tile.async && tile.outer * s.bk / s.threads() > 16;
  tile.rows = tile.k_rows ? s.bk : tile.outer;
  tile.columns = tile.k_rows ? tile.outer : s.bk;
  tile.stride = tile.columns;
  if (fma) {
    // The columns of a transposed tile are written down the rows: four banks apart.
    if (tile.along_k) tile.stride += 16 / size;
  } else if (tf32 && tile.k_rows) {
    // Lanes read 4 rows by 8 columns: every bank once.
    tile.stride += 8;
  } else {
    tile.swizzled = true;
  }
  return tile;
}

}  // namespace hone::schedules::contract
