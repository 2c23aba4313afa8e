#include "engine/queue/redis_client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fake_redis.h"
#include "redis_server.h"

namespace hone {
namespace {

using testing::FakeRedis;
using testing::FakeRedisPeer;
using testing::RedisServer;
using testing::says;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Persistence = testing::RedisServerOptions::Persistence;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr RedisCall kIdempotent = {.idempotent = true};

std::unique_ptr<RedisClient> client_of(const RedisUrl& url,
                                       const RedisClientOptions& options = {}) {
  auto client = RedisClient::open(url, options);
  if (!client) throw std::runtime_error(client.error().message);
  return std::move(*client);
}

TEST(RedisClient, GoesOnAfterTheServerWasKilledAndRestarted) {
  RedisServer server({.persistence = Persistence::kAlways});
  const auto client = client_of(server.url());
  ASSERT_TRUE(client->call({"SET", "key", "value"})->is_ok());
  server.restart();
  // Nothing was sent on the dead connection: even what is not idempotent is safe.
  EXPECT_EQ(*client->call({"INCR", "n"})->as_integer(), 1);
  EXPECT_EQ(*client->call({"GET", "key"})->as_string(), "value");
  EXPECT_EQ(client->connections_opened(), 2U);
}

TEST(RedisClient, WaitsForAServerThatIsAway) {
  RedisServer server({.persistence = Persistence::kAlways});
  const auto client = client_of(server.url());
  server.kill();
  std::jthread later([&] {
    std::this_thread::sleep_for(milliseconds(300));
    server.start();
  });
  EXPECT_EQ(*client->call({"INCR", "n"})->as_integer(), 1);
}

TEST(RedisClient, TellsOnceThatTheServerIsLostAndOnceThatItIsBack) {
  RedisServer server({.persistence = Persistence::kAlways});
  std::vector<RedisChange> changes;
  RedisClientOptions options;
  options.deadline_s = 0.4;
  options.on_change = [&](const RedisChange& change) { changes.push_back(change); };
  const auto client = client_of(server.url(), options);
  ASSERT_TRUE(client->call({"PING"}));
  EXPECT_TRUE(client->reachable());
  EXPECT_TRUE(changes.empty());
  server.kill();
  EXPECT_FALSE(client->call({"PING"}, kIdempotent));
  EXPECT_FALSE(client->call({"PING"}, kIdempotent));
  EXPECT_FALSE(client->reachable());
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_FALSE(changes[0].reachable);
  EXPECT_NE(changes[0].why.find("Connection refused"), std::string::npos) << changes[0].why;
  server.start();
  // What the server refuses is an answer of one that is there.
  EXPECT_TRUE(client->call({"NOSUCHCOMMAND"}, kIdempotent)->is_error());
  EXPECT_TRUE(client->reachable());
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_TRUE(changes[1].reachable);
  EXPECT_GT(changes[1].away_s, 0.7);  // two calls gave up
}

TEST(RedisClient, ManyThreadsWhileTheServerIsKilledAgainAndAgain) {
  RedisServer server({.persistence = Persistence::kAlways});
  const auto client = client_of(server.url());
  std::atomic<bool> done = false;
  std::atomic<int> carried_out = 0, unknown = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !done; ++i) {
        const std::string key = fmt::format("key:{}:{}", t, i);
        // Its own reply and nobody else's.
        const auto echo = client->call({"ECHO", key}, kIdempotent);
        ASSERT_TRUE(echo) << echo.error().message;
        ASSERT_EQ(*echo->as_string(), key);
        const auto count = client->call({"INCR", "count"});
        if (count) {
          ++carried_out;
        } else {
          EXPECT_TRUE(says(count.error(), ErrorCode::kInfrastructure, "is not known"));
          ++unknown;
        }
      }
    });
  }
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(milliseconds(100));
    server.restart();
  }
  done = true;
  threads.clear();
  const auto reply = client->call({"GET", "count"}, kIdempotent);
  const int count = std::stoi(std::string(*reply->as_string()));
  EXPECT_GE(count, carried_out);
  EXPECT_LE(count, carried_out + unknown);
  EXPECT_GT(carried_out, 0);
}

TEST(RedisClient, GoesOnAfterTheServerStoodStill) {
  const RedisServer server;
  const auto client =
      client_of(server.url(), {.connection = {.connect_timeout_s = 0.3, .command_timeout_s = 0.2}});
  ASSERT_TRUE(client->call({"SET", "key", "value"}));
  server.pause();
  std::jthread later([&] {
    std::this_thread::sleep_for(milliseconds(1000));
    server.resume();
  });
  const auto once = client->call({"INCR", "n"});
  ASSERT_FALSE(once);
  EXPECT_TRUE(says(once.error(), ErrorCode::kInfrastructure, "time ran out"));
  EXPECT_TRUE(says(once.error(), ErrorCode::kInfrastructure, "is not known"));
  EXPECT_EQ(*client->call({"GET", "key"}, kIdempotent)->as_string(), "value");
  EXPECT_EQ(*client->call({"ECHO", "mine"})->as_string(), "mine");
}

TEST(RedisClient, GivesUpAtTheDeadline) {
  RedisServer server;
  const auto client = client_of(server.url());
  server.kill();
  const auto start = Clock::now();
  const auto reply = client->call({"GET", "key"}, {.idempotent = true, .deadline_s = 0.4});
  ASSERT_FALSE(reply);
  EXPECT_TRUE(says(reply.error(), ErrorCode::kInfrastructure, "gave up after 0.4 s"));
  EXPECT_GE(seconds_since(start), 0.4);
  EXPECT_LT(seconds_since(start), 10);
}

TEST(RedisClient, OpensOnceOrPatiently) {
  RedisServer server;
  server.kill();
  EXPECT_TRUE(says(RedisClient::open(server.url(), {}).error(), ErrorCode::kEnvironment,
                   "is redis-server running"));
  std::jthread later([&] {
    std::this_thread::sleep_for(milliseconds(300));
    server.start();
  });
  EXPECT_TRUE(RedisClient::open(server.url(), {}, 30));
}

TEST(RedisClient, AWrongPasswordIsNotTriedAgain) {
  const RedisServer server({.password = "open-sesame"});
  const auto start = Clock::now();
  EXPECT_TRUE(says(RedisClient::open(server.url(":wrong"), {}, 60).error(), ErrorCode::kEnvironment,
                   "WRONGPASS"));
  const auto client = client_of(server.url());
  ASSERT_TRUE(server.connect()->command({"CONFIG", "SET", "requirepass", "changed"})->is_ok());
  ASSERT_TRUE(client->call({"QUIT"})->is_ok());
  EXPECT_TRUE(says(client->call({"GET", "key"}, kIdempotent).error(), ErrorCode::kEnvironment,
                   "WRONGPASS"));
  EXPECT_LT(seconds_since(start), 20);
}

TEST(RedisClient, OnlyWhatIsIdempotentIsRepeated) {
  // Takes a command and hangs up, without a reply; answers on the third connection.
  const auto hangs_up_twice = [count = std::make_shared<int>(0)](const FakeRedisPeer& peer) {
    if (peer.greet() && ++*count > 2) peer.send("$4\r\ngood\r\n") && peer.receive();
  };
  {
    const FakeRedis server(hangs_up_twice);
    const auto client = client_of(server.url());
    EXPECT_EQ(*client->call({"GET", "key"}, kIdempotent)->as_string(), "good");
    EXPECT_EQ(server.connections(), 3);
  }
  const FakeRedis server([](const FakeRedisPeer& peer) { peer.greet(); });
  const auto client = client_of(server.url());
  EXPECT_TRUE(says(client->call({"INCR", "n"}).error(), ErrorCode::kInfrastructure,
                   "whether the command was carried out is not known"));
  EXPECT_EQ(server.connections(), 1);
}

TEST(RedisClient, AnErrorReplyIsNotRepeated) {
  const RedisServer server;
  const auto client = client_of(server.url());
  ASSERT_TRUE(client->call({"XGROUP", "CREATE", "s", "g", "$", "MKSTREAM"})->is_ok());
  const auto start = Clock::now();
  EXPECT_EQ(client->call({"XGROUP", "CREATE", "s", "g", "$"}, kIdempotent)->error_code(),
            "BUSYGROUP");
  EXPECT_LT(seconds_since(start), 10);
}

TEST(RedisClient, WaitsWhileTheServerLoads) {
  RedisServer server({.persistence = Persistence::kAlways,
                      .config = {"key-load-delay 500", "loading-process-events-interval-bytes 1024",
                                 "aof-use-rdb-preamble yes"}});
  auto client = client_of(server.url());
  std::vector<std::vector<std::string>> commands;
  for (int i = 0; i < 2000; ++i) commands.push_back({"SET", fmt::format("key:{}", i), "value"});
  ASSERT_TRUE(client->pipeline(commands));
  ASSERT_TRUE(client->call({"BGREWRITEAOF"}));
  while (!client->call({"INFO", "persistence"})
              ->as_string()
              ->contains("aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0"))
    std::this_thread::sleep_for(milliseconds(10));
  server.kill();
  server.start(false);
  // It loads for a second; a bare connection is refused meanwhile.
  bool loading = false;
  for (int i = 0; i < 100 && !loading; ++i) {
    if (auto bare = RedisConnection::open(server.url(), {})) {
      const auto reply = (*bare)->command({"DBSIZE"});
      loading = reply && reply->error_code() == "LOADING";
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(loading) << "this server loads too fast for the test";
  EXPECT_EQ(*client->call({"DBSIZE"})->as_integer(), 2000);
}

TEST(RedisClient, WaitsWhileAScriptKeepsTheServerBusy) {
  const RedisServer server({.config = {"busy-reply-threshold 50"}});
  const auto client = client_of(server.url());
  const auto bare = server.connect(), stuck = server.connect();
  std::jthread endless([&] {
    const auto reply = stuck->command({"EVAL", "while true do end", "0"}, 60);
    EXPECT_TRUE(reply && reply->is_error());
  });
  while (bare->command({"PING"}, 10)->error_code() != "BUSY")
    std::this_thread::sleep_for(milliseconds(10));
  std::jthread later([&] {
    std::this_thread::sleep_for(milliseconds(200));
    EXPECT_TRUE(bare->command({"SCRIPT", "KILL"})->is_ok());
  });
  EXPECT_EQ(*client->call({"INCR", "n"})->as_integer(), 1);
  later.join();
  EXPECT_EQ(client->call({"GET", "n"}, {.deadline_s = 1})->as_string(), "1");
}

TEST(RedisClient, ScriptsByTheirHash) {
  RedisServer server;
  const auto client = client_of(server.url());
  const RedisScript script("return {KEYS[1], ARGV[1], redis.call('INCR', KEYS[1])}");
  EXPECT_EQ(RedisScript("return 1").sha1(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
  const std::string_view keys[] = {"counter"}, arguments[] = {std::string_view("a\0b", 3)};
  for (const std::int64_t round : {1, 2}) {
    const auto reply = client->script(script, keys, arguments);
    ASSERT_TRUE(reply && reply->is_array()) << reply->describe();
    EXPECT_EQ(*(*reply->at(1))->as_string(), arguments[0]);
    EXPECT_EQ(*(*reply->at(2))->as_integer(), round);
  }
  const auto known = client->call({"SCRIPT", "EXISTS", script.sha1()});
  EXPECT_EQ(*(*known->at(0))->as_integer(), 1);
  server.restart();  // and has forgotten it
  EXPECT_EQ(*(*client->script(script, keys, arguments)->at(2))->as_integer(), 1);
}

TEST(RedisClient, ACallThatBlocksHoldsUpNoOtherAndOutlastsTheTimeout) {
  const RedisServer server;
  const auto client = client_of(server.url(), {.connection = {.command_timeout_s = 0.5}});
  ASSERT_TRUE(client->call({"XGROUP", "CREATE", "s", "g", "$", "MKSTREAM"})->is_ok());
  const auto start = Clock::now();
  std::jthread adds([&] {
    std::this_thread::sleep_for(milliseconds(900));
    EXPECT_TRUE(client->call({"XADD", "s", "*", "f", "v"})->is_string());
  });
  const auto entries = client->call(
      {"XREADGROUP", "GROUP", "g", "c", "BLOCK", "20000", "STREAMS", "s", ">"}, {.block_s = 20});
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_TRUE(entries->is_array()) << entries->describe();
  EXPECT_GE(seconds_since(start), 0.8);
  const auto nothing = client->call(
      {"XREADGROUP", "GROUP", "g", "c", "BLOCK", "600", "STREAMS", "s", ">"}, {.block_s = 0.6});
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_TRUE(nothing->is_nil());
  EXPECT_EQ(client->connections_opened(), 2U);
}

TEST(RedisClient, TheStopFlagEndsEveryWait) {
  RedisServer server;
  for (const std::string wait : {"a blocking command", "a server that stands still",
                                 "a server that is away", "before it begins"}) {
    std::atomic<bool> stop = false;
    const auto client = client_of(server.url(), {.connection = {.stop = &stop}});
    if (wait == "a server that stands still") server.pause();
    if (wait == "a server that is away") server.kill();
    if (wait == "before it begins") stop = true;
    std::jthread later([&] {
      std::this_thread::sleep_for(milliseconds(200));
      stop = true;
    });
    const auto start = Clock::now();
    const auto reply =
        client->call({"BLPOP", "nothing", "30"}, {.idempotent = true, .block_s = 30});
    ASSERT_FALSE(reply) << wait;
    EXPECT_LT(seconds_since(start), 10) << wait;  // 0.1 s but for this machine's other work
    EXPECT_EQ(reply.error().code, ErrorCode::kInfrastructure) << wait;
    if (wait == "a server that stands still") server.resume();
    if (wait == "a server that is away") server.start();
  }
}

TEST(RedisClient, PipelinesAsAWhole) {
  RedisServer server;
  const auto client = client_of(server.url());
  const auto replies = client->pipeline(
      {{"MULTI"}, {"SET", "a", "1"}, {"INCR", "a"}, {"EXEC"}, {"NOSUCH"}, {"GET", "a"}});
  ASSERT_TRUE(replies) << replies.error().message;
  ASSERT_EQ(replies->size(), 6U);
  EXPECT_EQ(*(*(*replies)[3].at(1))->as_integer(), 2);
  EXPECT_TRUE((*replies)[4].is_error());
  EXPECT_EQ(*(*replies)[5].as_string(), "2");
  server.restart();
  EXPECT_TRUE(client->pipeline({{"PING"}, {"PING"}}, kIdempotent));
  EXPECT_TRUE(client->pipeline({})->empty());
}

}  // namespace
}  // namespace hone
