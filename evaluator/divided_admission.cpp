#include "evaluator/divided_admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <utility>

#include "evaluator/further_checks.h"
#include "evaluator/trace.h"

namespace hone {
namespace {

using protocol::EmulateReply;
using protocol::EmulateRequest;
using protocol::Part;

constexpr int kOrders = 3;              // other ones of blocks and warps
constexpr pool::Turn kSearchWaits = 0;  // for the admission

bool is_ok(const Result<EmulateReply>& reply) { return reply && reply->verdict == Verdict::kOk; }

/// Does it say whether the reference is one? The others say more of one that is.
bool decides(Part::Does does) { return does == Part::Does::kAdmit || does == Part::Does::kReorder; }

auto begin(auto&& work) {
  return std::async(std::launch::async, std::forward<decltype(work)>(work));
}

}  // namespace

EvaluatorImpl::DividedAdmission::DividedAdmission(EvaluatorImpl& evaluator,
                                                  const EmulateRequest& request,
                                                  const std::vector<CheckCase::Expected>& expected)
    : e_(evaluator),
      request_(request),
      expected_(expected),
      limit_s_(evaluator.options_.check_timeout_s) {
  const auto made_up = std::ranges::find_if(request.checks, &protocol::Case::made_up);
  own_ = static_cast<std::size_t>(made_up - request.checks.begin());
  reordered_ = smallest_check({request.checks.begin(), made_up});
}

double EvaluatorImpl::DividedAdmission::left_s(Part::Does does) {
  const std::lock_guard lock(mutex_);
  return std::max(0.0, limit_s_ - decided_s_ - (decides(does) ? 0 : looked_s_));
}

EvaluatorImpl::DividedAdmission::Answer EvaluatorImpl::DividedAdmission::ask(
    std::size_t check, Part part, CheckCase::Buffers expected) {
  EmulateRequest one;
  one.arch = request_.arch;
  one.profile = request_.profile;
  one.tolerance = request_.tolerance;
  one.bits = request_.bits;
  one.threads = request_.threads;
  one.checks = {request_.checks[check]};
  protocol::Case& only = one.checks.front();
  only.expected = std::move(expected);
  only.reference.compiled.cubin.clear();  // PTX is what is run
  if (only.precise) only.precise->compiled.cubin.clear();
  const Part::Does does = part.does;
  one.part = std::move(part);
  const auto outcome =
      e_.emulators_.call(protocol::to_message(one), [&] { return left_s(does); }, kSearchWaits);
  {
    const std::lock_guard lock(mutex_);
    (decides(does) ? decided_s_ : looked_s_) += outcome.worked_s;
  }
  Answer answer{.reply = reply_of(outcome, limit_s_), .worked_s = outcome.worked_s};
  if (!decides(does) && !is_ok(answer.reply) &&
      outcome.status != pool::Outcome::Status::kCancelled) {
    trace("admission: a part that decides nothing has no answer");
    answer.reply = EmulateReply{.verdict = Verdict::kOk};
  }
  return answer;
}

Result<EmulateReply> EvaluatorImpl::DividedAdmission::in_order(Answer answer) {
  in_order_s_ += answer.worked_s;
  if (is_ok(answer.reply) && in_order_s_ > limit_s_)
    return reply_of({.status = pool::Outcome::Status::kTimeout}, limit_s_);
  return std::move(answer.reply);
}

EvaluatorImpl::DividedAdmission::Answers EvaluatorImpl::DividedAdmission::begin_orders() {
  Answers orders;
  for (int order = 1; order <= kOrders; ++order)
    orders.push_back(begin([this, order] {
      return ask(reordered_, {.does = Part::Does::kReorder, .schedules = order});
    }));
  return orders;
}

Result<EmulateReply> EvaluatorImpl::DividedAdmission::first_failure(Answers orders) {
  Reply first = EmulateReply{.verdict = Verdict::kOk};
  for (auto& order : orders) {
    Reply reply = in_order(order.get());
    if (is_ok(first)) first = std::move(reply);
  }
  return first;
}

Result<EmulateReply> EvaluatorImpl::DividedAdmission::run_sizes() {
  Answers sizes;
  for (std::size_t i = 0; i < own_; ++i)
    sizes.push_back(begin([this, i] { return ask(i, {.does = Part::Does::kAdmit}); }));
  std::vector<Reply> replies;
  for (auto& size : sizes) replies.push_back(in_order(size.get()));
  check::Fakes fakes(request_.tolerance);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (is_ok(replies[i])) {
      fakes.add(replies[i]->fakes);
      sizes_.push_back(std::move(*replies[i]));
      continue;
    }
    if (i > reordered_)
      if (auto orders = first_failure(begin_orders()); !is_ok(orders)) return orders;
    return replies[i];
  }
  EmulateReply all{.verdict = Verdict::kOk};
  std::map<std::string, double> elements;
  for (std::size_t i = 0; i < own_; ++i)
    for (const auto& buffer : request_.checks[i].reference.program.buffers)
      if (is_output(buffer.role)) elements[buffer.name] += static_cast<double>(buffer.elements());
  const check::Survivors survivors = fakes.survivors(elements);
  for (const std::string& line : survivors.let_pass())
    said_.push_back(line + " (at the check sizes)");
  if (const auto fake = survivors.refusal(); !fake.empty()) {
    if (auto orders = first_failure(begin_orders()); !is_ok(orders)) return orders;
    all.verdict = Verdict::kWrongResult;
    all.reference_failed = true;
    all.detail = fake;
  }
  trace(fmt::format("admission: {} sizes are ok in grid order", own_));
  return all;
}

std::vector<std::string> EvaluatorImpl::DividedAdmission::inputs_read_whole() const {
  std::vector<std::string> names;
  if (own_ == 0) return names;
  const auto& whole = sizes_[reordered_].read_whole;
  for (const auto& buffer : request_.checks[reordered_].reference.program.buffers)
    if ((buffer.role == Role::kIn || buffer.role == Role::kInOut) && whole.contains(buffer.name))
      names.push_back(buffer.name);
  return names;
}

Result<EmulateReply> EvaluatorImpl::DividedAdmission::run_rest() {
  const std::vector<std::string> inputs = inputs_read_whole();
  Answers orders = own_ > 0 ? begin_orders() : Answers();
  Answers parts;  // that decide nothing
  for (const std::string& input : inputs)
    parts.push_back(begin([this, &input, asked = static_cast<int>(inputs.size())] {
      return ask(reordered_, {.does = Part::Does::kNeed, .input = input, .inputs = asked});
    }));
  for (std::size_t i = own_; i < request_.checks.size(); ++i)
    parts.push_back(begin([this, i] { return ask(i, {.does = Part::Does::kLook}); }));
  for (std::size_t i = 0; i < own_; ++i)
    if (expected_[i])
      parts.push_back(begin([this, i]() -> Answer {
        auto buffers = expected_[i]();
        if (buffers.empty()) return {.reply = EmulateReply{.verdict = Verdict::kOk}};
        return ask(i, {.does = Part::Does::kExpect}, std::move(buffers));
      }));

  auto decided = first_failure(std::move(orders));
  std::vector<Reply> replies;
  for (auto& part : parts) replies.push_back(part.get().reply);
  if (!is_ok(decided)) return decided;
  const auto cancelled = std::ranges::find_if_not(replies, is_ok);
  if (cancelled != replies.end()) return std::move(*cancelled);
  EmulateReply all{.verdict = Verdict::kOk, .said = said_};
  for (const EmulateReply& size : sizes_) {
    all.said.insert(all.said.end(), size.said.begin(), size.said.end());
    all.reference_error = std::max(all.reference_error, size.reference_error);
  }
  std::set<std::string> needed;
  for (const Reply& reply : replies) {
    all.said.insert(all.said.end(), reply->said.begin(), reply->said.end());
    needed.insert(reply->read_whole.begin(), reply->read_whole.end());
    all.expected_checked += reply->expected_checked;
    if (all.expected_differs.empty()) all.expected_differs = reply->expected_differs;
  }
  all.read_whole = std::move(needed);
  for (const EmulateReply& size : sizes_)
    std::erase_if(all.read_whole,
                  [&](const std::string& name) { return !size.read_whole.contains(name); });
  return all;
}

}  // namespace hone
