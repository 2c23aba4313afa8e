// One connection to a Redis server. After a timeout, a lost connection or bytes that are not Redis'
// it is dead for good, so that no reply is ever taken for that of another command; redis_client.h
// makes a new one. One thread at a time.
//
// Not for commands after which the server speaks unasked or changes how it answers: SUBSCRIBE,
// MONITOR, CLIENT REPLY, HELLO 3.
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"
#include "engine/queue/redis_parser.h"
#include "engine/queue/redis_reply.h"
#include "engine/queue/redis_socket.h"
#include "engine/queue/redis_url.h"

namespace hone {

struct RedisConnectOptions {
  double connect_timeout_s = 5;  ///< look-up, connection, TLS and AUTH together
  double command_timeout_s = 10;
  std::string client_name = "hone";         ///< in CLIENT LIST; no spaces
  const std::atomic<bool>* stop = nullptr;  ///< true ends any wait within 100 ms; may be null
  RedisLimits limits;                       ///< of what the server may answer
};

/// Commands as they travel. Binary safe; at least one word each, the first being the command's
/// name.
class RedisRequest {
 public:
  void add(std::span<const std::string_view> words);
  void add(std::initializer_list<std::string_view> words) {
    add(std::span(words.begin(), words.size()));
  }
  void add(const std::vector<std::string>& words);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::size_t commands() const { return commands_; }

 private:
  std::string bytes_;
  std::size_t commands_ = 0;
};

class RedisConnection {
 public:
  /// Connects; then AUTH, SELECT and CLIENT SETNAME as needed. Errors: kEnvironment when there is
  /// no connection, the certificate is not trusted or the server refuses us, with what to do;
  /// kInfrastructure when the connection is lost again or options.stop was set. `may_pass`, where
  /// given, says of an error whether another try can succeed with nobody changing a setting.
  [[nodiscard]] static Result<std::unique_ptr<RedisConnection>> open(
      const RedisUrl& url, const RedisConnectOptions& options, bool* may_pass = nullptr);

  /// Sends one command and waits for its reply, at most `timeout_s`; 0: the options'. For a command
  /// that blocks, the timeout must exceed its BLOCK time. An error reply is a reply. Errors:
  /// kInfrastructure; the connection is dead then.
  [[nodiscard]] Result<RedisReply> command(std::span<const std::string_view> words,
                                           double timeout_s = 0);
  [[nodiscard]] Result<RedisReply> command(std::initializer_list<std::string_view> words,
                                           double timeout_s = 0) {
    return command(std::span(words.begin(), words.size()), timeout_s);
  }

  /// Sends all commands without waiting in between; a reply for each, in their order. By TLS keep
  /// the replies below a megabyte in all: Redis 7.0 hangs up ("bad length" in its log) when replies
  /// are added to some that it could not send yet.
  [[nodiscard]] Result<std::vector<RedisReply>> pipeline(
      const std::vector<std::vector<std::string>>& commands, double timeout_s = 0);
  [[nodiscard]] Result<std::vector<RedisReply>> exchange(const RedisRequest& request,
                                                         double timeout_s = 0);

  [[nodiscard]] bool alive() const { return socket_ != nullptr; }
  /// Whether the server may have seen any of the last request. False after an error means: nothing
  /// was carried out.
  [[nodiscard]] bool sent() const { return sent_; }

 private:
  RedisConnection(const RedisUrl& url, const RedisConnectOptions& options);
  [[nodiscard]] Result<void> greet(const RedisUrl& url, double timeout_s, bool& may_pass);
  void abandon();
  [[nodiscard]] Result<void> check_silence();
  [[nodiscard]] Result<short> read_replies(std::vector<RedisReply>& replies, std::size_t expected,
                                           bool& moved);
  [[nodiscard]] Result<void> transfer(const RedisRequest& request, double timeout_s,
                                      std::vector<RedisReply>& replies);

  std::string where_;  ///< the URL to show
  RedisConnectOptions options_;
  std::unique_ptr<RedisSocket> socket_;  ///< null: dead
  RedisParser parser_;
  std::vector<char> buffer_;
  bool sent_ = false;
};

}  // namespace hone
