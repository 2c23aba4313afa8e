// Bytes from a Redis server to replies, by hiredis' reader, within limits: whatever a server sends
// costs a bounded amount of memory. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "candidates/result.h"
#include "engine/queue/redis_reply.h"

struct redisReader;

namespace hone {

/// Of what one command, or one pipeline, may be answered. Nesting is hiredis' own limit: 8 arrays.
struct RedisLimits {
  std::size_t string_bytes = 64U << 20;  ///< [B] one string
  std::size_t total_bytes = 256U << 20;  ///< [B] all strings
  std::size_t values = 1U << 20;         ///< replies and the elements of arrays
};

class RedisParser {
 public:
  /// The most that feed() may be given at once.
  static constexpr std::size_t kChunk = 64U << 10;  // [B]

  explicit RedisParser(const RedisLimits& limits);
  ~RedisParser();
  RedisParser(const RedisParser&) = delete;
  RedisParser& operator=(const RedisParser&) = delete;

  /// The limits count from here.
  void start();
  /// Takes bytes. Then next() is called until it is empty.
  [[nodiscard]] Result<void> feed(std::span<const char> bytes);
  /// The next whole reply, if there is one. Errors: kInfrastructure when what came is not Redis'
  /// protocol or over a limit; nothing may be read after that.
  [[nodiscard]] Result<std::optional<RedisReply>> next();
  /// No byte has come that next() has not given out.
  [[nodiscard]] bool idle() const;

  struct State;  ///< of redis_parser.cpp: what hiredis' callbacks need

 private:
  [[nodiscard]] Result<void> check_unfinished() const;

  std::unique_ptr<State> state_;
  redisReader* reader_;
};

}  // namespace hone
