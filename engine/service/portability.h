// What a job found on one architecture, tried on the others: the best of each search go through the
// final stage on every other pool of the same kind, measured or modelled, that has a worker.
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "candidates/store/store.h"
#include "engine/queue/lead.h"
#include "engine/queue/messages_job.h"

namespace hone {

struct JobContext;

/// What came of a job's search on one pool.
struct Searched {
  std::string pool;  ///< empty: nothing
  std::string arch;
  std::string device_name;
  bool modelled = false;
  std::vector<CandidateRecord> best;  ///< fastest first, without the reference
  std::set<std::string> timed;        ///< hashes of all that went through the final stage there
};

/// Blocks, at most some minutes, and ends soon once `ending` is set. What passes and what fails is
/// stored like any final stage; whatever goes wrong beside that is logged.
void try_elsewhere(const JobContext& context, const queue::QueuedJob& job,
                   const queue::JobMessage& message, const std::vector<Searched>& searches,
                   const std::atomic<bool>& ending);

}  // namespace hone
