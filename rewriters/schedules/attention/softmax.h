// Softmax in values: sums of exponentials, what shifts them, what masks them.
#pragma once

#include <optional>
#include <vector>

#include "rewriters/affine/node.h"

namespace hone::schedules::attention {

using nest::Ref;
using nest::SymbolId;

/// The same value, whatever the order of operands and the names of bound indices.
[[nodiscard]] bool same(nest::Nodes& nodes, Ref a, Ref b);

/// A number that no index and no buffer changes: 1 / sqrt(64).
[[nodiscard]] std::optional<double> number_of(Ref value);

/// The body of a sum over keys as a product: those of its factors that the key changes, and those
/// that it does not, upstairs and downstairs; nothing where `guard` does not hold, nor where
/// `largest`, if it is not nullptr, the largest of some values, is minus infinity.
struct Product {
  Ref guard = nullptr, largest = nullptr;
  std::vector<Ref> inner, outer, below;
};
[[nodiscard]] Product product_over(nest::Nodes& nodes, Ref body, SymbolId key);

/// One exponential as a power of two: log2 of it, less terms that the key does not change (they
/// shift numerator and denominator of a softmax alike). nullptr: no exponential.
[[nodiscard]] Ref exponent_of(nest::Nodes& nodes, Ref value, SymbolId key);

/// Is `largest` the largest of the logits of this exponent, as exponent_of() makes it, over all
/// keys, and no term of them the same for all keys?
[[nodiscard]] bool is_largest_logit(nest::Nodes& nodes, Ref largest, Ref exponent, SymbolId key);

/// A logit where `allowed`; elsewhere it is minus infinity, or so large a negative number
/// (`finite`) that its weight is 0 beside any other's.
struct Masked {
  Ref logit = nullptr;
  Ref allowed = nullptr;
  bool finite = false;
};
[[nodiscard]] Masked masked(nest::Nodes& nodes, Ref logit);

}  // namespace hone::schedules::attention
