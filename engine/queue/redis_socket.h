// The stream to a Redis server: TCP, TCP with TLS, or a unix socket. Nothing here blocks longer
// than its deadline, nor 100 ms after the stop flag is set. One thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include "candidates/result.h"
#include "engine/queue/redis_url.h"

namespace hone {

/// Until when something may wait.
struct RedisWait {
  std::chrono::steady_clock::time_point deadline;
  const std::atomic<bool>* stop = nullptr;  ///< may be null; true ends the wait

  [[nodiscard]] bool stopped() const { return stop != nullptr && *stop; }
  /// What poll() may wait now: at most 50 ms where there is a stop flag. 0 when time is up.
  [[nodiscard]] int poll_ms() const;
  /// kInfrastructure, when stopped or past the deadline; else nothing.
  [[nodiscard]] Result<void> check(std::string_view doing) const;
};

/// What one call moved. 0 bytes: wait with poll() for `events`, then ask again.
struct RedisProgress {
  std::size_t bytes = 0;
  short events = 0;
};

class RedisSocket {
 public:
  virtual ~RedisSocket() = default;
  /// Errors: kInfrastructure when the connection is lost or the other side has closed it.
  [[nodiscard]] virtual Result<RedisProgress> read(std::span<char> into) = 0;
  [[nodiscard]] virtual Result<RedisProgress> write(std::span<const char> bytes) = 0;
  [[nodiscard]] virtual int fd() const = 0;

  /// Connects, and shakes hands where the URL says TLS. Errors: kEnvironment when there is no
  /// connection or no trust, with what to do; kInfrastructure when stopped. `may_pass` says whether
  /// another try can succeed with nobody changing a setting.
  [[nodiscard]] static Result<std::unique_ptr<RedisSocket>> open(const RedisUrl& url,
                                                                 const RedisWait& wait,
                                                                 bool& may_pass);
};

}  // namespace hone
