// How the contents of several buffers hang on one another: for input_sets.cpp alone. Pure
// functions.
#pragma once

#include <cstdint>
#include <vector>

#include "candidates/program.h"

namespace hone {

/// Floats that hold integers stay so: few sets vary them.
[[nodiscard]] bool is_whole_float(const ConcreteBuffer& buffer);

/// The range of a normal fill. Whose values are nearly all of one sign stays on its side: roots and
/// logarithms may rely on it.
void bound(Fill& fill);

/// Any numbers of the range of a random fill.
void fill_plainly(ConcreteBuffer& buffer);

/// Is there something that relate() can do?
[[nodiscard]] bool can_relate(const std::vector<ConcreteBuffer*>& varied);

/// Of as many seeds, one after the other, each gives another relation.
[[nodiscard]] int forms_of_relations(bool floats);

/// Buffers that may hold the same do, or nearly so, all of them or in pairs, in the part that their
/// ranges have in common; or what one holds are multiples of what another one does. By `seed`.
/// Sorted by name: a candidate may have them in another order.
void relate(const std::vector<ConcreteBuffer*>& varied, std::uint64_t seed);

}  // namespace hone
