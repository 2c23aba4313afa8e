// Sums that meet only every few rounds: a transposed convolution with a stride, say.
#pragma once

#include <optional>

#include "rewriters/nest/nest.h"

namespace hone::nest {

/// A nest whose sum has terms only where a number is divisible,
///
///   out[o] = sum over k with (o + c - d k) % s == 0 of w[k] * x[(o + c - d k) / s]
///
/// by the phases of its outputs, o = s q + r, so that fewer terms are looked at: each phase takes
/// the same few neighbours of x[q], and the phases are as channels of a convolution without a
/// stride,
///
///   out[s q + r] = sum over t, k = (r + c - s t) / d, where there is one, of w[k] * x[q + t]
///
/// This is done along each such index that gets fewer terms by it.
struct Phased {
  Nest nest;
  /// The guard that the nest had: where it does not hold, loads may be outside of their buffers.
  /// The guard now says beside it which outputs of the last block there are. Loads need not ask
  /// that: behind the last output the sum's condition leaves nothing that no output reads.
  Ref given = nullptr;
  Ref there = nullptr;  ///< which outputs of the last block there are, alone
  /// What each index of the nest before is now, where it is another one.
  Nodes::Substitution by;
};
/// Empty: there is no such index.
[[nodiscard]] std::optional<Phased> by_phases(Nodes& nodes, const Nest& nest);

/// A nest whose sum has no term at all for most outputs, as s and d of by_phases() share the factor
/// g: there is one only where (o + c) % g == 0,
///
///   out[g q + first] = value of sum over k with (q + c' - d/g k) % (s/g) == 0 of ...
///   every other out  = value of 0
///
/// This holds along each such index. The others are places around those that have terms. Written
/// together, they fill whole sectors.
struct Sparse {
  Nest nest;  ///< of the outputs that have terms, by q; its own phases are still to be looked for
  /// Of an index: the output g q + place, from `begin` to before `end`. Only the first q has places
  /// before `own`, the one with terms.
  struct Place {
    SymbolId symbol = -1;
    Ref begin = nullptr;  ///< by q
    std::int64_t own = 0, end = 1;
  };
  std::vector<Place> places;               ///< outermost first
  bool side_by_side = false;               ///< neighbours along the last one are so in memory
  Ref element = nullptr, guard = nullptr;  ///< of all places
  Ref empty = nullptr;                     ///< the value where there are no terms
};
/// Empty: there is no such index.
[[nodiscard]] std::optional<Sparse> apart_from_empty(Nodes& nodes, const Nest& nest);

}  // namespace hone::nest
