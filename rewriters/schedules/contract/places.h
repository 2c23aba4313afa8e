// Which tile of the output is a block's, of which k its terms count, and which outputs it writes
// around those: as integers of a tile program.
#pragma once

#include <vector>

#include "rewriters/schedules/contract/analysis.h"
#include "rewriters/tile/program.h"

namespace hone::schedules::contract {

/// Row and column of the tile, counted in tiles.
struct TilePlace {
  Ref row = nullptr, column = nullptr;
};
/// Of the `number`th tile of a matrix of `rows` x `columns` tiles. Those that run together go
/// through `group` rows of tiles: what they read stays in the L2. A name that this needs is added
/// to `body`.
[[nodiscard]] TilePlace place_of_tile(nest::Nodes& nodes, Ref number, std::int64_t rows,
                                      std::int64_t columns, std::int64_t group, tile::Body& body);

/// Bounds that say of a tile's k more than that they are k.
[[nodiscard]] std::vector<Bound> bounds_of_tiles(const Contraction& c);
/// Whether k ends at the row, so that the last rows have most to do and had best go first.
[[nodiscard]] bool last_rows_first(const std::vector<Bound>& bounds);

/// From where on to where terms are not zero, or the sum is needed.
struct KRange {
  Ref begin = nullptr, end = nullptr;
};
/// Of the tile of `rows` x `columns` outputs from these on.
[[nodiscard]] KRange range_of_k(const Contraction& c, const std::vector<Bound>& bounds,
                                Ref first_row, std::int64_t rows, Ref first_column,
                                std::int64_t columns);

/// Has the store write the outputs without terms around each of its own, if there are any; `known`:
/// what symbols are there.
void add_places(const Contraction& c, const nest::Nodes::Substitution& known, tile::Store& store);

/// Every buffer that the values read, each once, as parameters; not `output`, nor what stands for
/// the sum.
[[nodiscard]] std::vector<tile::Program::Parameter> read_by(const std::vector<Ref>& values,
                                                            const Contraction& c, const Goal& goal);

}  // namespace hone::schedules::contract
