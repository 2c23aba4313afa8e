// Coordinators and workers as threads of one process, with an evaluator that answers at once.
#include "tests/service/coordinator_fixture.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

using std::chrono::milliseconds;
using test::CoordinatorTest;

TEST_F(CoordinatorTest, AJobFindsWhatASearchAloneFinds) {
  const Coordinator coordinator(*this, *store_);
  ASSERT_TRUE(broker_->submit(job("a")));
  const Worker one(*this, "one"), two(*this, "two");
  const auto status = wait_for("a");
  expect_as_alone(status);
  const auto boards = store_->boards({});
  ASSERT_TRUE(boards);
  ASSERT_EQ(boards->size(), 1U);
  EXPECT_EQ((*boards)[0].rows.front().candidate.id, status.archs[0].best_candidate);
  EXPECT_TRUE((*boards)[0].rows.front().elsewhere.empty());
  const auto workers = broker_->workers();
  ASSERT_TRUE(workers);
  EXPECT_EQ(workers->size(), 2U);
}

TEST_F(CoordinatorTest, ManyJobsAtOnce) {
  const Worker one(*this, "one"), two(*this, "two");
  const Coordinator coordinator(*this, *store_, 3);
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(broker_->submit(job("job-" + std::to_string(i), static_cast<std::uint64_t>(i))));
  for (int i = 0; i < 10; ++i)
    expect_as_alone(wait_for("job-" + std::to_string(i)), static_cast<std::uint64_t>(i));
}

TEST_F(CoordinatorTest, AnotherGoesOnWhereOneEnded) {
  Worker worker(*this, "one");
  worker.evaluator.slow_ = milliseconds(30);
  ASSERT_TRUE(broker_->submit(job("a")));
  {
    const Coordinator first(*this, *store_);
    const Coordinator standby(*this, *store_);
    while (broker_->status("a")->archs.empty() ||
           broker_->status("a")->archs[0].counts.evaluated() < 5)
      std::this_thread::sleep_for(milliseconds(20));
  }
  const Coordinator second(*this, *store_);
  expect_as_alone(wait_for("a"));
}

TEST_F(CoordinatorTest, AnArchitectureThatThereIsNoneOfIsNotWaitedFor) {
  const Coordinator coordinator(*this, *store_);
  auto wrong = job("a");
  wrong.archs = {"sm_70x"};  // an older hone let it pass
  ASSERT_TRUE(broker_->submit(wrong));
  const auto status = wait_for("a");
  EXPECT_EQ(status.state, queue::JobState::kFailed);
  EXPECT_NE(status.error.find("'sm_70x' is no architecture"), std::string::npos) << status.error;
}

TEST_F(CoordinatorTest, CancellingEndsAJobWithinASecond) {
  Worker worker(*this, "one");
  worker.evaluator.slow_ = milliseconds(200);
  const Coordinator coordinator(*this, *store_, 1);
  ASSERT_TRUE(broker_->submit(job("a")));
  ASSERT_TRUE(broker_->submit(job("b", 4)));
  while (broker_->status("a")->state != queue::JobState::kSearching)
    std::this_thread::sleep_for(milliseconds(20));
  ASSERT_TRUE(broker_->cancel("a"));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(wait_for("a").state, queue::JobState::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(1));
  worker.evaluator.slow_ = milliseconds(0);
  expect_as_alone(wait_for("b"), 4);
}

TEST_F(CoordinatorTest, AWorkerThatDrainsLosesNothing) {
  const Coordinator coordinator(*this, *store_);
  ASSERT_TRUE(broker_->submit(job("a")));
  auto first = std::make_unique<Worker>(*this, "one");
  first->evaluator.slow_ = milliseconds(20);
  while (broker_->status("a")->archs.empty() ||
         broker_->status("a")->archs[0].counts.evaluated() < 3)
    std::this_thread::sleep_for(milliseconds(10));
  const Worker second(*this, "two");
  first->drain = true;
  first.reset();
  expect_as_alone(wait_for("a"));
}

TEST_F(CoordinatorTest, ADeadLetterThatIsPutBackCountsInsteadOfItsCrash) {
  std::atomic<int> crashes = 1;
  const Worker worker(*this, "one", [&](const EvaluationRequest& request, Evaluation& evaluation) {
    if (request.stage == Stage::kFinal) return;
    std::this_thread::sleep_for(milliseconds(300));
    if (crashes-- <= 0) return;
    evaluation = {};
    evaluation.verdict = Verdict::kCrash;
  });
  const Coordinator coordinator(*this, *store_);
  ASSERT_TRUE(broker_->submit(job("a")));
  const auto crashed = [](const queue::JobStatus& status) {
    return status.archs.empty()
               ? -1
               : status.archs[0].counts.verdicts[static_cast<std::size_t>(Verdict::kCrash)];
  };
  while (crashed(*broker_->status("a")) != 1) std::this_thread::sleep_for(milliseconds(20));
  // Whichever it was; what did not crash is not asked again, whatever the letter says.
  auto& redis = broker_->redis();
  const auto leader = redis.call({"GET", broker_->keys().leader()});
  ASSERT_TRUE(leader);
  const std::string prefix = "a." + std::string(*leader->as_string()) + ".1.";
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(redis.call({"XADD", broker_->keys().dead(), "*", "id", prefix + std::to_string(i),
                            "pool", "emu:sm_90", "m", "", "why", "it fell silent", "at", "0"}));
  const auto letters = broker_->dead(1000);
  ASSERT_TRUE(letters);
  using PutBack = queue::Broker::PutBack;
  for (const auto& letter : *letters)
    EXPECT_EQ(*broker_->put_back(letter.entry, letter.id), PutBack::kAsked);
  EXPECT_EQ(*broker_->put_back("1-1", prefix + "1"), PutBack::kGone);
  EXPECT_EQ(*broker_->put_back(letters->front().entry, "a.0.1.1"), PutBack::kRestarted);
  EXPECT_EQ(*broker_->put_back(letters->front().entry, "b.0.1.1"), PutBack::kEnded);
  const auto status = wait_for("a");
  ASSERT_EQ(status.state, queue::JobState::kDone) << status.error;
  EXPECT_EQ(crashed(status), 0);
  EXPECT_EQ(status.archs[0].counts.evaluated(), 40);
  EXPECT_TRUE(logged("is handed out again"));
  const auto left = broker_->dead(1000);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->size(), 99U);
  EXPECT_EQ(*broker_->put_back(left->front().entry, left->front().id), PutBack::kEnded);
}

TEST_F(CoordinatorTest, AJobThatCannotBeReadFails) {
  ASSERT_TRUE(broker_->submit(job("a")));
  ASSERT_TRUE(broker_->redis().call({"HSET", broker_->keys().job("a"), "message", "nonsense"}));
  const Coordinator coordinator(*this, *store_);
  const auto status = wait_for("a");
  EXPECT_EQ(status.state, queue::JobState::kFailed);
  EXPECT_NE(status.error.find("cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace hone
