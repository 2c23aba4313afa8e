#include "engine/queue/redis_url.h"

#include <gtest/gtest.h>

#include <string>

namespace hone {
namespace {

using Transport = RedisUrl::Transport;

struct Good {
  const char* text;
  Transport transport;
  const char* host;  ///< of a unix socket: its path
  int port;
  const char* user;
  const char* password;
  int db;
  const char* display;
};

TEST(RedisUrl, ReadsEveryForm) {
  const Good table[] = {
      {"redis://localhost", Transport::kTcp, "localhost", 6379, "", "", 0,
       "redis://localhost:6379/0"},
      {"redis://10.0.0.7:7000/3", Transport::kTcp, "10.0.0.7", 7000, "", "", 3,
       "redis://10.0.0.7:7000/3"},
      {"redis://h/", Transport::kTcp, "h", 6379, "", "", 0, "redis://h:6379/0"},
      {"redis://:hush@h:1", Transport::kTcp, "h", 1, "", "hush", 0, "redis://:***@h:1/0"},
      {"redis://ann:hush@h", Transport::kTcp, "h", 6379, "ann", "hush", 0,
       "redis://ann:***@h:6379/0"},
      {"redis://ann@h", Transport::kTcp, "h", 6379, "ann", "", 0, "redis://ann@h:6379/0"},
      {"redis://a%3Ab:p%40s%2Fs%25%3f:x@h", Transport::kTcp, "h", 6379, "a:b", "p@s/s%?:x", 0,
       "redis://a%3Ab:***@h:6379/0"},
      {"redis://[::1]:6380/1", Transport::kTcp, "::1", 6380, "", "", 1, "redis://[::1]:6380/1"},
      {"redis://[fe80::1%25eth0]", Transport::kTcp, "fe80::1%eth0", 6379, "", "", 0,
       "redis://[fe80::1%25eth0]:6379/0"},
      {"rediss://:hush@h:6380", Transport::kTls, "h", 6380, "", "hush", 0,
       "rediss://:***@h:6380/0"},
      {"unix:///run/redis.sock", Transport::kUnix, "/run/redis.sock", 6379, "", "", 0,
       "unix:///run/redis.sock"},
      {"unix://ann:hush@/run/my%20redis.sock?db=4", Transport::kUnix, "/run/my redis.sock", 6379,
       "ann", "hush", 4, "unix://ann:***@/run/my%20redis.sock?db=4"},
  };
  for (const auto& row : table) {
    const auto url = RedisUrl::parse(row.text, nullptr);
    ASSERT_TRUE(url) << row.text << ": " << url.error().message;
    EXPECT_EQ(url->transport, row.transport) << row.text;
    EXPECT_EQ(url->transport == Transport::kUnix ? url->path : url->host, row.host) << row.text;
    EXPECT_EQ(url->port, row.port) << row.text;
    EXPECT_EQ(url->user, row.user) << row.text;
    EXPECT_EQ(url->password, row.password) << row.text;
    EXPECT_EQ(url->db, row.db) << row.text;
    EXPECT_EQ(url->display(), row.display) << row.text;
  }
}

TEST(RedisUrl, TakesTheFilesOfTls) {
  const auto url =
      RedisUrl::parse("rediss://h/2?cafile=/a/ca.crt&cert=/a/b%20c.crt&key=/a/c.key", nullptr);
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(url->ca_file, "/a/ca.crt");
  EXPECT_EQ(url->cert_file, "/a/b c.crt");
  EXPECT_EQ(url->key_file, "/a/c.key");
  EXPECT_FALSE(url->insecure);
  EXPECT_EQ(url->db, 2);
  EXPECT_TRUE(RedisUrl::parse("rediss://h?insecure=1", nullptr)->insecure);
  EXPECT_FALSE(RedisUrl::parse("rediss://h?insecure=0", nullptr)->insecure);
}

TEST(RedisUrl, TakesThePasswordOfTheEnvironmentWhereItHasNone) {
  EXPECT_EQ(RedisUrl::parse("redis://h", "hush")->password, "hush");
  EXPECT_EQ(RedisUrl::parse("redis://ann@h", "hush")->password, "hush");
  EXPECT_EQ(RedisUrl::parse("redis://:own@h", "hush")->password, "own");
  EXPECT_EQ(RedisUrl::parse("redis://h", "")->password, "");
  EXPECT_EQ(RedisUrl::parse("redis://h", "hush")->display(), "redis://:***@h:6379/0");
  setenv("HONE_REDIS_PASSWORD", "from outside", 1);
  EXPECT_EQ(RedisUrl::parse("redis://h")->password, "from outside");
  unsetenv("HONE_REDIS_PASSWORD");
  EXPECT_EQ(RedisUrl::parse("redis://h")->password, "");
}

TEST(RedisUrl, RefusesWithThePlaceAndWhatWouldBeRight) {
  const struct {
    const char* text;
    int character;
    const char* says;
  } table[] = {
      {"", 1, "redis://localhost:6379/0"},
      {"localhost:6379", 1, "must begin with redis://"},
      {"http://h", 1, "must begin with redis://"},
      {"Redis://h", 1, "must begin with redis://"},
      {"redis://", 9, "host is missing"},
      {"redis:///0", 9, "host is missing"},
      {"redis://:7000", 9, "host is missing"},
      {"redis://ann:hush@", 18, "host is missing"},
      {"redis://h:", 11, "port must be"},
      {"redis://h:0", 11, "port must be"},
      {"redis://h:65536", 11, "port must be"},
      {"redis://h:7x", 11, "port must be"},
      {"redis://h:-1", 11, "port must be"},
      {"redis://h:99999999999999999999", 11, "port must be"},
      {"redis://h/x", 11, "database must be"},
      {"redis://h/-1", 11, "database must be"},
      {"redis://h/1/2", 11, "database must be"},
      {"redis://::1:6379", 9, "in brackets"},
      {"redis://[::1", 9, "lacks its ']'"},
      {"redis://[::1]6379", 14, "comes ':'"},
      {"redis://[::g]", 10, "IPv6"},
      {"redis://[127.0.0.1]", 10, "IPv6"},
      {"redis://a b", 10, "%20"},
      {"redis://a,b", 9, "letters"},
      {"redis://ann:%zz@h", 13, "hexadecimal"},
      {"redis://ann:hush%4@h", 17, "hexadecimal"},
      {"redis://ann:%00@h", 13, "%00"},
      {"redis://ann:hu@sh@h", 15, "%40"},
      {"redis://ann:hu/sh@h", 18, "%2F"},
      {"redis://ann:hu?sh@h", 18, "%3F"},
      {"redis://ann:hu#sh@h", 18, "%23"},
      {"redis://h/0#x", 12, "%23"},
      {"redis://h?insecure=1", 11, "TLS is rediss://"},
      {"redis://h/0?db=1", 13, "no parameters"},
      {"rediss://h?ca=/x", 12, "cafile"},
      {"rediss://h?insecure=yes", 12, "insecure=0"},
      {"rediss://h?cafile=", 12, "path"},
      {"rediss://h?cert=/x", 19, "belong together"},
      {"rediss://h?insecure=1&cafile=/x", 32, "leave out cafile"},
      {"unix://run/redis.sock", 8, "three slashes"},
      {"unix://", 8, "path is missing"},
      {"unix:///", 8, "path is missing"},
      {"unix:///x?db=y", 14, "database must be"},
      {"unix:///x?cafile=/y", 11, "only parameter"},
  };
  for (const auto& row : table) {
    const auto url = RedisUrl::parse(row.text, nullptr);
    ASSERT_FALSE(url) << row.text;
    EXPECT_EQ(url.error().code, ErrorCode::kInvalidInput) << row.text;
    const std::string& message = url.error().message;
    EXPECT_NE(message.find(" character " + std::to_string(row.character) + ":"), std::string::npos)
        << row.text << ": " << message;
    EXPECT_NE(message.find(row.says), std::string::npos) << row.text << ": " << message;
  }
  EXPECT_FALSE(RedisUrl::parse("unix:///" + std::string(200, 'x'), nullptr));
}

TEST(RedisUrl, NoErrorQuotesAPassword) {
  for (const char* text :
       {"redis://ann:sesame", "redis://:sesame", "redis://:sesame@", "redis://:ses%ame@h",
        "redis://:sesame@h:x", "redis://:x/sesame@h", "redis://:x?sesame@h", "redis://:x#sesame@h",
        "redis://:x@sesame@h", "ann:sesame@h", "rediss://:sesame@h?sesame=sesame",
        "redis://:x/sesame", "redis://:x?sesame", "unix://:sesame@h/path"}) {
    const auto url = RedisUrl::parse(text, nullptr);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().message.find("sesame"), std::string::npos) << url.error().message;
  }
}

}  // namespace
}  // namespace hone
