#include "rewriters/generators/transpose/transpose.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/generators/map/plan.h"
#include "rewriters/generators/space.h"
#include "rewriters/generators/transpose/plan.h"

namespace hone::generators {
namespace transpose {
namespace {

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
    for (const lift::Nest& nest : goal.nests) {
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
    }
    if (offer.description.empty()) return std::unexpected(*why);
    if (const auto all = others(goal); !all) return std::unexpected(all.error());
    SpaceBuilder space(offer);
    space.powers("tile", 32, largest > 4 ? 32 : 64, largest < 4 ? 64 : 32);
    space.powers("threads", 64, 1024, 256);
    space.powers("group", 1, 64, 16);
    space.values("cache", cache_values(), std::string("default"));
    return offer;
  }

  Result<Generated> generate(const Goal& goal, const Step& step,
                             const std::string& prefix) const override {
    const auto rest = others(goal);
    if (!rest) return std::unexpected(rest.error());
    Schedule schedule;
    schedule.tile = step.int_param("tile", 32) > 32 ? 64 : 32;
    schedule.threads =
        static_cast<int>(std::clamp<std::int64_t>(step.int_param("threads", 256) / 32, 1, 32));
    schedule.group = std::clamp<std::int64_t>(step.int_param("group", 16), 1, 64);
    schedule.cache = parse_cache(step.string_param("cache", "default"));
    Helpers helpers(prefix);
    Code code;
    Generated generated;
    int number = 0;
    for (const lift::Nest& nest : goal.nests) {
      const auto plan = plan_transpose(goal, nest);
      if (!plan) continue;
      Schedule own = schedule;
      std::size_t bytes = 0;
      for (const Ref load : plan->turned) bytes += size_of(load->type);
      if (bytes * 64 * 65 > 46000) own.tile = 32;
      if (bytes * 33 * 32 > 46000) return std::unexpected(refused("too many tiles at once"));
      ++number;
      print_transpose(
          goal, *plan, own,
          fmt::format("{}transpose{}", prefix, number == 1 ? "" : std::to_string(number)),
          fmt::format("{} batches of {} x {}.", plan->batches, goal.nodes->extent(plan->loaded),
                      goal.nodes->extent(plan->stored)),
          helpers, code, generated);
    }
    if (number == 0) return std::unexpected(refused("loads run along the stores' dim"));
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
    std::vector<lift::Nest> rest;
    for (const lift::Nest& nest : goal.nests) {
      if (!plan_transpose(goal, nest)) rest.push_back(nest);
    }
    return map::plan_map(goal, rest);
  }
};

}  // namespace
}  // namespace transpose

std::unique_ptr<Generator> make_transpose() { return std::make_unique<transpose::Transpose>(); }

}  // namespace hone::generators
