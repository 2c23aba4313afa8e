#include "candidates/pytorch/index_ranges.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>

namespace hone::pytorch {

struct WholeNode {
  std::string operation;  ///< "": an interval; "buffer": an element of one
  std::vector<Whole> operands;
  Interval interval;
  int buffer = -1;
  std::size_t nodes = 1;  ///< of the whole expression, shared ones counted each time
};

namespace index_ranges {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;
using Ranges = std::map<int, Interval>;
using Maybe = std::optional<Interval>;

/// Empty where it grows beyond what indexes anything.
Maybe checked(Interval made) {
  if (made.low < -kMost || made.high > kMost) return std::nullopt;
  return made;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

Interval corners(const Interval& a, const Interval& b,
                 std::int64_t (*combine)(std::int64_t, std::int64_t)) {
  const std::array all = {combine(a.low, b.low), combine(a.low, b.high), combine(a.high, b.low),
                          combine(a.high, b.high)};
  return {*std::ranges::min_element(all), *std::ranges::max_element(all)};
}

Maybe of_two(const std::string& operation, const Interval& a, const Interval& b) {
  if (operation == "add") return checked({a.low + b.low, a.high + b.high});
  if (operation == "sub") return checked({a.low - b.high, a.high - b.low});
  if (operation == "rsub") return checked({b.low - a.high, b.high - a.low});
  if (operation == "mul") {
    constexpr std::int64_t kFactor = std::int64_t{1} << 20;
    const bool small = std::max(std::abs(a.low), std::abs(a.high)) <= kFactor &&
                       std::max(std::abs(b.low), std::abs(b.high)) <= kFactor;
    if (!small) return std::nullopt;
    return checked(corners(a, b, [](std::int64_t x, std::int64_t y) { return x * y; }));
  }
  if (operation == "floor_divide" && b.low > 0) return corners(a, b, floor_div);
  if (operation == "remainder" && b.low > 0) {
    if (a.low >= 0 && a.high < b.low) return a;
    return Interval{0, b.high - 1};
  }
  if (operation == "maximum" || operation == "clamp_min") {
    return Interval{std::max(a.low, b.low), std::max(a.high, b.high)};
  }
  if (operation == "minimum" || operation == "clamp_max") {
    return Interval{std::min(a.low, b.low), std::min(a.high, b.high)};
  }
  if (operation == "either") return Interval{std::min(a.low, b.low), std::max(a.high, b.high)};
  return std::nullopt;
}

Maybe interval_of(const Whole& whole, const Ranges& ranges) {
  if (whole->operation.empty()) return whole->interval;
  if (whole->operation == "buffer") {
    const auto found = ranges.find(whole->buffer);
    return found == ranges.end() ? Maybe() : Maybe(found->second);
  }
  std::vector<Interval> operands;
  for (const Whole& operand : whole->operands) {
    const Maybe one = interval_of(operand, ranges);
    if (!one) return std::nullopt;
    operands.push_back(*one);
  }
  const Interval& a = operands[0];
  if (operands.size() == 2) return of_two(whole->operation, a, operands[1]);
  if (whole->operation == "neg") return Interval{-a.high, -a.low};
  if (whole->operation == "abs") {
    const std::int64_t most = std::max(std::abs(a.low), std::abs(a.high));
    return Interval{a.low <= 0 && a.high >= 0 ? 0 : std::min(std::abs(a.low), std::abs(a.high)),
                    most};
  }
  return a;  // the same
}

void add_buffers(const Whole& whole, std::set<int>& buffers) {
  if (whole->operation == "buffer") buffers.insert(whole->buffer);
  for (const Whole& operand : whole->operands) add_buffers(operand, buffers);
}

bool all_hold(const std::vector<const IndexUse*>& uses, const Ranges& ranges) {
  return std::ranges::all_of(uses, [&](const IndexUse* use) {
    const Maybe interval = interval_of(use->whole, ranges);
    return interval && interval->low >= use->within.low && interval->high <= use->within.high;
  });
}

/// Ranges from `low` on, of at most `width` more, within what is given; empty: there are none.
std::optional<Ranges> narrowed(const Ranges& given, std::int64_t low, std::int64_t width) {
  Ranges ranges;
  for (const auto& [buffer, range] : given) {
    const std::int64_t from = std::max(range.low, low);
    const Interval one{from, std::min(range.high, from + width)};
    if (one.high < one.low) return std::nullopt;
    ranges[buffer] = one;
  }
  return ranges;
}

}  // namespace
}  // namespace index_ranges

Whole whole_of_buffer(int buffer) {
  return std::make_shared<WholeNode>(WholeNode{"buffer", {}, {}, buffer, 1});
}

Whole whole_between(Interval interval) {
  return std::make_shared<WholeNode>(WholeNode{"", {}, interval, -1, 1});
}

Whole whole_made(std::string_view operation, std::vector<Whole> operands) {
  static const std::set<std::string_view> kOne = {"neg", "abs", "same"};
  static const std::set<std::string_view> kTwo = {"add",          "sub",       "rsub",    "mul",
                                                  "floor_divide", "remainder", "maximum", "minimum",
                                                  "clamp_min",    "clamp_max", "either"};
  const bool known = (operands.size() == 1 && kOne.contains(operation)) ||
                     (operands.size() == 2 && kTwo.contains(operation));
  if (!known || std::ranges::find(operands, nullptr) != operands.end()) return nullptr;
  // What is made of thousands of operations is not gone over again for every range that is tried.
  constexpr std::size_t kMostNodes = 256;
  WholeNode node{std::string(operation), std::move(operands), {}, -1, 1};
  for (const Whole& operand : node.operands) node.nodes += operand->nodes;
  if (node.nodes > kMostNodes) return nullptr;
  return std::make_shared<WholeNode>(std::move(node));
}

std::optional<int> unchanged_buffer(const Whole& whole) {
  if (whole == nullptr) return std::nullopt;
  if (whole->operation == "buffer") return whole->buffer;
  return whole->operation == "same" ? unchanged_buffer(whole->operands[0]) : std::nullopt;
}

std::map<int, Interval> ranges_for(const std::vector<IndexUse>& uses,
                                   const std::map<int, Interval>& given) {
  using namespace index_ranges;
  std::map<int, Interval> found;
  // Indices that share a buffer are looked at together.
  std::vector<std::set<int>> of_use;
  for (const IndexUse& use : uses) add_buffers(use.whole, of_use.emplace_back());
  std::set<int> done;
  for (const auto& [first, range] : given) {
    if (done.contains(first)) continue;
    std::set<int> group = {first};
    for (bool grows = true; grows;) {
      grows = false;
      for (const std::set<int>& buffers : of_use) {
        const bool meets =
            std::ranges::any_of(buffers, [&](int buffer) { return group.contains(buffer); });
        if (!meets) continue;
        for (const int buffer : buffers) grows = group.insert(buffer).second || grows;
      }
    }
    done.insert(group.begin(), group.end());
    std::vector<const IndexUse*> ours;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (!of_use[i].empty() && group.contains(*of_use[i].begin())) ours.push_back(&uses[i]);
    }
    Ranges limits;
    std::int64_t widest = 0;
    for (const int buffer : group) {
      const auto limit = given.find(buffer);
      if (limit == given.end()) continue;
      limits.insert(*limit);
      widest = std::max(widest, limit->second.high - limit->second.low);
    }
    // The widest range from 0, 1, … on: what counts from 1 needs another begin.
    std::optional<Ranges> best;
    std::int64_t best_width = -1;
    for (std::int64_t low = 0; low <= 16; ++low) {
      const auto holds = [&](std::int64_t width) {
        const auto ranges = narrowed(limits, low, width);
        return ranges && all_hold(ours, *ranges) ? ranges : std::nullopt;
      };
      std::int64_t good = -1, bad = widest + 1;
      while (bad - good > 1) {
        const std::int64_t middle = good + (bad - good) / 2;
        (holds(middle) ? good : bad) = middle;
      }
      if (good <= best_width) continue;
      best = holds(good);
      best_width = good;
    }
    if (best) found.insert(best->begin(), best->end());
  }
  return found;
}

}  // namespace hone::pytorch
