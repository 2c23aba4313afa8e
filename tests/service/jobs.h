// Jobs as a user has them, and what they must come to whatever happens meanwhile: what `hone
// optimize` finds alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/queue/broker.h"
#include "tests/e2e/process.h"
#include "tests/unit/engine/redis_server.h"

namespace hone::test {

struct TestJob {
  std::string task;  ///< file
  int budget = 12;
  int seed = 1;
};

/// The best recipe of `hone optimize`, and how much it evaluates.
struct Undisturbed {
  std::string recipe;
  std::int64_t evaluated = 0;
};
[[nodiscard]] Undisturbed undisturbed(const TestJob& job);

/// Its id.
[[nodiscard]] std::string submit(const TestJob& job, const std::string& redis);

/// Waits until it has evaluated something.
[[nodiscard]] bool begun(const std::string& id, const hone::testing::RedisServer& server,
                         double seconds);

/// Those that have ended `seconds` from now; returns when all have.
[[nodiscard]] std::map<std::string, queue::JobStatus> ended(
    const std::vector<std::string>& ids, const hone::testing::RedisServer& server, double seconds);

/// It is done, found the same and evaluated as much: nothing was left out or counted twice.
void expect_undisturbed(const queue::JobStatus& status, const Undisturbed& want,
                        const std::string& database);

/// Nothing is left half done in a coordinator's database.
void expect_whole(const std::string& database);

}  // namespace hone::test
