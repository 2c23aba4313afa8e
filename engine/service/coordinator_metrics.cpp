#include "engine/service/coordinator_metrics.h"

#include <string>
#include <utility>

#include "engine/service/process_metrics.h"

namespace hone {
namespace {

using queue::DispatchCounts;
using queue::JobState;

constexpr std::pair<const char*, std::int64_t DispatchCounts::*> kDispatchTotals[] = {
    {"hone_dispatch_given_total", &DispatchCounts::given},
    {"hone_dispatch_answered_total", &DispatchCounts::answered},
    {"hone_dispatch_repeated_total", &DispatchCounts::repeated},
    {"hone_dispatch_refused_total", &DispatchCounts::refused},
    {"hone_dispatch_late_total", &DispatchCounts::late}};
constexpr JobState kOpenStates[] = {JobState::kQueued, JobState::kAdmitting, JobState::kSearching,
                                    JobState::kFinishing};
constexpr StoreFault kStoreFaults[] = {StoreFault::kFull, StoreFault::kReadOnly,
                                       StoreFault::kLocked, StoreFault::kFailing,
                                       StoreFault::kDamaged};
constexpr JobState kEndStates[] = {JobState::kDone, JobState::kFailed, JobState::kCancelled};

Metrics::Labels of(JobState state) { return {{"state", std::string(to_string(state))}}; }

Metrics::Labels of_pool(const std::string& pool) {
  return {{"arch", queue::arch_of_pool(pool)}, {"pool", pool}};
}

void declare(Metrics& metrics) {
  declare_process_metrics(metrics);
  metrics.declare_gauge("hone_leading",
                        "1 where this coordinator leads, 0 where it stands by or cannot know");
  metrics.declare_gauge(
      "hone_oldest_queued_job_seconds",
      "How long the job that waits longest has waited for its search or a worker");
  metrics.declare_gauge("hone_searches_waiting",
                        "Searches that wait for a worker, by the architecture that they want");
  metrics.declare_gauge("hone_redis_reachable", "1 where the server answers, 0 where it does not");
  metrics.declare_gauge("hone_jobs", "Jobs that wait or run, by state");
  metrics.declare_counter("hone_jobs_ended_total", "Jobs that ended, by state");
  metrics.declare_gauge("hone_queue_depth",
                        "Evaluations that wait in the coordinator, or are handed out");
  metrics.declare_counter("hone_dispatch_given_total",
                          "Evaluations handed out, repetitions included");
  metrics.declare_counter("hone_dispatch_answered_total", "Answers that a search got");
  metrics.declare_counter("hone_dispatch_repeated_total",
                          "Evaluations asked for again: lost, refused or failed by a machine");
  metrics.declare_counter("hone_dispatch_refused_total", "Answers that no honest worker gives");
  metrics.declare_counter("hone_dispatch_late_total", "Answers that nobody waited for");
  metrics.declare_counter("hone_evaluations_total", "Answers by stage and verdict");
  metrics.declare_histogram("hone_dispatch_seconds", "From handing an evaluation out to its answer",
                            evaluation_seconds());
  metrics.declare_counter("hone_model_replies_total",
                          "Questions to the language model, by what came of them");
  metrics.declare_counter("hone_model_tokens_total", "Tokens that are counted for these");
  metrics.declare_counter("hone_model_dollars_total", "Dollars that are counted for these");
  metrics.declare_gauge("hone_workers", "Workers that take evaluations, by pool");
  metrics.declare_gauge("hone_worker_capacity", "Evaluations that they take at once, by pool");
  metrics.declare_counter("hone_redis_connections_total", "Connections opened to the server");
  metrics.declare_gauge("hone_database_writable",
                        "0 while jobs wait because the database cannot be written");
  metrics.declare_counter("hone_database_errors_total",
                          "Calls that met a fault of the database's file, by what it was");
}

}  // namespace

CoordinatorMetrics::CoordinatorMetrics(Metrics& metrics, queue::Broker& broker,
                                       const DatabaseWatch& database)
    : metrics_(metrics),
      broker_(broker),
      database_(database),
      reading_(metrics, [this] { read(); }) {
  declare(metrics);
  count_jobs({});
  oldest_job(0);
  for (const JobState state : kEndStates) metrics.add("hone_jobs_ended_total", of(state), 0);
  for (const char* outcome : {"accepted", "refused", "none"})
    metrics.add("hone_model_replies_total", {{"outcome", outcome}}, 0);
  count_tokens(0, 0, 0);
}

void CoordinatorMetrics::begin_term(queue::Dispatcher& dispatcher, const Fleet& fleet,
                                    std::function<bool()> leads) {
  const std::lock_guard lock(mutex_);
  dispatcher_ = &dispatcher;
  fleet_ = &fleet;
  leads_ = std::move(leads);
}

void CoordinatorMetrics::end_term() {
  {
    const std::lock_guard lock(mutex_);
    const DispatchCounts counts = dispatcher_->counts();
    for (const auto& [name, count] : kDispatchTotals) earlier_.*count += counts.*count;
    dispatcher_ = nullptr;
    fleet_ = nullptr;
    leads_ = nullptr;
  }
  count_jobs({});
  oldest_job(0);
}

void CoordinatorMetrics::count_jobs(const std::map<JobState, int>& jobs) {
  for (const JobState state : kOpenStates) {
    const auto found = jobs.find(state);
    metrics_.set("hone_jobs", of(state), found == jobs.end() ? 0 : found->second);
  }
}

void CoordinatorMetrics::oldest_job(double waits_s) {
  metrics_.set("hone_oldest_queued_job_seconds", {}, waits_s);
}

void CoordinatorMetrics::count_waiting_search(const std::string& arch, int change) {
  const std::lock_guard lock(mutex_);
  if ((waiting_searches_[arch] += change) <= 0) waiting_searches_.erase(arch);
}

void CoordinatorMetrics::job_ended(JobState state) {
  metrics_.add("hone_jobs_ended_total", of(state));
}

void CoordinatorMetrics::answered(const queue::Answered& answer) {
  metrics_.add("hone_evaluations_total",
               {{"pool", answer.pool},
                {"stage", std::string(answer.stage)},
                {"verdict", answer.verdict ? std::string(to_string(*answer.verdict)) : "none"}});
  metrics_.observe("hone_dispatch_seconds", {{"pool", answer.pool}}, answer.seconds);
}

void CoordinatorMetrics::count_tokens(std::int64_t input, std::int64_t output,
                                      std::int64_t nano_dollars) {
  metrics_.add("hone_model_tokens_total", {{"direction", "input"}}, static_cast<double>(input));
  metrics_.add("hone_model_tokens_total", {{"direction", "output"}}, static_cast<double>(output));
  metrics_.add("hone_model_dollars_total", {}, static_cast<double>(nano_dollars) * 1e-9);
}

void CoordinatorMetrics::replied(const ReplyRecord& reply) {
  const ReplyFate fate = first_fate(reply);
  metrics_.add("hone_model_replies_total",
               {{"outcome", fate == ReplyFate::kNone      ? "none"
                            : fate == ReplyFate::kRefused ? "refused"
                                                          : "accepted"}});
  count_tokens(reply.input_tokens, reply.output_tokens, reply.nano_dollars);
}

void CoordinatorMetrics::read() {
  const std::lock_guard lock(mutex_);
  const DispatchCounts now = dispatcher_ != nullptr ? dispatcher_->counts() : DispatchCounts();
  for (const auto& [name, count] : kDispatchTotals)
    metrics_.set(name, {}, static_cast<double>(earlier_.*count + now.*count));
  metrics_.clear("hone_queue_depth");
  for (const auto& [pool, depth] : now.pools) {
    Metrics::Labels labels = of_pool(pool);
    labels["state"] = "waiting";
    metrics_.set("hone_queue_depth", labels, static_cast<double>(depth.waiting));
    labels["state"] = "in_flight";
    metrics_.set("hone_queue_depth", labels, static_cast<double>(depth.in_flight));
  }
  metrics_.clear("hone_workers");
  metrics_.clear("hone_worker_capacity");
  if (fleet_ != nullptr) {
    for (const auto& [pool, there] : fleet_->pools()) {
      metrics_.set("hone_workers", of_pool(pool), there.workers);
      metrics_.set("hone_worker_capacity", of_pool(pool), there.capacity);
    }
  }
  metrics_.set("hone_database_writable", {}, database_.trouble().empty() ? 1 : 0);
  const auto errors = database_.errors();
  for (const StoreFault fault : kStoreFaults) {
    const auto met = errors.find(fault);
    metrics_.set("hone_database_errors_total", {{"fault", std::string(to_string(fault))}},
                 met == errors.end() ? 0 : static_cast<double>(met->second));
  }
  metrics_.clear("hone_searches_waiting");
  for (const auto& [arch, searches] : waiting_searches_)
    metrics_.set("hone_searches_waiting", {{"arch", arch}}, searches);
  show_process(metrics_);
  metrics_.set("hone_leading", {}, leads_ && leads_() ? 1 : 0);
  metrics_.set("hone_redis_reachable", {}, broker_.redis().reachable() ? 1 : 0);
  metrics_.set("hone_redis_connections_total", {},
               static_cast<double>(broker_.redis().connections_opened()));
}

}  // namespace hone
