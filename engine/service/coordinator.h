// Searches that others submitted, many at once: evaluations go to workers through Redis, results
// into the database, which is the coordinator's own. Several may run; one leads, and another goes
// on where it was when it falls silent.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "candidates/store/store.h"
#include "engine/queue/broker.h"
#include "engine/queue/log_event.h"
#include "engine/rewriting/rewriting.h"
#include "engine/service/metrics.h"

namespace hone {

namespace llm {
struct Access;
}

struct CoordinatorOptions {
  /// Of one priority and above: below it, others go on meanwhile, four times as many in all.
  int jobs_at_once = 4;
  /// Leads a queue that belongs to another database, or to a later state of this one; once.
  bool adopt_queue = false;
  /// Refuses to start where the Redis server may lose jobs, or does not tell.
  bool require_durable = false;
  /// What reads the sources of one job; called once for each search.
  std::function<std::unique_ptr<Rewriting>()> open_rewriting;
  const llm::Access* model = nullptr;       ///< of which each job that wants it is granted a part
  Log log;                                  ///< what happens or is wrong; from any thread
  Metrics* metrics = nullptr;               ///< engine/service/METRICS.md; null: nobody reads them
  const std::atomic<bool>* stop = nullptr;  ///< resigns; its jobs wait for the next leader
};

/// Until `stop`. Errors: kEnvironment, kInfrastructure and kIo, of the server and the database at
/// the start; kInvalidInput at any time, where the queue belongs to another database.
[[nodiscard]] Result<void> run_coordinator(queue::Broker& broker, Store& store,
                                           const CoordinatorOptions& options);

}  // namespace hone
