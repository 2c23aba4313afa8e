// Reductions in the form that generators know best.
#pragma once

#include "rewriters/affine/node.h"

namespace hone::nest {

/// A sum of sums so that less is multiplied; null: it is good as it is.
[[nodiscard]] Ref distributed(Nodes& nodes, Ref reduction);

/// Reductions that count from where each result begins, counted from one place for all: where that
/// takes no more rounds and loads then depend on fewer indices. Sums of sums distributed().
[[nodiscard]] Ref renumbered(Nodes& nodes, Ref value);

/// Of `all`, what `symbol` can be where the condition holds. None: `high` is below `low`.
[[nodiscard]] Range narrowed(Nodes& nodes, Range all, Ref condition, SymbolId symbol);

}  // namespace hone::nest
