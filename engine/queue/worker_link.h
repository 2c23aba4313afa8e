// The workers' end of the Redis server: work comes in, for any worker of a pool or for this one,
// answers go out. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "engine/queue/broker.h"
#include "engine/queue/log_event.h"
#include "engine/queue/queue.h"

namespace hone::queue {

/// A message is given to so many workers, and then to none.
inline constexpr int kMostDeliveries = 3;
/// A worker that says nothing for so long has lost what it was at.
inline constexpr double kSilence_s = 10;

class WorkerLink final : public WorkerQueue {
 public:
  /// `capacity`: pieces of work in hand, at most. `log` as in Dispatcher. All must outlive the
  /// link.
  WorkerLink(Broker& broker, std::string worker, std::string pool, int capacity, Log log);
  ~WorkerLink() override { close(); }

  std::optional<Work> take(std::chrono::milliseconds timeout) override;
  void complete(Done done) override;
  /// Takes nothing new; what has not begun goes back.
  void drain();
  /// Drains, and ends the link. What is still at work is somebody else's now.
  void close() override;
  [[nodiscard]] int in_hand();

 private:
  struct Piece {
    std::string stream, entry, id, job;
    bool begun = false;
  };
  void read(const std::stop_token& stopping);
  void renew(const std::stop_token& stopping);
  struct Taken {
    std::string stream;
    std::vector<StreamEntry> entries;
  };
  [[nodiscard]] Result<std::vector<Taken>> fresh(int count);
  [[nodiscard]] Result<Taken> abandoned(const std::string& stream, int count);
  void accept(const Taken& taken, bool claimed);
  [[nodiscard]] bool has(const std::string& stream, const std::string& entry);
  void bury(const std::string& stream, const StreamEntry& entry, const std::string& why);
  void hand_back(const std::vector<Piece>& pieces);
  void warn(const std::string& event, const std::string& what, const std::string& job = "",
            const std::string& evaluation = "", LogLevel level = LogLevel::kWarning);

  Broker& broker_;
  const std::string worker_, pool_;
  const std::string shared_, own_;  ///< streams
  const int capacity_;
  const Log log_;
  std::mutex mutex_;  ///< of all that follows
  std::condition_variable_any changed_;
  std::deque<Work> ready_;
  std::map<std::uint64_t, Piece> pieces_;  ///< by Work::id
  std::uint64_t next_ = 0;
  bool draining_ = false, closed_ = false;
  std::jthread reader_, renewer_;  ///< last: they use all of the above
};

}  // namespace hone::queue
