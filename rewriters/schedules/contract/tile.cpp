#include "rewriters/schedules/contract/tile.h"

#include <algorithm>

#include "rewriters/tile/operands.h"

namespace hone::schedules::contract {

OperandTile tile_of(const Contraction& c, const Operand& operand, const Schedule& s, bool is_a) {
  const int outer = is_a ? s.bm : s.bn;
  const bool fma = is_fma(s.pipe);
  const bool tf32 = s.pipe == Pipe::kTf32 || s.pipe == Pipe::kTf32x3;
  const ScalarType type = fma                     ? sum_type(c, s.pipe)
                          : tf32                  ? ScalarType::kF32
                          : s.pipe == Pipe::kBf16 ? ScalarType::kBf16
                                                  : operand.type;
  const int size = static_cast<int>(size_of(type));
  // What says where to read is not read beyond the edges.
  const bool same = operand.value->kind == nest::Node::Kind::kLoad && operand.value->type == type &&
                    !operand.value->args[0]->has_load;

  OperandTile tile;
  tile.along_k = operand.along_k;
  tile.piece = std::min({operand.contiguous, tile.along_k ? s.bk : outer, 16 / size});
  if (fma && tile.along_k && s.async_transpose) tile.piece = 1;
  // A mask is for a whole piece where that is one element.
  const bool async = same && (operand.mask->is_constant() || tile.piece == 1) &&
                     tile.piece * size >= 4 && (!fma || !tile.along_k || s.async_transpose);
  tile.way = async                             ? tile::CopyWay::kAsync
             : outer * s.bk / s.threads() > 16 ? tile::CopyWay::kAtOnce
                                               : tile::CopyWay::kRegisters;
  tile.tile.name = is_a ? "tile_a" : "tile_b";
  tile.tile.type = type;
  if (fma) {
    // The columns of a transposed tile are written down the rows: four banks apart.
    tile.tile.layout =
        tile::padded_lines(outer, s.bk, false, outer + (tile.along_k ? 16 / size : 0));
  } else if (tf32 && !tile.along_k) {
    // Lanes read 4 rows by 8 columns: every bank once.
    tile.tile.layout = tile::padded_lines(outer, s.bk, false, outer + 8);
  } else {
    tile.tile.layout = tile::swizzled_lines(outer, s.bk, tile.along_k, type);
  }
  return tile;
}

}  // namespace hone::schedules::contract
