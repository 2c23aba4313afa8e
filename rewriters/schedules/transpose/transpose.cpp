#include "rewriters/schedules/transpose/transpose.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/schedules/map/plan.h"
#include "rewriters/schedules/space.h"
#include "rewriters/schedules/transpose/plan.h"

namespace hone::schedules {
namespace transpose {
namespace {

constexpr int kWidest = 8;
constexpr std::size_t kMostShared = 46000;  // bytes

/// The largest power of two up to `value`, within limits.
int power_of_two(std::int64_t value, int least, int most) {
  int power = least;
  while (power < most && power * 2 <= value) power *= 2;
  return power;
}

class Transpose : public Generator {
 public:
  std::string_view name() const override { return "generate-transpose"; }
  std::string_view summary() const override {
    return "elementwise nests that load along another dim than they store => tiles turned in "
           "shared memory; legal when there is no reduction";
  }

  Result<Offer> match(const Goal& goal) const override {
    Offer offer;
    offer.math = MathLevel::kExact;
    std::optional<Error> why;
    std::size_t largest = 1;
    int widest = 1;
    for (const nest::Nest& nest : goal.nests) {
      const auto plan = plan_transpose(goal, nest);
      if (!plan) {
        why = plan.error();
        continue;
      }
      const auto extent = [&](SymbolId symbol) { return goal.nodes->extent(symbol); };
      offer.description +=
          fmt::format("{}{} batches of {} x {}, turned", offer.description.empty() ? "" : "; ",
                      plan->batches, extent(plan->stored), extent(plan->loaded));
      for (const Ref load : plan->turned) largest = std::max(largest, size_of(load->type));
      widest = std::max(widest, widest_block(goal, *plan, kWidest));
    }
    if (offer.description.empty()) return std::unexpected(*why);
    if (const auto all = others(goal); !all) return std::unexpected(all.error());
    SpaceBuilder space(offer);
    const bool small = largest > 4;
    space.powers("tile", 32, largest < 4 ? 128 : small ? 32 : 64, small ? 32 : 64);
    space.powers("threads", 64, 1024, 256);
    space.powers("width", 1, widest, widest);
    space.powers("group", 1, 1024, 1024);
    add_cache(space, goal);
    return offer;
  }

  Result<Generated> generate(const Goal& goal, const Step& step,
                             const std::string& prefix) const override {
    const auto rest = others(goal);
    if (!rest) return std::unexpected(rest.error());
    Schedule schedule;
    schedule.tile = power_of_two(step.int_param("tile", 64), 32, 128);
    schedule.threads =
        static_cast<int>(std::clamp<std::int64_t>(step.int_param("threads", 256) / 32, 1, 32)) * 32;
    schedule.width = power_of_two(step.int_param("width", kWidest), 1, kWidest);
    schedule.group = std::clamp<std::int64_t>(step.int_param("group", 1024), 1, 1024);
    schedule.cache = parse_cache(step.string_param("cache", "default"));
    Helpers helpers(prefix);
    Code code;
    Generated generated;
    int number = 0;
    for (const nest::Nest& nest : goal.nests) {
      const auto plan = plan_transpose(goal, nest);
      if (!plan) continue;
      Schedule own = schedule;
      std::size_t bytes = 0;
      for (const Ref load : plan->turned) bytes += size_of(load->type);
      own.width = widest_block(goal, *plan, schedule.width);
      const auto needs = [&](int tile) {
        return bytes * static_cast<std::size_t>(tile * (own.width > 1 ? tile : tile + 1));
      };
      while (own.tile > 32 && needs(own.tile) > kMostShared) own.tile /= 2;
      if (needs(own.tile) > kMostShared) return refused("too many tiles at once");
      ++number;
      print_transpose(
          goal, *plan, own,
          fmt::format("{}transpose{}", prefix, number == 1 ? "" : std::to_string(number)),
          fmt::format("{} batches of {} x {}.", plan->batches, goal.nodes->extent(plan->loaded),
                      goal.nodes->extent(plan->stored)),
          helpers, code, generated);
    }
    if (number == 0) return refused("loads run along the stores' dim");
    for (const map::Points& one : *rest) {
      ++number;
      print_map(goal, one, map::first_guess(goal, one), fmt::format("{}map{}", prefix, number),
                fmt::format("{} points.", one.count), helpers, code, generated);
    }
    generated.source = helpers.text() + code.text();
    return generated;
  }

 private:
  /// What is not turned.
  static Result<std::vector<map::Points>> others(const Goal& goal) {
    std::vector<nest::Nest> rest;
    for (const nest::Nest& nest : goal.nests) {
      if (!plan_transpose(goal, nest)) rest.push_back(nest);
    }
    return map::plan_map(goal, rest);
  }
};

}  // namespace
}  // namespace transpose

std::unique_ptr<Generator> make_transpose() { return std::make_unique<transpose::Transpose>(); }

}  // namespace hone::schedules
