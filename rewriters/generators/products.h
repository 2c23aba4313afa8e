// What generators of products ask of values: factors, many indices as one, and what lies side by
// side in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewriters/affine/node.h"

namespace hone::generators {

using lift::for_each;
using lift::Ref;
using lift::SymbolId;

/// Pieces of b that cover a.
[[nodiscard]] inline std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// The first load that for_each() meets; nullptr: there is none.
[[nodiscard]] Ref first_load(Ref value);

/// Adds the factors: of a * (b * -c), a, b, c and -1.
void factors_of(lift::Nodes& nodes, Ref value, std::vector<Ref>& factors);
/// 1 where there are no factors.
[[nodiscard]] Ref product_of(lift::Nodes& nodes, const std::vector<Ref>& factors, ScalarType type);
/// A widening changes no value: what is inside can be kept as it is.
[[nodiscard]] Ref without_widening(Ref value);

/// The product of the extents.
[[nodiscard]] std::int64_t size_of_all(const lift::Nodes& nodes,
                                       const std::vector<SymbolId>& symbols);
/// The stride of a symbol in an element number; 0: none that is plain.
[[nodiscard]] std::int64_t stride_in(Ref element, SymbolId symbol);
/// Outermost, the largest stride in `by`, first.
void sort_by_stride(std::vector<SymbolId>& symbols, Ref by);
/// A new index for all of `symbols`; what each is of it is added to `digits`.
[[nodiscard]] SymbolId flatten(lift::Nodes& nodes, const std::string& name,
                               const std::vector<SymbolId>& symbols,
                               lift::Nodes::Substitution& digits);

/// The longest group of neighbouring elements, at an address that is a multiple of as many and of
/// at most 16 bytes, that each aligned group of as many values of the index is.
[[nodiscard]] int longest_run(const lift::Nodes& nodes, Ref element, SymbolId index,
                              ScalarType type);

}  // namespace hone::generators
