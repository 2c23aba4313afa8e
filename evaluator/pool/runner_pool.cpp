#include "evaluator/pool/runner_pool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "evaluator/compile/locate.h"

namespace hone::pool {
namespace {

constexpr double kHelloTimeout_s = 60;
constexpr double kSendTimeout_s = 30;

bool trace() {
  const char* value = std::getenv("HONE_TRACE");
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

sandbox::Policy policy_for(const std::string& mode, const EvaluatorOptions& options) {
  sandbox::Policy policy;
  policy.argv = {runner_path(options), mode};
  policy.environment = sandbox::pass_environment(
      {"CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
       "NVIDIA_VISIBLE_DEVICES", "HONE_TRACE", "HONE_LIBCUDA", "ASAN_OPTIONS", "UBSAN_OPTIONS",
       "LSAN_OPTIONS"});
  // Cached results come without the log that holds registers and spills.
  policy.environment.push_back("CUDA_CACHE_DISABLE=1");
  policy.limits = options.sandbox;
  policy.inherit_stderr = trace();
  if (mode == "measure") policy.file_size = ~0ULL;  // the driver's own business
#ifndef __SANITIZE_ADDRESS__                        // its shadow memory alone is larger
  if (mode == "compile") policy.address_space = 8ULL << 30;
  if (mode == "emulate") policy.address_space = 16ULL << 30;
#endif
  return policy;
}

}  // namespace

std::string runner_path(const EvaluatorOptions& options) {
  if (!options.runner_path.empty()) return options.runner_path;
  return (compile::executable_folder() / "hone-runner").string();
}

Result<std::unique_ptr<RunnerProcess>> RunnerProcess::start(const std::string& mode,
                                                            const EvaluatorOptions& options) {
  const auto policy = policy_for(mode, options);
  if (access(policy.argv[0].c_str(), X_OK) != 0) {
    return fail(ErrorCode::kEnvironment,
                fmt::format("hone-runner is not at {}: it belongs beside hone; build it or install "
                            "the whole package",
                            policy.argv[0]));
  }
  auto child = sandbox::Child::start(policy);
  if (!child) return std::unexpected(child.error());
  std::unique_ptr<RunnerProcess> runner(new RunnerProcess(std::move(*child)));
  const auto hello = runner->channel_.receive(kHelloTimeout_s);
  if (hello.status != protocol::ReceiveStatus::kOk) {
    return fail(ErrorCode::kEnvironment,
                fmt::format("hone-runner did not start: {}", runner->why_it_ended()));
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

Outcome RunnerProcess::call(const nlohmann::json& request, double timeout_s) {
  Outcome outcome;
  if (auto sent = channel_.send(request, kSendTimeout_s); !sent) {
    outcome.status = Outcome::Status::kDied;
    outcome.detail = why_it_ended();
    return outcome;
  }
  auto received = channel_.receive(timeout_s);
  switch (received.status) {
    case protocol::ReceiveStatus::kOk:
      outcome.status = Outcome::Status::kReply;
      outcome.reply = std::move(received.message);
      break;
    case protocol::ReceiveStatus::kTimeout:
      child_->kill_tree();
      outcome.status = Outcome::Status::kTimeout;
      break;
    case protocol::ReceiveStatus::kClosed:
      outcome.status = Outcome::Status::kDied;
      outcome.detail = why_it_ended();
      break;
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

Outcome RunnerPool::call(const nlohmann::json& request, double timeout_s) {
  Outcome outcome;
  int cancels = 0;
  {
    std::lock_guard lock(mutex_);
    cancels = cancels_;
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    outcome = call_once(request, timeout_s, cancels);
    if (outcome.status != Outcome::Status::kDied && outcome.status != Outcome::Status::kMalformed)
      break;
  }
  return outcome;
}

Outcome RunnerPool::call_once(const nlohmann::json& request, double timeout_s, int cancels) {
  const auto is_cancelled = [&] { return cancelled_ || cancels_ != cancels; };
  std::unique_ptr<RunnerProcess> runner;
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return is_cancelled() || !idle_.empty() || alive_ < size_; });
    if (is_cancelled()) return {Outcome::Status::kCancelled, {}, "cancelled"};
    if (!idle_.empty()) {
      runner = std::move(idle_.back());
      idle_.pop_back();
      busy_.insert(runner.get());
    } else {
      ++alive_;
    }
  }
  if (runner == nullptr) {
    auto started = RunnerProcess::start(mode_, options_);
    std::lock_guard lock(mutex_);
    if (!started) {
      --alive_;
      freed_.notify_one();
      return {Outcome::Status::kCannotStart, {}, started.error().message};
    }
    runner = std::move(*started);
    if (is_cancelled()) {
      --alive_;
      return {Outcome::Status::kCancelled, {}, "cancelled"};
    }
    busy_.insert(runner.get());
  }

  Outcome outcome = runner->call(request, timeout_s);

  std::unique_lock lock(mutex_);
  busy_.erase(runner.get());
  if (is_cancelled()) outcome = {Outcome::Status::kCancelled, {}, "cancelled"};
  if (outcome.ok()) {
    idle_.push_back(std::move(runner));
  } else {
    --alive_;
  }
  freed_.notify_one();
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
