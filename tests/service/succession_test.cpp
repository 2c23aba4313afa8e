// A queue belongs to one database, and a Redis server that forgets costs no job that was taken.
#include "engine/service/succession.h"

#include <gtest/gtest.h>

#include "engine/queue/server_check.h"
#include "tests/e2e/process.h"
#include "tests/service/coordinator_fixture.h"

namespace hone::test {
namespace {

using ::hone::testing::RedisServer;
using ::hone::testing::RedisServerOptions;
using std::chrono::milliseconds;

class Succession : public CoordinatorTest {
 protected:
  /// Runs a coordinator until `seconds` are over, or it ends by itself: how.
  Result<void> lead(Store& store, double seconds, bool adopt = false) {
    return lead(store, this->broker(), seconds, adopt);
  }
  Result<void> lead(Store& store, const std::unique_ptr<queue::Broker>& broker, double seconds,
                    bool adopt = false) {
    std::atomic<bool> stop = false;
    Result<void> ended;
    std::jthread thread([&] {
      CoordinatorOptions options;
      options.open_rewriting = [] { return std::make_unique<LocalRewriting>(); };
      options.log = log();
      options.stop = &stop;
      options.adopt_queue = adopt;
      ended = run_coordinator(*broker, store, options);
      stop = true;
    });
    for (int i = 0; i < 50 * seconds && !stop; ++i) std::this_thread::sleep_for(milliseconds(20));
    stop = true;
    thread.join();
    return ended;
  }
  [[nodiscard]] std::unique_ptr<Store> open(const std::string& name) {
    auto store = Store::open(folder_.file(name));
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  [[nodiscard]] bool begun(const std::string& id) {
    for (int i = 0; i < 1000; ++i) {
      const auto status = broker_->status(id);
      if (status && !status->archs.empty() && status->archs[0].counts.evaluated() >= 5) return true;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return false;
  }
  ::hone::testing::TemporaryFolder folder_;
};

TEST_F(Succession, ADatabaseKeepsItsIdAndAnotherHasAnother) {
  const auto one = open("one.db"), two = open("two.db");
  const auto first = one->identity(), second = two->identity();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->id.size(), 16U);
  EXPECT_NE(first->id, second->id);
  EXPECT_EQ(open("one.db")->identity()->id, first->id);
}

TEST_F(Succession, AnotherDatabaseIsRefusedWithBothNamed) {
  const auto one = open("one.db"), two = open("two.db");
  EXPECT_TRUE(lead(*one, 0.5));
  const auto refused = lead(*two, 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  for (const std::string& named : {one->identity()->id, two->identity()->id, folder_.file("one.db"),
                                   folder_.file("two.db"), std::string("--adopt-queue")})
    EXPECT_NE(refused.error().message.find(named), std::string::npos) << refused.error().message;
  // Nothing was written to it.
  EXPECT_EQ(two->identity()->queue, "");
  EXPECT_EQ(two->fence(), 0);
  EXPECT_EQ(broker_->owner().value()->database, one->identity()->id);
}

TEST_F(Succession, AStandbyWithAnotherDatabaseIsRefusedWhileOneLeads) {
  const auto two = open("two.db");
  const Coordinator leader(*this, *store_);
  while (!logged("leading, term")) std::this_thread::sleep_for(milliseconds(20));
  const auto refused = lead(*two, 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
}

TEST_F(Succession, AdoptingTakesTheQueueOverAndTheFirstIsRefusedThen) {
  const Worker worker(*this, "worker");
  const auto one = open("one.db"), two = open("two.db");
  EXPECT_TRUE(lead(*one, 0.5));
  ASSERT_TRUE(broker_->submit(job("a")));
  std::jthread waits([&] { expect_as_alone(wait_for("a")); });
  EXPECT_TRUE(lead(*two, 5, true));
  waits.join();
  EXPECT_TRUE(logged("is taken over from the database " + one->identity()->id));
  EXPECT_EQ(two->boards({})->size(), 1U);
  EXPECT_FALSE(lead(*one, 5));
}

TEST_F(Succession, AnOlderCopyIsRefused) {
  {
    const auto one = open("one.db");
    EXPECT_TRUE(lead(*one, 0.5));
  }
  std::filesystem::copy_file(folder_.file("one.db"), folder_.file("copy.db"));
  EXPECT_TRUE(lead(*open("one.db"), 0.5));
  const auto refused = lead(*open("copy.db"), 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(refused.error().message.find("later state of this database"), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(lead(*open("copy.db"), 0.5, true));
  EXPECT_TRUE(lead(*open("copy.db"), 0.5));
}

TEST_F(Succession, ALeaderThatFindsAnothersFenceEndsItsTermAndFailsNoJob) {
  Worker worker(*this, "worker");
  worker.evaluator.hold_finals_ = true;  // something is left to be stored
  const Coordinator coordinator(*this, *store_);
  ASSERT_TRUE(broker_->submit(job("a")));
  ASSERT_TRUE(begun("a"));
  const auto other = Store::open(path_);
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_TRUE((*other)->take_fence(*store_->fence() + 10));
  worker.evaluator.hold_finals_ = false;
  const std::string said = "no longer the leader: another coordinator writes to ";
  for (int i = 0; i < 500 && !logged(said); ++i) std::this_thread::sleep_for(milliseconds(20));
  EXPECT_TRUE(logged(said));
  EXPECT_LT(broker_->status("a")->state, queue::JobState::kDone) << broker_->status("a")->error;
  // Nobody else leads the queue, so it does again after a while.
  expect_as_alone(wait_for("a"));
  EXPECT_EQ((*other)->boards({})->size(), 1U);
  EXPECT_EQ((*other)->runs({.job = "a"})->size(), 1U);
  EXPECT_FALSE(logged("job_end_unwritten"));
}

TEST_F(Succession, ALeaderWhoseDatabaseWasTakenOverForAnotherQueueEnds) {
  const RedisServer elsewhere;
  auto client = RedisClient::open(elsewhere.url(), {});
  ASSERT_TRUE(client);
  const auto there =
      std::make_unique<queue::Broker>(std::shared_ptr<RedisClient>(std::move(*client)), "test");
  const auto one = open("one.db"), same = open("one.db");
  const auto term_begun = [&] {
    const auto leads = broker_->has_leader();
    return leads && *leads && logged("leading, term");
  };
  Result<void> ended;
  std::jthread first([&] { ended = lead(*one, 20); });
  for (int i = 0; i < 500 && !term_begun(); ++i) std::this_thread::sleep_for(milliseconds(20));
  std::jthread second([&] { EXPECT_TRUE(lead(*same, there, 3)); });
  for (int i = 0; i < 500 && !there->has_leader().value_or(false); ++i)
    std::this_thread::sleep_for(milliseconds(20));
  std::this_thread::sleep_for(milliseconds(500));
  ASSERT_TRUE(broker_->submit(job("a")));  // which the first has to store
  first.join();
  second.join();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(ended.error().message.find("of another queue"), std::string::npos)
      << ended.error().message;
  EXPECT_EQ(broker_->status("a")->state, queue::JobState::kQueued);
}

TEST_F(Succession, ABackupOfTheSameTermIsRefused) {
  const auto one = open("one.db");
  EXPECT_TRUE(lead(*one, 0.5));
  ASSERT_TRUE(Store::backup(folder_.file("one.db"), folder_.file("copy.db")));
  const auto refused = lead(*open("copy.db"), 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  EXPECT_TRUE(lead(*open("copy.db"), 0.5, true));
}

/// Else each would queue the other's jobs again as lost ones.
TEST_F(Succession, ADatabaseLeadsOneQueue) {
  const auto one = open("one.db");
  EXPECT_TRUE(lead(*one, 0.5));
  const auto second = [&] { return broker("second"); };
  const auto refused = lead(*one, second(), 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  for (const std::string& named : {one->identity()->id, broker_->keys().prefix(),
                                   std::string("'second'"), std::string("--adopt-queue")})
    EXPECT_NE(refused.error().message.find(named), std::string::npos) << refused.error().message;
  EXPECT_FALSE(second()->owner().value());
  EXPECT_FALSE(logged("has lost what it held"));
  EXPECT_TRUE(lead(*one, second(), 0.5, true));
  EXPECT_FALSE(lead(*one, 5));  // the first queue is given up
}

// server_ keeps nothing: each restart is one with an empty memory.
TEST_F(Succession, JobsAreQueuedAgainWhenTheServerForgetsAll) {
  Worker worker(*this, "one");
  const Coordinator coordinator(*this, *store_, 2);
  ASSERT_TRUE(broker_->submit(job("ended", 9)));
  expect_as_alone(wait_for("ended"), 9);
  worker.evaluator.hold_finals_ = true;
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(broker_->submit(job("job-" + std::to_string(i), static_cast<std::uint64_t>(i))));
  ASSERT_TRUE(begun("job-1"));
  server_.restart();
  worker.evaluator.hold_finals_ = false;
  for (int i = 0; i < 5; ++i)
    expect_as_alone(wait_for("job-" + std::to_string(i)), static_cast<std::uint64_t>(i));
  EXPECT_TRUE(logged("has lost what it held"));
  EXPECT_TRUE(logged("jobs that the Redis server had lost: "));
  EXPECT_FALSE(logged("another coordinator leads now"));
  EXPECT_FALSE(broker_->status("ended"));
  // None twice: a run for each.
  EXPECT_EQ(store_->runs({})->size(), 6U);
  EXPECT_TRUE(store_->kept_jobs()->empty());
  EXPECT_TRUE(store_->begun_jobs()->empty());
}

TEST_F(Succession, TheNextLeaderQueuesAgainWhatTheServerForgotWhileNobodyLed) {
  Worker worker(*this, "one");
  worker.evaluator.hold_finals_ = true;
  {
    const Coordinator first(*this, *store_, 1);
    ASSERT_TRUE(broker_->submit(job("a")));
    ASSERT_TRUE(broker_->submit(job("b", 4)));
    ASSERT_TRUE(begun("a"));
  }
  server_.restart();
  worker.evaluator.hold_finals_ = false;
  const Coordinator second(*this, *store_, 1);
  expect_as_alone(wait_for("a"));
  expect_as_alone(wait_for("b"), 4);
}

TEST_F(Succession, WhatCannotBeQueuedAgainIsNamed) {
  ASSERT_TRUE(store_->put_task(task_));
  const auto run = store_->begin_run(task_.hash(), {.device_name = "x"}, 1, "evolve", "unkept");
  ASSERT_TRUE(run);
  ASSERT_TRUE(store_->keep_jobs({{"unreadable", "no message"}}));
  EXPECT_TRUE(lead(*store_, 0.5));
  EXPECT_TRUE(logged("the Redis server lost 2 jobs that cannot be queued again"));
  EXPECT_TRUE(logged("unkept (it was not kept)"));
  EXPECT_TRUE(logged("unreadable ("));
  EXPECT_TRUE(store_->kept_jobs()->empty());
  EXPECT_EQ(store_->find_run(*run)->status, "abandoned");
}

TEST_F(Succession, AServerThatForgetsIsWarnedOfAndMayBeRefused) {
  EXPECT_TRUE(lead(*store_, 0.3));
  EXPECT_TRUE(logged("has no append-only file (appendonly no)"));
  CoordinatorOptions options;
  options.log = log();
  options.require_durable = true;
  const auto refused = run_coordinator(*broker_, *store_, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kEnvironment);
  EXPECT_NE(refused.error().message.find("--require-durable"), std::string::npos);
}

std::vector<std::string> concerns_of(const RedisServerOptions& options,
                                     const std::string& user = "") {
  const RedisServer server(options);
  const auto client = RedisClient::open(server.url(user), {});
  EXPECT_TRUE(client) << client.error().message;
  const auto facts = queue::look_at_server(**client);
  EXPECT_TRUE(facts) << facts.error().message;
  return queue::concerns(*facts);
}

TEST(ServerCheck, ADurableServerIsOfNoConcern) {
  EXPECT_EQ(concerns_of({.persistence = RedisServerOptions::Persistence::kEverySecond}),
            std::vector<std::string>());
}

TEST(ServerCheck, AnEvictingServerIsNamedWithItsRemedy) {
  const auto found = concerns_of({.persistence = RedisServerOptions::Persistence::kAlways,
                                  .config = {"maxmemory-policy allkeys-lru"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].find("maxmemory-policy allkeys-lru"), std::string::npos) << found[0];
  EXPECT_NE(found[0].find("maxmemory-policy noeviction"), std::string::npos) << found[0];
}

TEST(ServerCheck, AServerThatDoesNotTellIsSaidSo) {
  const auto found = concerns_of({.acl = {"user some on >secret ~* +@all -info"}}, "some:secret");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].find("cannot tell"), std::string::npos) << found[0];
  EXPECT_NE(found[0].find("+info"), std::string::npos) << found[0];
}

TEST(ServerCheck, AnOldServerIsNamed) {
  queue::ServerFacts facts;
  facts.version = "6.2.14";
  facts.appends = facts.appending_works = true;
  facts.eviction = "noeviction";
  const auto found = queue::concerns(facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].find("version 6.2.14; hone needs 7 or later"), std::string::npos) << found[0];
  facts.version = "10.0.0";
  EXPECT_TRUE(queue::concerns(facts).empty());
}

}  // namespace
}  // namespace hone::test
