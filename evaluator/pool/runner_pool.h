// The parent's side of hone-runner: processes that are started when needed, answer one request at a
// time, and are replaced when they die, lie or take too long.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "evaluator/evaluator.h"
#include "evaluator/protocol/channel.h"
#include "sandbox/child.h"

namespace hone::pool {

/// How a call ended.
struct Outcome {
  enum class Status {
    kReply,
    kTimeout,      ///< killed after its deadline
    kDied,         ///< ended or closed its channel in the middle
    kMalformed,    ///< answered something that is no message; killed
    kCannotStart,  ///< see detail; kEnvironment
    kCancelled,
  };
  Status status = Status::kDied;
  nlohmann::json reply;
  std::string detail;
  int signal = 0;  ///< that ended it; 0: none
  /// The reply was to another request, of a runner that has served others: not this one's doing.
  bool foreign = false;
  double worked_s = 0;  ///< what processes were at it, without waiting for one or starting it
  [[nodiscard]] bool ok() const { return status == Status::kReply; }
};

/// One hone-runner. Owned by one thread at a time; `kill` may come from any.
class RunnerProcess {
 public:
  /// `ordinal`: of the GPU that a measure runner is for.
  [[nodiscard]] static Result<std::unique_ptr<RunnerProcess>> start(const std::string& mode,
                                                                    const EvaluatorOptions& options,
                                                                    int ordinal = 0);
  [[nodiscard]] Outcome call(const nlohmann::json& request, double timeout_s);
  [[nodiscard]] Outcome call(const protocol::Frame& request, double timeout_s);
  /// Between requests a runner has nothing to say: one that does, or has ended, is of no use.
  [[nodiscard]] bool is_quiet() const;
  void kill() { child_->kill_tree(); }
  [[nodiscard]] pid_t pid() const { return child_->pid(); }
  /// The GPU's number as this runner sees it.
  [[nodiscard]] int ordinal() const { return ordinal_; }
  [[nodiscard]] const std::vector<sandbox::LayerState>& layers() const { return child_->layers(); }

 private:
  RunnerProcess(std::unique_ptr<sandbox::Child> child, int ordinal)
      : child_(std::move(child)), ordinal_(ordinal), channel_(child_->channel()) {}
  std::string why_it_ended();
  Outcome died();

  std::unique_ptr<sandbox::Child> child_;
  int ordinal_ = 0;
  std::int64_t requests_ = 0;  ///< that it has been sent
  protocol::Channel channel_;
};

/// Of those who wait for a process every second time the one with the lowest turn gets it, of equal
/// ones who came first; else who came first, so that nobody waits for ever.
using Turn = double;
constexpr Turn kUsualTurn = std::numeric_limits<double>::infinity();

/// How long a request may take [s]. It is asked once a process is there for it.
using TimeLimit = std::function<double()>;

/// Thread-safe; `call` blocks until a process is free.
class RunnerPool {
 public:
  RunnerPool(std::string mode, int size, const EvaluatorOptions& options);
  ~RunnerPool();

  /// A runner that dies or lies is replaced and the request tried once more: the cause may lie
  /// outside (out of memory, a stray signal). A request that kills two is at fault itself. So is
  /// one that crashes a rewrite runner, which does nothing but parse. What an earlier request left
  /// behind, bytes or an answer to something else, costs no attempt. Once `stopping` says so, it
  /// ends as kCancelled, and so does its process, and no other.
  [[nodiscard]] Outcome call(const nlohmann::json& request, const TimeLimit& timeout_s,
                             Turn turn = kUsualTurn, const std::stop_token& stopping = {});
  [[nodiscard]] Outcome call(const nlohmann::json& request, double timeout_s,
                             Turn turn = kUsualTurn, const std::stop_token& stopping = {}) {
    return call(request, [timeout_s] { return timeout_s; }, turn, stopping);
  }

  /// Of all requests; idle processes end, too.
  void cancel();
  void resume();
  [[nodiscard]] std::vector<pid_t> pids() const;  ///< of the running processes

 private:
  /// Of those who wait; somebody does.
  [[nodiscard]] std::uint64_t next_in_line() const {
    return given_ % 2 == 0 ? by_turn_.begin()->second : *as_they_came_.begin();
  }
  /// `cancels`: how often the pool had been cancelled when the request came.
  Outcome call_once(const nlohmann::json& request, const TimeLimit& timeout_s, Turn turn,
                    int cancels, const std::stop_token& stopping);

  const std::string mode_;
  const int size_;
  const EvaluatorOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<RunnerProcess>> idle_;
  std::set<RunnerProcess*> busy_;
  std::set<std::pair<Turn, std::uint64_t>> by_turn_;  ///< who waits; of equal ones, as they came
  std::set<std::uint64_t> as_they_came_;
  std::uint64_t came_ = 0, given_ = 0;
  int alive_ = 0;  ///< idle, busy or being started
  bool cancelled_ = false;
  int cancels_ = 0;  ///< a request from before a cancel stays cancelled after resume()
};

}  // namespace hone::pool
