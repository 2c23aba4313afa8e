// What hone keeps on a Redis server, for those who submit, ask and watch. All of it is described in
// PROTOCOL.md. Thread-safe, as RedisClient is.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "candidates/result.h"
#include "engine/queue/keys.h"
#include "engine/queue/messages_about.h"
#include "engine/queue/messages_job.h"
#include "engine/queue/messages_places.h"
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
  std::int64_t at = 0;  // Unix time by the server's clock [ms]
};

/// A job as lists show it.
struct JobRow {
  JobStatus status;
  std::optional<JobAbout> about;  ///< none: an older hone submitted it
  std::int64_t submitted_at = 0;  // Unix time by the server's clock [ms]; 0: not known
  std::vector<JobPlace> places;   ///< of one that has ended
};

/// Which jobs are wanted; what is empty lets all pass.
struct JobFilter {
  std::string owner;             ///< exactly
  std::vector<JobState> states;  ///< one of these
  std::string task;              ///< its name, or the first four digits or more of its hash
  [[nodiscard]] bool empty() const { return owner.empty() && states.empty() && task.empty(); }
};

/// Who is registered as a worker now.
struct Registered {
  std::vector<WorkerMessage> workers;  ///< that can take work of this version
  std::vector<ForeignWorker> foreign;  ///< of other versions
};

/// The database that a queue's results go to.
struct QueueOwner {
  std::string database;   ///< Store's id
  std::string place;      ///< for people: its path, and the host that led last
  std::string life;       ///< the queue's name, drawn at random when it began; gone when it is
  std::int64_t term = 0;  ///< the last one whose leader wrote to the database
};

class Broker {
 public:
  Broker(std::shared_ptr<RedisClient> redis, std::string prefix)
      : redis_(std::move(redis)), keys_(std::move(prefix)) {}

  /// Once, however often it is repeated. Errors: kEnvironment when there are kMostJobs already.
  [[nodiscard]] Result<void> submit(const JobMessage& job);
  /// kInvalidInput: there is no such job (any more).
  [[nodiscard]] Result<JobStatus> status(const std::string& id);
  /// The newest first, at most `limit`; reads no more of the list than it needs. Jobs that ended
  /// more than a week ago are left out.
  [[nodiscard]] Result<std::vector<JobRow>> rows(const JobFilter& filter, int limit);
  /// One job, by its whole id. kInvalidInput: there is no such job (any more).
  [[nodiscard]] Result<JobRow> row(const std::string& id);
  /// The whole id of the one job that is called so or begins so. kInvalidInput: none does, or
  /// several do, which are named.
  [[nodiscard]] Result<std::string> find_job(const std::string& id_or_prefix);
  /// Ids of the jobs that no search has been begun for, in the order in which they will be: the
  /// highest priority first, of equal ones the oldest.
  [[nodiscard]] Result<std::vector<std::string>> line();
  /// Does a coordinator lead now?
  [[nodiscard]] Result<bool> has_leader();
  /// Unix time by the server's clock [ms], for all that other machines compare or show: asked now
  /// and then, counted on in between. By this machine's clock where the server never told.
  [[nodiscard]] std::int64_t now_ms();
  /// False: the job had ended before, and nothing happens. kInvalidInput: there is no such job.
  [[nodiscard]] Result<bool> cancel(const std::string& id);

  /// A worker is there, for `ttl_s` from now.
  [[nodiscard]] Result<void> report(const WorkerMessage& worker, double ttl_s);
  [[nodiscard]] Result<void> leave(const std::string& worker);
  [[nodiscard]] Result<std::vector<WorkerMessage>> workers();
  [[nodiscard]] Result<Registered> registered();

  /// None: no coordinator ever led it, or the server forgot.
  [[nodiscard]] Result<std::optional<QueueOwner>> owner();
  /// What holds all jobs up, as the leader says: "database full"; empty: nothing, or nobody leads,
  /// or this user may not read it.
  [[nodiscard]] Result<std::string> trouble();
  /// Does the leader have a language model for jobs that want one? Who may not read it is told no.
  [[nodiscard]] Result<bool> has_language_model();

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

  [[nodiscard]] RedisClient& redis() { return *redis_; }
  [[nodiscard]] const Keys& keys() const { return keys_; }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Result<std::int64_t> server_time();  // [us]

  std::shared_ptr<RedisClient> redis_;
  Keys keys_;
  std::mutex clock_;                                                ///< of the next ones
  std::optional<std::pair<std::int64_t, Clock::time_point>> told_;  ///< server's time [us], ours
  Clock::time_point ask_time_ = Clock::now();                       ///< no earlier than then
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
