#include "rewriters/schedules/reduce/reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/schedules/map/plan.h"
#include "rewriters/schedules/reduce/stages.h"
#include "rewriters/schedules/rowwise/rowwise.h"
#include "rewriters/schedules/space.h"

namespace hone::schedules {
namespace reduce {
namespace {

/// Nests of one launch.
struct Group {
  std::vector<nest::Nest> nests;
  int depth = 0;
  bool parts = false;
  bool map = false;
  std::int64_t rows = 0;
  bool across = false;
};

Goal with(const Goal& goal, const Stages& stages, std::vector<nest::Nest> nests) {
  Goal part = goal;
  part.nests = std::move(nests);
  part.concrete = &stages.concrete;
  return part;
}

/// Launches in order: nests over the same rows, ready at the same time, share one.
Result<std::vector<Group>> grouped(const Goal& goal, const Stages& stages) {
  std::vector<Group> groups;
  for (const Stage& stage : stages.all) {
    Group own{{stage.nest}, stage.depth, stage.parts, false, 0, false};
    if (stage.nest.value->height == 0) {
      own.map = true;
    } else {
      auto plan = rowwise::plan_rows(with(goal, stages, own.nests));
      if (!plan) return std::unexpected(plan.error());
      own.rows = plan->rows;
      own.across = plan->across;
    }
    const auto same = std::ranges::find_if(groups, [&](const Group& one) {
      return one.depth == own.depth && one.map == own.map && one.parts == own.parts &&
             one.rows == own.rows && one.across == own.across;
    });
    if (same == groups.end()) {
      groups.push_back(std::move(own));
    } else {
      same->nests.push_back(stage.nest);
    }
  }
  return groups;
}

/// The schedule of the launch that reads the data, as the step says.
void take_parameters(const Step& step, rowwise::Schedule& schedule) {
  schedule.team.threads = static_cast<int>(step.int_param("threads", schedule.team.threads));
  schedule.team.teams = static_cast<int>(step.int_param("rows", schedule.team.teams));
  schedule.width = static_cast<int>(step.int_param("vector", schedule.width));
  schedule.unroll = static_cast<int>(std::clamp<std::int64_t>(step.int_param("unroll", 4), 1, 16));
  schedule.cache = parse_cache(step.string_param("cache", "default"));
  const std::string keep = step.string_param("keep", "reread");
  schedule.keep = keep == "registers" ? rowwise::Keep::kRegisters : rowwise::Keep::kReread;
}

/// A first guess for parts: short enough for registers, or streamed by loops.
rowwise::Schedule guess_for_parts(const Goal& goal, const rowwise::Plan& plan) {
  rowwise::Schedule schedule = rowwise::first_guess(goal, plan);
  if (!plan.across) {
    schedule.team.threads = std::clamp(schedule.team.threads, 32, 256);
    schedule.team.teams = std::max(1, 256 / schedule.team.threads);
  }
  const bool kept = plan.levels > 1 && schedule.keep == rowwise::Keep::kRegisters;
  schedule.keep = kept ? rowwise::Keep::kRegisters : rowwise::Keep::kReread;
  rowwise::make_fit(goal, plan, schedule);
  return schedule;
}

class Reduce : public Generator {
 public:
  std::string_view name() const override { return "generate-reduce"; }
  std::string_view summary() const override {
    return "reductions with few results => parts over many blocks, and a second stage that adds "
           "the parts up in a fixed order; legal when the reductions may be regrouped";
  }

  Result<Offer> match(const Goal& goal) const override {
    const auto shape = shape_of(goal);
    if (!shape) return std::unexpected(shape.error());
    const std::int64_t sms = std::max(1, goal.context->target.sm_count);
    const bool rows_fill =
        shape->across ? shape->outputs >= sms * 2048 : shape->outputs >= sms * 16;
    if (rows_fill && !shape->inner && rowwise::plan_rows(goal)) {
      return refused(fmt::format("{} reductions of {} fill the device by themselves",
                                 shape->outputs, shape->length));
    }
    const auto stages = split(goal, {0, "p_"});
    if (!stages) return std::unexpected(stages.error());
    const auto groups = grouped(goal, *stages);
    if (!groups) return std::unexpected(groups.error());
    const auto data = std::ranges::find_if(*groups, &Group::parts);
    Offer offer;
    offer.math = MathLevel::kReassociate;
    offer.description = fmt::format(
        "{} reduction{} of {}{}: {} launches", shape->outputs, shape->outputs == 1 ? "" : "s",
        shape->length, shape->across ? ", side by side in memory" : "", groups->size());
    SpaceBuilder space(offer);
    const std::int64_t first = stages->most_parts > 1 ? power_near(stages->most_parts) : 1;
    const std::int64_t most = std::min<std::int64_t>(4096, shape->length / 16);
    space.powers("parts", 1, std::max({std::int64_t{4}, first, most}), first);
    rowwise::Schedule guess;
    int width = 1;
    bool across = shape->across;
    const auto representative = data == groups->end() ? groups->begin() : data;
    if (!representative->map) {
      const Goal part = with(goal, *stages, representative->nests);
      if (const auto plan = rowwise::plan_rows(part)) {
        guess = guess_for_parts(part, *plan);
        width = rowwise::widest(part, *plan);
        across = plan->across;
      }
    }
    space.powers("threads", across ? 4 : 32, across ? 32 : 1024, guess.team.threads);
    space.powers("rows", across ? 32 : 1, across ? 32 : 8, guess.team.teams);
    space.powers("vector", 1, width, guess.width);
    space.values("keep", {std::string("registers"), std::string("reread")},
                 std::string(guess.keep == rowwise::Keep::kRegisters ? "registers" : "reread"));
    space.powers("unroll", 1, 16, 4);
    add_cache(space, goal);
    return offer;
  }

  Result<Generated> generate(const Goal& goal, const Step& step,
                             const std::string& prefix) const override {
    auto stages = split(goal, {std::max<std::int64_t>(1, step.int_param("parts", 1)), prefix});
    if (!stages) return std::unexpected(stages.error());
    auto groups = grouped(goal, *stages);
    if (!groups) return std::unexpected(groups.error());
    Helpers helpers(prefix);
    Code code;
    Generated generated;
    generated.scratch = stages->scratch;
    int number = 0;
    for (const Group& group : *groups) {
      const Goal part = with(goal, *stages, group.nests);
      ++number;
      if (group.map) {
        auto points = map::plan_map(part, group.nests);
        if (!points) return std::unexpected(points.error());
        for (std::size_t i = 0; i < points->size(); ++i) {
          map::Schedule schedule = map::first_guess(part, (*points)[i]);
          schedule.cache = parse_cache(step.string_param("cache", "default"));
          print_map(
              part, (*points)[i], schedule,
              fmt::format("{}map{}{}", prefix, number, i == 0 ? "" : fmt::format("_{}", i + 1)),
              fmt::format("{} points, after the reductions.", (*points)[i].count), helpers, code,
              generated);
        }
        continue;
      }
      auto plan = rowwise::plan_rows(part);
      if (!plan) return std::unexpected(plan.error());
      rowwise::Schedule schedule =
          group.parts ? guess_for_parts(part, *plan) : rowwise::first_guess(part, *plan);
      // Without parts the launch that reduces is the one that reads.
      if (group.parts || stages->most_parts == 1) take_parameters(step, schedule);
      rowwise::make_fit(part, *plan, schedule);
      std::int64_t length = 0;
      for (const rowwise::Space& one : plan->spaces) length = std::max(length, one.length);
      print_rows(part, *plan, schedule,
                 fmt::format("{}{}{}", prefix, group.parts ? "parts" : "whole", number),
                 group.parts ? fmt::format("Parts of {} elements: {} of them.", length, plan->rows)
                             : fmt::format("{} results, each of {} elements.", plan->rows, length),
                 helpers, code, generated);
    }
    generated.source = helpers.text() + code.text();
    return generated;
  }

 private:
  static std::int64_t power_near(std::int64_t value) {
    std::int64_t power = 1;
    while (power * 3 / 2 < value) power *= 2;
    return power;
  }
};

}  // namespace
}  // namespace reduce

std::unique_ptr<Generator> make_reduce() { return std::make_unique<reduce::Reduce>(); }

}  // namespace hone::schedules
