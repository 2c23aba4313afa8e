// What hone keeps on a Redis server, for those who submit, ask and watch. All of it is described in
// PROTOCOL.md. Thread-safe, as RedisClient is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "candidates/result.h"
#include "engine/queue/keys.h"
#include "engine/queue/messages_job.h"
#include "engine/queue/messages_worker.h"
#include "engine/queue/redis_client.h"

namespace hone::queue {

/// Jobs that wait or run; more are refused.
inline constexpr int kMostJobs = 10'000;

/// An evaluation that killed or silenced every worker that took it.
struct DeadLetter {
  std::string entry;  ///< its place in the stream
  std::string id;     ///< of the evaluation
  std::string pool;
  std::string why;
  std::int64_t at = 0;  // Unix time [ms]
};

class Broker {
 public:
  Broker(std::shared_ptr<RedisClient> redis, std::string prefix)
      : redis_(std::move(redis)), keys_(std::move(prefix)) {}

  /// Once, however often it is repeated. Errors: kEnvironment when there are kMostJobs already.
  [[nodiscard]] Result<void> submit(const JobMessage& job);
  /// The newest first.
  [[nodiscard]] Result<std::vector<JobStatus>> jobs(int limit);
  /// kInvalidInput: there is no such job (any more).
  [[nodiscard]] Result<JobStatus> status(const std::string& id);
  /// Of a job that has ended: nothing happens.
  [[nodiscard]] Result<void> cancel(const std::string& id);

  /// A worker is there, for `ttl_s` from now.
  [[nodiscard]] Result<void> report(const WorkerMessage& worker, double ttl_s);
  [[nodiscard]] Result<void> leave(const std::string& worker);
  [[nodiscard]] Result<std::vector<WorkerMessage>> workers();

  /// The newest first.
  [[nodiscard]] Result<std::vector<DeadLetter>> dead(int limit);

  enum class PutBack {
    kAsked,      ///< the leader hands it out, unless its search ends before
    kGone,       ///< there is no such letter (any more)
    kEnded,      ///< its search has
    kRestarted,  ///< by another leader, whose search asks again by itself
  };
  /// Asks for a dead letter's evaluation once more. `entry`, `id`: as dead() has them.
  [[nodiscard]] Result<PutBack> put_back(const std::string& entry, const std::string& id);
  /// Is it among the dead letters still?
  [[nodiscard]] Result<bool> is_dead(const std::string& entry);

  /// The server's clock: Unix time [ms].
  [[nodiscard]] Result<std::int64_t> server_time();

  [[nodiscard]] RedisClient& redis() { return *redis_; }
  [[nodiscard]] const Keys& keys() const { return keys_; }

 private:
  std::shared_ptr<RedisClient> redis_;
  Keys keys_;
};

/// Milliseconds since 1970.
[[nodiscard]] std::int64_t unix_ms();

/// A stream's entry: its id, and its fields by name.
struct StreamEntry {
  std::string entry;
  std::vector<std::pair<std::string, std::string>> fields;
  /// "" where there is none.
  [[nodiscard]] const std::string& field(std::string_view name) const;
};
/// Of XRANGE, or of one stream of XREAD. Entries that were deleted while somebody held them are
/// left out.
[[nodiscard]] Result<std::vector<StreamEntry>> entries_from(const RedisReply& reply);

}  // namespace hone::queue
