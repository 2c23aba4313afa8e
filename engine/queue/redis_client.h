// Redis as the rest of engine/queue uses it: it survives lost connections and restarts of the
// server. Thread-safe: a call takes an idle connection or opens one, so calls of several threads
// run side by side and one that blocks holds up no other; there are as many connections as there
// ever were calls at once.
//
// A call whose connection fails before anything was sent is always tried again, as is one that the
// server refuses with LOADING or BUSY. When the connection is lost later, nobody knows whether the
// command was carried out: only calls marked idempotent are repeated. Between tries it waits 50 ms,
// then twice as long each time up to 2 s, less a random part. A wrong password, a certificate that
// is not trusted and the like end a call at once.
//
// A call must not leave state behind on its connection (SELECT, WATCH, SUBSCRIBE, half a MULTI):
// the next call may get another one. MULTI … EXEC belongs into one pipeline.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"
#include "engine/queue/redis_connection.h"
#include "engine/queue/redis_reply.h"
#include "engine/queue/redis_url.h"

namespace hone {

/// The server has become unreachable, or answers again.
struct RedisChange {
  bool reachable = false;
  std::string why;    ///< of an unreachable one
  double away_s = 0;  ///< of one that answers again: for how long it did not
};

struct RedisClientOptions {
  RedisConnectOptions connection;  ///< its stop flag ends every wait and call within 100 ms
  double deadline_s = 30;          ///< what a call may take in all, its tries and waits together
  double first_backoff_s = 0.05;
  double most_backoff_s = 2;
  /// Called from whichever thread's call finds it out, one call at a time; it must not call back.
  std::function<void(const RedisChange&)> on_change;
};

struct RedisCall {
  bool idempotent = false;  ///< carried out twice, it leaves what it leaves when carried out once
  double block_s = 0;       ///< the command's BLOCK time, never for ever; added to both time limits
  double deadline_s = 0;    ///< 0: the client's
};
inline constexpr RedisCall kRepeatable{.idempotent = true};

/// A Lua script and its SHA-1, by which the server knows it once it has seen it.
class RedisScript {
 public:
  explicit RedisScript(std::string text);
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& sha1() const { return sha1_; }

 private:
  std::string text_, sha1_;
};

class RedisClient {
 public:
  /// Tries to connect for at most `patience_s`; 0: once. Errors: those of RedisConnection::open.
  [[nodiscard]] static Result<std::unique_ptr<RedisClient>> open(RedisUrl url,
                                                                 RedisClientOptions options,
                                                                 double patience_s = 0);

  /// An error reply is a reply, LOADING and BUSY too where the deadline ended the waiting. Errors:
  /// kInfrastructure for a connection that was lost, a timeout, the deadline, the stop flag;
  /// kEnvironment when the server no longer lets us in.
  [[nodiscard]] Result<RedisReply> call(std::span<const std::string_view> words,
                                        const RedisCall& how = {});
  [[nodiscard]] Result<RedisReply> call(std::initializer_list<std::string_view> words,
                                        const RedisCall& how = {}) {
    return call(std::span(words.begin(), words.size()), how);
  }
  /// All on one connection; a reply for each. It is repeated as a whole: idempotent means all of
  /// it.
  [[nodiscard]] Result<std::vector<RedisReply>> pipeline(
      const std::vector<std::vector<std::string>>& commands, const RedisCall& how = {});
  /// EVALSHA, and EVAL where the server does not know the script (yet, or after a restart).
  [[nodiscard]] Result<RedisReply> script(const RedisScript& script,
                                          std::span<const std::string_view> keys,
                                          std::span<const std::string_view> arguments,
                                          const RedisCall& how = {});

  /// Connections opened so far, for tests and logs.
  [[nodiscard]] std::uint64_t connections_opened() const { return opened_; }
  /// Whether the last try of any call got a reply; whatever the server said in it.
  [[nodiscard]] bool reachable() const { return reachable_; }
  [[nodiscard]] const RedisUrl& url() const { return url_; }

 private:
  RedisClient(RedisUrl url, RedisClientOptions options)
      : url_(std::move(url)), options_(std::move(options)) {}
  [[nodiscard]] Result<std::unique_ptr<RedisConnection>> connect(double left_s, bool& may_pass);
  [[nodiscard]] Result<std::vector<RedisReply>> run(const RedisRequest& request,
                                                    const RedisCall& how);
  [[nodiscard]] Result<std::vector<RedisReply>> attempt(const RedisRequest& request,
                                                        const RedisCall& how, double left_s,
                                                        bool& again);
  [[nodiscard]] std::unique_ptr<RedisConnection> take_idle();
  [[nodiscard]] bool stopped() const;
  /// What a try has shown. `error`: null where it got its replies.
  void note(const Error* error);

  const RedisUrl url_;
  const RedisClientOptions options_;
  std::atomic<std::uint64_t> opened_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<RedisConnection>> idle_;  ///< guarded by mutex_
  std::atomic<bool> reachable_ = true;
  std::mutex change_;  ///< of changes of reachable_, and of lost_at_
  std::chrono::steady_clock::time_point lost_at_;
};

}  // namespace hone
