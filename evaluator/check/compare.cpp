#include "evaluator/check/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "evaluator/check/finite.h"
#include "evaluator/fill/formula_cpu.h"

namespace hone::check {
namespace {

std::uint64_t element(std::span<const std::uint8_t> bytes, std::size_t index, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * size, size);
  return bits;
}

}  // namespace

double norm_limit_of(ScalarType type, const Tolerance& tolerance, double rms) {
  return is_float(type) && rms > 0 && tolerance.rtol > 0 ? kNormFactor * tolerance.rtol : 0;
}

Tolerance same_bits(Tolerance tolerance) {
  tolerance.rtol = HONE_SAME_BITS;
  tolerance.atol = 0;
  return tolerance;
}

FiniteRule rule_of(NonFinite non_finite) {
  // The share was looked at when the task was admitted; another seed may give a few more.
  constexpr double kNearlyAll = 0.99;
  switch (non_finite) {
    case NonFinite::kFew:
      return {HONE_CLASSES, kNearlyAll};
    case NonFinite::kMadeUp:
      return {HONE_OVERFLOW, least_finite(non_finite)};
    case NonFinite::kNumbers:
      return {HONE_NUMBERS, least_finite(non_finite)};
    case NonFinite::kSame:
      return {HONE_CLASSES, least_finite(non_finite)};
    default:
      return {HONE_NEVER, 1};
  }
}

Result<Comparison> compare(std::span<const std::uint8_t> want, ScalarType want_type,
                           std::span<const std::uint8_t> got, ScalarType type,
                           const Tolerance& tolerance) {
  const std::size_t size = size_of(type), want_size = size_of(want_type);
  const std::size_t n = want.size() / want_size;
  if (want.size() % want_size != 0 || got.size() != n * size ||
      (want_type != type && !(is_float(want_type) && is_float(type)))) {
    return fail(ErrorCode::kInternal,
                fmt::format("compare: {} bytes of {} and {} of {}", want.size(),
                            to_string(want_type), got.size(), to_string(type)));
  }
  const int t = static_cast<int>(type), wt = static_cast<int>(want_type);
  Comparison c;
  c.want_type = want_type;
  c.elements = static_cast<std::int64_t>(n);
  const double limit = hone_limit(t);
  double squares = 0;
  std::size_t finite = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double v = hone_decode(wt, element(want, i, want_size));
    if (is_float(type) && hone_is_finite(v, limit) == 0) {
      ++c.non_finite;
      continue;
    }
    squares += v * v;
    c.zeros += v == 0 ? 1 : 0;
    ++finite;
  }
  c.rms = finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  if (!std::isfinite(c.rms)) c.rms = 0;
  FiniteRule rule = rule_of(tolerance.non_finite);
  if (static_cast<double>(finite) < rule.least_finite * static_cast<double>(n))
    rule.equality = HONE_NEVER;
  double differences = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto w = element(want, i, want_size);
    const auto g = element(got, i, size);
    int bad = 0;
    const double error =
        hone_error(wt, w, t, g, c.rms, tolerance.rtol, tolerance.atol, rule.equality, &bad);
    if (error > 0) {
      const double difference = hone_decode(t, g) - hone_decode(wt, w);
      if (std::isfinite(difference)) differences += difference * difference;
    }
    if (c.worst < 0 || error > c.max_rel_error) {
      c.worst = static_cast<std::int64_t>(i);
      c.max_rel_error = error;
    }
    if (std::isfinite(error)) c.max_finite_error = std::max(c.max_finite_error, error);
    if (bad == 0) continue;
    ++c.mismatches;
    if (c.first_mismatch < 0) {
      c.first_mismatch = static_cast<std::int64_t>(i);
      c.want_bits = w;
      c.got_bits = g;
    }
  }
  if (c.rms > 0 && n > 0) c.norm_error = std::sqrt(differences / static_cast<double>(n)) / c.rms;
  c.norm_limit = norm_limit_of(type, tolerance, c.rms);
  return c;
}

std::int64_t first_no_bool(std::span<const std::uint8_t> bytes, ScalarType type) {
  if (type != ScalarType::kBool) return -1;
  const auto found = std::ranges::find_if(bytes, [](std::uint8_t byte) { return byte > 1; });
  return found == bytes.end() ? -1 : found - bytes.begin();
}

std::string element_text(ScalarType type, std::uint64_t bits) {
  switch (type) {
    case ScalarType::kBool:
      return bits > 1 ? fmt::format("{} (no bool)", bits) : bits == 0 ? "false" : "true";
    case ScalarType::kI64:
      return fmt::format("{}", static_cast<std::int64_t>(bits));
    case ScalarType::kU64:
      return fmt::format("{}", bits);
    default:
      return fmt::format("{:.9g}", hone_decode(static_cast<int>(type), bits));
  }
}

Tolerance loosened(Tolerance tolerance, double reference_error) {
  tolerance.rtol =
      std::clamp(kTimesItsError * reference_error, tolerance.rtol, kMostLoosened * tolerance.rtol);
  return tolerance;
}

Tolerance loosened_blindly(Tolerance tolerance) {
  constexpr double kFactor = 10;
  tolerance.rtol *= kFactor;
  return tolerance;
}

bool mostly_non_finite(const Comparison& comparison, const Tolerance& tolerance) {
  return tolerance.non_finite == NonFinite::kMadeUp &&
         2 * comparison.non_finite > comparison.elements;
}

Tolerance numbers_alone(Tolerance tolerance) {
  tolerance.non_finite = NonFinite::kNumbers;
  return tolerance;
}

bool as_right(const Comparison& candidate, const Comparison& reference) {
  constexpr std::int64_t kTimesItsMismatches = 4, kOneOf = 1000, kAndOneOf = 10'000;
  constexpr double kLargest =
      4;  // of max(|want|, rms); infinite where a NaN or infinity is not wanted
  return is_float(reference.want_type) && reference.mismatches > 0 &&
         reference.mismatches <= reference.elements / kOneOf &&
         candidate.mismatches <=
             kTimesItsMismatches * reference.mismatches + reference.elements / kAndOneOf &&
         candidate.max_rel_error <= kLargest &&
         candidate.norm_error <= std::max(candidate.norm_limit, 2 * reference.norm_error);
}

std::string describe(const Comparison& c, const std::string& buffer, ScalarType type,
                     std::int64_t elements) {
  if (c.mismatches == 0)
    return fmt::format("{} as a whole differs by {:.3g} of its size (rms); at most {:.3g} may be",
                       buffer, c.norm_error, c.norm_limit);
  return fmt::format(
      "{}[{}] is {}, want {} ({} of {} elements differ, largest relative error {:.3g})", buffer,
      c.first_mismatch, element_text(type, c.got_bits), element_text(c.want_type, c.want_bits),
      c.mismatches, elements, c.max_rel_error);
}

}  // namespace hone::check
