#include "engine/queue/redis_connection.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "redis_server.h"

namespace hone {
namespace {

using testing::RedisServer;
using testing::says;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The error of a connection that must fail.
Error refusal(const std::string& url, bool* may_pass = nullptr) {
  const auto connection =
      RedisConnection::open(*RedisUrl::parse(url, nullptr), {.connect_timeout_s = 2}, may_pass);
  EXPECT_FALSE(connection);
  return connection ? Error{} : connection.error();
}

TEST(RedisConnection, EveryKindOfReply) {
  const RedisServer server;
  const auto redis = server.connect();
  EXPECT_TRUE(redis->command({"SET", "key", "value"})->is_ok());
  EXPECT_EQ(*redis->command({"GET", "key"})->as_string(), "value");
  EXPECT_TRUE(redis->command({"GET", "nothing"})->is_nil());
  EXPECT_EQ(*redis->command({"INCRBY", "n", "-42"})->as_integer(), -42);
  EXPECT_EQ(*redis->command({"PING"})->as_string(), "PONG");
  ASSERT_TRUE(redis->command({"RPUSH", "list", "a", "", "c"}));
  const auto list = *redis->command({"LRANGE", "list", "0", "-1"});
  ASSERT_EQ(list.as_array()->size(), 3U);
  EXPECT_EQ(*(*list.at(1))->as_string(), "");
  EXPECT_EQ(*(*list.at(2))->as_string(), "c");
  EXPECT_EQ(redis->command({"LRANGE", "none", "0", "-1"})->as_array()->size(), 0U);
  ASSERT_TRUE(redis->command({"XADD", "stream", "1-1", "field", "text"}));
  // Stream, its entries, the first one, its fields.
  const auto streams = *redis->command({"XREAD", "STREAMS", "stream", "0"});
  const RedisReply& entries = **(*streams.at(0))->at(1);
  const RedisReply& fields = **(*entries.at(0))->at(1);
  EXPECT_EQ(*(*fields.at(1))->as_string(), "text");
}

TEST(RedisConnection, AnErrorReplyIsAReply) {
  const RedisServer server;
  const auto redis = server.connect();
  ASSERT_TRUE(redis->command({"SET", "key", "value"}));
  const auto reply = redis->command({"LPUSH", "key", "x"});
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->is_error());
  EXPECT_EQ(reply->error_code(), "WRONGTYPE");
  EXPECT_TRUE(says(reply->as_integer().error(), ErrorCode::kInternal, "WRONGTYPE"));
  EXPECT_TRUE(redis->alive());
  EXPECT_EQ(*redis->command({"GET", "key"})->as_string(), "value");
  EXPECT_TRUE(says(redis->command({"GET", "key"})->as_integer().error(), ErrorCode::kInternal,
                   "answered \"value\" where an integer was expected"));
  EXPECT_TRUE(
      says(redis->command({"PING"})->at(0).error(), ErrorCode::kInternal, "an array was expected"));
  EXPECT_EQ(redis->command({"NO SUCH\r\nCOMMAND"})->error_code(), "ERR");
}

TEST(RedisConnection, BinaryValuesOfAnySize) {
  const RedisServer server;
  const auto redis = server.connect();
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  bytes += "\r\n$5\r\n*3\r\n";
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65535},
                                 std::size_t{65536}, std::size_t{3} << 20, std::size_t{40} << 20}) {
    while (bytes.size() < size) bytes += bytes;
    const std::string value = bytes.substr(0, size);
    ASSERT_TRUE(redis->command({std::string_view("SET"), std::string_view("k\0y", 3), value}));
    const auto reply = redis->command({std::string_view("GET"), std::string_view("k\0y", 3)});
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_TRUE(*reply->as_string() == value) << size;
  }
}

TEST(RedisConnection, PipelinesTenThousandCommandsInOrder) {
  const RedisServer server;
  const auto redis = server.connect();
  // 20 MB there and 20 MB back at once: more than both sides' buffers.
  const std::string padding(2000, 'p');
  std::vector<std::vector<std::string>> commands;
  for (int i = 0; i < 10'000; ++i) commands.push_back({"ECHO", fmt::format("{}{}", padding, i)});
  const auto replies = redis->pipeline(commands, 60);
  ASSERT_TRUE(replies) << replies.error().message;
  ASSERT_EQ(replies->size(), commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i)
    ASSERT_EQ(*(*replies)[i].as_string(), commands[i][1]);
  EXPECT_TRUE(redis->pipeline({})->empty());
}

TEST(RedisConnection, SelectsTheDatabaseAndNamesItself) {
  const RedisServer server;
  auto redis = *RedisConnection::open(server.url("", 3), {.client_name = "hone-test"});
  ASSERT_TRUE(redis->command({"SET", "key", "three"}));
  EXPECT_EQ(*redis->command({"CLIENT", "GETNAME"})->as_string(), "hone-test");
  EXPECT_TRUE(server.connect()->command({"GET", "key"})->is_nil());
  bool may_pass = true;
  EXPECT_TRUE(
      says(refusal(server.url_text("", 99), &may_pass), ErrorCode::kEnvironment, "another /db"));
  EXPECT_FALSE(may_pass);
}

TEST(RedisConnection, ByUnixSocket) {
  const RedisServer server({.unix_socket = true});
  auto redis = RedisConnection::open(*RedisUrl::parse("unix://" + server.socket() + "?db=2"), {});
  ASSERT_TRUE(redis) << redis.error().message;
  EXPECT_TRUE((*redis)->command({"SET", "key", "two"})->is_ok());
  EXPECT_TRUE(says(refusal("unix:///nowhere/redis.sock"), ErrorCode::kEnvironment, "unixsocket"));
}

TEST(RedisConnection, APasswordThatIsWrongOrMissing) {
  const RedisServer server({.password = "open-sesame"});
  EXPECT_TRUE(server.connect()->command({"PING"}));
  bool may_pass = true;
  const Error wrong = refusal(server.url_text(":not-this"), &may_pass);
  EXPECT_TRUE(says(wrong, ErrorCode::kEnvironment, "HONE_REDIS_PASSWORD"));
  EXPECT_TRUE(wrong.message.contains("WRONGPASS"));
  EXPECT_FALSE(wrong.message.contains("not-this"));
  EXPECT_FALSE(may_pass);
  EXPECT_TRUE(says(refusal(server.url_text(), &may_pass), ErrorCode::kEnvironment, "NOAUTH"));
  EXPECT_FALSE(may_pass);
  EXPECT_TRUE(says(refusal(RedisServer().url_text(":any")), ErrorCode::kEnvironment,
                   "without any password"));
}

TEST(RedisConnection, AUserWithoutPermission) {
  const RedisServer server({.acl = {"user reader on >pw ~hone:* +get +ping"}});
  EXPECT_TRUE(server.connect()->command({"SET", "hone:a", "1"})->is_ok());
  // CLIENT SETNAME is not allowed either, and not needed.
  auto reader = RedisConnection::open(server.url("reader:pw"), {});
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(*(*reader)->command({"GET", "hone:a"})->as_string(), "1");
  for (const auto& reply :
       {*(*reader)->command({"SET", "hone:a", "2"}), *(*reader)->command({"GET", "other"})}) {
    EXPECT_EQ(reply.error_code(), "NOPERM");
    EXPECT_TRUE(says(reply.as_error("cannot work"), ErrorCode::kEnvironment, "ACL SETUSER"));
  }
  EXPECT_TRUE(says(refusal(server.url_text("reader:other")), ErrorCode::kEnvironment, "WRONGPASS"));
  EXPECT_TRUE(says(refusal(server.url_text("reader:pw", 1)), ErrorCode::kEnvironment, "NOPERM"));
}

TEST(RedisConnection, NobodyThere) {
  RedisServer server;
  server.kill();
  bool may_pass = false;
  const Error error = refusal(server.url_text(), &may_pass);
  EXPECT_TRUE(says(error, ErrorCode::kEnvironment, "is redis-server running"));
  EXPECT_TRUE(error.message.contains(server.url().display())) << error.message;
  EXPECT_TRUE(may_pass);
  EXPECT_TRUE(says(refusal("redis://no-such-host.invalid"), ErrorCode::kEnvironment,
                   "no-such-host.invalid"));
}

TEST(RedisConnection, IsDeadAfterATimeout) {
  const RedisServer server;
  const auto redis = server.connect();
  ASSERT_TRUE(redis->command({"SET", "key", "value"}));
  server.pause();
  const auto start = Clock::now();
  const auto reply = redis->command({"GET", "key"}, 0.2);
  ASSERT_FALSE(reply);
  EXPECT_TRUE(says(reply.error(), ErrorCode::kInfrastructure, "time ran out"));
  EXPECT_LT(seconds_since(start), 5);
  EXPECT_TRUE(redis->sent());
  const auto late = RedisConnection::open(server.url(), {.connect_timeout_s = 0.2});
  ASSERT_FALSE(late);
  EXPECT_TRUE(says(late.error(), ErrorCode::kEnvironment, "time ran out"));
  server.resume();
  // The reply to GET, which is on its way now, must not become that of PING.
  EXPECT_FALSE(redis->alive());
  EXPECT_TRUE(says(redis->command({"PING"}).error(), ErrorCode::kInfrastructure, "lost before"));
  EXPECT_FALSE(redis->sent());
}

TEST(RedisConnection, NoticesThatTheServerIsGoneBeforeItSends) {
  RedisServer server;
  const auto redis = server.connect();
  server.restart();
  EXPECT_TRUE(
      says(redis->command({"PING"}).error(), ErrorCode::kInfrastructure, "closed the connection"));
  EXPECT_FALSE(redis->sent());
  EXPECT_FALSE(redis->alive());
}

TEST(RedisConnection, NoticesThatTheServerDiesWhileItWaits) {
  RedisServer server;
  const auto redis = server.connect();
  std::jthread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    server.kill();
  });
  const auto start = Clock::now();
  EXPECT_EQ(redis->command({"BLPOP", "nothing", "30"}, 60).error().code,
            ErrorCode::kInfrastructure);
  EXPECT_LT(seconds_since(start), 10);
  EXPECT_TRUE(redis->sent());
}

TEST(RedisConnection, NoRoomForAnotherClientIsSaid) {
  const RedisServer server({.config = {"maxclients 1"}});
  const auto first = server.connect();
  bool may_pass = false;
  EXPECT_TRUE(says(refusal(server.url_text(), &may_pass), ErrorCode::kEnvironment,
                   "max number of clients"));
  EXPECT_TRUE(may_pass);
}

}  // namespace
}  // namespace hone
