// A final stage's emulated checks, divided among its emulator runners. What comes of it is what one
// runner would say of all: each check is a request of its own whose answer depends on nothing that
// its runner did before, and the first failure in the order of the checks is the verdict.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "candidates/stop_watch.h"
#include "evaluator/evaluator_impl.h"
#include "evaluator/final_runners.h"
#include "evaluator/further_checks.h"
#include "evaluator/trace.h"

namespace hone {
namespace {

using protocol::Case;
using protocol::EmulateReply;
using protocol::EmulateRequest;
using protocol::Part;
using Clock = std::chrono::steady_clock;

/// The check that is called often is run so many times more than others, one other order once more.
constexpr double kCalledOften = 4, kOtherOrder = 1;
constexpr double kInPart = 1e15;  // nobody knows: it goes first

void strip(Case& one) {  // checks run PTX
  for (protocol::Runnable* runnable : {&one.reference, one.candidate ? &*one.candidate : nullptr,
                                       one.precise ? &*one.precise : nullptr}) {
    if (runnable == nullptr) continue;
    runnable->compiled.cubin.clear();
    runnable->compiled.log.clear();
  }
}

}  // namespace

/// Of one request. Lanes are threads that wait for a runner each.
class EvaluatorImpl::DividedChecks {
 public:
  DividedChecks(EvaluatorImpl& evaluator, FinalRunners& own, const EmulateRequest& request)
      : e_(evaluator),
        own_(own),
        request_(request),
        lanes_(std::min(own.emulators.size(), request.checks.size())),
        worked_s_(lanes_),
        known_(request.checks.size()),
        home_(request.checks.size()),
        replies_(request.checks.size()) {
    for (std::size_t i = 0; i < request.checks.size(); ++i) items_.push_back({.check = i});
  }

  Result<EmulateReply> run();

 private:
  using Replies = std::vector<std::optional<Result<EmulateReply>>>;

  /// Asks for the references of those checks whose inputs are the task's own, or of the others.
  void run_references(bool own_inputs);
  void run_checks();
  /// Takes an item from those that the lane has to do, or else from the lane with most to do.
  std::optional<std::size_t> next_item(std::size_t lane);
  /// One thread for each lane, until all have ended.
  template <class Work>
  void in_all_lanes(const Work& work);
  /// Of all checks so far.
  Result<EmulateReply> merged() const;
  Result<EmulateReply> rest(EmulateReply so_far);

  /// See Part::own_work: of the first `count` checks, whose references have run.
  [[nodiscard]] std::uint64_t own_work(const std::string& ptx, std::size_t count) const;
  [[nodiscard]] double cost_of(const CheckItem& item) const;
  EmulateRequest request_for(const CheckItem& item, Part::Does does) const;
  Result<EmulateReply> ask(std::size_t lane, const EmulateRequest& part);
  void keep(std::size_t item, Result<EmulateReply> reply);
  [[nodiscard]] bool is_over() const { return failed_ < items_.size(); }

  EvaluatorImpl& e_;
  FinalRunners& own_;
  const EmulateRequest& request_;
  const std::size_t lanes_;
  const Clock::time_point begin_ = Clock::now();
  std::vector<double> worked_s_;       ///< by lane: each has the time that one runner would have
  std::vector<KnownReference> known_;  ///< by check
  FurtherChecks further_;
  std::vector<CheckItem> items_;  ///< in the order of their verdicts

  std::mutex mutex_;               ///< of what follows, while lanes are at work
  std::vector<std::size_t> home_;  ///< the lane that has the reference's answer, by check
  std::vector<std::vector<std::size_t>> to_do_;  ///< items by lane; the last is the next
  std::size_t failed_ = std::numeric_limits<std::size_t>::max();  ///< the first item that did
  Replies replies_;                                               ///< by item
};

template <class Work>
void EvaluatorImpl::DividedChecks::in_all_lanes(const Work& work) {
  std::vector<std::future<void>> lanes;
  for (std::size_t lane = 0; lane < lanes_; ++lane)
    lanes.push_back(std::async(std::launch::async, [&work, lane] { work(lane); }));
  for (auto& lane : lanes) lane.get();
}

Result<EmulateReply> EvaluatorImpl::DividedChecks::ask(std::size_t lane,
                                                       const EmulateRequest& part) {
  const double limit_s = e_.options_.check_timeout_s;
  const Seats::Seat seat(e_.final_checks_, own_.serial);
  const StopWatch working(worked_s_[lane]);  // waiting for a seat is not its own doing
  const double left_s = std::max(0.0, limit_s - worked_s_[lane]);
  return reply_of(own_.emulators[lane].call(protocol::to_message(part), left_s), limit_s);
}

std::uint64_t EvaluatorImpl::DividedChecks::own_work(const std::string& ptx,
                                                     std::size_t count) const {
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Case& one = request_.checks[i];
    if (one.inputs == InputSet::kOwn && !one.in_part && one.reference.compiled.ptx == ptx)
      most = std::max(most, known_[i].work);
  }
  return most;
}

EmulateRequest EvaluatorImpl::DividedChecks::request_for(const CheckItem& item,
                                                         Part::Does does) const {
  const std::size_t check = item.check;
  const Case& one = request_.checks[check];
  EmulateRequest part;
  part.arch = request_.arch;
  part.tolerance = request_.tolerance;
  part.exact = request_.exact;
  part.math = request_.math;
  part.bits = request_.bits;
  part.threads = request_.threads;
  part.is_final = request_.is_final;
  part.by_rules = request_.by_rules;
  part.allowance = request_.allowance;
  part.places = request_.places;
  part.checks = {one};
  strip(part.checks.front());
  if (does == Part::Does::kReference) {
    part.checks.front().precise.reset();
    if (!looks_further(request_)) part.checks.front().candidate.reset();
  }
  part.part =
      Part{.does = does,
           .own_work = one.inputs == InputSet::kOwn ? 0  // asks for none
                                                    : own_work(one.reference.compiled.ptx, check),
           .timed_follows = request_.timed.has_value()};
  if (does == Part::Does::kCheck) {
    part.part->schedules = is_split(request_.checks, further_, check)
                               ? 0
                               : static_cast<int>(further_.schedules(check));
    part.part->often = check == further_.called_often;
  }
  if (does == Part::Does::kReorder) part.part->schedules = item.order;
  return part;
}

void EvaluatorImpl::DividedChecks::keep(std::size_t item, Result<EmulateReply> reply) {
  const std::lock_guard lock(mutex_);
  if (!reply || reply->verdict != Verdict::kOk) failed_ = std::min(failed_, item);
  replies_[item] = std::move(reply);
}

void EvaluatorImpl::DividedChecks::run_references(bool own_inputs) {
  std::vector<std::size_t> wanted;  // the last is the next
  for (std::size_t i = request_.checks.size(); i-- > 0;)
    if (!request_.checks[i].in_part && (request_.checks[i].inputs == InputSet::kOwn) == own_inputs)
      wanted.push_back(i);
  in_all_lanes([&](std::size_t lane) {
    for (;;) {
      std::size_t check = 0;
      {
        const std::lock_guard lock(mutex_);
        if (wanted.empty() || is_over()) return;
        check = wanted.back();
        wanted.pop_back();
        home_[check] = lane;
      }
      auto reply = ask(lane, request_for({.check = check}, Part::Does::kReference));
      if (!reply || reply->verdict != Verdict::kOk) {
        keep(check, std::move(reply));
        return;
      }
      // Read by others once all lanes have ended.
      known_[check] = {reply->reference_usable, reply->reference_work, reply->exchanges};
    }
  });
}

double EvaluatorImpl::DividedChecks::cost_of(const CheckItem& item) const {
  if (request_.checks[item.check].in_part) return kInPart;
  const bool often = item.order == 0 && item.check == further_.called_often;
  return static_cast<double>(known_[item.check].work) *
         (1 + (item.order > 0 ? kOtherOrder : 0) + (often ? kCalledOften : 0));
}

std::optional<std::size_t> EvaluatorImpl::DividedChecks::next_item(std::size_t lane) {
  const std::lock_guard lock(mutex_);
  const auto left = [&](const std::vector<std::size_t>& items) {
    double sum = 0;
    for (const std::size_t item : items) sum += 1 + cost_of(items_[item]);
    return sum;
  };
  auto* from = &to_do_[lane];
  if (from->empty()) from = &*std::ranges::max_element(to_do_, {}, left);
  while (!from->empty()) {
    const std::size_t item = from->back();
    from->pop_back();
    if (item < failed_) return item;
  }
  return std::nullopt;
}

void EvaluatorImpl::DividedChecks::run_checks() {
  items_ = items_of(request_.checks, further_);
  replies_.assign(items_.size(), std::nullopt);
  to_do_.assign(lanes_, {});
  std::size_t in_part = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto& [check, order] = items_[i];
    const std::size_t lane = request_.checks[check].in_part ? in_part++ : home_[check];
    to_do_[(lane + static_cast<std::size_t>(order)) % lanes_].push_back(i);
  }
  for (auto& items : to_do_)
    std::ranges::stable_sort(items, {}, [&](std::size_t item) { return cost_of(items_[item]); });
  in_all_lanes([&](std::size_t lane) {
    while (const auto next = next_item(lane)) {
      const CheckItem& item = items_[*next];
      const auto does = item.order > 0 ? Part::Does::kReorder : Part::Does::kCheck;
      keep(*next, ask(lane, request_for(item, does)));
    }
  });
}

Result<EmulateReply> EvaluatorImpl::DividedChecks::merged() const {
  EmulateReply all;
  all.verdict = Verdict::kOk;
  double max_rel_error = 0;
  for (std::size_t i = 0; i < replies_.size(); ++i) {
    if (!replies_[i]) continue;
    if (!*replies_[i]) return *replies_[i];
    const auto& [check, order] = items_[i];
    EmulateReply one = **replies_[i];
    max_rel_error = std::max(max_rel_error, one.max_rel_error);
    if (!request_.checks[check].in_part) one.max_rel_error = max_rel_error;
    if (one.verdict != Verdict::kOk) return one;
    all.same_bits = all.same_bits && one.same_bits;
    all.wrote_variables = all.wrote_variables || one.wrote_variables;
    if (!one.unusable.empty() && order == 0) all.unusable.push_back(static_cast<int>(check));
    if (all.not_compared.empty()) all.not_compared = std::move(one.not_compared);
  }
  all.max_rel_error = max_rel_error;
  return all;
}

Result<EmulateReply> EvaluatorImpl::DividedChecks::rest(EmulateReply so_far) {
  EmulateRequest part = request_;
  std::ranges::for_each(part.checks, strip);
  part.part = Part{.does = Part::Does::kRest,
                   .timed_follows = request_.timed.has_value(),
                   .wrote_variables = so_far.wrote_variables,
                   .unusable = so_far.unusable};
  if (request_.timed)
    part.part->own_work = own_work(request_.timed->reference.compiled.ptx, request_.checks.size());
  auto reply = ask(0, part);
  if (!reply) return reply;
  reply->max_rel_error = std::max(reply->max_rel_error, so_far.max_rel_error);
  reply->same_bits = reply->same_bits && so_far.same_bits;
  reply->unusable = std::move(so_far.unusable);
  if (reply->not_compared.empty()) reply->not_compared = std::move(so_far.not_compared);
  return reply;
}

Result<EmulateReply> EvaluatorImpl::DividedChecks::run() {
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin_).count(); };
  // Inputs that the task does not list may take a multiple of what its own did.
  run_references(true);
  if (!is_over()) run_references(false);
  if (is_over()) return merged();
  const double references_s = elapsed();
  further_ = further_checks(request_, known_);
  run_checks();
  trace(fmt::format("{} checks in {} processes: references {:.2f} s, checks {:.2f} s",
                    request_.checks.size(), lanes_, references_s, elapsed() - references_s));
  auto checked = merged();
  if (!checked || checked->verdict != Verdict::kOk) return checked;
  if (!request_.timed && !checked->wrote_variables && !looks_further(request_)) return checked;
  return rest(std::move(*checked));
}

Result<EmulateReply> EvaluatorImpl::emulate_divided(const EmulateRequest& request,
                                                    FinalRunners& own) {
  if (own.emulators.size() < 2 || request.checks.size() < 2)
    return emulate(request, &own.emulators.front());
  return DividedChecks(*this, own, request).run();
}

}  // namespace hone
