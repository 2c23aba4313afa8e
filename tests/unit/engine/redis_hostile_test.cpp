// Servers that send what no Redis sends: every one ends in an error, in bounded memory and time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>

#include "engine/queue/redis_connection.h"
#include "fake_redis.h"
#include "redis_server.h"

namespace hone {
namespace {

using testing::FakeRedis;
using testing::FakeRedisPeer;
using testing::says;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The process' resident memory, [kB]: now (VmRSS) or at most since the last reset (VmHWM).
long memory_kb(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long value = 0;
    if (word == what + ":" && status >> value) return value;
  }
  ADD_FAILURE() << "no " << what;
  return 0;
}

/// What one command gets from a server that first runs `script`, and what it cost.
struct Outcome {
  Error error;
  double seconds = 0;
  long extra_kb = 0;
};
Outcome ask(const FakeRedis& server, double timeout_s, const RedisLimits& limits = {}) {
  Outcome outcome;
  const auto redis = RedisConnection::open(server.url(), {.limits = limits});
  if (!redis) {
    ADD_FAILURE() << redis.error().message;
    return outcome;
  }
  std::ofstream("/proc/self/clear_refs") << 5;  // VmHWM counts from here
  const long before = memory_kb("VmRSS");
  const auto start = Clock::now();
  const auto reply = (*redis)->command({"GET", "key"}, timeout_s);
  outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  outcome.extra_kb = memory_kb("VmHWM") - before;
  EXPECT_FALSE(reply) << reply->describe();
  EXPECT_FALSE((*redis)->alive());
  if (!reply) outcome.error = reply.error();
  return outcome;
}

TEST(RedisHostile, SendsWhatIsNotRedis) {
  const struct {
    std::string sends;
    const char* says;
  } table[] = {
      {"HTTP/1.1 400 Bad Request\r\n\r\n", "Protocol error"},
      {std::string(100, '\0'), "Protocol error"},
      {"%1\r\n+a\r\n+b\r\n", "Protocol error"},  // RESP3
      {"$x\r\n", "bulk string length"},
      {"$-2\r\n", "out of range"},
      {"*-2\r\n", "out of range"},
      {":12x\r\n", "integer"},
      {"$99999999999999999999\r\n", "bulk string length"},
      {"$1099511627776\r\n", "1099511627776"},
      {"$67108865\r\n", "67108865"},
      {"*2147483647\r\n", "values"},
      {"*99999999999\r\n", "out of range"},
      {"+one\r\n+two\r\n", "more replies than were asked for"},
      {"+one\r\n$", "more replies than were asked for"},
  };
  for (const auto& row : table) {
    const FakeRedis server([&](const FakeRedisPeer& peer) {
      if (peer.greet() && peer.send(row.sends)) peer.sleep(milliseconds(60'000));
    });
    const Outcome outcome = ask(server, 30);
    EXPECT_TRUE(says(outcome.error, ErrorCode::kInfrastructure, row.says)) << row.sends;
    EXPECT_LT(outcome.seconds, 20) << row.sends;
    EXPECT_LT(outcome.extra_kb, 64 << 10) << row.sends;
  }
}

TEST(RedisHostile, StopsInTheMiddleOfAReply) {
  for (const char* half : {"", "+OK", "$5", "$5\r\nval", "$5\r\nvalue", "$5\r\nvalue\r", "*2\r\n",
                           "*2\r\n:1\r\n", "*2\r\n:1\r\n*1\r\n$3\r\nab", ":1"}) {
    for (const bool hangs_up : {true, false}) {
      const FakeRedis server([&](const FakeRedisPeer& peer) {
        if (peer.greet() && peer.send(half) && !hangs_up) peer.sleep(milliseconds(60'000));
      });
      const Outcome outcome = ask(server, hangs_up ? 30 : 0.05);
      EXPECT_TRUE(says(outcome.error, ErrorCode::kInfrastructure,
                       hangs_up ? "closed the connection" : "time ran out"))
          << half;
    }
  }
}

TEST(RedisHostile, ALineWithoutAnEnd) {
  for (const char* start : {"+", "-", ":", "$", "*", "*3\r\n:1\r\n+"}) {
    const FakeRedis server([&](const FakeRedisPeer& peer) {
      if (!peer.greet() || !peer.send(start)) return;
      const std::string ones(1 << 20, '1');
      while (peer.send(ones)) continue;
    });
    const Outcome outcome = ask(server, 60);
    EXPECT_TRUE(says(outcome.error, ErrorCode::kInfrastructure, "a line over")) << start;
    EXPECT_LT(outcome.extra_kb, 64 << 10) << start;
  }
}

TEST(RedisHostile, ArraysInArraysWithoutAnEnd) {
  const FakeRedis server([](const FakeRedisPeer& peer) {
    if (!peer.greet()) return;
    std::string arrays;
    for (int i = 0; i < 10'000; ++i) arrays += "*1\r\n";
    while (peer.send(arrays)) continue;
  });
  const Outcome outcome = ask(server, 60);
  EXPECT_TRUE(says(outcome.error, ErrorCode::kInfrastructure, "nested"));
  EXPECT_LT(outcome.extra_kb, 64 << 10);
}

TEST(RedisHostile, ManyValuesInManyArrays) {
  const FakeRedis server([](const FakeRedisPeer& peer) {
    if (!peer.greet() || !peer.send("*1000000\r\n")) return;
    std::string values;
    for (int i = 0; i < 1000; ++i) values += "*3\r\n:1\r\n$-1\r\n+a\r\n";
    while (peer.send(values)) continue;
  });
  const Outcome outcome = ask(server, 120);
  EXPECT_TRUE(says(outcome.error, ErrorCode::kInfrastructure, "more than 1048576 values"));
  EXPECT_LT(outcome.extra_kb, 512 << 10);
}

TEST(RedisHostile, ManyLargeStrings) {
  const FakeRedis server([](const FakeRedisPeer& peer) {
    if (!peer.greet() || !peer.send("*1000\r\n")) return;
    const std::string value = "$1000000\r\n" + std::string(1'000'000, 'x') + "\r\n";
    while (peer.send(value)) continue;
  });
  const Outcome outcome = ask(server, 120, {.total_bytes = 20'000'000});
  EXPECT_TRUE(says(outcome.error, ErrorCode::kInfrastructure, "more than 20000000 bytes"));
  EXPECT_LT(outcome.extra_kb, 128 << 10);
}

TEST(RedisHostile, DripsEndAtTheTimeout) {
  for (const char* start : {"$1000000\r\n", "*1000000\r\n", "+"}) {
    const FakeRedis server([&](const FakeRedisPeer& peer) {
      if (!peer.greet() || !peer.send(start)) return;
      while (peer.send(start[0] == '*' ? ":1\r\n" : "x") && peer.sleep(milliseconds(2))) continue;
    });
    const Outcome outcome = ask(server, 0.3);
    EXPECT_TRUE(says(outcome.error, ErrorCode::kInfrastructure, "time ran out")) << start;
    EXPECT_LT(outcome.seconds, 10) << start;
  }
}

TEST(RedisHostile, AReplyBeforeItsCommandIsNobodysReply) {
  const FakeRedis server([](const FakeRedisPeer& peer) {
    if (!peer.receive() || !peer.send("+OK\r\n")) return;
    peer.sleep(milliseconds(30));
    if (peer.send("$5\r\nearly\r\n")) peer.sleep(milliseconds(60'000));
  });
  const auto redis = RedisConnection::open(server.url(), {});
  ASSERT_TRUE(redis) << redis.error().message;
  std::this_thread::sleep_for(milliseconds(200));
  const auto reply = (*redis)->command({"GET", "key"});
  ASSERT_FALSE(reply);
  EXPECT_TRUE(says(reply.error(), ErrorCode::kInfrastructure, "nobody asked for: \"early\""));
  EXPECT_FALSE((*redis)->sent());
}

TEST(RedisHostile, AnswersWhatWasNotSentYet) {
  const FakeRedis server([](const FakeRedisPeer& peer) {
    if (peer.greet() && peer.send("+OK\r\n")) peer.sleep(milliseconds(60'000));
  });
  const auto redis = RedisConnection::open(server.url(), {});
  ASSERT_TRUE(redis);
  const std::string large(64 << 20, 'x');  // more than fits between us
  const auto reply = (*redis)->command({"SET", "key", large}, 30);
  ASSERT_FALSE(reply);
  EXPECT_TRUE(says(reply.error(), ErrorCode::kInfrastructure, "not sent yet"));
}

TEST(RedisHostile, AGreetingThatIsNotRedis) {
  const FakeRedis web([](const FakeRedisPeer& peer) {
    if (peer.receive()) peer.send("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  const auto redis = RedisConnection::open(web.url(), {});
  ASSERT_FALSE(redis);
  EXPECT_TRUE(says(redis.error(), ErrorCode::kEnvironment, "is this a Redis server"));
  const FakeRedis silent([](const FakeRedisPeer& peer) { peer.sleep(milliseconds(60'000)); });
  const auto nothing = RedisConnection::open(silent.url(), {.connect_timeout_s = 0.1});
  ASSERT_FALSE(nothing);
  EXPECT_TRUE(says(nothing.error(), ErrorCode::kEnvironment, "time ran out"));
}

}  // namespace
}  // namespace hone
