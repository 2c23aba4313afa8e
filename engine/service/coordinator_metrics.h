// What a coordinator tells Prometheus; METRICS.md has the table. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "engine/queue/broker.h"
#include "engine/queue/dispatcher.h"
#include "engine/service/database_watch.h"
#include "engine/service/job_runner.h"
#include "engine/service/metrics.h"

namespace hone {

class CoordinatorMetrics {
 public:
  /// All must outlive it.
  CoordinatorMetrics(Metrics& metrics, queue::Broker& broker, const DatabaseWatch& database);

  /// All are read at each scrape, until end_term(). `leads`: whether it is known at this moment
  /// that no other coordinator can lead.
  void begin_term(queue::Dispatcher& dispatcher, const Fleet& fleet, std::function<bool()> leads);
  void end_term();
  /// By state, of those that have not ended.
  void count_jobs(const std::map<queue::JobState, int>& jobs);
  /// Of the job that has waited longest for its search or a worker [s]; 0: none waits.
  void oldest_job(double waits_s);
  /// A search for `arch` begins (+1) or ends (-1) to wait for a worker.
  void count_waiting_search(const std::string& arch, int change);
  void job_ended(queue::JobState state);
  void answered(const queue::Answered& answer);
  /// By a language model, or not: what that was worth and what it took.
  void replied(const ReplyRecord& reply);

 private:
  void read();
  void count_tokens(std::int64_t input, std::int64_t output, std::int64_t nano_dollars);

  Metrics& metrics_;
  queue::Broker& broker_;
  const DatabaseWatch& database_;
  std::mutex mutex_;  ///< of all that follows
  queue::Dispatcher* dispatcher_ = nullptr;
  const Fleet* fleet_ = nullptr;
  std::function<bool()> leads_;
  std::map<std::string, int> waiting_searches_;  ///< by architecture, those that wait
  queue::DispatchCounts earlier_;                ///< of the terms before
  const Metrics::Reading reading_;               ///< last: it uses all of the above
};

}  // namespace hone
