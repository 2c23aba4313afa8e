// A coordinator that asks a language model is killed in the middle of a search and of a request:
// another goes on with the model's programs and with what is left of the job's budget.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "candidates/store/store.h"
#include "tests/service/daemon.h"
#include "tests/service/jobs.h"
#include "tests/unit/llm/scripted_server.h"

namespace hone::test {
namespace {

using hone::testing::hone;
using hone::testing::RedisServer;
using hone::testing::ScriptedServer;
using hone::testing::ServerPeer;
using hone::testing::TemporaryFolder;
using std::chrono::milliseconds;

constexpr const char* kTasks = HONE_SOURCE_DIR "/tests/llm_search/tasks/";
constexpr const char* kKey = "sk-this-must-be-nowhere-4712";
constexpr std::int64_t kTokens = 60'000, kInput = 5000, kOutput = 500;

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class ModelKilled : public ::testing::Test {
 protected:
  /// The first request gets a good program, later ones nothing at all until `answers_`, and then
  /// nothing of use.
  ModelKilled()
      : endpoint_([this](ServerPeer& peer) {
          const auto request = peer.request();
          if (!request) return;
          if (request->header("Authorization") == std::string("Bearer ") + kKey) ++with_key_;
          if (replies_ > 0 && !answers_) {
            ++unanswered_;
            (void)peer.wait_until_closed();
            return;
          }
          const std::string text =
              replies_++ == 0 ? text_of(std::string(kTasks) + "popcount.reply.md") : "I am lost.";
          peer.send(hone::testing::stream_reply(text, kInput, kOutput));
        }) {}

  std::unique_ptr<Daemon> coordinator() {
    setenv("HONE_LLM_KEY", kKey, 1);
    auto started = std::make_unique<Daemon>(std::vector<std::string>{
        "coordinator", "--db", database_, "--redis", redis_.url_text(), "--llm", endpoint_.url(),
        "--llm-model", "scripted", "--llm-modes", "whole", "--llm-concurrency", "1",
        "--llm-output-tokens", "2000", "--llm-retries", "0"});
    unsetenv("HONE_LLM_KEY");
    return started;
  }
  /// What the database has of the job's replies; none while there is no database.
  std::vector<RunReply> stored(const std::string& job) {
    StoreOptions options;
    options.read_only = true;
    if (!std::filesystem::exists(database_)) return {};
    const auto store = Store::open(database_, options);
    if (!store) return {};
    const auto runs = (*store)->runs({.job = job});
    if (!runs || runs->empty()) return {};
    return (*store)->replies(runs->front().id).value_or(std::vector<RunReply>());
  }
  std::int64_t spent(const std::string& job) {
    const auto store = Store::open(database_);
    return store ? (*store)->spending(job)->tokens : -1;
  }

  RedisServer redis_ = RedisServer({.unix_socket = true});
  TemporaryFolder folder_;
  const std::string database_ = folder_.file("hone.db");
  std::atomic<bool> answers_ = false;
  std::atomic<int> replies_ = 0, unanswered_ = 0, with_key_ = 0;
  const ScriptedServer endpoint_;
};

TEST_F(ModelKilled, AnotherGoesOnWithItsProgramsAndWhatIsLeftOfTheBudget) {
  setenv("HONE_LLM_KEY", kKey, 1);  // a worker has no use for it
  const Daemon worker({"worker", "--device", "emu:sm_90", "--redis", redis_.url_text()});
  unsetenv("HONE_LLM_KEY");
  auto first = coordinator();
  const auto submitted =
      hone({"submit", std::string(kTasks) + "popcount.cu", "--arch", "emu:sm_90", "--budget", "60",
            "--seed", "7", "--llm", "--llm-tokens", std::to_string(kTokens), "--redis",
            redis_.url_text(), "--json", "-"});
  ASSERT_EQ(submitted.status, 0) << submitted.err;
  const std::string job = submitted.json()["job"];
  const auto has_candidate = [&] {
    const auto replies = stored(job);
    return !replies.empty() && !replies.front().candidates.empty();
  };
  for (int i = 0; i < 600 && (unanswered_ == 0 || !has_candidate()); ++i)
    std::this_thread::sleep_for(milliseconds(50));
  first->kill();
  ASSERT_GT(unanswered_, 0) << first->log();
  ASSERT_TRUE(has_candidate()) << first->log();
  const std::int64_t before = spent(job);
  EXPECT_GT(before, kInput + kOutput + 2000) << "the request in flight counts in full";
  EXPECT_LE(before, kTokens);
  ASSERT_EQ(stored(job).size(), 1U) << "what was in flight is in no reply";

  answers_ = true;
  auto second = coordinator();
  const auto statuses = ended({job}, redis_, 240);
  ASSERT_EQ(statuses.size(), 1U) << second->log();
  const auto& status = statuses.at(job);
  EXPECT_EQ(status.state, queue::JobState::kDone) << status.error;
  EXPECT_EQ(status.archs[0].counts.evaluated(), 60);
  EXPECT_GT(replies_, 1) << "what is left is used";
  EXPECT_NE(second->log().find("spent up to " + std::to_string(before) + " tokens"),
            std::string::npos)
      << second->log();
  EXPECT_GE(spent(job), before + (replies_ - 1) * (kInput + kOutput));
  EXPECT_LE(spent(job), kTokens);
  const auto replies = stored(job);
  ASSERT_TRUE(status.model);
  EXPECT_EQ(std::ssize(replies), status.model->use.asked);
  EXPECT_LE(status.model->use.replies(), replies_);
  EXPECT_GE(status.model->use.replies(), replies_ - 1) << "one may be in flight at the end";
  EXPECT_EQ(status.model->use.refused, status.model->use.replies() - 1);
  // Nobody said it again.
  const auto shown =
      hone({"show", status.archs[0].best_candidate, "--db", database_, "--json", "-"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_EQ(shown.json()["recipe"][0]["rewriter"], "model-code") << shown.out;
  const auto watched = hone({"watch", job, "--redis", redis_.url_text()});
  EXPECT_NE(watched.out.find("language model: "), std::string::npos) << watched.out;

  EXPECT_GT(with_key_, 1);
  for (const std::string& text :
       {first->log(), second->log(), worker.log(), text_of(database_), text_of(database_ + "-wal"),
        text_of("/proc/" + std::to_string(worker.pid()) + "/environ"), watched.out})
    EXPECT_EQ(text.find(kKey), std::string::npos) << text;
  for (const char* field : {"message", "status"}) {
    const auto value = redis_.connect()->command({"HGET", "hone:job:" + job, field});
    ASSERT_TRUE(value);
    EXPECT_EQ(value->as_string().value_or("").find(kKey), std::string_view::npos);
  }
  expect_whole(database_);
}

}  // namespace
}  // namespace hone::test
