// Several indices as one, and the digits of one put together again.
#pragma once

#include <string>
#include <vector>

#include "rewriters/affine/node.h"

namespace hone::nest {

/// The value over one symbol `flat`, which numbers the points of `symbols` (outermost first). Where
/// strides let neighbours follow each other, no digit is taken: 64*i + j is flat.
[[nodiscard]] Ref flatten(Nodes& nodes, Ref value, std::vector<SymbolId> symbols, SymbolId flat);

/// A new index for all of `symbols`; what each is of it is added to `digits`.
[[nodiscard]] SymbolId flat_index(Nodes& nodes, const std::string& name,
                                  const std::vector<SymbolId>& symbols,
                                  Nodes::Substitution& digits);

/// Makes one dim of two wherever all values count them as one: 64*i + j, everywhere. Changes the
/// values and the dims.
void merge_dims(Nodes& nodes, const std::vector<Ref*>& values, std::vector<SymbolId>& dims);

/// The value with every sum of neighbouring digits of `symbol` as one digit:
/// x % 3 + 3 * (x / 3 % 4) is x % 12.
[[nodiscard]] Ref with_merged_digits(Nodes& nodes, Ref value, SymbolId symbol);

}  // namespace hone::nest
