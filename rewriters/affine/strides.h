// Elements as sums of strides x indices: how far apart neighbours along an index lie.
#pragma once

#include <cstdint>
#include <vector>

#include "rewriters/affine/node.h"

namespace hone::nest {

/// The product of the extents.
[[nodiscard]] std::int64_t points(const Nodes& nodes, const std::vector<SymbolId>& symbols);

/// An integer as constant + sum of strides x symbols + other terms.
struct Strides {
  std::vector<std::int64_t> of;  ///< by symbol; 0 where it is in no term of its own
  std::vector<Term> others;      ///< may depend on the symbols still
};
[[nodiscard]] Strides strides_in(Ref integer, const std::vector<SymbolId>& symbols);
/// Of one symbol, whatever else depends on it.
[[nodiscard]] std::int64_t stride_of(Ref integer, SymbolId symbol);

/// Outermost, the largest stride in `by`, first; as they are where that is null.
void sort_by_stride(std::vector<SymbolId>& symbols, Ref by);

}  // namespace hone::nest
