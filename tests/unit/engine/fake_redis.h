// A "Redis server" that says what a test tells it to: a thread with a socket on the loopback.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/queue/redis_url.h"

namespace hone::testing {

/// One accepted connection, as the script of a fake server sees it.
class FakeRedisPeer {
 public:
  FakeRedisPeer(int fd, const std::atomic<bool>& ending) : fd_(fd), ending_(ending) {}
  /// False when the client is gone or the test ends; a script then returns.
  bool send(std::string_view bytes) const;
  /// Waits for bytes of the client and drops them.
  bool receive() const;
  /// Answers the greeting of RedisConnection::open (CLIENT SETNAME alone) and takes one command.
  bool greet() const;
  bool sleep(std::chrono::milliseconds time) const;

 private:
  int fd_;
  const std::atomic<bool>& ending_;
};

class FakeRedis {
 public:
  /// `script` runs for each connection, one after the other; its end closes the connection.
  explicit FakeRedis(std::function<void(const FakeRedisPeer&)> script);
  ~FakeRedis();
  FakeRedis(const FakeRedis&) = delete;
  FakeRedis& operator=(const FakeRedis&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] int connections() const { return connections_; }
  [[nodiscard]] RedisUrl url() const;

 private:
  int listener_ = -1, port_ = 0;
  std::atomic<bool> ending_ = false;
  std::atomic<int> connections_ = 0;
  std::jthread thread_;
};

}  // namespace hone::testing
