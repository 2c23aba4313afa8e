#include "engine/service/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "engine/queue/dispatcher.h"
#include "engine/queue/endure.h"
#include "engine/queue/lead.h"
#include "engine/service/coordinator_metrics.h"
#include "engine/service/job_runner.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kStandbyLooks = milliseconds(300);
constexpr auto kJobLooks = milliseconds(100);
constexpr auto kReviews = milliseconds(1500);
constexpr std::size_t kMostWaiting = 64;
/// After a term that failed: longer than the lock lasts, so that a sound standby takes its turn.
constexpr auto kAfterFailure = milliseconds(static_cast<int>(1500 * queue::kLeadershipTtl_s));
constexpr auto kFleetLooks = milliseconds(1000);
constexpr auto kClockLooks = std::chrono::seconds(30);
constexpr auto kTtl = milliseconds(static_cast<int>(1000 * queue::kLeadershipTtl_s));

/// One term of leadership.
class Term {
 public:
  /// `asked`: when the lead was asked for that it has.
  Term(queue::Broker& broker, queue::Lead& lead, Store& store, const CoordinatorOptions& options,
       CoordinatorMetrics& metrics, Clock::time_point asked)
      : broker_(broker),
        lead_(lead),
        options_(options),
        fleet_(broker),
        metrics_(metrics),
        dispatcher_(lead, options.log,
                    [&metrics](const queue::Answered& answer) { metrics.answered(answer); }),
        context_{
            lead,       dispatcher_, fleet_, store, metrics, options.model, options.open_rewriting,
            options.log},
        kept_(asked),
        store_(store) {
    metrics.begin_term(dispatcher_, fleet_, [this] { return leads(); });
  }
  ~Term() { metrics_.end_term(); }
  Term(const Term&) = delete;
  Term& operator=(const Term&) = delete;

  /// Until it is deposed or told to stop.
  void run() {
    std::jthread keeper([this](const std::stop_token& stopping) {
      queue::endure(stopping, options_.log, [&] { keep(stopping); });
    });
    forget_ended_jobs();
    while (!ended()) {
      look_for_jobs();
      look_at_fleet();
      obey_cancellations();
      put_back();
      reap();
      begin_some();
      count_jobs();
      std::this_thread::sleep_for(kJobLooks);
    }
    for (auto& job : running_) job->abandon();
    running_.clear();
  }

 private:
  void warn(const std::string& event, const std::string& what) const {
    options_.log({.level = LogLevel::kWarning, .event = event, .message = what});
  }

  [[nodiscard]] bool ended() const {
    return lead_.deposed() || lost_ || (options_.stop != nullptr && *options_.stop);
  }

  /// What an earlier leader ended on the server and not in the database.
  void forget_ended_jobs() {
    const auto unfinished = lead_.unfinished_jobs();
    if (!unfinished) return;
    std::set<std::string> ids;
    for (const auto& job : *unfinished) ids.insert(job.id);
    if (const auto fresh = lead_.new_jobs()) {
      for (const auto& job : *fresh) ids.insert(job.id);
      if (const auto forgot = store_.forget_jobs(ids); !forgot)
        warn("jobs_not_forgotten", forgot.error().message);
    }
  }

  /// New ones, and now and then all that have not ended: a reply that was lost, or a server that
  /// went back in time, may have left some out.
  void look_for_jobs() {
    const bool all = Clock::now() >= next_review_;
    if (all) next_review_ = Clock::now() + kReviews;
    auto fresh = lead_.new_jobs();
    if (fresh && all) {
      add(*fresh);
      fresh = lead_.unfinished_jobs();
    }
    if (fresh) {
      add(*fresh);
    } else if (!ended()) {
      warn("jobs_unread", "jobs were not read: " + fresh.error().message);
    }
  }

  /// Its lock holds for certain: the server confirmed it within the time that it lasts.
  [[nodiscard]] bool leads() const {
    return !lost_ && !lead_.deposed() && Clock::now() - kept_.load() <= kTtl;
  }

  void keep(const std::stop_token& stopping) {
    while (!stopping.stop_requested() && !lost_) {
      const auto asked = Clock::now();
      const auto answer = lead_.keep();
      if (answer && *answer) kept_ = asked;
      // Nobody may lead longer than its lock lasts, whatever the server says later.
      if ((answer && !*answer) || !leads()) {
        lost_ = true;
        warn("lead_lost", "no longer the leader");
      }
      std::this_thread::sleep_for(kTtl / 10);
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
      if (!ended()) warn("workers_unread", "workers were not read: " + looked.error().message);
      return;
    }
    for (const auto& [pool, device] : fleet_.pools())
      dispatcher_.set_capacity(pool, device.capacity);
    if (Clock::now() < next_time_) return;
    next_time_ = Clock::now() + kClockLooks;
    // Jobs were queued by the server's clock. A server that does not tell it has this one's.
    if (const auto now = broker_.server_time()) ahead_ms_ = *now - queue::unix_ms();
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

  /// Dead letters that somebody wants evaluated once more.
  void put_back() {
    const auto wanted = lead_.put_back();
    if (!wanted) return;
    for (const auto& [entry, evaluation] : *wanted) {
      const bool handed_out = !evaluation.empty() && dispatcher_.put_back(evaluation);
      options_.log({.level = LogLevel::kInfo,
                    .event = handed_out ? "dead_letter_put_back" : "dead_letter_kept",
                    .message = handed_out ? "is handed out again, a dead letter put back"
                                          : "a dead letter is not put back: its search has ended",
                    .evaluation = evaluation});
      if (const auto done = lead_.put_back_done(entry, handed_out); !done && !ended())
        warn("dead_letter_unwritten", done.error().message);
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
    const auto busy = [&] {
      return std::ranges::count_if(running_, [](const auto& job) { return !job->waiting(); });
    };
    // Those that wait for a worker hold up nobody else.
    while (busy() < options_.jobs_at_once && !waiting_.empty() &&
           running_.size() < static_cast<std::size_t>(options_.jobs_at_once) + kMostWaiting) {
      const auto next = std::ranges::max_element(waiting_, {}, &queue::QueuedJob::priority);
      const queue::QueuedJob job = *next;
      waiting_.erase(next);
      running_.push_back(std::make_unique<JobRunner>(context_, job));
    }
  }

  void count_jobs() {
    std::map<queue::JobState, int> jobs;
    jobs[queue::JobState::kQueued] = static_cast<int>(waiting_.size());
    for (const auto& job : running_) ++jobs[job->state()];
    metrics_.count_jobs(jobs);
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (const auto& job : waiting_) first = std::min(first, job.queued_at());
    for (const auto& job : running_)
      if (job->waiting()) first = std::min(first, job->queued_at());
    const std::int64_t now = queue::unix_ms() + ahead_ms_;
    metrics_.oldest_job(first < now ? static_cast<double>(now - first) / 1000 : 0);
  }

  queue::Broker& broker_;
  queue::Lead& lead_;
  const CoordinatorOptions& options_;
  Fleet fleet_;
  CoordinatorMetrics& metrics_;
  queue::Dispatcher dispatcher_;
  const JobContext context_;
  std::atomic<bool> lost_ = false;
  std::atomic<Clock::time_point> kept_;    ///< when the last renewal that was granted was asked for
  std::int64_t ahead_ms_ = 0;              ///< the server's clock is, of this machine's
  std::vector<queue::QueuedJob> waiting_;  ///< oldest first
  std::set<std::string> known_;            ///< waiting or running
  std::vector<std::unique_ptr<JobRunner>> running_;
  Store& store_;
  Clock::time_point next_look_ = Clock::now(), next_review_ = Clock::now(),
                    next_time_ = Clock::now();
};

}  // namespace

Result<void> run_coordinator(queue::Broker& broker, Store& store,
                             const CoordinatorOptions& options) {
  const auto stopped = [&] { return options.stop != nullptr && *options.stop; };
  const auto rest = [&](milliseconds time) {
    for (const auto until = Clock::now() + time; !stopped() && Clock::now() < until;)
      std::this_thread::sleep_for(milliseconds(20));
  };
  Metrics unread;
  CoordinatorMetrics metrics(options.metrics != nullptr ? *options.metrics : unread, broker);
  std::string said;
  const auto say = [&](LogLevel level, const std::string& event, const std::string& line,
                       std::vector<LogField> fields = {}) {
    if (line != said)
      options.log({.level = level, .event = event, .message = line, .fields = std::move(fields)});
    said = line;
  };
  for (bool first = true; !stopped(); first = false) {
    const auto floor = store.fence();
    if (!floor && first) return std::unexpected(floor.error());
    queue::Lead lead(broker);
    const auto asked = Clock::now();
    const auto leads = floor ? lead.take(*floor) : std::unexpected(floor.error());
    if (!leads && first && leads.error().code != ErrorCode::kInfrastructure)
      return std::unexpected(leads.error());
    if (!leads || !*leads) {
      if (leads) say(LogLevel::kInfo, "standing_by", "another coordinator leads; standing by");
      if (!leads) say(LogLevel::kWarning, "lead_unknown", leads.error().message);
      rest(kStandbyLooks);
      continue;
    }
    auto ready = store.take_fence(lead.token());
    if (ready) ready = lead.forget_evaluations();
    if (!ready) {
      say(LogLevel::kWarning, "lead_not_begun", ready.error().message);
      lead.resign();
      rest(kAfterFailure);
      continue;
    }
    say(LogLevel::kInfo, "leading", fmt::format("leading, term {}", lead.token()),
        {{"term", lead.token()}});
    Term(broker, lead, store, options, metrics, asked).run();
    lead.resign();
  }
  return {};
}

}  // namespace hone
