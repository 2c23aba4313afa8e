// What generators of products ask of values: factors and loads.
#pragma once

#include <vector>

#include "rewriters/affine/integers.h"

namespace hone::schedules {

using nest::ceil_divide;
using nest::for_each;
using nest::Op;
using nest::Ref;
using nest::SymbolId;

/// The first load that for_each() meets; nullptr: there is none.
[[nodiscard]] Ref first_load(Ref value);

/// Adds the factors: of a * (b * -c), a, b, c and -1.
void factors_of(nest::Nodes& nodes, Ref value, std::vector<Ref>& factors);
/// 1 where there are no factors.
[[nodiscard]] Ref product_of(nest::Nodes& nodes, const std::vector<Ref>& factors, ScalarType type);
/// A widening changes no value: what is inside can be kept as it is.
[[nodiscard]] Ref without_widening(Ref value);

}  // namespace hone::schedules
