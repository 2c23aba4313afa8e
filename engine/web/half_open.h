// Connections that wait for the head of a request: half of one, an idle one between two requests,
// or nothing at all. Each holds a thread, so an address may have so many of them only, and the
// oldest make room. Pure bookkeeping, without sockets; the caller locks.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace hone::web {

class HalfOpen {
 public:
  using Clock = std::chrono::steady_clock;

  /// How many may wait: `soft` of one address, beyond which its oldest is cut; `hard` of one
  /// address, beyond which a new one is refused; `all`, beyond which the oldest is cut of the
  /// address that has the most. Nobody is cut before it has waited for `grace`.
  struct Bounds {
    int soft = 0, hard = 0, all = 0;
    Clock::duration grace = std::chrono::seconds(1);
  };

  explicit HalfOpen(const Bounds& bounds) : bounds_(bounds) {}

  struct Entry {
    bool refused = false;    ///< there are too many of its address: close it
    std::optional<int> cut;  ///< another connection, to be closed for it; it does not wait any more
  };
  /// `connection` begins to wait.
  [[nodiscard]] Entry begin(int connection, const std::string& address, Clock::time_point now);
  /// Its head is there, or it is closed. Nothing happens where it does not wait.
  void end(int connection);

  [[nodiscard]] int waiting() const { return static_cast<int>(since_.size()); }

 private:
  struct Wait {
    std::string address;
    Clock::time_point since;
  };
  /// The one that has waited longest, of an address or of all; none where that is within the grace.
  [[nodiscard]] std::optional<int> oldest(const std::string& address, Clock::time_point now) const;

  const Bounds bounds_;
  std::map<int, Wait> since_;          ///< by connection
  std::map<std::string, int> counts_;  ///< of each address that has one
};

/// Whom a connection counts for: an IPv4 address, or the /64 that a host of IPv6 can choose from.
[[nodiscard]] std::string counted_address(int socket);

}  // namespace hone::web
