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
#include "engine/queue/inputs.h"
#include "engine/queue/lead.h"
#include "engine/queue/server_check.h"
#include "engine/search/search_limits.h"
#include "engine/service/coordinator_metrics.h"
#include "engine/service/database_watch.h"
#include "engine/service/job_runner.h"
#include "engine/service/succession.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kStandbyLooks = milliseconds(300);
constexpr auto kJobLooks = milliseconds(100);
constexpr auto kReviews = milliseconds(1500);
constexpr std::size_t kMostWaiting = 64;
/// So many times `jobs_at_once` run where each comes with a higher priority than the last.
constexpr std::ptrdiff_t kMostLevels = 4;
/// After a term that failed: longer than the lock lasts, so that a sound standby takes its turn.
constexpr auto kAfterFailure = milliseconds(static_cast<int>(1500 * queue::kLeadershipTtl_s));
constexpr auto kFleetLooks = milliseconds(1000);
constexpr auto kServerLooks = milliseconds(60'000);
constexpr auto kDatabaseLooks = milliseconds(500);
constexpr auto kTroubleSaid = milliseconds(2000);
constexpr auto kOffers = milliseconds(5000);
constexpr auto kRenewals = std::chrono::minutes(10);  // of what jobs read from the server
constexpr auto kRenewalTries = std::chrono::seconds(3);
constexpr std::size_t kKeptAtOnce = 64;              // jobs
constexpr std::size_t kKeptBytesAtOnce = 16U << 20;  // [B]

/// Says what of the server can cost jobs: at once, and again when it changes.
class ServerLooks {
 public:
  ServerLooks(queue::Broker& broker, const Log& log) : broker_(broker), log_(log) {}

  /// All that is known to be wrong. Errors: the server cannot be asked.
  Result<std::vector<std::string>> look() {
    const auto facts = queue::look_at_server(broker_.redis());
    if (!facts) return std::unexpected(facts.error());
    auto found = queue::concerns(*facts);
    for (const std::string& concern : found) {
      if (std::ranges::find(said_, concern) != said_.end()) continue;
      log_({.level = LogLevel::kWarning, .event = "redis_not_durable", .message = concern});
    }
    if (found.empty() && !said_.empty())
      log_({.level = LogLevel::kInfo,
            .event = "redis_durable",
            .message = "the Redis server keeps what it is told now"});
    said_ = found;
    return found;
  }
  /// Now and then.
  void look_again() {
    if (Clock::now() < next_) return;
    next_ = Clock::now() + kServerLooks;
    (void)look();
  }

 private:
  queue::Broker& broker_;
  const Log& log_;
  std::vector<std::string> said_;
  Clock::time_point next_ = Clock::now() + kServerLooks;
};
constexpr auto kTtl = milliseconds(static_cast<int>(1000 * queue::kLeadershipTtl_s));

/// One term of leadership.
class Term {
 public:
  /// `asked`: when the lead was asked for that it has.
  Term(queue::Broker& broker, queue::Lead& lead, Store& store, const CoordinatorOptions& options,
       CoordinatorMetrics& metrics, DatabaseWatch& database, ServerLooks& server,
       Clock::time_point asked)
      : broker_(broker),
        lead_(lead),
        options_(options),
        fleet_(broker),
        metrics_(metrics),
        dispatcher_(lead, options.log,
                    [&metrics](const queue::Answered& answer) { metrics.answered(answer); }),
        context_{lead,       dispatcher_, fleet_,        store,
                 database,   metrics,     options.model, options.open_rewriting,
                 options.log},
        kept_(asked),
        store_(store),
        database_(database),
        server_(server) {
    metrics.begin_term(dispatcher_, fleet_, [this] { return leads(); });
  }
  ~Term() { metrics_.end_term(); }
  Term(const Term&) = delete;
  Term& operator=(const Term&) = delete;

  /// Until it is deposed or told to stop.
  void run() {
    database_.hold(true);  // before anyone asks whether the term lasts
    std::jthread keeper([this](const std::stop_token& stopping) {
      queue::endure(stopping, options_.log, [&] { keep(stopping); });
    });
    while (!ended()) {
      look_at_database();
      offer_language_model();
      server_.look_again();
      if (!settled_) settled_ = settle();
      look_for_jobs();
      keep_jobs();
      renew_inputs();
      look_at_fleet();
      obey_cancellations();
      put_back();
      reap();
      begin_some();
      count_jobs();
      std::this_thread::sleep_for(kJobLooks);
    }
    if (database_.is_fence_lost())
      warn("lead_lost", fmt::format("no longer the leader: another coordinator writes to {}",
                                    store_.path().string()));
    for (auto& job : running_) job->abandon();
    database_.hold(false);  // only now: a search that may not wait any more would fail its job
    running_.clear();
  }

 private:
  void warn(const std::string& event, const std::string& what) const {
    options_.log({.level = LogLevel::kWarning, .event = event, .message = what});
  }

  [[nodiscard]] bool ended() const {
    return lead_.deposed() || lost_ || database_.is_fence_lost() ||
           (options_.stop != nullptr && *options_.stop);
  }

  /// What server and database do not know of each other. False: to be tried again.
  bool settle() {
    const auto failed = [&](const Error& error) {
      if (!ended() && database_.trouble().empty() && error.message != unsettled_)
        warn("jobs_unsettled", "what earlier leaders left is not settled yet: " + error.message);
      unsettled_ = error.message;
      return false;
    };
    if (const auto lost = queue_lost_jobs(broker_, lead_, store_, options_.log); !lost)
      return failed(lost.error());
    // What an earlier leader ended on the server and not in the database.
    const auto unfinished = lead_.unfinished_jobs();
    if (!unfinished) return failed(unfinished.error());
    const auto fresh = lead_.new_jobs();
    if (!fresh) return failed(fresh.error());
    std::set<std::string> ids;
    for (const auto* jobs : {&*unfinished, &*fresh})
      for (const auto& job : *jobs) ids.insert(job.id);
    if (const auto forgot = store_.forget_jobs(ids); !forgot) return failed(forgot.error());
    add(*unfinished);
    add(*fresh);
    return true;
  }

  void offer_language_model() {
    if (options_.model == nullptr || Clock::now() < next_offer_) return;
    if (lead_.set_language_model(true)) next_offer_ = Clock::now() + kOffers;
  }

  void look_at_database() {
    if (Clock::now() >= next_database_look_) {
      next_database_look_ = Clock::now() + kDatabaseLooks;
      database_.look();
    }
    const std::string trouble = database_.trouble();
    if (trouble == said_trouble_ && (trouble.empty() || Clock::now() < next_trouble_)) return;
    if (const auto said = lead_.set_trouble(trouble); !said) return;
    said_trouble_ = trouble;
    next_trouble_ = Clock::now() + kTroubleSaid;
  }

  /// In the database, before they begin: should the server lose them, they are queued again.
  void keep_jobs() {
    if (unkept_.empty() || !database_.trouble().empty()) return;
    std::vector<KeptJob> kept;
    std::size_t taken = 0, bytes = 0;
    while (taken < unkept_.size() && taken < kKeptAtOnce && bytes < kKeptBytesAtOnce) {
      const auto message = lead_.message_bytes(unkept_[taken].id);
      if (!message && (message.error().code == ErrorCode::kInfrastructure ||
                       message.error().code == ErrorCode::kEnvironment)) {
        warn("jobs_not_kept", message.error().message);
        break;
      }
      if (message && *message) {  // else its runner says what is wrong with it, of this job alone
        bytes += (*message)->size();
        kept.push_back({unkept_[taken].id, std::move(**message)});
      }
      ++taken;
    }
    if (taken == 0) return;
    if (const auto done = store_.keep_jobs(kept); !done) {
      if (!ended() && database_.trouble().empty()) warn("jobs_not_kept", done.error().message);
      return;
    }
    const auto end = unkept_.begin() + static_cast<std::ptrdiff_t>(taken);
    std::move(unkept_.begin(), end, std::back_inserter(waiting_));
    unkept_.erase(unkept_.begin(), end);
  }

  /// What jobs that wait or run read from the server stays there.
  void renew_inputs() {
    if (Clock::now() < next_renewal_) return;
    next_renewal_ = Clock::now() + kRenewals;
    const std::vector<std::string> jobs(known_.begin(), known_.end());
    if (const auto kept = queue::Inputs(broker_).renew(jobs); !kept) {
      next_renewal_ = Clock::now() + kRenewalTries;
      if (!ended()) warn("inputs_not_renewed", "inputs were not renewed: " + kept.error().message);
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
    return !lost_ && !lead_.deposed() && !database_.is_fence_lost() &&
           Clock::now() - kept_.load() <= kTtl;
  }

  void keep(const std::stop_token& stopping) {
    while (!stopping.stop_requested() && !lost_) {
      const auto asked = Clock::now();
      const auto answer = lead_.keep();
      if (answer && *answer) kept_ = asked;
      // Nobody may lead longer than its lock lasts, whatever the server says later.
      if ((answer && !*answer) || !leads()) {
        lost_ = true;
        warn("lead_lost", lead_.forgotten()
                              ? "no longer the leader: the server knows of none, for it was "
                                "started again without what it held or did not hear of us"
                              : "no longer the leader");
      }
      std::this_thread::sleep_for(kTtl / 10);
    }
  }

  void add(const std::vector<queue::QueuedJob>& jobs) {
    for (const auto& job : jobs)
      if (known_.insert(job.id).second) unkept_.push_back(job);
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
  }

  void obey_cancellations() {
    const auto ids = lead_.cancelled();
    if (!ids) return;
    for (auto& job : running_) {
      if (!ids->contains(job->id())) continue;
      job->cancel();
      if (database_.trouble().empty() || job->finished()) continue;
      if (const auto ended = job->end_on_queue(); !ended) return;
    }
    for (auto* jobs : {&waiting_, &unkept_}) {
      for (auto job = jobs->begin(); job != jobs->end();) {
        if (!ids->contains(job->id)) {
          ++job;
          continue;
        }
        if (const auto done = end_cancelled(*job); !done) return;
        metrics_.job_ended(queue::JobState::kCancelled);
        known_.erase(job->id);
        if (const auto forgot = store_.forget_job(job->id); !forgot) settled_ = false;
        job = jobs->erase(job);
      }
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
        job, {.id = job.id, .state = queue::JobState::kCancelled, .updated_at = lead_.now_ms()});
  }

  void reap() {
    std::erase_if(running_, [&](const auto& job) {
      if (!job->finished()) return false;
      known_.erase(job->id());
      return true;
    });
  }

  /// The highest priority first; of equal ones, the oldest. Those that wait for a worker hold up
  /// nobody else, and neither do those of lower priority: beside them a job begins at once, and
  /// the dispatcher gives it its share of the workers.
  void begin_some() {
    const auto busy = [&](int least_priority) {
      return std::ranges::count_if(running_, [&](const auto& job) {
        return !job->waiting() && job->priority() >= least_priority;
      });
    };
    if (!settled_ || !database_.trouble().empty()) return;
    const auto at_once = static_cast<std::ptrdiff_t>(options_.jobs_at_once);
    while (!waiting_.empty() &&
           running_.size() < static_cast<std::size_t>(kMostLevels * at_once) + kMostWaiting) {
      const auto next = std::ranges::max_element(waiting_, {}, &queue::QueuedJob::priority);
      if (busy(next->priority) >= at_once || busy(-kMostPriority) >= kMostLevels * at_once) return;
      const queue::QueuedJob job = *next;
      waiting_.erase(next);
      running_.push_back(std::make_unique<JobRunner>(context_, job));
    }
  }

  void count_jobs() {
    std::map<queue::JobState, int> jobs;
    jobs[queue::JobState::kQueued] = static_cast<int>(waiting_.size() + unkept_.size());
    for (const auto& job : running_)
      if (!job->has_ended_on_queue()) ++jobs[job->state()];
    metrics_.count_jobs(jobs);
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (const auto* jobs : {&unkept_, &waiting_})
      for (const auto& job : *jobs) first = std::min(first, job.queued_at());
    for (const auto& job : running_)
      if (job->waiting()) first = std::min(first, job->queued_at());
    const std::int64_t now = broker_.now_ms();
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
  std::vector<queue::QueuedJob> unkept_;   ///< not in the database yet; oldest first
  std::vector<queue::QueuedJob> waiting_;  ///< likewise, and in the database
  std::set<std::string> known_;            ///< waiting or running
  std::vector<std::unique_ptr<JobRunner>> running_;
  Store& store_;
  DatabaseWatch& database_;
  ServerLooks& server_;
  bool settled_ = false;      ///< server and database know the same jobs
  std::string unsettled_;     ///< why not, as it was said
  std::string said_trouble_;  ///< to those who ask the server
  Clock::time_point next_look_ = Clock::now(), next_review_ = Clock::now(),
                    next_database_look_ = Clock::now(), next_trouble_ = Clock::now(),
                    next_offer_ = Clock::now(), next_renewal_ = Clock::now() + kRenewalTries;
};

/// Where the server may lose jobs, the log says so; where that is `required` not to be, an error.
Result<void> check_durable(ServerLooks& server, bool required) {
  const auto risks = server.look();
  if (!required) return {};
  if (!risks) return std::unexpected(risks.error());
  if (risks->empty()) return {};
  return fail(ErrorCode::kEnvironment, "--require-durable: " + risks->front());
}

/// Trying again would not help: somebody has to choose another database or queue.
bool is_for_good(const Result<void>& result) {
  return !result && result.error().code == ErrorCode::kInvalidInput;
}

/// kInvalidInput unless queue and database belong together or `adopt` says that they are to.
Result<void> check_belongs(queue::Broker& broker, const Store& store, bool adopt) {
  auto belongs = hone::check_belongs(broker, store);
  if (adopt && is_for_good(belongs)) return {};
  return belongs;
}

/// What a leader does before its term.
Result<void> enter(queue::Broker& broker, queue::Lead& lead, Store& store, bool adopt,
                   const Log& log) {
  // Before anything is written to this database: another's may have led in between.
  if (auto belongs = check_belongs(broker, store, adopt); !belongs) return belongs;
  if (auto taken = store.take_fence(lead.token()); !taken) return taken;
  if (auto entered = enter_queue(broker, lead, store, log); !entered) return entered;
  return lead.forget_evaluations();
}

}  // namespace

Result<void> run_coordinator(queue::Broker& broker, Store& store,
                             const CoordinatorOptions& options) {
  const auto stopped = [&] { return options.stop != nullptr && *options.stop; };
  const auto rest = [&](milliseconds time) {
    for (const auto until = Clock::now() + time; !stopped() && Clock::now() < until;)
      std::this_thread::sleep_for(milliseconds(20));
  };
  DatabaseWatch database(store, options.log);
  Metrics unread;
  CoordinatorMetrics metrics(options.metrics != nullptr ? *options.metrics : unread, broker,
                             database);
  ServerLooks server(broker, options.log);
  if (auto durable = check_durable(server, options.require_durable); !durable) return durable;
  std::string said;
  const auto say = [&](LogLevel level, const std::string& event, const std::string& line,
                       std::vector<LogField> fields = {}) {
    if (line != said)
      options.log({.level = level, .event = event, .message = line, .fields = std::move(fields)});
    said = line;
  };
  bool adopt = options.adopt_queue;
  for (bool first = true; !stopped(); first = false) {
    if (auto belongs = check_belongs(broker, store, adopt); is_for_good(belongs)) return belongs;
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
    const auto ready = enter(broker, lead, store, adopt, options.log);
    if (!ready) {
      // Said while it leads: else all that people see is that nobody does.
      if (const std::string trouble = database.trouble(); !trouble.empty())
        (void)lead.set_trouble(trouble);
      lead.resign();
      if (is_for_good(ready)) return ready;
      say(LogLevel::kWarning, "lead_not_begun", ready.error().message);
      rest(kAfterFailure);
      continue;
    }
    adopt = false;
    if (!first) (void)server.look();  // it may have been started again, with other settings
    say(LogLevel::kInfo, "leading", fmt::format("leading, term {}", lead.token()),
        {{"term", lead.token()}});
    Term(broker, lead, store, options, metrics, database, server, asked).run();
    lead.resign();
    if (!database.is_fence_lost()) continue;
    if (auto ours = check_leads_still(broker, store); is_for_good(ours)) return ours;
    rest(kAfterFailure);
  }
  return {};
}

}  // namespace hone
