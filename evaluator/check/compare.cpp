#include "evaluator/check/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "evaluator/fill/formula_cpu.h"

namespace hone::check {
namespace {

std::uint64_t element(std::span<const std::uint8_t> bytes, std::size_t index, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * size, size);
  return bits;
}

}  // namespace

Result<Comparison> compare(std::span<const std::uint8_t> want, std::span<const std::uint8_t> got,
                           ScalarType type, const Tolerance& tolerance) {
  const std::size_t size = size_of(type);
  if (want.size() != got.size() || want.size() % size != 0) {
    return fail(ErrorCode::kInternal, fmt::format("compare: {} and {} bytes of {}", want.size(),
                                                  got.size(), to_string(type)));
  }
  const std::size_t n = want.size() / size;
  const int t = static_cast<int>(type);
  Comparison c;
  double squares = 0;
  std::size_t finite = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double v = hone_decode(t, element(want, i, size));
    if (!std::isfinite(v)) continue;
    squares += v * v;
    ++finite;
  }
  c.rms = finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  if (!std::isfinite(c.rms)) c.rms = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto w = element(want, i, size);
    const auto g = element(got, i, size);
    int bad = 0;
    const double error = hone_error(t, w, g, c.rms, tolerance.rtol, tolerance.atol, &bad);
    if (c.worst < 0 || error > c.max_rel_error) {
      c.worst = static_cast<std::int64_t>(i);
      c.max_rel_error = error;
    }
    if (bad == 0) continue;
    ++c.mismatches;
    if (c.first_mismatch < 0) {
      c.first_mismatch = static_cast<std::int64_t>(i);
      c.want_bits = w;
      c.got_bits = g;
    }
  }
  return c;
}

std::string element_text(ScalarType type, std::uint64_t bits) {
  switch (type) {
    case ScalarType::kBool:
      return bits == 0 ? "false" : "true";
    case ScalarType::kI64:
      return fmt::format("{}", static_cast<std::int64_t>(bits));
    default:
      return fmt::format("{:.9g}", hone_decode(static_cast<int>(type), bits));
  }
}

std::string describe(const Comparison& c, const std::string& buffer, ScalarType type,
                     std::int64_t elements) {
  return fmt::format(
      "{}[{}] is {}, want {} ({} of {} elements differ, largest relative error {:.3g})", buffer,
      c.first_mismatch, element_text(type, c.got_bits), element_text(type, c.want_bits),
      c.mismatches, elements, c.max_rel_error);
}

}  // namespace hone::check
