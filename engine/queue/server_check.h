// What a Redis server would lose, and when: its settings, looked at before they matter.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "candidates/result.h"
#include "engine/queue/redis_client.h"

namespace hone::queue {

/// As INFO tells; what it does not tell is empty.
struct ServerFacts {
  std::string version;                  ///< "7.0.15"
  std::string run_id;                   ///< of this process of the server
  std::optional<bool> appends;          ///< every change goes to an append-only file
  std::optional<bool> appending_works;  ///< and the last one did
  std::string eviction;                 ///< maxmemory-policy
  std::string refusal;                  ///< why there are no facts: what the server says
};

/// Errors: kInfrastructure, kEnvironment: the server cannot be asked. One that answers and does not
/// tell is no error: see `refusal`.
[[nodiscard]] Result<ServerFacts> look_at_server(RedisClient& redis);

/// What of it can cost jobs, each with the setting and the remedy, and what cannot be told; empty:
/// nothing.
[[nodiscard]] std::vector<std::string> concerns(const ServerFacts& facts);

}  // namespace hone::queue
