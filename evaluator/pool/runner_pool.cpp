#include "evaluator/pool/runner_pool.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "candidates/stop_watch.h"
#include "evaluator/pool/runner_policy.h"

namespace hone::pool {
namespace {

constexpr double kHelloTimeout_s = 60;
constexpr double kSendTimeout_s = 30;
constexpr int kMostForeign = 16;

/// A parser that crashes on a source does so again.
bool is_final(const std::string& mode, const Outcome& outcome) {
  return mode == "rewrite" && (outcome.signal == SIGSEGV || outcome.signal == SIGABRT ||
                               outcome.signal == SIGBUS || outcome.signal == SIGXCPU);
}

/// What the sandbox lacks on this machine; the first runner of a process says it for all.
void warn_once(sandbox::Mode mode, const std::vector<sandbox::LayerState>& layers,
               const EvaluatorOptions& options) {
  static std::atomic<bool> warned = false;
  if (!options.warn || warned.exchange(true)) return;
  if (mode == sandbox::Mode::kOff) {
    options.warn("the sandbox is off: kernels run with all that this user may do");
    return;
  }
  if (!options.tell_missing_layers) return;
  std::string missing;
  for (const auto& l : layers) {
    if (!l.active)
      missing +=
          fmt::format("{}{} ({})", missing.empty() ? "" : ", ", to_string(l.layer), l.reason);
  }
  if (!missing.empty()) options.warn("the sandbox does without: " + missing);
}

}  // namespace

Result<std::unique_ptr<RunnerProcess>> RunnerProcess::start(const std::string& mode,
                                                            const EvaluatorOptions& options,
                                                            int ordinal) {
  const auto allowed = policy_for(mode, ordinal, options);
  if (!allowed) return std::unexpected(allowed.error());
  const auto& policy = allowed->policy;
  auto child = sandbox::Child::start(policy);
  if (!child) return std::unexpected(child.error());
  std::unique_ptr<RunnerProcess> runner(new RunnerProcess(std::move(*child), allowed->ordinal));
  warn_once(policy.mode, runner->layers(), options);
  const auto hello = runner->channel_.receive(kHelloTimeout_s);
  if (hello.status != protocol::ReceiveStatus::kOk) {
    return fail(ErrorCode::kEnvironment,
                fmt::format("{} did not start: {}",
                            std::filesystem::path(policy.argv[0]).filename().string(),
                            runner->why_it_ended()));
  }
  const auto version = protocol::get_int(hello.message, "hello");
  if (!version || *version != protocol::kVersion) {
    return fail(
        ErrorCode::kEnvironment,
        fmt::format("{} speaks another version of the protocol than this hone", policy.argv[0]));
  }
  return runner;
}

std::string RunnerProcess::why_it_ended() {
  const auto status = child_->wait(0.5);
  std::string tail = protocol::clean_text(child_->stderr_tail(), 512);
  std::replace(tail.begin(), tail.end(), '\n', ' ');
  return tail.empty() ? status.text() : status.text() + ": " + tail;
}

Outcome RunnerProcess::died() {
  Outcome outcome;
  outcome.status = Outcome::Status::kDied;
  outcome.detail = why_it_ended();
  if (const auto status = child_->wait(0); status.signalled) outcome.signal = status.code;
  return outcome;
}

bool RunnerProcess::is_quiet() const {
  pollfd p{child_->channel(), POLLIN, 0};
  return poll(&p, 1, 0) == 0;
}

Outcome RunnerProcess::call(const nlohmann::json& request, double timeout_s) {
  const auto whole = protocol::frame(request);
  if (!whole) return {Outcome::Status::kDied, {}, whole.error().message};
  return call(*whole, timeout_s);
}

Outcome RunnerProcess::call(const protocol::Frame& request, double timeout_s) {
  Outcome outcome;
  // Random, so that no reply can be written before its request was read.
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    return {Outcome::Status::kCannotStart, {}, "the system has no random numbers"};
  ++requests_;
  if (auto sent = channel_.send(request, kSendTimeout_s, number); !sent) return died();
  auto received = channel_.receive(timeout_s);
  switch (received.status) {
    case protocol::ReceiveStatus::kOk:
      if (received.request != number) {
        child_->kill_tree();
        outcome.status = Outcome::Status::kMalformed;
        outcome.detail = "a reply to another request";
        outcome.foreign = requests_ > 1;
        break;
      }
      outcome.status = Outcome::Status::kReply;
      outcome.reply = std::move(received.message);
      break;
    case protocol::ReceiveStatus::kTimeout:
      child_->kill_tree();
      outcome.status = Outcome::Status::kTimeout;
      break;
    case protocol::ReceiveStatus::kClosed:
      return died();
    case protocol::ReceiveStatus::kMalformed:
      child_->kill_tree();
      outcome.status = Outcome::Status::kMalformed;
      outcome.detail = received.detail;
      break;
  }
  return outcome;
}

RunnerPool::RunnerPool(std::string mode, int size, const EvaluatorOptions& options)
    : mode_(std::move(mode)), size_(std::max(1, size)), options_(options) {}

RunnerPool::~RunnerPool() { cancel(); }

Outcome RunnerPool::call(const nlohmann::json& request, const TimeLimit& timeout_s, Turn turn,
                         const std::stop_token& stopping) {
  Outcome outcome;
  double worked_s = 0;
  int cancels = 0;
  {
    std::lock_guard lock(mutex_);
    cancels = cancels_;
  }
  int foreign = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
    outcome = call_once(request, timeout_s, turn, cancels, stopping);
    worked_s += outcome.worked_s;
    if (outcome.foreign && ++foreign < kMostForeign) --attempt;
    if (outcome.status != Outcome::Status::kDied && outcome.status != Outcome::Status::kMalformed)
      break;
    if (is_final(mode_, outcome)) break;
  }
  outcome.worked_s = worked_s;
  return outcome;
}

Outcome RunnerPool::call_once(const nlohmann::json& request, const TimeLimit& timeout_s, Turn turn,
                              int cancels, const std::stop_token& stopping) {
  const auto is_cancelled = [&] {
    return cancelled_ || cancels_ != cancels || stopping.stop_requested();
  };
  std::unique_ptr<RunnerProcess> runner;
  std::vector<std::unique_ptr<RunnerProcess>> useless;  // reaped outside the lock
  // Its end waits for who is in it: it has to come when mutex_ is free again.
  const std::stop_callback stop(stopping, [&] {
    const std::lock_guard lock(mutex_);
    if (busy_.contains(runner.get())) runner->kill();
    freed_.notify_all();
  });
  {
    std::unique_lock lock(mutex_);
    const std::uint64_t place = came_++;
    by_turn_.emplace(turn, place);
    as_they_came_.insert(place);
    freed_.wait(lock, [&] {
      return is_cancelled() || (next_in_line() == place && (!idle_.empty() || alive_ < size_));
    });
    by_turn_.erase({turn, place});
    as_they_came_.erase(place);
    ++given_;
    freed_.notify_all();  // the next one may find a process, too
    if (is_cancelled()) return {Outcome::Status::kCancelled, {}, "cancelled"};
    while (!idle_.empty() && !idle_.back()->is_quiet()) {
      useless.push_back(std::move(idle_.back()));
      idle_.pop_back();
      --alive_;
    }
    if (!idle_.empty()) {
      runner = std::move(idle_.back());
      idle_.pop_back();
      busy_.insert(runner.get());
    } else {
      ++alive_;
    }
  }
  useless.clear();
  if (runner == nullptr) {
    auto started = RunnerProcess::start(mode_, options_);
    std::lock_guard lock(mutex_);
    if (!started) {
      --alive_;
      freed_.notify_all();
      return {Outcome::Status::kCannotStart, {}, started.error().message};
    }
    runner = std::move(*started);
    if (is_cancelled()) {
      --alive_;
      freed_.notify_all();
      return {Outcome::Status::kCancelled, {}, "cancelled"};
    }
    busy_.insert(runner.get());
  }

  double worked_s = 0;
  StopWatch working(worked_s);
  Outcome outcome = runner->call(request, timeout_s());
  working.stop();

  std::unique_lock lock(mutex_);
  busy_.erase(runner.get());
  if (is_cancelled()) outcome = {Outcome::Status::kCancelled, {}, "cancelled"};
  outcome.worked_s = worked_s;
  if (outcome.ok()) {
    idle_.push_back(std::move(runner));
  } else {
    --alive_;
  }
  freed_.notify_all();
  lock.unlock();  // a dead runner is reaped outside the lock
  return outcome;
}

void RunnerPool::cancel() {
  std::vector<std::unique_ptr<RunnerProcess>> ended;
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  ++cancels_;
  ended.swap(idle_);
  alive_ -= static_cast<int>(ended.size());
  for (auto* runner : busy_) runner->kill();
  freed_.notify_all();
}

void RunnerPool::resume() {
  std::lock_guard lock(mutex_);
  cancelled_ = false;
}

std::vector<pid_t> RunnerPool::pids() const {
  std::lock_guard lock(mutex_);
  std::vector<pid_t> out;
  for (const auto& runner : idle_) out.push_back(runner->pid());
  for (const auto* runner : busy_) out.push_back(runner->pid());
  return out;
}

}  // namespace hone::pool
