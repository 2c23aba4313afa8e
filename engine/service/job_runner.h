// A submitted job at work: one search for each architecture it asks for, on threads of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "candidates/store/store.h"
#include "engine/llm/access.h"
#include "engine/queue/broker.h"
#include "engine/queue/dispatcher.h"
#include "engine/queue/lead.h"
#include "engine/queue/log_event.h"
#include "engine/rewriting/rewriting.h"
#include "engine/search/search.h"
#include "engine/search/target/target.h"
#include "engine/service/fleet.h"
#include "engine/service/portability.h"
#include "evaluator/device_spec.h"

namespace hone {

class CoordinatorMetrics;
class DatabaseWatch;
class GatedQueue;

struct JobContext {
  queue::Lead& lead;
  queue::Dispatcher& dispatcher;
  Fleet& fleet;
  Store& store;
  const DatabaseWatch& database;
  CoordinatorMetrics& metrics;
  const llm::Access* model;  ///< null: there is none
  std::function<std::unique_ptr<Rewriting>()> open_rewriting;
  Log log;
};

/// Has a target's finalists confirmed by two of the pool's workers, and says whose word was not
/// believed.
void have_confirmed(Target& target, const JobContext& context, const std::string& job,
                    const std::string& pool);

/// Warnings of a final stage: one line with their count and the first, and a line for each at the
/// level debug.
void log_finals(const Log& log, const std::vector<std::string>& warnings, const std::string& job,
                const std::string& pool);

class JobRunner {
 public:
  /// Begins. `context` must outlive it.
  JobRunner(const JobContext& context, queue::QueuedJob job);
  /// Waits for its threads.
  ~JobRunner() = default;
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

  [[nodiscard]] const std::string& id() const { return job_.id; }
  [[nodiscard]] int priority() const { return job_.priority; }
  [[nodiscard]] std::int64_t queued_at() const { return job_.queued_at(); }
  [[nodiscard]] bool finished() const { return finished_; }
  /// For a worker of every architecture it wants.
  [[nodiscard]] bool waiting() const { return waiting_ > 0 && waiting_ == at_work_; }
  [[nodiscard]] queue::JobState state() const { return state_; }
  /// Its user wants it to end.
  void cancel();
  /// Of one that was cancelled and cannot end, for its searches wait for the database: takes their
  /// work from the workers and tells the queue that it has ended. Errors: the queue was not told.
  [[nodiscard]] Result<void> end_on_queue();
  /// The queue knows that it has ended.
  [[nodiscard]] bool has_ended_on_queue() const { return ended_on_queue_; }
  /// This process wants it to end; another goes on with it.
  void abandon();

 private:
  void run();
  void run_to_end();
  [[nodiscard]] Result<std::optional<queue::JobMessage>> read_message();
  void look_at_inputs();
  void end();
  void log_end(const queue::JobStatus& status);
  void forget();
  [[nodiscard]] std::vector<queue::JobPlace> places();
  [[nodiscard]] bool is_taken_over() const;
  void search(std::size_t index);
  [[nodiscard]] std::unique_ptr<SearchQueue> open_queue(const std::string& id,
                                                        const Fleet::Pool& pool,
                                                        const GatedQueue*& gated);
  [[nodiscard]] SearchOptions options_of(std::size_t index);
  void log_outcome(const SearchOutcome& outcome, const std::string& pool, const GatedQueue* gated);
  void show_outcome(std::size_t index, const SearchOutcome& outcome);
  void open_model();
  void sum_up_model();
  /// The pool for an architecture, when there is one; empty when the job was told to end.
  [[nodiscard]] std::optional<std::pair<std::string, Fleet::Pool>> wait_for_pool(
      const std::string& arch);
  template <class Function>
  auto retry_while_failing(const Function& function) -> decltype(function());
  void show(std::size_t index, const Progress& progress);
  void report(queue::JobState state, bool now = false);
  void fail_with(const std::string& why);
  void log(LogLevel level, const std::string& event, const std::string& what,
           const std::string& pool = "", std::vector<LogField> fields = {});

  const JobContext& context_;
  const queue::QueuedJob job_;
  queue::JobMessage message_;
  std::unique_ptr<llm::Access> model_;  ///< of all its searches together; null: rules alone
  std::vector<Searched> searched_;      ///< one for each architecture, its thread's own
  std::atomic<bool> ending_ = false, cancelled_ = false, abandoned_ = false, finished_ = false,
                    ended_on_queue_ = false;
  std::atomic<int> at_work_ = 0, waiting_ = 0;  ///< threads that search, and those that wait
  std::atomic<queue::JobState> state_ = queue::JobState::kQueued;  ///< of status_, without a lock
  std::mutex mutex_;  ///< of status_, phases_ and reported_
  queue::JobStatus status_;
  std::vector<queue::JobState> phases_;  ///< of each architecture's search
  std::chrono::steady_clock::time_point reported_{};
  std::jthread thread_;  ///< last: it uses all of the above
};

}  // namespace hone
