#include "rewriters/schedules/map/map.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/schedules/map/plan.h"
#include "rewriters/schedules/space.h"

namespace hone::schedules {
namespace map {
namespace {

std::string description(const std::vector<Points>& groups) {
  std::string text;
  for (const Points& one : groups) {
    text += fmt::format("{}{} value{} at each of {} points", text.empty() ? "" : "; ",
                        one.stores.size(), one.stores.size() == 1 ? "" : "s", one.count);
  }
  return text;
}

class Map : public Generator {
 public:
  std::string_view name() const override { return "generate-map"; }
  std::string_view summary() const override {
    return "elementwise nests => a thread for every vector of points; legal when there is no "
           "reduction";
  }

  Result<Offer> match(const Goal& goal) const override {
    auto groups = plan_map(goal, goal.nests);
    if (!groups) return std::unexpected(groups.error());
    const Points& largest = *std::ranges::max_element(*groups, {}, &Points::count);
    const Schedule guess = first_guess(goal, largest);
    Offer offer;
    offer.math = MathLevel::kExact;
    offer.description = description(*groups);
    SpaceBuilder space(offer);
    space.powers("vector", 1, guess.width, guess.width);
    space.powers("items", 1, 8, guess.items);
    space.powers("threads", 64, 1024, guess.threads);
    add_cache(space, goal);
    space.numbers("blocks_per_sm", {0, 1, 2, 4, 8, 16}, 0);
    return offer;
  }

  Result<Generated> generate(const Goal& goal, const Step& step,
                             const std::string& prefix) const override {
    auto groups = plan_map(goal, goal.nests);
    if (!groups) return std::unexpected(groups.error());
    Helpers helpers(prefix);
    Code code;
    Generated generated;
    for (std::size_t i = 0; i < groups->size(); ++i) {
      Schedule schedule = first_guess(goal, (*groups)[i]);
      schedule.width = static_cast<int>(step.int_param("vector", schedule.width));
      schedule.items = static_cast<int>(step.int_param("items", schedule.items));
      schedule.threads = static_cast<int>(step.int_param("threads", schedule.threads));
      schedule.cache = parse_cache(step.string_param("cache", "default"));
      schedule.blocks_per_sm = static_cast<int>(step.int_param("blocks_per_sm", 0));
      print_map(goal, (*groups)[i], schedule,
                fmt::format("{}map_kernel{}", prefix, i == 0 ? "" : std::to_string(i + 1)),
                description({(*groups)[i]}) + ".", helpers, code, generated);
    }
    generated.source = helpers.text() + code.text();
    return generated;
  }
};

}  // namespace
}  // namespace map

std::unique_ptr<Generator> make_map() { return std::make_unique<map::Map>(); }

}  // namespace hone::schedules
