// Holds a coordinator's work up while its database cannot be written, instead of failing jobs: a
// search that has something to store waits inside the Store until that works. Says so once in the
// log, in a metric and, through the leader, on the queue; and once when it is mended.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "candidates/store/store.h"
#include "engine/queue/log_event.h"

namespace hone {

/// Thread-safe. The thread that makes it is the coordinator's own: it never waits here, for it has
/// the lead to look after. All others do.
class DatabaseWatch : public StoreObserver {
 public:
  /// Observes `store` until its end; both must outlive it.
  DatabaseWatch(Store& store, Log log);
  ~DatabaseWatch() override;
  DatabaseWatch(const DatabaseWatch&) = delete;
  DatabaseWatch& operator=(const DatabaseWatch&) = delete;

  /// What is wrong, for people: "database full"; empty: nothing is known to be wrong.
  [[nodiscard]] std::string trouble() const;
  /// How often a call met each fault.
  [[nodiscard]] std::map<StoreFault, std::int64_t> errors() const;
  /// For how long nothing could be stored, up to now [s].
  [[nodiscard]] double paused_s() const;

  /// Since hold(true): another process writes to the database, and this one may not any more.
  [[nodiscard]] bool is_fence_lost() const { return fence_lost_; }

  /// Where something is wrong and nobody waits to store anything: tries whether it is mended.
  void look();
  /// Others wait from now on (true); or their calls fail at once, also those that wait (false): the
  /// searches that they belong to must have been told to end before.
  void hold(bool others_wait) {
    if (others_wait) fence_lost_ = false;
    others_wait_ = others_wait;
  }

  // Of StoreObserver:
  [[nodiscard]] bool try_again(StoreFault fault, const Error& error, int faults) override;
  void succeeded(int faults) override;
  void failed(int faults) override;
  void fence_lost() override { fence_lost_ = true; }
  [[nodiscard]] bool in_trouble() const override;

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool is_own_thread() const { return std::this_thread::get_id() == own_thread_; }
  void mend();

  Store& store_;
  const Log log_;
  const std::thread::id own_thread_ = std::this_thread::get_id();
  std::atomic<bool> others_wait_ = false, fence_lost_ = false;
  mutable std::mutex mutex_;  ///< of all that follows
  std::optional<StoreFault> fault_;
  Clock::time_point since_{};                ///< of fault_
  std::chrono::duration<double> earlier_{};  ///< of faults that are mended
  bool own_failed_ = false;                  ///< our own thread's last try to write
  int waiting_ = 0;                          ///< calls of others that met it and have not ended
  std::map<StoreFault, std::int64_t> errors_;
};

}  // namespace hone
