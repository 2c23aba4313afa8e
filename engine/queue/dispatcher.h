// Between a coordinator's searches and the workers: hands out what the searches ask for, each its
// share, and brings every answer to the search that waits for it. What Redis or a worker loses is
// asked for again; what comes twice counts once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/queue/lead.h"
#include "engine/queue/log_event.h"
#include "engine/queue/queue.h"

namespace hone::queue {

/// What a dispatcher has seen, for metrics.
struct DispatchCounts {
  std::int64_t given = 0;     ///< evaluations handed out, repetitions included
  std::int64_t answered = 0;  ///< that their search got
  std::int64_t repeated = 0;  ///< asked for again: lost, refused, or failed for a machine's reasons
  std::int64_t refused = 0;   ///< answers that no honest worker gives
  std::int64_t late = 0;      ///< answers that nobody waited for
  struct Depth {
    std::int64_t waiting = 0;    ///< not handed out yet
    std::int64_t in_flight = 0;  ///< handed out, no answer yet
  };
  std::map<std::string, Depth> pools;
};

/// An answer that a search got.
struct Answered {
  const std::string& pool;
  std::string_view stage;          ///< stage_of()
  std::optional<Verdict> verdict;  ///< none: no worker gave a usable answer
  double seconds = 0;              ///< since it was handed out, the last time
};

/// So many steps of priority below the highest that asks, a search's share shrinks no more: to
/// 1/32 of that one's.
inline constexpr int kMostSteps = 5;

class Dispatcher {
 public:
  /// `log` gets whatever is wrong, from any thread; `observe` every answer, from one thread and
  /// under no lock. All must outlive the dispatcher.
  Dispatcher(Lead& lead, Log log, std::function<void(const Answered&)> observe = {});
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// The end of one search. The slots of a pool are shared by priority: each step doubles a
  /// search's share, up to kMostSteps of them, so that the lowest gets some, too. What one search
  /// does not want the others have. Must not outlive the dispatcher.
  [[nodiscard]] std::unique_ptr<SearchQueue> open(const std::string& job, const std::string& pool,
                                                  bool modelled, int priority);
  /// Takes back what a job's searches have asked for, and takes nothing more from them.
  void drop(const std::string& job);
  /// Asks again what was answered `crash` in the search stage: the search gets a second answer with
  /// the same id. False: nobody waits for it any more.
  bool put_back(const std::string& evaluation);
  /// How many evaluations the workers of a pool take at once; as many again wait on the server.
  void set_capacity(const std::string& pool, int capacity);
  [[nodiscard]] DispatchCounts counts();

 private:
  class Lane;
  struct Asked {
    std::string message;
    std::uint64_t number = 0;  ///< of the search's Work
    std::string worker;        ///< likewise
    bool admission = false, final_stage = false, may_be_cut_short = false, may_be_slower = false;
    std::string_view stage;
    std::chrono::steady_clock::time_point given;
    int failures = 0;
  };
  /// What is meant for one worker takes none of the pool's: it may wait long for that one.
  static int room_of(const Asked& asked) { return asked.worker.empty() ? 1 : 0; }
  void take_back(const std::string& job, const std::string& pool,
                 const std::vector<std::string>& evaluations);
  void hand_out(const std::stop_token& stopping);
  void collect(const std::stop_token& stopping);
  void take_answer(const Lead::Answer& answer);
  static std::string out_of_place(const Asked& asked, const Evaluation& evaluation, bool modelled);
  void audit();
  /// Precondition of both: the lock is held. Null: nothing can be handed out.
  [[nodiscard]] Lane* next_lane();
  [[nodiscard]] int highest_priority(const std::string& pool) const;
  [[nodiscard]] int room(const std::string& pool);

  Lead& lead_;
  const Log log_;
  const std::function<void(const Answered&)> observe_;
  std::mutex mutex_;  ///< of all that follows
  std::condition_variable_any work_ready_;
  std::vector<Lane*> lanes_;
  std::unordered_map<std::string, Lane*> waiting_for_;  ///< by evaluation id
  std::map<std::string, int> capacity_, in_flight_;     ///< by pool
  DispatchCounts counts_;
  std::uint64_t lanes_opened_ = 0;
  std::chrono::steady_clock::time_point audited_ = std::chrono::steady_clock::now();
  std::jthread giver_, collector_;  ///< last: they use all of the above
};

}  // namespace hone::queue
