#include "rewriters/schedules/window/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "rewriters/schedules/space.h"
#include "rewriters/schedules/window/print.h"

namespace hone::schedules {
namespace window {
namespace {

std::string description(const Plan& plan) {
  return fmt::format("windows of {} points at {} rows of {} outputs", plan.window, plan.rows,
                     plan.columns);
}

class Window : public Generator {
 public:
  std::string_view name() const override { return "generate-window"; }
  std::string_view summary() const override {
    return "reductions over small windows => each thread makes several neighbouring outputs and "
           "loads what they share once; legal when the window is small and of fixed size";
  }

  Result<Offer> match(const Goal& goal) const override {
    const auto plan = plan_window(goal, 1, 0);
    if (!plan) return std::unexpected(plan.error());
    Offer offer;
    offer.math = MathLevel::kReassociate;
    offer.description = description(*plan);
    SpaceBuilder space(offer);
    // Neighbours that share elements, where warps still read whole lines.
    std::vector<std::int64_t> dims = {0};
    std::int64_t along = 0;
    for (int dim = 1; dim < 4; ++dim) {
      const auto other = plan_window(goal, 1, dim);
      if (!other || !other->overlaps) continue;
      dims.push_back(dim);
      if (along == 0) along = dim;
    }
    const auto chosen = plan_window(goal, 1, static_cast<int>(along));
    space.powers("outputs", 1, 8, guess(*chosen, goal));
    space.numbers("along", dims, along);
    space.powers("threads", 64, 512, 256);
    std::vector<ParameterValue> caches = {std::string("default"), std::string("stream-stores")};
    if (goal.context->target.compute_capability >= 80)
      caches.emplace_back(std::string("keep-loads"));
    space.values("cache", std::move(caches), std::string("default"));
    return offer;
  }

  Result<Generated> generate(const Goal& goal, const Step& step,
                             const std::string& prefix) const override {
    Schedule schedule;
    schedule.width = static_cast<int>(std::bit_floor(
        static_cast<std::uint64_t>(std::clamp<std::int64_t>(step.int_param("outputs", 1), 1, 8))));
    schedule.threads =
        static_cast<int>(std::clamp<std::int64_t>(step.int_param("threads", 256), 32, 1024)) / 32 *
        32;
    schedule.cache = parse_cache(step.string_param("cache", "default"));
    schedule.along = static_cast<int>(std::clamp<std::int64_t>(step.int_param("along", 0), 0, 8));
    auto plan = plan_window(goal, schedule.width, schedule.along);
    if (!plan && schedule.along > 0) {
      schedule.along = 0;
      plan = plan_window(goal, schedule.width, 0);
    }
    if (!plan) return std::unexpected(plan.error());
    Helpers helpers(prefix);
    Code code;
    Generated generated;
    print_window(goal, *plan, schedule, prefix + "window_kernel", description(*plan) + ".", helpers,
                 code, generated);
    generated.source = helpers.text() + code.text();
    return generated;
  }

 private:
  /// So many that they share much and leave threads enough.
  static std::int64_t guess(const Plan& plan, const Goal& goal) {
    const std::int64_t threads = std::int64_t{goal.context->target.sm_count} * 2048;
    std::int64_t width = plan.overlaps ? 4 : 1;
    while (width > 1 && (plan.columns < width || plan.rows * plan.columns / width < threads)) {
      width /= 2;
    }
    return width;
  }
};

}  // namespace
}  // namespace window

std::unique_ptr<Generator> make_window() { return std::make_unique<window::Window>(); }

}  // namespace hone::schedules
