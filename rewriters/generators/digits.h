// Digits of a flat index put together again: x % 3 + 3 * (x / 3 % 4) is x % 12.
#pragma once

#include "rewriters/affine/node.h"

namespace hone::generators {

/// The value with every sum of neighbouring digits of `symbol` as one digit.
[[nodiscard]] lift::Ref with_merged_digits(lift::Nodes& nodes, lift::Ref value,
                                           lift::SymbolId symbol);

}  // namespace hone::generators
