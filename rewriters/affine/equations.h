// When two elements are the same one: never, or at which indices.
#pragma once

#include <optional>
#include <vector>

#include "rewriters/affine/node.h"

namespace hone::nest {

/// Never equal, where the facts hold and whatever each index is.
[[nodiscard]] bool apart(Nodes& nodes, Ref a, Ref b, const Facts& facts = {});

/// The indices at which a store of an element hits `wanted`: element = base + sum of coefficients
/// x symbols with the symbols as mixed-radix digits. Empty: not of that form, or not sure to be
/// inside.
[[nodiscard]] std::optional<Nodes::Substitution> solve_for(Nodes& nodes, Ref element,
                                                           const std::vector<SymbolId>& symbols,
                                                           Ref wanted);

}  // namespace hone::nest
