// TLS against a real server with certificates made for the test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/queue/redis_connection.h"
#include "fake_redis.h"
#include "redis_server.h"

namespace hone {
namespace {

using testing::FakeRedis;
using testing::FakeRedisPeer;
using testing::RedisServer;
using testing::says;

Error refusal(const RedisUrl& url, bool* may_pass = nullptr) {
  const auto connection = RedisConnection::open(url, {.connect_timeout_s = 2}, may_pass);
  EXPECT_FALSE(connection);
  return connection ? Error{} : connection.error();
}

TEST(RedisTls, TheRightAuthority) {
  const RedisServer server({.password = "open-sesame", .tls = true});
  const auto redis = server.connect();
  EXPECT_TRUE(redis->command({"SET", "key", "value"})->is_ok());
  // Records that arrive in pieces, both ways. Not both at once: see pipeline().
  std::vector<std::vector<std::string>> commands;
  for (int i = 0; i < 1000; ++i) commands.push_back({"APPEND", "long", std::string(20'000, 'x')});
  const auto replies = redis->pipeline(commands, 60);
  ASSERT_TRUE(replies) << replies.error().message;
  EXPECT_EQ(*replies->back().as_integer(), 20'000'000);
  const auto value = redis->command({"GET", "long"}, 60);
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_TRUE(*value->as_string() == std::string(20'000'000, 'x'));

  RedisUrl by_name = server.url();
  by_name.host = "localhost";
  EXPECT_TRUE(RedisConnection::open(by_name, {}));
}

TEST(RedisTls, AnotherAuthorityIsNotTrusted) {
  const RedisServer server({.tls = true});
  RedisUrl url = server.url();
  url.ca_file = server.certificates().stranger();
  bool may_pass = true;
  EXPECT_TRUE(says(refusal(url, &may_pass), ErrorCode::kEnvironment, "?cafile="));
  EXPECT_FALSE(may_pass);
  url.ca_file.clear();  // the system's know nothing of it either
  EXPECT_TRUE(says(refusal(url), ErrorCode::kEnvironment, "not trusted"));
  url.insecure = true;
  EXPECT_TRUE(RedisConnection::open(url, {}));
}

TEST(RedisTls, ACertificateForAnotherHostIsNotTrusted) {
  const RedisServer server({.tls = true, .tls_names = "DNS:elsewhere.example"});
  RedisUrl url = server.url();
  for (const char* host : {"127.0.0.1", "localhost"}) {
    url.host = host;
    bool may_pass = true;
    EXPECT_TRUE(says(refusal(url, &may_pass), ErrorCode::kEnvironment,
                     "use the name that the certificate is for"));
    EXPECT_FALSE(may_pass);
  }
}

TEST(RedisTls, ACertificateOfOurOwn) {
  const RedisServer server({.tls = true, .tls_asks_client = true});
  EXPECT_TRUE(server.connect()->command({"PING"}));
  RedisUrl without = server.url();
  without.cert_file.clear();
  without.key_file.clear();
  EXPECT_TRUE(says(refusal(without), ErrorCode::kEnvironment, "cert and key"));
}

TEST(RedisTls, FilesThatAreMissingOrDoNotFit) {
  const RedisServer server({.tls = true});
  RedisUrl url = server.url();
  url.cert_file = server.certificates().certificate("client");
  url.key_file = server.certificates().key("server");
  EXPECT_TRUE(says(refusal(url), ErrorCode::kEnvironment, "belong to the certificate"));
  url.cert_file = "/nowhere.crt";
  EXPECT_TRUE(says(refusal(url), ErrorCode::kEnvironment, "'/nowhere.crt'"));
  url.ca_file = "/nowhere/ca.crt";
  EXPECT_TRUE(says(refusal(url), ErrorCode::kEnvironment, "'/nowhere/ca.crt'"));
}

TEST(RedisTls, TlsHereAndPlainTextThere) {
  const RedisServer plain, tls({.tls = true});
  RedisUrl url = plain.url();
  url.transport = RedisUrl::Transport::kTls;
  EXPECT_TRUE(says(refusal(url), ErrorCode::kEnvironment, "redis://"));
  url = tls.url();
  url.transport = RedisUrl::Transport::kTcp;
  EXPECT_TRUE(says(refusal(url), ErrorCode::kEnvironment, "rediss://"));
}

TEST(RedisTls, AHandshakeThatNeverEndsEnds) {
  const FakeRedis silent([](const FakeRedisPeer& peer) {
    while (peer.receive()) continue;
  });
  RedisUrl url = silent.url();
  url.transport = RedisUrl::Transport::kTls;
  const auto connection = RedisConnection::open(url, {.connect_timeout_s = 0.2});
  ASSERT_FALSE(connection);
  EXPECT_TRUE(says(connection.error(), ErrorCode::kEnvironment, "time ran out"));
}

TEST(RedisTls, AServerThatDiesIsALostConnection) {
  RedisServer server({.tls = true});
  const auto redis = server.connect();
  server.kill();
  EXPECT_EQ(redis->command({"PING"}).error().code, ErrorCode::kInfrastructure);
  EXPECT_FALSE(redis->sent());
  server.start();
  EXPECT_TRUE(server.connect()->command({"PING"}));
}

}  // namespace
}  // namespace hone
