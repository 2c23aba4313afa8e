// Feeds a queue with candidates whose programs at the check sizes are still to be made.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "candidates/program.h"
#include "candidates/recipe.h"
#include "engine/queue/queue.h"
#include "engine/search/requests/requests.h"

namespace hone {

/// A candidate known at the timed sizes only.
struct Draft {
  std::uint64_t id = 0;  ///< of the work that it becomes
  Recipe recipe;
  Program program;  ///< what the recipe yields at the timed sizes
  std::uint64_t seed = 0;
  std::uint64_t order = 0;                        ///< see EvaluationRequest
  double best_time_us = 0;                        ///< likewise
  double screen_above_us = 0;                     ///< likewise
  bool measure_first = false;                     ///< likewise
  std::shared_ptr<const KnownTimes> known_times;  ///< likewise
  /// Refused unless RequestBuilder::checks_edits_as_timed(): where nothing runs and compares what
  /// is timed.
  bool edits_as_timed = false;
};

/// Threads of its own: rewriting a candidate at every check size takes as long as asking for the
/// next one, and a GPU must not wait for both in turn.
/// What a check size refuses comes back from the queue as an evaluation with that verdict, or as
/// an error of kRefused when it is the rewriting that failed.
class Feeder {
 public:
  /// Both must outlive the feeder. One thread makes work of drafts in the order in which they come.
  Feeder(const RequestBuilder& builder, SearchQueue& queue, int threads);
  ~Feeder() { stop(); }
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  void add(Draft draft);
  /// Drops what has not begun. The queue must take work or be cancelled meanwhile.
  void stop();

 private:
  void run(const std::stop_token& stopping);

  const RequestBuilder& builder_;
  SearchQueue& queue_;
  std::mutex mutex_;
  std::condition_variable_any ready_;
  std::deque<Draft> drafts_;
  std::vector<std::jthread> threads_;  ///< last: they use all of the above
};

}  // namespace hone
