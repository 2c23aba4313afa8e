// The coordinator's side of the Redis server. One coordinator leads; its token, larger than that of
// every leader before it, goes with everything it asks for, so that one that was away too long can
// do no harm. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/queue/broker.h"
#include "engine/queue/messages_result.h"

namespace hone::queue {

inline constexpr double kLeadershipTtl_s = 5;
inline constexpr double kSaidTtl_s = 15;               ///< of set_trouble(), set_language_model()
inline constexpr int kMostAnswers = 256;               ///< that answers() gives at once
inline constexpr double kJobKept_s = 7 * 24 * 3600.0;  ///< after its end

/// A job that waits for its search.
struct QueuedJob {
  std::string entry;
  std::string id;
  int priority = 0;
  /// By the server's clock: the first part of the entry's id. Unix time [ms].
  [[nodiscard]] std::int64_t queued_at() const { return std::atoll(entry.c_str()); }
};

class Lead {
 public:
  explicit Lead(Broker& broker) : broker_(broker) {}

  /// Becomes the leader, with a token above `floor`. False: another one leads.
  [[nodiscard]] Result<bool> take(std::int64_t floor);
  /// To be called at least every kLeadershipTtl_s / 3. False: another one may lead by now.
  [[nodiscard]] Result<bool> keep();
  void resign();
  [[nodiscard]] std::int64_t token() const { return token_; }
  /// A call was refused for its token.
  [[nodiscard]] bool deposed() const { return deposed_; }
  /// And that because the server knows of no leader at all: nobody was heard for too long, or it
  /// was started again without what it held.
  [[nodiscard]] bool forgotten() const { return forgotten_; }

  /// The queue belongs to this database from now on.
  [[nodiscard]] Result<void> own(const QueueOwner& owner);
  /// Tells everybody what holds all jobs up, for kSaidTtl_s; empty: nothing does any more.
  [[nodiscard]] Result<void> set_trouble(const std::string& text);
  /// Inputs::check().
  [[nodiscard]] Result<void> check_input(const std::string& sha256);
  /// Tells everybody, for kSaidTtl_s, that there is a language model for jobs that want one.
  [[nodiscard]] Result<void> set_language_model(bool there);
  /// Those of these jobs of which the server knows nothing, neither waiting, running nor ended.
  [[nodiscard]] Result<std::vector<std::string>> unknown_jobs(const std::vector<std::string>& ids);

  /// Forgets every evaluation that is open. Their searches ask again.
  [[nodiscard]] Result<void> forget_evaluations();
  /// Jobs that were read before, by whomever, and have not ended; then new ones, in the order of
  /// their submission.
  [[nodiscard]] Result<std::vector<QueuedJob>> unfinished_jobs();
  [[nodiscard]] Result<std::vector<QueuedJob>> new_jobs();
  /// Empty: its message is gone. kInvalidInput: it is no job message.
  [[nodiscard]] Result<std::optional<JobMessage>> message_of(const std::string& job);
  /// As it was submitted, unread: at most kMaxMessage bytes.
  [[nodiscard]] Result<std::optional<std::string>> message_bytes(const std::string& job);
  [[nodiscard]] Result<std::set<std::string>> cancelled();
  /// Dead letters that somebody wants asked again: the evaluation's id by entry, "" where the
  /// letter is gone. They come again until put_back_done().
  [[nodiscard]] Result<std::map<std::string, std::string>> put_back();
  /// The letter of what was handed out again goes; others stay.
  [[nodiscard]] Result<void> put_back_done(const std::string& entry, bool handed_out);
  [[nodiscard]] std::int64_t now_ms() { return broker_.now_ms(); }
  [[nodiscard]] Result<JobStatus> status_of(const std::string& job) { return broker_.status(job); }
  /// Nothing happens to a job that has ended.
  [[nodiscard]] Result<void> set_status(const JobStatus& status);
  [[nodiscard]] Result<void> end_job(const QueuedJob& job, const JobStatus& status,
                                     const std::vector<JobPlace>& places = {});

  /// Encoded work messages by id, for any worker of the pool or for this one; one that is open
  /// already is left as it is.
  [[nodiscard]] Result<void> give(const std::string& pool,
                                  const std::vector<std::pair<std::string, std::string>>& messages,
                                  const std::string& worker = "");
  /// Nobody waits for these any more.
  [[nodiscard]] Result<void> drop(const std::vector<std::string>& ids);
  /// Which of these no worker has answered, nor anybody dropped.
  [[nodiscard]] Result<std::set<std::string>> open(const std::vector<std::string>& ids);

  struct Answer {
    std::string entry;
    std::string id;       ///< as it was asked for
    std::string message;  ///< encoded, of whatever the worker sent
  };
  /// Those that have come; waits at most `block_s` for the first. They come again until taken().
  [[nodiscard]] Result<std::vector<Answer>> answers(double block_s);
  [[nodiscard]] Result<void> taken(const std::vector<Answer>& answers);

 private:
  [[nodiscard]] Result<void> say(const std::string& key, const std::string& text);
  void depose();
  [[nodiscard]] Result<RedisReply> as_leader(Result<RedisReply> reply, std::string_view what);
  [[nodiscard]] Result<std::vector<QueuedJob>> read_jobs(const std::string& from);

  Broker& broker_;
  std::atomic<std::int64_t> token_ = 0;
  std::atomic<bool> deposed_ = false, forgotten_ = false;
};

}  // namespace hone::queue
