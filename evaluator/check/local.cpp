#include "evaluator/check/local.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "evaluator/check/compare.h"
#include "evaluator/fill/formula_cpu.h"

namespace hone::check {
namespace {

/// Of all elements: sums of random signs cancel now and then, and what is left has fewer digits. Of
/// normally distributed ones with errors of rtol itself, one in twelve.
constexpr std::int64_t kOneOfOff = 20, kOneOfOffUnexplained = 10, kOneOfMismatches = 20;
constexpr std::size_t kLanes = 32;

double value(const Elements& of, std::size_t index) {
  const std::size_t size = size_of(of.type);
  std::uint64_t bits = 0;
  std::memcpy(&bits, of.bytes.data() + index * size, size);
  return hone_decode(static_cast<int>(of.type), bits);
}

std::uint64_t bits_at(const Elements& of, std::size_t index) {
  const std::size_t size = size_of(of.type);
  std::uint64_t bits = 0;
  std::memcpy(&bits, of.bytes.data() + index * size, size);
  return bits;
}

/// As 32 lanes of a warp add, so that the bits are the GPU's.
double sum_of(double (&lanes)[kLanes]) {
  for (std::size_t distance = kLanes / 2; distance > 0; distance /= 2)
    for (std::size_t i = 0; i < distance; ++i) lanes[i] += lanes[i + distance];
  return lanes[0];
}

}  // namespace

bool LocalComparison::ok() const { return mismatches == 0 && off <= elements / kOneOfOff; }

bool LocalComparison::mostly_ok() const {
  return mismatches <= elements / kOneOfMismatches && off <= elements / kOneOfOffUnexplained;
}

bool has_local_rule(ScalarType type, const Tolerance& tolerance) {
  return is_float(type) && tolerance.rtol > 0;
}

Result<LocalComparison> compare_locally(Elements want, Elements got, std::int64_t width, double rms,
                                        const Tolerance& tolerance, Elements own, Elements truth) {
  const std::size_t n = want.bytes.size() / size_of(want.type);
  const bool explained = !truth.bytes.empty();
  if (got.bytes.size() != n * size_of(got.type) ||
      (explained && (own.bytes.size() != n * size_of(own.type) ||
                     truth.bytes.size() != n * size_of(truth.type))))
    return fail(ErrorCode::kInternal, "compare_locally: lengths differ");
  LocalComparison c;
  c.elements = static_cast<std::int64_t>(n);
  c.explained = explained;
  if (!has_local_rule(got.type, tolerance)) return c;
  const int type = static_cast<int>(got.type);
  const double limit = hone_limit(type);
  const hone_groups groups = hone_groups_of(n, static_cast<hone_u64>(width));
  for (hone_u64 group = 0; group < groups.count; ++group) {
    const std::size_t begin = hone_group_begin(groups, group), end = hone_group_end(groups, group);
    double squares[kLanes] = {}, counts[kLanes] = {};
    hone_local local{};
    for (std::size_t i = begin; i < end; ++i) {
      const double v = value(want, i);
      if (hone_is_finite(v, limit) != 0) {
        squares[(i - begin) % kLanes] += v * v;
        counts[(i - begin) % kLanes] += 1;
      }
      if (!explained) continue;
      const double difference = std::abs(value(own, i) - value(truth, i));
      if (hone_is_finite(difference, limit) != 0 && difference > local.error)
        local.error = difference;
    }
    const double count = sum_of(counts);
    const double root = count > 0 ? std::sqrt(sum_of(squares) / count) : 0;
    local.rms = std::isfinite(root) ? root : rms;
    for (std::size_t i = begin; i < end; ++i) {
      const int wrong = hone_local_error(type, value(want, i), value(got, i), local, rms,
                                         tolerance.rtol, tolerance.atol, limit);
      c.off += (wrong & 2) != 0 ? 1 : 0;
      if ((wrong & 1) == 0) continue;
      ++c.mismatches;
      if (c.first_mismatch >= 0) continue;
      c.first_mismatch = static_cast<std::int64_t>(i);
      c.want_bits = bits_at(want, i);
      c.got_bits = bits_at(got, i);
    }
  }
  return c;
}

std::string describe(const LocalComparison& c, const std::string& buffer, ScalarType want_type,
                     ScalarType type) {
  if (c.first_mismatch < 0)
    return fmt::format(
        "{} of {} elements of {} differ by more than ten times the tolerance of their own values",
        c.off, c.elements, buffer);
  return fmt::format(
      "{}[{}] is {}, want {}: {} of {} elements differ by the measure of their own rows", buffer,
      c.first_mismatch, element_text(type, c.got_bits), element_text(want_type, c.want_bits),
      c.mismatches, c.elements);
}

}  // namespace hone::check
