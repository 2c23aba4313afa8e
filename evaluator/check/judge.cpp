#include "evaluator/check/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "evaluator/check/made_up.h"

namespace hone::check {
namespace {

#define HONE_TAKE_OR_RETURN(name, expression) \
  auto name = (expression);                   \
  if (!(name)) return std::unexpected((name).error())

Result<Comparison> compared(const Elements& want, const Elements& got, const Tolerance& tolerance) {
  return compare(want.bytes, want.type, got.bytes, got.type, tolerance);
}

constexpr double kSurelyFull = 0x1p-17;  // by the norm: what f32 is off by after many operations

/// The difference over the size of `want`, both by the norm.
Result<double> norm_between(const Elements& want, const Elements& got) {
  HONE_TAKE_OR_RETURN(between, compared(want, got, Tolerance{}));
  return between->norm_error;
}

/// On the task's own inputs: right as a whole, but in every part?
Result<Judgement> judge_locally(const Question& q, const std::string& buffer,
                                const Comparison& plain, const Elements* truth,
                                const std::optional<Comparison>& against_truth) {
  const auto locally = [&](const Elements& want, double rms, const Elements& own,
                           const Elements& exact) {
    auto local = compare_locally(want, q.got, q.width, rms, q.tolerance, own, exact);
    if (local && local->first_mismatch >= 0 && !q.places.empty())
      local->first_mismatch = q.places[static_cast<std::size_t>(local->first_mismatch)];
    return local;
  };
  Judgement right{plain, ""};
  std::string detail;
  if (plain.ok()) {
    const Elements none;
    HONE_TAKE_OR_RETURN(local,
                        locally(q.want, plain.rms, truth ? q.want : none, truth ? *truth : none));
    if (truth != nullptr ? local->ok() : local->mostly_ok()) return right;
    detail = describe(*local, buffer, q.want.type, q.got.type);
  }
  if (against_truth && against_truth->ok()) {
    HONE_TAKE_OR_RETURN(local, locally(*truth, against_truth->rms, q.want, *truth));
    right.comparison = *against_truth;
    if (local->ok()) return right;
    if (detail.empty()) detail = describe(*local, buffer, truth->type, q.got.type);
  }
  right.detail = std::move(detail);
  return right;
}

Result<Judgement> judge_own(const Question& q, const std::string& buffer) {
  HONE_TAKE_OR_RETURN(plain, compared(q.want, q.got, q.tolerance));
  if (plain->ok()) {
    HONE_TAKE_OR_RETURN(local, compare_locally(q.want, q.got, q.width, plain->rms, q.tolerance));
    if (local->ok()) return Judgement{*plain, ""};
  }
  const Elements truth = q.truth();
  if (truth.bytes.empty()) {
    if (!plain->ok()) return Judgement{*plain, ""};
    return judge_locally(q, buffer, *plain, nullptr, std::nullopt);
  }
  HONE_TAKE_OR_RETURN(against_truth, compared(truth, q.got, q.tolerance));
  if (!plain->ok() && !against_truth->ok()) return Judgement{*plain, ""};
  return judge_locally(q, buffer, *plain, &truth, *against_truth);
}

/// Rounding errors add up like steps in any direction: by the root of their number. Of as many
/// operations as `usual`, or more, an answer may be off by all that the limits below allow.
double share_of(double operations, double usual, double least) {
  if (operations <= 0) return 1;
  return std::clamp(std::sqrt(operations / usual), least, 1.0);
}

/// Whatever the formula, f32 is off by about what the last bits of its inputs are worth, and tf32
/// or f16 by thousands of times that. What bits are worth is measured: how far the reference moves
/// when its inputs are rounded to bf16.
Result<Judgement> judge_bits(const Question& q, const std::string& buffer, Judgement judged) {
  constexpr double kTimesItsOwn = 8;  // of the reference's error
  const double share = share_of(q.operations, 1024, 1.0 / 8);
  const double surely_full = kSurelyFull * share;
  const double seven_bits_more = 0x1p-7 * share;  // than bf16 has: four more than tf32 and f16
  HONE_TAKE_OR_RETURN(apart, norm_between(q.want, q.got));
  if (*apart <= surely_full) return judged;
  const Elements truth = q.truth();
  if (truth.bytes.empty()) return judged;
  HONE_TAKE_OR_RETURN(error, norm_between(truth, q.got));
  HONE_TAKE_OR_RETURN(own, norm_between(truth, q.want));
  if (*error <= std::max(surely_full, kTimesItsOwn * *own)) return judged;
  const Elements coarse = q.coarse();
  if (coarse.bytes.size() != q.want.bytes.size()) return judged;
  HONE_TAKE_OR_RETURN(worth, norm_between(truth, coarse));
  if (*error <= seven_bits_more * *worth) return judged;
  judged.detail = fmt::format(
      "{} has fewer bits than f32 gives: by the norm it is off by {:.1e}, the reference by {:.1e}, "
      "and the reference on inputs rounded to bf16 by {:.1e}; that needs a task whose math is "
      "reduced",
      buffer, *error, *own, *worth);
  return judged;
}

/// What products of TF32 lose grows where sums cancel, and by how much is measured: on inputs that
/// are rounded so, the reference is off as an honest candidate is. Right is what is near that
/// answer, and what is off from the true one by a few times as much.
Result<Judgement> judge_as_tf32(const Question& q, const std::string& buffer, Judgement judged) {
  const Elements rounded = q.rounded();
  if (rounded.bytes.empty()) return judged;
  const Elements known = q.truth();
  const Elements truth = known.bytes.empty() ? q.want : known;
  HONE_TAKE_OR_RETURN(own, compared(truth, rounded, q.tolerance));
  const std::pair<Elements, Tolerance> ways[] = {
      {rounded, q.tolerance}, {truth, loosened(q.tolerance, own->max_finite_error)}};
  for (const auto& [want, allowed] : ways) {
    HONE_TAKE_OR_RETURN(plain, compared(want, q.got, allowed));
    if (!plain->ok()) continue;
    HONE_TAKE_OR_RETURN(local,
                        compare_locally(want, q.got, q.width, plain->rms, allowed, rounded, truth));
    if (local->ok()) {
      HONE_TAKE_OR_RETURN(off, compared(truth, q.got, allowed));
      plain->max_rel_error = off->max_rel_error;
      return Judgement{*plain, ""};
    }
    judged = {*plain, describe(*local, buffer, want.type, q.got.type)};
  }
  return judged;
}

/// At least the bits of TF32: bf16 has three fewer, and so is off by eight times as much. Half way,
/// by the norm, lies the limit; operands that are computed first are rounded once more.
Result<Judgement> judge_bits_of_tf32(const Question& q, const std::string& buffer,
                                     Judgement judged) {
  constexpr double kHalfWay = 2.83;      // times what inputs rounded to TF32 cost
  constexpr double kNothing = 0x1p-20;   // they cost: they have no more bits
  constexpr double kSurely = 0x1.6p-11;  // then what is computed of them may be rounded: half way
  constexpr double kTimesItsOwn = 8;     // of the reference's error
  constexpr std::int64_t kFewElements = 64;  // of so few, chance decides
  if (judged.comparison.elements < kFewElements) return judged;
  HONE_TAKE_OR_RETURN(apart, norm_between(q.want, q.got));
  if (*apart <= kSurelyFull) return judged;
  const Elements rounded = q.rounded();
  if (rounded.bytes.empty()) return judged;
  const Elements known = q.truth();
  const Elements truth = known.bytes.empty() ? q.want : known;
  HONE_TAKE_OR_RETURN(error, norm_between(truth, q.got));
  HONE_TAKE_OR_RETURN(own, norm_between(truth, q.want));
  HONE_TAKE_OR_RETURN(worth, norm_between(truth, rounded));
  const double limit = *worth <= kNothing ? kSurely : kHalfWay * *worth;
  if (*error <= std::max({kSurelyFull, kTimesItsOwn * *own, limit})) return judged;
  judged.detail = fmt::format(
      "{} has fewer bits than TF32 gives: by the norm it is off by {:.1e}, and the reference on "
      "inputs rounded to TF32 ({}) by {:.1e}; that needs a task whose math is reduced",
      buffer, *error, kTf32Rounding, *worth);
  return judged;
}

/// The same of f64. Nothing is more exact than the reference, so what the order of a sum may
/// change, which grows with its length, is allowed whatever it is worth.
Result<Judgement> judge_bits_of_doubles(const Question& q, const std::string& buffer,
                                        Judgement judged) {
  const double share = share_of(q.operations, 65536, 1.0 / 32);
  const double surely_enough = 0x1p-43 * share;  // by the norm
  const double far_more_bits = 0x1p-36 * share;  // than bf16 has: nine fewer than f64
  HONE_TAKE_OR_RETURN(apart, compared(q.want, q.got, Tolerance{}));
  if (apart->norm_error <= surely_enough) return judged;
  const Elements coarse = q.coarse();
  if (coarse.bytes.size() != q.want.bytes.size()) return judged;
  HONE_TAKE_OR_RETURN(worth, compared(q.want, coarse, Tolerance{}));
  if (apart->norm_error <= far_more_bits * worth->norm_error) return judged;
  judged.detail = fmt::format(
      "{} has fewer bits than f64 gives: by the norm it is off by {:.1e}, and the reference on "
      "inputs rounded to bf16 by {:.1e}; that needs a task whose math is reduced",
      buffer, apart->norm_error, worth->norm_error);
  return judged;
}

Result<Judgement> judge_made_up(const Question& q, const std::string& buffer) {
  Elements known, rounded;
  const auto is = [&](Answer answer) -> const Elements& {
    switch (answer) {
      case Answer::kTruth:
        return known;
      case Answer::kRounded:
        return rounded;
      default:
        return answer == Answer::kReference ? q.want : q.got;
    }
  };
  const auto truth = [&] {
    known = q.truth();
    return Result<bool>(!known.bytes.empty());
  };
  const auto round = [&] {
    if (q.rounded) rounded = q.rounded();
    return Result<bool>(!rounded.bytes.empty());
  };
  HONE_TAKE_OR_RETURN(decides, check::judge_made_up(
                                   q.tolerance, q.inputs, q.exact,
                                   [&](Answer want, Answer got, const Tolerance& tolerance) {
                                     return compared(is(want), is(got), tolerance);
                                   },
                                   truth, round));
  if (!decides->ok() || !q.locally || !is_float(q.got.type)) return Judgement{*decides, ""};
  // As on the task's own inputs, where that can be told from what the reference itself gets wrong.
  HONE_TAKE_OR_RETURN(plain, compared(q.want, q.got, q.tolerance));
  if (!plain->ok()) return Judgement{*decides, ""};
  HONE_TAKE_OR_RETURN(local, compare_locally(q.want, q.got, q.width, plain->rms, q.tolerance));
  if (local->ok()) return Judgement{*decides, ""};
  const Elements exact = q.truth();
  if (exact.bytes.empty()) return Judgement{*decides, ""};
  HONE_TAKE_OR_RETURN(against_truth, compared(exact, q.got, q.tolerance));
  return judge_locally(q, buffer, *plain, &exact, *against_truth);
}

}  // namespace

Result<Judgement> judge(const Question& question, const std::string& buffer) {
  auto judged = question.inputs == InputSet::kOwn ? judge_own(question, buffer)
                                                  : judge_made_up(question, buffer);
  const bool as_tf32 =
      question.rounded && question.inputs == InputSet::kOwn && is_float(question.got.type);
  if (judged && !judged->ok() && as_tf32)
    judged = judge_as_tf32(question, buffer, *std::move(judged));
  if (judged && judged->ok() && as_tf32)
    judged = judge_bits_of_tf32(question, buffer, *std::move(judged));
  if (judged && judged->ok() && question.coarse && question.inputs == InputSet::kOwn &&
      is_float(question.got.type))
    judged = question.in_doubles && question.got.type == ScalarType::kF64
                 ? judge_bits_of_doubles(question, buffer, *std::move(judged))
                 : judge_bits(question, buffer, *std::move(judged));
  if (judged && !question.places.empty())
    for (std::int64_t* at : {&judged->comparison.first_mismatch, &judged->comparison.worst})
      if (*at >= 0) *at = question.places[static_cast<std::size_t>(*at)];
  return judged;
}

}  // namespace hone::check
