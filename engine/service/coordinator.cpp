#include "engine/service/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "engine/queue/dispatcher.h"
#include "engine/queue/lead.h"
#include "engine/service/coordinator_metrics.h"
#include "engine/service/job_search.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kStandbyLooks = milliseconds(300);
constexpr double kJobsBlock_s = 0.2;
constexpr auto kFleetLooks = milliseconds(1000);

/// One term of leadership.
class Term {
 public:
  Term(queue::Broker& broker, queue::Lead& lead, Store& store, const CoordinatorOptions& options,
       CoordinatorMetrics& metrics)
      : broker_(broker),
        lead_(lead),
        options_(options),
        fleet_(broker),
        metrics_(metrics),
        dispatcher_(lead, options.log,
                    [&metrics](const queue::Answered& answer) { metrics.answered(answer); }),
        context_{lead, dispatcher_, fleet_, store, metrics, options.open_rewriting, options.log} {
    metrics.begin_term(dispatcher_, fleet_);
  }
  ~Term() { metrics_.end_term(); }
  Term(const Term&) = delete;
  Term& operator=(const Term&) = delete;

  /// Until it is deposed or told to stop.
  void run() {
    std::jthread keeper([this](const std::stop_token& stopping) { keep(stopping); });
    if (auto unfinished = lead_.unfinished_jobs(); unfinished) {
      add(*unfinished);
    } else {
      warn("jobs were not read: " + unfinished.error().message);
      return;  // and the next term reads them
    }
    while (!ended()) {
      auto fresh = lead_.new_jobs(kJobsBlock_s);
      if (fresh) {
        add(*fresh);
      } else if (!ended()) {
        warn("jobs were not read: " + fresh.error().message);
        std::this_thread::sleep_for(milliseconds(100));
      }
      look_at_fleet();
      obey_cancellations();
      reap();
      begin_some();
      count_jobs();
    }
    for (auto& job : running_) job->abandon();
    running_.clear();
  }

 private:
  void warn(const std::string& what) const {
    options_.log({.level = LogLevel::kWarning, .message = what});
  }

  [[nodiscard]] bool ended() const {
    return lead_.deposed() || lost_ || (options_.stop != nullptr && *options_.stop);
  }

  void keep(const std::stop_token& stopping) {
    const auto ttl = milliseconds(static_cast<int>(1000 * queue::kLeadershipTtl_s));
    auto kept = Clock::now();
    while (!stopping.stop_requested() && !lost_) {
      const auto answer = lead_.keep();
      if (answer && *answer) kept = Clock::now();
      // Nobody may lead longer than its lock lasts, whatever the server says later.
      if ((answer && !*answer) || Clock::now() - kept > ttl) {
        lost_ = true;
        warn("no longer the leader");
      }
      std::this_thread::sleep_for(ttl / 10);
    }
  }

  void add(const std::vector<queue::QueuedJob>& jobs) {
    for (const auto& job : jobs)
      if (known_.insert(job.id).second) waiting_.push_back(job);
  }

  void look_at_fleet() {
    if (Clock::now() < next_look_) return;
    next_look_ = Clock::now() + kFleetLooks;
    if (const auto looked = fleet_.look(); !looked) {
      if (!ended()) warn("workers were not read: " + looked.error().message);
      return;
    }
    for (const auto& [pool, device] : fleet_.pools())
      dispatcher_.set_capacity(pool, device.capacity);
  }

  void obey_cancellations() {
    const auto ids = lead_.cancelled();
    if (!ids) return;
    for (auto& job : running_)
      if (ids->contains(job->id())) job->cancel();
    for (auto job = waiting_.begin(); job != waiting_.end();) {
      if (!ids->contains(job->id)) {
        ++job;
        continue;
      }
      if (const auto done = end_cancelled(*job); !done) return;
      metrics_.job_ended(queue::JobState::kCancelled);
      known_.erase(job->id);
      job = waiting_.erase(job);
    }
  }

  Result<void> end_cancelled(const queue::QueuedJob& job) {
    return lead_.end_job(
        job, {.id = job.id, .state = queue::JobState::kCancelled, .updated_at = queue::unix_ms()});
  }

  void reap() {
    std::erase_if(running_, [&](const auto& job) {
      if (!job->finished()) return false;
      known_.erase(job->id());
      return true;
    });
  }

  /// The highest priority first; of equal ones, the oldest.
  void begin_some() {
    while (static_cast<int>(running_.size()) < options_.jobs_at_once && !waiting_.empty()) {
      const auto next = std::ranges::max_element(waiting_, {}, &queue::QueuedJob::priority);
      const queue::QueuedJob job = *next;
      waiting_.erase(next);
      running_.push_back(std::make_unique<JobSearch>(context_, job));
    }
  }

  void count_jobs() {
    std::map<queue::JobState, int> jobs;
    jobs[queue::JobState::kQueued] = static_cast<int>(waiting_.size());
    for (const auto& job : running_) ++jobs[job->state()];
    metrics_.count_jobs(jobs);
  }

  queue::Broker& broker_;
  queue::Lead& lead_;
  const CoordinatorOptions& options_;
  Fleet fleet_;
  CoordinatorMetrics& metrics_;
  queue::Dispatcher dispatcher_;
  const JobContext context_;
  std::atomic<bool> lost_ = false;
  std::vector<queue::QueuedJob> waiting_;  ///< oldest first
  std::set<std::string> known_;            ///< waiting or running
  std::vector<std::unique_ptr<JobSearch>> running_;
  Clock::time_point next_look_ = Clock::now();
};

}  // namespace

Result<void> run_coordinator(queue::Broker& broker, Store& store,
                             const CoordinatorOptions& options) {
  const auto stopped = [&] { return options.stop != nullptr && *options.stop; };
  Metrics unread;
  CoordinatorMetrics metrics(options.metrics != nullptr ? *options.metrics : unread, broker);
  const auto log = [&](LogLevel level, const std::string& what) {
    options.log({.level = level, .message = what});
  };
  bool said = false;
  while (!stopped()) {
    const auto floor = store.fence();
    if (!floor) return std::unexpected(floor.error());
    queue::Lead lead(broker);
    const auto leads = lead.take(*floor);
    if (!leads && leads.error().code != ErrorCode::kInfrastructure)
      return std::unexpected(leads.error());
    if (!leads || !*leads) {
      if (!said && leads) log(LogLevel::kInfo, "another coordinator leads; standing by");
      if (!said && !leads) log(LogLevel::kWarning, leads.error().message);
      said = true;
      std::this_thread::sleep_for(kStandbyLooks);
      continue;
    }
    said = false;
    if (const auto fenced = store.take_fence(lead.token()); !fenced) {
      lead.resign();
      log(LogLevel::kWarning, fenced.error().message);
      continue;
    }
    log(LogLevel::kInfo, fmt::format("leading, term {}", lead.token()));
    if (const auto forgot = lead.forget_evaluations(); forgot) {
      Term(broker, lead, store, options, metrics).run();
    } else {
      log(LogLevel::kWarning, forgot.error().message);
    }
    lead.resign();
    if (options.once) break;
  }
  return {};
}

}  // namespace hone
