#include "evaluator/further_checks.h"

#include <algorithm>
#include <array>
#include <utility>

namespace hone {
namespace {

using protocol::Case;

constexpr std::uint64_t kFinalSchedules = 3;
// For which checks [warp instructions of the reference].
constexpr std::uint64_t kQuickReordered = 400'000, kFinalReordered = 4'000'000;
constexpr std::uint64_t kMostExchanging = 60'000'000;  // likewise, of all together

struct Parallel {
  bool blocks = false, warps = false;
};

/// Of a check's program, in any launch.
Parallel several_of(const Case& one) {
  constexpr std::int64_t kWarp = 32;
  Parallel several;
  for (const auto& launch : (one.candidate ? *one.candidate : one.reference).program.launches) {
    several.blocks = several.blocks || launch.grid[0] * launch.grid[1] * launch.grid[2] > 1;
    several.warps = several.warps || launch.block[0] * launch.block[1] * launch.block[2] > kWarp;
  }
  return several;
}

std::int64_t bytes_of(const ConcreteProgram& program) {
  std::int64_t bytes = 0;
  for (const auto& buffer : program.buffers) bytes += buffer.bytes();
  return bytes;
}

/// 0 of none.
std::size_t check_to_reorder(const std::vector<Case>& checks,
                             const std::vector<KnownReference>& known, std::uint64_t most) {
  // Several blocks before several warps before much work; what is too much, after what is not.
  using Rank = std::array<std::uint64_t, 3>;
  const auto rank = [&](std::size_t i) -> Rank {
    if (checks[i].in_part) return {};
    const auto [blocks, warps] = several_of(checks[i]);
    const std::uint64_t work = known[i].work;
    return {known[i].usable ? std::uint64_t{1} + (work <= most ? 1 : 0) : 0,
            std::uint64_t{2} * (blocks ? 1 : 0) + (warps ? 1 : 0), work <= most ? work : ~work};
  };
  std::size_t best = 0;
  Rank highest{};
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Rank own = rank(i);
    if (own > highest) {
      highest = own;
      best = i;
    }
  }
  return best;
}

std::set<std::size_t> exchanging_checks(const std::vector<Case>& checks,
                                        const std::vector<KnownReference>& known) {
  std::vector<std::pair<std::uint64_t, std::size_t>> by_work;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Case& one = checks[i];
    const auto [blocks, warps] = several_of(one);
    if (!one.candidate || one.in_part || one.inputs != InputSet::kOwn || (!blocks && !warps))
      continue;
    if (known[i].exchanges && known[i].usable) by_work.emplace_back(known[i].work, i);
  }
  std::ranges::sort(by_work);
  std::set<std::size_t> chosen;
  std::uint64_t work = 0;
  for (const auto& [own, i] : by_work)
    if ((work += own) <= kMostExchanging || chosen.empty()) chosen.insert(i);
  return chosen;
}

}  // namespace

std::uint64_t FurtherChecks::schedules(std::size_t check) const {
  if (check == reordered) return is_final ? kFinalSchedules : 1;
  return exchanges.contains(check) ? 1 : 0;
}

bool looks_further(const protocol::EmulateRequest& request) {
  return request.is_final && !request.by_rules;
}

std::size_t smallest_check(const std::vector<Case>& checks) {
  const auto bytes = [](const Case& one) {
    const std::int64_t sum =
        bytes_of(one.reference.program) + (one.in_part ? std::int64_t{1} << 49 : 0);
    bool several = false;
    for (const auto& launch : (one.candidate ? *one.candidate : one.reference).program.launches)
      several = several || launch.grid[0] * launch.grid[1] * launch.grid[2] > 1;
    return several ? sum : sum + (std::int64_t{1} << 48);
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < checks.size(); ++i)
    if (bytes(checks[i]) < bytes(checks[best])) best = i;
  return best;
}

FurtherChecks further_checks(const protocol::EmulateRequest& request,
                             const std::vector<KnownReference>& known) {
  FurtherChecks result;
  result.is_final = request.is_final;
  result.reordered =
      check_to_reorder(request.checks, known, request.is_final ? kFinalReordered : kQuickReordered);
  result.called_often = request.is_final && !request.checks.empty() ? smallest_check(request.checks)
                                                                    : request.checks.size();
  if (looks_further(request)) result.exchanges = exchanging_checks(request.checks, known);
  return result;
}

bool is_split(const std::vector<Case>& checks, const FurtherChecks& further, std::size_t check) {
  return !checks[check].in_part && further.schedules(check) > 1;
}

std::vector<CheckItem> items_of(const std::vector<Case>& checks, const FurtherChecks& further) {
  std::vector<CheckItem> items;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    items.push_back({.check = i});
    if (!is_split(checks, further, i)) continue;
    for (int order = 1; std::cmp_less_equal(order, further.schedules(i)); ++order)
      items.push_back({.check = i, .order = order});
  }
  return items;
}

}  // namespace hone
