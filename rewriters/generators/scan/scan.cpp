#include "rewriters/generators/scan/scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/generators/scan/plan.h"
#include "rewriters/generators/space.h"

namespace hone::generators {
namespace scan {
namespace {

std::string description(const Plan& plan) {
  return fmt::format("running reductions along {} rows of {}{}{}{}", plan.rows, plan.length,
                     plan.reverse ? ", from the end" : "", plan.exclusive ? ", exclusive" : "",
                     plan.across ? ", side by side in memory" : "");
}

class Scan : public Generator {
 public:
  std::string_view name() const override { return "generate-scan"; }
  std::string_view summary() const override {
    return "reductions up to each index of an axis => one pass over each row: threads, warps and "
           "tiles carry what came before; legal when all of them run along the same axis";
  }

  Result<Offer> match(const Goal& goal) const override {
    const auto plan = plan_scan(goal);
    if (!plan) return std::unexpected(plan.error());
    const Schedule guess = first_guess(goal, *plan);
    Offer offer;
    offer.math = MathLevel::kReassociate;
    offer.description = description(*plan);
    SpaceBuilder space(offer);
    space.powers("threads", plan->across ? 2 : 4, plan->across ? 32 : 1024, guess.team.threads);
    space.powers("rows", plan->across ? 32 : 1, 32, guess.team.teams);
    space.powers("vector", 1, widest(goal, *plan), guess.width);
    space.powers("items", 1, 16, guess.items);
    space.values("cache", cache_values(), std::string("default"));
    return offer;
  }

  Result<Generated> generate(const Goal& goal, const Step& step,
                             const std::string& prefix) const override {
    const auto plan = plan_scan(goal);
    if (!plan) return std::unexpected(plan.error());
    Schedule schedule = first_guess(goal, *plan);
    schedule.team.threads = static_cast<int>(step.int_param("threads", schedule.team.threads));
    schedule.team.teams = static_cast<int>(step.int_param("rows", schedule.team.teams));
    schedule.width = static_cast<int>(step.int_param("vector", schedule.width));
    schedule.items = static_cast<int>(step.int_param("items", schedule.items));
    schedule.cache = parse_cache(step.string_param("cache", "default"));
    make_fit(goal, *plan, schedule);
    Helpers helpers(prefix);
    Code code;
    Generated generated;
    print_scan(goal, *plan, schedule, prefix + "scan_kernel", description(*plan) + ".", helpers,
               code, generated);
    generated.source = helpers.text() + code.text();
    return generated;
  }
};

}  // namespace
}  // namespace scan

std::unique_ptr<Generator> make_scan() { return std::make_unique<scan::Scan>(); }

}  // namespace hone::generators
