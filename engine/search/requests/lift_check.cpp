#include "engine/search/requests/lift_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "rewriters/core/registry.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kMostTime = std::chrono::milliseconds(700);

std::string to_string(const Bindings& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

}  // namespace

std::string LiftCheck::text() const {
  if (!differs.empty()) return "the lift is wrong: " + differs;
  if (checked > 0) {
    const std::string rest =
        unchecked.empty() ? "" : fmt::format("; not at all sizes: {}", unchecked);
    return fmt::format("checked at {} size{}: agrees with the emulated kernels{}", checked,
                       checked == 1 ? "" : "s", rest);
  }
  return unchecked.empty() ? "" : "not checked: " + unchecked;
}

LiftCheck expect_lifted(Rewriting& rewriting, const RewriteContext& context, const Program& program,
                        EvaluationRequest& admission) {
  LiftCheck check;
  const auto begin = Clock::now();
  const auto& sizes = context.task->check_sizes;
  for (std::size_t i = 0; i < std::min(sizes.size(), admission.checks.size()); ++i) {
    if (Clock::now() - begin > kMostTime) {
      check.unchecked = "it takes too long";
      break;
    }
    RewriteContext here = context;
    here.sizes = sizes[i];
    // Others than the checks' own, which nobody is told.
    admission.checks[i].seed = admission.seed + 1 + i;
    auto outputs = rewriting.executed(here, program, admission.checks[i].seed);
    if (!outputs) {
      check.unchecked = outputs.error().message;
      continue;
    }
    if (!outputs->unchecked.empty()) {
      check.unchecked = fmt::format("{}, at {}", outputs->unchecked, to_string(sizes[i]));
      continue;
    }
    admission.checks[i].expected = std::move(outputs->after);
    ++check.sizes;
    check.done_at.push_back(to_string(sizes[i]));
  }
  return check;
}

LiftCheck judged(LiftCheck check, const Evaluation& admitted) {
  check.checked = admitted.expected_checked;
  check.differs = admitted.expected_differs;
  if (check.checked < check.sizes && check.differs.empty() && check.unchecked.empty()) {
    check.unchecked = "the kernels were not emulated";
  }
  return check;
}

std::string check_text(const LiftReport& report) {
  if (!report.check) {
    return report.unchecked.empty() ? "" : "not checked: " + report.unchecked;
  }
  const LiftCheck& check = *report.check;
  // What was checked is the lift at other sizes than those that did not lift.
  if (report.lift.refusals.empty() || check.checked == 0) return check.text();
  std::string at;
  for (const std::string& sizes : check.done_at) at += (at.empty() ? "" : "; ") + sizes;
  if (!check.differs.empty()) {
    return fmt::format("it lifts at other sizes ({}), and there the lift is wrong: {}", at,
                       check.differs);
  }
  return fmt::format(
      "it lifts at other sizes ({}), and there the nests agree with the emulated "
      "kernels",
      at);
}

std::string text(const LiftReport& report) {
  const std::string at = to_string(report.sizes);
  const schedules::Explanation& lift = report.lift;
  std::string text = at.empty() ? "" : fmt::format("at {}:\n", at);
  for (const std::string& refusal : lift.refusals) text += "not lifted: " + refusal + "\n";
  text += lift.nests;
  if (!lift.sites.empty()) text += "\n" + lift.sites;
  if (lift.sites.empty() && lift.nests.empty()) text += "no generator is asked: nothing lifts\n";
  const std::string check = check_text(report);
  if (!check.empty()) text += "\nat the check sizes: " + check + "\n";
  return text;
}

std::vector<std::string> names_of_generators() {
  std::vector<std::string> names;
  for (const Rewriter* rewriter : rewriters()) {
    std::string name(rewriter->name());
    if (name.starts_with("generate-")) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace hone
