#include "evaluator/check/fakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "evaluator/check/compare.h"
#include "evaluator/fill/formula_cpu.h"

namespace hone::check {
namespace {

std::uint64_t encode(ScalarType type, double value) {
  if (is_float(type)) return hone_encode_float(static_cast<int>(type), value);
  if (type == ScalarType::kBool) return value >= 0.5 ? 1 : 0;
  if (type == ScalarType::kU64)
    return value <= 0 ? 0 : value >= 0x1p64 ? ~0ULL : static_cast<std::uint64_t>(std::round(value));
  return static_cast<std::uint64_t>(std::llround(value));
}

double decode(ScalarType type, const std::uint8_t* bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, size_of(type));
  return hone_decode(static_cast<int>(type), bits);
}

template <class Value>
std::vector<std::uint8_t> made(ScalarType type, std::size_t n, Value value) {
  const std::size_t size = size_of(type);
  std::vector<std::uint8_t> out(n * size);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t bits = encode(type, value(i));
    std::memcpy(out.data() + i * size, &bits, size);
  }
  return out;
}

}  // namespace

Spread spread_of(std::span<const std::uint8_t> bytes, ScalarType type) {
  const std::size_t size = size_of(type);
  Spread result;
  double sum = 0, squares = 0;
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    const double v = decode(type, bytes.data() + at);
    if (!std::isfinite(v)) continue;
    sum += v;
    squares += v * v;
    ++result.count;
  }
  if (result.count == 0) return result;
  const auto count = static_cast<double>(result.count);
  result.mean = sum / count;
  result.deviation = std::sqrt(std::max(0.0, squares / count - result.mean * result.mean));
  return result;
}

std::string would_pass(const std::string& buffer, const std::string& fake) {
  return fmt::format(
      "instead of '{}', {} would pass: a lower tolerance, or inputs that change the answer more, "
      "are needed",
      buffer, fake);
}

void Survivors::add(double elements, std::string fake) {
  whole_ += elements;
  if (fake.empty()) return;
  flat_ += elements;
  fakes_.push_back(std::move(fake));
}

std::string Survivors::refusal() const { return flat_ > kMostFlat * whole_ ? fakes_.front() : ""; }

std::vector<std::string> Survivors::let_pass() const {
  return refusal().empty() ? fakes_ : std::vector<std::string>();
}

void Fakes::note(TriedFake fake) {
  const auto known = std::ranges::find_if(tried_, [&](const TriedFake& one) {
    return one.buffer == fake.buffer && one.fake == fake.fake;
  });
  if (known == tried_.end()) {
    tried_.push_back(std::move(fake));
    return;
  }
  known->passed = known->passed && fake.passed;
  known->exact = known->exact && fake.exact;
}

void Fakes::add(const std::vector<TriedFake>& tried) {
  for (const TriedFake& fake : tried) note(fake);
}

void Fakes::see(
    const ConcreteBuffer& output, std::span<const std::uint8_t> want,
    const std::vector<std::pair<const ConcreteBuffer*, std::vector<std::uint8_t>>>& inputs) {
  const ScalarType type = output.type;
  const std::size_t size = size_of(type), n = want.size() / size;
  const auto attempt = [&](const std::string& fake, const std::vector<std::uint8_t>& got) {
    const auto comparison = compare(want, got, type, tolerance_);
    note({.buffer = output.name,
          .fake = fake,
          .passed = comparison && comparison->ok(),
          .exact = std::ranges::equal(got, want)});
  };
  attempt("zeros", std::vector<std::uint8_t>(want.size(), 0));
  if (const Spread spread = spread_of(want, type); spread.count >= kFewestForStatistics) {
    attempt("their mean everywhere", made(type, n, [&](std::size_t) { return spread.mean; }));
    attempt("random numbers of the same mean and deviation", made(type, n, [&](std::size_t i) {
              return spread.mean + spread.deviation * hone_normal(77, i);
            }));
  }
  for (const auto& [buffer, bytes] : inputs) {
    const std::size_t step = size_of(buffer->type);
    if (bytes.size() / step != n) continue;
    attempt(fmt::format("a copy of '{}'", buffer->name), made(type, n, [&](std::size_t i) {
              return decode(buffer->type, bytes.data() + i * step);
            }));
  }
}

Survivors Fakes::survivors(const std::map<std::string, double>& elements) const {
  Survivors survivors;
  std::set<std::string> counted;
  for (const TriedFake& one : tried_) {
    if (!one.passed || (one.exact && one.fake.starts_with("a copy"))) continue;
    const auto known = elements.find(one.buffer);
    if (known == elements.end()) {  // of no output: nothing says how small it is
      Survivors unknown;
      unknown.add(1, would_pass(one.buffer, one.fake));
      return unknown;
    }
    if (counted.insert(one.buffer).second)
      survivors.add(known->second, would_pass(one.buffer, one.fake));
  }
  for (const auto& [buffer, count] : elements)
    if (!counted.contains(buffer)) survivors.add(count, "");
  return survivors;
}

}  // namespace hone::check
