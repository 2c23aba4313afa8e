// Points of the histogram's space at which its tests are done, and problems of several tests.
#pragma once

#include <functional>

#include "rewriters/schedules/histogram/histogram.h"
#include "tests/unit/schedules/harness.h"

namespace hone::schedules {

inline ParameterValue number(std::int64_t value) { return value; }
inline ParameterValue word(const char* text) { return std::string(text); }

inline const std::vector<Choice> kPoints = {
    {},
    {{"tables", word("shared")},
     {"copies", number(1)},
     {"vector", number(1)},
     {"items", number(1)},
     {"threads", number(64)}},
    {{"tables", word("shared")}, {"copies", number(4)}, {"items", number(2)}},
    {{"tables", word("shared")},
     {"copies", number(2)},
     {"copy_of", word("warp")},
     {"threads", number(128)},
     {"merge", word("runs")}},
    {{"tables", word("shared")},
     {"parts", number(2)},
     {"copies", number(2)},
     {"threads", number(64)},
     {"cache", word("stream")}},
    {{"tables", word("none")}, {"threads", number(64)}, {"items", number(2)}},
    {{"tables", word("none")}, {"merge", word("runs")}, {"packed_atomics", number(0)}},
};
/// For counts alone.
inline const std::vector<Choice> kMatches = {
    {{"tables", word("shared")}, {"merge", word("match")}, {"threads", number(64)}},
    {{"tables", word("none")}, {"merge", word("match")}, {"items", number(2)}},
    {{"tables", word("shared")},
     {"merge", word("match")},
     {"parts", number(2)},
     {"vector", number(1)}},
};

using Make = std::function<void(Problem&)>;

inline void at(const std::vector<Choice>& points, const Make& make, double tolerance = 2e-5) {
  const auto generator = make_histogram();
  for (const Choice& choice : points) {
    Problem problem;
    make(problem);
    expect_right(*generator, problem, choice, tolerance);
  }
}

inline Ref modulo(Problem& p, Ref key, std::int64_t bins) {
  return p.nodes.remainder(key, p.nodes.integer(bins));
}

/// counts[keys[i] % bins] += 1, as baselines/histogram.
inline void count_keys(Problem& p, std::int64_t keys, std::int64_t bins,
                       ScalarType type = ScalarType::kI32, double most = 1000000) {
  p.in("keys", {keys}, type, 0, most);
  p.inout("counts", {bins}, ScalarType::kI32);
  const SymbolId i = p.symbol("i", keys);
  p.store("counts", {i}, {modulo(p, p.load("keys", {p.at(i)}), bins)}, p.nodes.integer(1),
          Op::kAdd);
}

}  // namespace hone::schedules
