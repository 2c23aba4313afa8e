// Whether one output of a candidate is right on inputs that hone made up: the same steps for
// whoever runs and compares, the emulator or a GPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <expected>
#include <utility>

#include "candidates/result.h"
#include "evaluator/check/compare.h"
#include "evaluator/fill/input_sets.h"

namespace hone::check {

inline constexpr double kLastBits = 0x1p-22, kOffByChance = 1e-6;  // relative
/// What f32 loses in a formula that divides where the reference does not: so much by the norm, and
/// at each place, of the element or of what those are on average that are not zero. Sixteen bits
/// are off by ten times as much.
inline constexpr double kOtherFormula = 0x1p-20, kOtherFormulaMost = 0x1p-17;
/// How far a candidate may be off from the answer on rounded inputs, of what that is off from the
/// true one: at each element of the worst, and by the norm of the norm.
inline constexpr double kOfTf32Cost = 0.5;
inline constexpr double kMostFilled = 8;  ///< that average, over the one of all elements
inline constexpr std::int64_t kManyElements = 256,
                              kOneOfRounded = 16;  // that errors are spread over

/// `kTruth`: what the reference answers where it computes in double. `kRounded`: where its inputs
/// are rounded to TF32, likewise.
enum class Answer { kReference, kCandidate, kTruth, kRounded };

/// How far a right answer may be off on inputs of exact answers. Where sums are long, the
/// reference's order may be exact by chance and another not: then f32 itself is off by that, and
/// what has eighteen bits by more.
[[nodiscard]] inline double exactness(InputSet inputs) {
  return inputs == InputSet::kWide ? kOffByChance : kLastBits;
}

/// Whether what is off by more than exactness() may be rounding in another formula, such as
/// Winograd's, rather than 19 bits or fewer, or what was left out at a few places, which is asked
/// of other sets than kWide: its sums have few terms. `at_all` counts what is off at all; and no
/// place may be off by more than each_place().
[[nodiscard]] inline bool rounds_otherwise(const Comparison& at_all, InputSet inputs) {
  return at_all.elements >= kManyElements && at_all.norm_error <= kOtherFormula &&
         (inputs == InputSet::kWide || at_all.mismatches >= at_all.elements / kOneOfRounded);
}
[[nodiscard]] inline Tolerance each_place(const Comparison& at_all, NonFinite non_finite) {
  const auto all = static_cast<double>(at_all.elements);
  const double filled = std::min(
      kMostFilled, std::sqrt(all / std::max(1.0, all - static_cast<double>(at_all.zeros))));
  return {kOtherFormulaMost, kOtherFormulaMost * at_all.rms * (filled - 1), non_finite};
}

/// Inputs that are made so that sums cancel or products lose bits: a reference may have no digit
/// left. Then a candidate may be as far off as it is.
[[nodiscard]] inline bool may_lose_all_digits(InputSet inputs) {
  return inputs == InputSet::kRelated || inputs == InputSet::kPatterns;
}

/// `once(one, perhaps_by_chance)` checks the case `one`; `right` says of its answer whether all is
/// well. A single sum that cancels may be exact in the reference's order and off by more than
/// exactness() in another, by chance: then `once` sets `perhaps_by_chance` (see Comparison), and
/// the case must be right with two other contents. A program of fewer bits is wrong with all.
template <class Case, class Once, class Right>
auto drawn_anew(const Case& one, Once&& once, Right&& right) {
  constexpr std::uint64_t kOtherDraw = 0xD1B54A32D192ED03;  // changes a seed
  bool perhaps_by_chance = false;
  auto answer = once(one, perhaps_by_chance);
  if (!perhaps_by_chance) return answer;
  Case other = one;
  for (const std::uint64_t draw : {1, 2}) {
    other.seed = one.seed ^ kOtherDraw * draw;
    perhaps_by_chance = false;
    answer = once(other, perhaps_by_chance);
    if (!right(answer)) break;
  }
  return answer;
}

/// The comparison that decides: its ok() is the answer. `exact`: what f32 gives without error on
/// inputs of exact answers must come without error. `tolerance` is that of for_inputs().
/// `compare(want, got, tolerance)` gives a std::expected<Comparison, E>, `truth()` a
/// std::expected<bool, E>: whether there is one; asked once, and only where it decides. `rounded()`
/// likewise; there is none where a candidate may not multiply as TF32. Errors: theirs.
template <class Compare, class Truth, class Rounded>
auto judge_made_up(const Tolerance& tolerance, InputSet inputs, bool exact, Compare&& compare,
                   Truth&& truth, Rounded&& rounded)
    -> decltype(compare(Answer::kReference, Answer::kCandidate, tolerance)) {
  exact = exact && has_exact_answers(inputs);
  const auto plain = compare(Answer::kReference, Answer::kCandidate, tolerance);
  if (!plain || (plain->ok() && (!exact || plain->max_rel_error == 0))) return plain;
  const auto known = truth();
  if (!known) return std::unexpected(known.error());
  const bool little = mostly_non_finite(*plain, tolerance);
  // What TF32 costs here. An answer that is near the one on rounded inputs is right.
  double cost = 0;
  if (!plain->ok()) {
    const auto there = rounded();
    if (!there) return std::unexpected(there.error());
    if (*there) {
      auto near = compare(Answer::kRounded, Answer::kCandidate, tolerance);
      if (near && near->ok()) near->max_rel_error = plain->max_rel_error;
      if (!near || near->ok()) return near;
      const auto off =
          compare(*known ? Answer::kTruth : Answer::kReference, Answer::kRounded, tolerance);
      if (!off) return off;
      cost = off->max_finite_error;
      // Sums in f32 are off as well: where a function bends sharply, by more than the tolerance.
      const Tolerance half = loosened(tolerance, cost * kOfTf32Cost / kTimesItsError);
      const double norm = std::max(near->norm_limit, kOfTf32Cost * off->norm_error);
      near = compare(Answer::kRounded, Answer::kCandidate, half);
      if (near && near->ok() && near->norm_error <= norm) {
        near->max_rel_error = plain->max_rel_error;
        return near;
      }
      if (!near) return near;
    }
  }
  if (!*known) {
    if (plain->ok()) return plain;
    Tolerance blind = loosened_blindly(tolerance);
    blind.rtol = std::max(blind.rtol, loosened(tolerance, cost).rtol);
    return compare(Answer::kReference, Answer::kCandidate, little ? numbers_alone(blind) : blind);
  }
  const auto own = compare(Answer::kTruth, Answer::kReference, tolerance);
  if (!own) return own;
  // What f32 gave without any error, fewer bits or another formula must give, too.
  if (exact && own->max_finite_error == 0) {
    Tolerance strict{exactness(inputs), 0, tolerance.non_finite};
    if (own->max_rel_error > 0) strict = numbers_alone(strict);
    auto strictly = compare(Answer::kReference, Answer::kCandidate, strict);
    if (strictly)
      strictly->perhaps_by_chance =
          plain->ok() && (inputs == InputSet::kWide || strictly->max_finite_error <= kOffByChance);
    if (strictly && !strictly->ok() && plain->ok()) {
      const auto at_all = compare(Answer::kReference, Answer::kCandidate,
                                  Tolerance{0x1p-40, 0, tolerance.non_finite});
      if (at_all && rounds_otherwise(*at_all, inputs)) {
        const auto each = compare(Answer::kReference, Answer::kCandidate,
                                  each_place(*at_all, tolerance.non_finite));
        if (each && each->mismatches == 0) return plain;
      }
    }
    if (!strictly || !strictly->ok() || own->max_rel_error == 0) return strictly;
  }
  if (plain->ok()) return plain;
  Tolerance looser = loosened(tolerance, std::max(own->max_finite_error, cost));
  const bool lost = 2 * kTimesItsError * own->norm_error > kMostLoosened * tolerance.rtol;
  if (may_lose_all_digits(inputs) && lost)
    looser.rtol = std::max(looser.rtol, kTimesItsError * own->max_finite_error);
  auto against_truth = compare(Answer::kTruth, Answer::kCandidate, looser);
  if (!against_truth || against_truth->ok()) return against_truth;
  if (as_right(*against_truth, *own)) {
    against_truth->mismatches = 0;
    against_truth->norm_limit = 0;
    return against_truth;
  }
  // f32 overflows where double does not.
  if (little && own->max_rel_error > own->max_finite_error) looser = numbers_alone(looser);
  return compare(Answer::kReference, Answer::kCandidate, looser);
}

}  // namespace hone::check
