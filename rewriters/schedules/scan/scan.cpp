#include "rewriters/schedules/scan/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "rewriters/schedules/rowwise/rowwise.h"
#include "rewriters/schedules/scan/plan.h"
#include "rewriters/schedules/space.h"

namespace hone::schedules {
namespace scan {
namespace {

std::string description(const Plan& plan) {
  return fmt::format("running reductions along {} rows of {}{}{}{}", plan.rows, plan.length,
                     plan.reverse ? ", from the end" : "", plan.exclusive ? ", exclusive" : "",
                     plan.across ? ", side by side in memory" : "");
}

/// So much that a second read would not find it in the L2 cache.
bool is_large(const Plan& plan) { return plan.rows * plan.length >= (std::int64_t{1} << 23); }

/// The kernel that folds parts has no exponents beside its products.
bool may_cut(const Plan& plan) { return !has_products(plan); }

/// What is done with rows too long for few blocks.
struct Way {
  std::int64_t parts = 1;
  bool single_pass = false;
};
/// Of "long_rows"; version 1 had "parts" and "single_pass" for it.
Way way_of(const Step& step) {
  const std::string text = step.string_param("long_rows", "");
  if (text.empty())
    return {step.int_param("parts", 1), step.string_param("single_pass", "no") == "yes"};
  constexpr std::string_view kParts = "parts-";
  std::int64_t parts = 1;
  if (text.starts_with(kParts))
    std::from_chars(text.data() + kParts.size(), text.data() + text.size(), parts);
  return {std::clamp<std::int64_t>(parts, 1, 1 << 20), text == "single-pass"};
}

class Scan : public Generator {
 public:
  std::string_view name() const override { return "generate-scan"; }
  int version() const override { return 4; }
  std::string_view summary() const override {
    return "reductions up to each index of an axis => one pass over each row: threads, warps and "
           "tiles carry what came before; legal when all of them run along the same axis";
  }

  Result<Offer> match(const Goal& goal) const override {
    const auto plan = plan_scan(goal);
    if (!plan) return std::unexpected(plan.error());
    const bool cuts = may_cut(*plan);
    const std::int64_t parts = first_parts(goal, *plan);
    Schedule tiles = first_guess_of_tiles(goal, *plan);
    // Only in whole rows do products have the kernel's digits after denormal numbers: a single pass
    // of them is never the guess, and is offered where whole rows leave much of the device idle.
    tiles.single_pass = tiles.single_pass && (cuts || rows_leave_idle(goal, *plan));
    const bool single_pass = tiles.single_pass && parts > 1 && cuts && is_large(*plan);
    const Schedule guess =
        single_pass ? tiles
                    : first_guess(goal, parts > 1 && cuts ? cut_rows(goal, *plan, parts, "p_").plan
                                                          : *plan);
    Offer offer;
    offer.math = MathLevel::kReassociate;
    offer.description = description(*plan);
    SpaceBuilder space(offer);
    // Parts in powers of two; the next number of them that are equal is taken.
    std::int64_t near = 1;
    while (near * 3 / 2 < parts) near *= 2;
    std::vector<ParameterValue> ways = {std::string("whole")};
    for (std::int64_t n = 2; cuts && n <= std::min<std::int64_t>(1024, near * 4); n *= 2)
      ways.emplace_back(fmt::format("parts-{}", n));
    if (tiles.single_pass) ways.emplace_back(std::string("single-pass"));
    space.values("long_rows", std::move(ways),
                 single_pass        ? "single-pass"
                 : cuts && near > 1 ? fmt::format("parts-{}", near)
                                    : std::string("whole"));
    space.powers("threads", plan->across ? 2 : 4, plan->across ? 32 : 1024, guess.team.threads);
    space.powers("rows", plan->across ? 32 : 1, 32, guess.team.teams);
    space.powers("vector", 1, widest(goal, *plan), guess.width);
    space.powers("items", 1, 16, guess.items);
    add_cache(space, goal);
    return offer;
  }

  Result<Generated> generate(const Goal& goal, const Step& step,
                             const std::string& prefix) const override {
    auto plan = plan_scan(goal);
    if (!plan) return std::unexpected(plan.error());
    Helpers helpers(prefix);
    Code code;
    Generated generated;
    const std::string what = description(*plan) + ".";
    const Way way = way_of(step);
    const bool single_pass = way.single_pass && first_guess_of_tiles(goal, *plan).single_pass;
    const std::int64_t parts = single_pass || !may_cut(*plan) ? 1 : parts_near(*plan, way.parts);
    ConcreteProgram concrete;  // the buffers, and those of the parts
    concrete.buffers = goal.concrete->buffers;
    if (parts > 1 && plan->rows * parts <= INT32_MAX / 64) {
      CutPlan cut = cut_rows(goal, *plan, parts, prefix);
      for (const ConcreteBuffer& buffer : cut.scratch) add_scratch(buffer, concrete, generated);
      if (auto printed = print_folds(goal, concrete, cut.folds, prefix, helpers, code, generated);
          !printed) {
        return std::unexpected(printed.error());
      }
      plan = std::move(cut.plan);
    }
    Goal whole = goal;
    whole.concrete = &concrete;
    Schedule schedule =
        single_pass ? first_guess_of_tiles(whole, *plan) : first_guess(whole, *plan);
    schedule.team.threads = static_cast<int>(step.int_param("threads", schedule.team.threads));
    schedule.team.teams = static_cast<int>(step.int_param("rows", schedule.team.teams));
    schedule.width = static_cast<int>(step.int_param("vector", schedule.width));
    schedule.items = static_cast<int>(step.int_param("items", schedule.items));
    schedule.cache = parse_cache(step.string_param("cache", "default"));
    schedule.single_pass = single_pass;
    make_fit(whole, *plan, schedule);
    if (schedule.single_pass) {
      const std::int64_t words = words_of_state(*goal.nodes, *plan, schedule);
      add_scratch({state_buffer(prefix), ScalarType::kI64, {words}, Role::kScratch, {}}, concrete,
                  generated);
    }
    print_scan(whole, *plan, schedule, prefix + "scan_kernel", what, helpers, code, generated);
    generated.source = helpers.text() + code.text();
    return generated;
  }

 private:
  static void add_scratch(const ConcreteBuffer& buffer, ConcreteProgram& concrete,
                          Generated& generated) {
    concrete.buffers.push_back(buffer);
    generated.scratch.push_back(scratch_of(buffer));
  }

  /// The launch that folds each part.
  static Result<void> print_folds(const Goal& goal, const ConcreteProgram& concrete,
                                  const std::vector<nest::Nest>& folds, const std::string& prefix,
                                  Helpers& helpers, Code& code, Generated& generated) {
    Goal part = goal;
    part.nests = folds;
    part.concrete = &concrete;
    const auto plan = rowwise::plan_rows(part);
    if (!plan) return std::unexpected(plan.error());
    rowwise::Schedule schedule = rowwise::first_guess(part, *plan);
    schedule.keep = rowwise::Keep::kReread;
    schedule.team.threads = std::min(schedule.team.threads, plan->across ? 32 : 256);
    rowwise::make_fit(part, *plan, schedule);
    print_rows(part, *plan, schedule, prefix + "part_kernel",
               fmt::format("Parts of rows: {} of them, each folded.", plan->rows), helpers, code,
               generated);
    return {};
  }
};

}  // namespace
}  // namespace scan

std::unique_ptr<Generator> make_scan() { return std::make_unique<scan::Scan>(); }

}  // namespace hone::schedules
