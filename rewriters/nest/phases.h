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
/// so for each such index that gets fewer terms by it.
struct Phased {
  Nest nest;
  /// The guard that the nest had: where it does not hold, loads may be outside of their buffers.
  /// The guard now says beside it which outputs of the last block there are. Loads need not ask
  /// that: behind the last output the sum's condition leaves nothing that no output reads.
  Ref given = nullptr;
};
/// Empty: there is no such index.
[[nodiscard]] std::optional<Phased> by_phases(Nodes& nodes, const Nest& nest);

}  // namespace hone::nest
