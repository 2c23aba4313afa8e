// From what a thread stores to nests over boxes of indices. Internal to rewriters/lift.
#pragma once

#include <unordered_map>
#include <vector>

#include "rewriters/lift/executor.h"
#include "rewriters/lift/nest.h"

namespace hone::lift {

/// One store for every value of its symbols, threads and blocks among them.
struct Scattered {
  std::string buffer;
  ScalarType type = ScalarType::kF32;
  std::vector<SymbolId> symbols;
  Ref element = nullptr, guard = nullptr, value = nullptr;
  std::string combine;
  int position = -1;
};

/// Block and thread become one index, a flat index the digits that it is taken apart into, guards
/// the bounds of indices. Throws Refusal where threads may write one element twice.
[[nodiscard]] Nest canonical(Nodes& nodes, Scattered store, const ConcreteBuffer& buffer);

/// A plain nest into which others were put, which take its flat index apart: with the digits as its
/// indices. As it was where nothing takes an index apart.
[[nodiscard]] Nest taken_apart(Nodes& nodes, Nest nest, const ConcreteBuffer& buffer);

/// The stores of one launch in program order as nests: at most one plain one for each element.
[[nodiscard]] std::vector<Nest> nests_of(Nodes& nodes, std::vector<Scattered> stores,
                                         const ConcreteProgram& program);

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

/// A sum of sums so that less is multiplied; null: it is good as it is.
[[nodiscard]] Ref distributed(Nodes& nodes, Ref reduction);

/// Reductions that count from where each result begins, counted from one place for all: where that
/// takes no more rounds and loads then depend on fewer indices. Sums of sums distributed().
[[nodiscard]] Ref renumbered(Nodes& nodes, Ref value);

}  // namespace hone::lift
