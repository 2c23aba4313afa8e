// Asks a strategy, on threads of its own: an answer takes about 10 ms of rewriting, and several
// GPUs take more than one thread can ask for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/search/strategy/strategy.h"

namespace hone {

struct Proposed {
  std::uint64_t order = 0;  ///< number of the ask, about: threads may change places; 0: the first
  Recipe recipe;
  Result<Rewritten> rewritten;  ///< at the timed sizes, with its hash
};

class Proposer {
 public:
  /// `threads` 0: take() asks itself, which repeats exactly. `on_ready` is called by the threads
  /// when there is something to take. Strategy and space must outlive the proposer.
  Proposer(Strategy& strategy, Space& space, int threads, std::function<void()> on_ready);
  ~Proposer() { stop(); }
  Proposer(const Proposer&) = delete;
  Proposer& operator=(const Proposer&) = delete;

  /// One more, please. False: take() what there is first.
  bool ask();
  /// Asked for and not taken yet.
  [[nodiscard]] std::size_t pending() const { return pending_; }
  [[nodiscard]] std::optional<Proposed> take();
  /// Ends the threads; whoever is asking finishes that.
  void stop();
  /// What asking took, over all threads.
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  Proposed propose();
  void run(const std::stop_token& stopping);

  Strategy& strategy_;
  Space& space_;
  const std::function<void()> on_ready_;
  std::size_t pending_ = 0;
  std::atomic<double> seconds_ = 0;
  std::atomic<std::uint64_t> next_order_ = 0;
  std::mutex mutex_;  ///< of these three
  std::condition_variable_any asked_;
  std::size_t wanted_ = 0;
  std::deque<Proposed> ready_;
  std::vector<std::jthread> threads_;  ///< last: they use all of the above
};

}  // namespace hone
