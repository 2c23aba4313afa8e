// Many like values as one: threads in lockstep, unrolled sums, neighbours that one thread stores.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rewriters/affine/node.h"

namespace hone::nest {

/// A value of some indices that is values[i] where they have the i-th row of `digits`; null where
/// there is none. Every one is looked at.
struct Basis {
  std::vector<SymbolId> symbols;
  std::vector<std::vector<std::int64_t>> digits;  ///< by value, then by symbol
  bool steps = false;  ///< integers may also be quotients of the first symbol
};
[[nodiscard]] Ref unified(Nodes& nodes, const std::vector<Ref>& values, const Basis& basis);

/// Sums (and other folds) of many like terms become reductions. What became of a fold is kept in
/// `known`: many lanes share it.
using Rerolled = std::unordered_map<Ref, Ref>;
[[nodiscard]] Ref rerolled(Nodes& nodes, Ref value, Rerolled& known);

}  // namespace hone::nest
