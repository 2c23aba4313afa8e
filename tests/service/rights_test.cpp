// The users of engine/queue/PROTOCOL.md: each can do its work, and no more.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "engine/queue/redis_connection.h"
#include "tests/e2e/process.h"
#include "tests/service/daemon.h"
#include "tests/unit/engine/redis_server.h"

namespace hone {
namespace {

using hone::testing::hone;
using hone::testing::RedisServer;
using hone::testing::TemporaryFolder;

constexpr const char* kAdd = R"CU(/* hone {"name": "add", "sizes": {"N": 1000},
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"file": "w.bin"}},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "add", "grid": ["ceildiv(N,128)"], "block": [128],
                "args": ["x", "y", "N"]}]} */
__global__ void add(const float* x, float* y, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = x[i] + 1;
}
)CU";

std::vector<std::string> documented_users() {
  std::ifstream file(HONE_SOURCE_DIR "/engine/queue/PROTOCOL.md");
  std::vector<std::string> users;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("user ") && !line.starts_with("user default")) users.push_back(line);
  return users;
}

class Rights : public ::testing::Test {
 protected:
  Rights() : server_({.password = "secret", .acl = documented_users()}) {}
  [[nodiscard]] std::string url(const std::string& user, int number) const {
    return server_.url_text(user + ":change-me-" + std::to_string(number));
  }
  RedisServer server_;
  TemporaryFolder folder_;
};

TEST_F(Rights, AreEnoughForEach) {
  ASSERT_EQ(documented_users().size(), 3U);
  const test::Daemon worker({"worker", "--device", "emu:sm_90", "--redis", url("worker", 2)});
  const test::Daemon coordinator(
      {"coordinator", "--db", folder_.file("hone.db"), "--redis", url("coordinator", 3)});
  const auto job =
      hone({"submit", HONE_SOURCE_DIR "/baselines/vector_add/vector_add.cu", "--arch", "emu:sm_90",
            "--budget", "5", "--wait", "--redis", url("submitter", 1), "--json", "-"});
  EXPECT_EQ(job.status, 0) << job.out << job.err << worker.log() << coordinator.log();
  EXPECT_EQ(job.json()["state"], "done");
  // An input from a file goes up once, and comes down.
  std::string numbers;
  for (int i = 0; i < 1000; ++i) {
    const auto number = static_cast<float>(i % 13);
    numbers.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  folder_.write("w.bin", numbers);
  const std::string task = folder_.write("add.cu", kAdd);
  for (const char* said : {"sent 1 input from files", "1 input from files was on the server"}) {
    const auto with_file = hone({"submit", task, "--arch", "emu:sm_90", "--budget", "1", "--wait",
                                 "--redis", url("submitter", 1)});
    EXPECT_EQ(with_file.status, 0) << with_file.err << worker.log() << coordinator.log();
    EXPECT_NE(with_file.err.find(said), std::string::npos) << with_file.err;
  }
  for (const char* command : {"jobs", "workers"}) {
    const auto listed = hone({command, "--redis", url("submitter", 1)});
    EXPECT_EQ(listed.status, 0) << listed.err;
  }
  const auto dead = hone({"jobs", "--dead", "--redis", url("submitter", 1)});
  EXPECT_EQ(dead.status, 0) << dead.err;
  const std::string id = job.json()["job"];
  // Of a search that has ended, and of one that another leader began.
  auto connection = server_.connect();
  ASSERT_TRUE(connection->command({"HSET", "hone:job:b", "state", "searching"}));
  for (const std::string& letter : {id + ".1.1.1", std::string("b.0.1.1"), std::string("b.1.1.1")})
    ASSERT_TRUE(connection->command({"XADD", "hone:dead", "*", "id", letter, "why", "?"}));
  const auto back = hone({"jobs", "--dead", "--put-back", "all", "--redis", url("submitter", 1)});
  EXPECT_EQ(back.status, 0) << back.err;
  EXPECT_NE(back.out.find("submit the job again"), std::string::npos) << back.out;
  EXPECT_NE(back.out.find("another coordinator leads"), std::string::npos) << back.out;
  EXPECT_NE(back.out.find("has not handed it out"), std::string::npos) << back.out;
  EXPECT_NE(coordinator.log().find("a dead letter is not put back"), std::string::npos);
  const auto none = hone({"jobs", "--dead", "--put-back", "x", "--redis", url("submitter", 1)});
  EXPECT_NE(none.status, 0);
  const auto cancelled =
      hone({"cancel", id.substr(0, id.size() - 1), "--redis", url("submitter", 1)});
  EXPECT_EQ(cancelled.status, 1) << cancelled.err;
  EXPECT_NE(cancelled.err.find("has ended already: done"), std::string::npos) << cancelled.err;
  const auto watched = hone({"watch", id, "--redis", url("submitter", 1)});
  EXPECT_EQ(watched.status, 0) << watched.err;
  EXPECT_NE(watched.out.find("speedup"), std::string::npos) << watched.out;
  for (const auto* daemon : {&worker, &coordinator})
    EXPECT_EQ(daemon->log().find("permission"), std::string::npos) << daemon->log();
}

TEST_F(Rights, AreNoMoreThanThat) {
  struct Try {
    const char* user;
    int number;
    std::vector<std::string> command;
  };
  const Try tries[] = {
      {"submitter", 1, {"XADD", "hone:results", "*", "id", "x", "m", "y"}},
      {"submitter", 1, {"XADD", "hone:work:emu:sm_90", "*", "id", "x", "m", "y"}},
      {"submitter", 1, {"SET", "hone:leader", "9"}},
      {"submitter", 1, {"GET", "other:key"}},
      {"submitter", 1, {"DEL", "hone:jobs"}},
      {"submitter", 1, {"SET", "hone:worker:x", "y"}},
      {"submitter", 1, {"HDEL", "hone:job:x", "message"}},
      {"submitter", 1, {"EXPIRE", "hone:job:x", "1"}},
      {"submitter", 1, {"DEL", "hone:input:x"}},
      {"submitter", 1, {"HDEL", "hone:input:x", "0"}},
      {"submitter", 1, {"HGET", "hone:input:x", "0"}},
      {"submitter", 1, {"HGETALL", "hone:input:x"}},
      {"worker", 2, {"HGET", "hone:job:x", "message"}},
      {"worker", 2, {"HSET", "hone:input:x", "0", "y"}},
      {"worker", 2, {"DEL", "hone:input:x"}},
      {"worker", 2, {"HGETALL", "hone:inputs"}},
      {"worker", 2, {"SET", "hone:leader", "9"}},
      {"worker", 2, {"SADD", "hone:cancelled", "x"}},
      {"worker", 2, {"SADD", "hone:put-back", "x"}},
      {"worker", 2, {"FLUSHALL"}},
      {"worker", 2, {"CONFIG", "GET", "dir"}},
      {"coordinator", 3, {"GET", "other:key"}},
      {"coordinator", 3, {"FLUSHALL"}},
      {"coordinator", 3, {"SHUTDOWN"}},
      {"coordinator", 3, {"ACL", "LIST"}},
  };
  for (const Try& one : tries) {
    const auto url = RedisUrl::parse(this->url(one.user, one.number));
    ASSERT_TRUE(url);
    auto connection = RedisConnection::open(*url, {});
    ASSERT_TRUE(connection) << connection.error().message;
    std::vector<std::string_view> words(one.command.begin(), one.command.end());
    const auto reply = (*connection)->command(words);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->error_code(), "NOPERM") << one.user << " " << one.command[0];
  }
}

}  // namespace
}  // namespace hone
