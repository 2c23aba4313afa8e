// From what a thread stores to nests over boxes of indices.
#pragma once

#include <string>
#include <vector>

#include "rewriters/nest/nest.h"

namespace hone::nest {

/// One store for every value of its symbols, threads and blocks among them.
struct Scattered {
  std::string buffer;
  ScalarType type = ScalarType::kF32;
  std::vector<SymbolId> symbols;
  Ref element = nullptr, guard = nullptr, value = nullptr;
  std::optional<Op> combine;
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

}  // namespace hone::nest
