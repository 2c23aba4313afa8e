#include "engine/search/requests/lift_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#include "rewriters/core/registry.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kMostTime = std::chrono::milliseconds(700);
constexpr const char* kTooLong = "it takes too long";

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

/// Shared with the admission's checks.
struct LiftChecking::State {
  struct Size {
    std::string text;       ///< "M=33 N=65"
    std::string unchecked;  ///< why it has no buffers
    CheckCase::Buffers after;
    bool done = false, lifted = false;
  };

  std::mutex mutex;  ///< of what follows
  std::condition_variable done;
  std::vector<Size> sizes;
  std::size_t begun = 0;  ///< of sizes
  bool asked = false;     ///< by the admission

  [[nodiscard]] bool all_done() const { return std::ranges::all_of(sizes, &Size::done); }
  /// Of one size, when it is done or nobody waits any longer.
  CheckCase::Buffers take(std::size_t i, Clock::time_point until) {
    std::unique_lock lock(mutex);
    asked = true;
    Size& size = sizes[i];
    if (done.wait_until(lock, until, [&] { return size.done; })) return std::move(size.after);
    size.unchecked = kTooLong;
    return {};
  }
};

LiftChecking::LiftChecking(Rewriting& rewriting, const RewriteContext& context,
                           const Program& program, EvaluationRequest& admission, double limit_s)
    : rewriting_(rewriting), state_(std::make_shared<State>()) {
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(limit_s));
  const auto& sizes = context.task->check_sizes;
  const std::size_t count = std::min(sizes.size(), admission.checks.size());
  std::vector<std::uint64_t> seeds;
  for (std::size_t i = 0; i < count; ++i) {
    CheckCase& check = admission.checks[i];
    // Others than the checks' own, which nobody is told.
    seeds.push_back(check.seed = admission.seed + 1 + i);
    state_->sizes.push_back({.text = to_string(sizes[i])});
    check.expected = [state = state_, i, until] { return state->take(i, until); };
  }
  // Others want to rewrite meanwhile.
  const auto threads =
      std::clamp<std::size_t>(static_cast<std::size_t>(std::max(1, rewriting.at_once() - 1)), 1,
                              std::max<std::size_t>(1, count));
  for (std::size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this, context, &program, seeds](const std::stop_token& stopping) {
      run(context, program, seeds, stopping);
    });
}

LiftChecking::~LiftChecking() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->begun = state_->sizes.size();
  }
  for (std::jthread& thread : threads_) thread.request_stop();  // all, before one is waited for
}

void LiftChecking::run(RewriteContext context, const Program& program,
                       const std::vector<std::uint64_t>& seeds, const std::stop_token& stopping) {
  const auto begin = Clock::now();
  const auto& sizes = context.task->check_sizes;
  while (true) {
    std::size_t i = 0;
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->begun >= state_->sizes.size()) return;
      i = state_->begun++;
    }
    State::Size made{.text = to_string(sizes[i])};
    if (Clock::now() - begin > kMostTime) {
      made.unchecked = kTooLong;
    } else {
      context.sizes = sizes[i];
      auto outputs = rewriting_.executed(context, program, seeds[i], stopping);
      made.lifted = outputs && outputs->unchecked.empty();
      if (!outputs)
        made.unchecked = outputs.error().message;
      else if (!made.lifted)
        made.unchecked = fmt::format("{}, at {}", outputs->unchecked, made.text);
      else
        made.after = std::move(outputs->after);
    }
    made.done = true;
    const std::lock_guard lock(state_->mutex);
    // Who waited for it may have given up.
    if (state_->sizes[i].unchecked.empty()) state_->sizes[i] = std::move(made);
    state_->sizes[i].done = true;
    state_->done.notify_all();
  }
}

LiftCheck LiftChecking::so_far() const {
  LiftCheck check;
  const std::lock_guard lock(state_->mutex);
  for (const State::Size& size : state_->sizes) {
    if (!size.unchecked.empty()) check.unchecked = size.unchecked;
    if (!size.lifted) continue;
    ++check.sizes;
    check.done_at.push_back(size.text);
  }
  return check;
}

LiftCheck LiftChecking::wait() {
  {
    std::unique_lock lock(state_->mutex);
    state_->done.wait(lock, [&] { return state_->all_done(); });
  }
  return so_far();
}

LiftCheck LiftChecking::judged(const Evaluation& admitted) const {
  LiftCheck check = so_far();
  check.checked = admitted.expected_checked;
  check.differs = admitted.expected_differs;
  const bool asked = [&] {
    const std::lock_guard lock(state_->mutex);
    return state_->asked || state_->sizes.empty();
  }();
  if ((check.checked < check.sizes || !asked) && check.differs.empty() && check.unchecked.empty())
    check.unchecked = "the kernels were not emulated";
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
