#include "rewriters/schedules/attention/tile.h"

#include <algorithm>

namespace hone::schedules::attention {

const Operand& operand_of(const Attention& a, Which which) {
  return which == Which::kQuery ? a.query : which == Which::kKey ? a.key : a.values;
}

Tile tile_of(const Attention& a, const Schedule& s, Which which) {
  const Operand& operand = operand_of(a, which);
  Tile tile;
  tile.type = s.pipe == Pipe::kMma ? operand.type : ScalarType::kF32;
  tile.rows = which == Which::kQuery ? s.rows : s.keys;
  tile.columns = which == Which::kValues ? padded_columns(a, s.pipe) : padded_depth(a, s.pipe);
  const int size = static_cast<int>(size_of(tile.type));
  if (s.pipe == Pipe::kFma) {
    tile.transposed = which != Which::kValues;
  } else if (s.pipe == Pipe::kMma) {
    // ldmatrix reads either way; copies keep the order that they find.
    tile.transposed = operand.rows_are_near && operand.run_of_columns == 1;
  }
  // Rows of 16 bytes more than a multiple of 32: lanes that read or write eight rows at once, or
  // four pairs of them, meet every bank once.
  tile.stride = (tile.transposed ? tile.rows : tile.columns) + 16 / size;
  tile.along_rows = operand.rows_are_near;
  const int run = tile.along_rows ? operand.run_of_rows : operand.run_of_columns;
  const bool plain = operand.value->kind == nest::Node::Kind::kLoad;
  const bool same = plain && operand.value->type == tile.type;
  const bool in_order = tile.along_rows == tile.transposed;
  tile.piece = std::min({run, tile.along_rows ? tile.rows : tile.columns, 16 / size});
  if (same && !in_order && size == 4) tile.piece = 1;
  // What says where to read is not read beyond the edges.
  tile.async = same && !operand.value->args[0]->has_load && (in_order || tile.piece == 1) &&
               tile.piece * size >= 4;
  return tile;
}

}  // namespace hone::schedules::attention
