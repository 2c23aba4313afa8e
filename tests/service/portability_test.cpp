// What one pool's search finds is tried on the other pools.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/process.h"
#include "tests/service/coordinator_fixture.h"
#include "tests/service/daemon.h"

namespace hone {
namespace {

using hone::testing::hone;
using std::chrono::milliseconds;

class PortabilityTest : public test::CoordinatorTest {
 protected:
  static DeviceInfo a100(const std::string& name = "emulated sm_80 (A100 profile)") {
    return {.name = name,
            .arch = "sm_80",
            .toolchain = "fake 1",
            .sm_count = 108,
            .memory_bytes = 1LL << 36};
  }
  /// Begins once both workers are there.
  std::unique_ptr<Coordinator> coordinator() {
    while (broker_->workers()->size() < 2) std::this_thread::sleep_for(milliseconds(10));
    return std::make_unique<Coordinator>(*this, *store_);
  }
  /// Of sm_90 or sm_80; no rows where there is none.
  Board board(const std::string& arch) {
    const auto boards = store_->boards({"", arch, 100});
    EXPECT_TRUE(boards);
    return boards && boards->size() == 1 ? boards->front() : Board{};
  }
  /// The candidates that an sm_90 board leads with, which other pools are asked about.
  std::vector<std::string> best_three() {
    std::vector<std::string> ids;
    for (const BoardRow& row : board("sm_90").rows)
      if (row.candidate.origin != "reference" && ids.size() < 3) ids.push_back(row.candidate.id);
    return ids;
  }
};

TEST_F(PortabilityTest, TheBestAreTriedOnTheOtherPool) {
  Worker worker(*this, "one"), other(*this, "other", "emu:sm_80", a100());
  const auto leader = coordinator();
  ASSERT_TRUE(broker_->submit(job("a")));
  expect_as_alone(wait_for("a"));
  EXPECT_EQ(other.evaluator.finals_, 3);
  EXPECT_EQ(other.evaluator.calls_, 3);
  const auto best = best_three();
  ASSERT_EQ(best.size(), 3U);
  const Board there = board("sm_80");
  ASSERT_EQ(there.rows.size(), 3U);
  EXPECT_EQ(there.device, "emu:sm_80");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(there.rows[i].candidate.id, best[i]);
    ASSERT_EQ(there.rows[i].elsewhere.size(), 1U);
    EXPECT_EQ(there.rows[i].elsewhere[0].provenance.arch, "sm_90");
    EXPECT_EQ(store_->find_candidate(best[i])->provenance.arch, "sm_90");  // where it was found
  }
  for (const BoardRow& row : board("sm_90").rows) {
    const bool tried = std::ranges::find(best, row.candidate.id) != best.end();
    ASSERT_EQ(row.elsewhere.size(), tried ? 1U : 0U);
    if (tried) {
      EXPECT_EQ(row.elsewhere[0].evaluation.verdict, Verdict::kOk);
      EXPECT_EQ(row.elsewhere[0].provenance.device, "emu:sm_80");
    }
  }
}

TEST_F(PortabilityTest, WhatFailsElsewhereIsShownAndTheJobIsDone) {
  Worker worker(*this, "one"), other(*this, "other", "emu:sm_80", a100());
  other.evaluator.fails_finals_ = true;
  const auto leader = coordinator();
  ASSERT_TRUE(broker_->submit(job("a")));
  expect_as_alone(wait_for("a"));
  EXPECT_TRUE(board("sm_80").rows.empty());
  const BoardRow first = board("sm_90").rows.front();
  ASSERT_EQ(first.elsewhere.size(), 1U);
  EXPECT_EQ(first.elsewhere[0].evaluation.verdict, Verdict::kLaunchError);
  EXPECT_EQ(first.elsewhere[0].evaluation.detail, "too much shared memory");
}

TEST_F(PortabilityTest, ATaskThatIsNotAdmittedElsewhereIsShownAsRefused) {
  Worker worker(*this, "one"), other(*this, "other", "emu:sm_80", a100());
  other.evaluator.not_admitted_ = {ErrorCode::kTaskFailed, "the reference: no such instruction"};
  const auto leader = coordinator();
  ASSERT_TRUE(broker_->submit(job("a")));
  expect_as_alone(wait_for("a"));
  EXPECT_EQ(other.evaluator.calls_, 0);
  for (const auto& id : best_three()) {
    const auto finals = store_->final_results(id);
    ASSERT_TRUE(finals);
    ASSERT_EQ(finals->size(), 2U);
    EXPECT_EQ((*finals)[0].provenance.arch, "sm_80");
    EXPECT_EQ((*finals)[0].evaluation.verdict, Verdict::kRefused);
    EXPECT_NE((*finals)[0].evaluation.detail.find("no such instruction"), std::string::npos);
  }
}

TEST_F(PortabilityTest, WhatASearchTimedThereIsNotTriedAgain) {
  Worker worker(*this, "one"), other(*this, "other", "emu:sm_80", a100());
  const auto leader = coordinator();
  auto both = job("a");
  both.archs = {"emu:sm_90", "emu:sm_80"};
  ASSERT_TRUE(broker_->submit(both));
  expect_as_alone(wait_for("a"));
  // The same seed and the same times: both found the same five, and the reference.
  EXPECT_EQ(worker.evaluator.finals_, 6);
  EXPECT_EQ(other.evaluator.finals_, 6);
  EXPECT_EQ(board("sm_90").rows.front().elsewhere.size(), 1U);
}

TEST_F(PortabilityTest, AGpuIsNotAskedAboutWhatWasModelled) {
  const Worker worker(*this, "one"), gpu(*this, "other", "cuda:0", a100("NVIDIA A100"));
  const auto leader = coordinator();
  ASSERT_TRUE(broker_->submit(job("a")));
  expect_as_alone(wait_for("a"));
  EXPECT_EQ(gpu.evaluator.calls_, 0);
  EXPECT_TRUE(board("sm_80").rows.empty());
}

TEST_F(PortabilityTest, CancellingEndsAJobThatIsTriedElsewhere) {
  Worker worker(*this, "one"), other(*this, "other", "emu:sm_80", a100());
  other.evaluator.hold_finals_ = true;
  const auto leader = coordinator();
  ASSERT_TRUE(broker_->submit(job("a")));
  while (other.evaluator.finals_ == 0) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(broker_->status("a")->state, queue::JobState::kFinishing);
  ASSERT_TRUE(broker_->cancel("a"));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(wait_for("a").state, queue::JobState::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(1));
  EXPECT_FALSE(board("sm_90").rows.empty());
}

TEST_F(PortabilityTest, AJobDoesNotWaitForAnotherPoolThatIsGone) {
  const Worker worker(*this, "one");
  auto other = std::make_unique<Worker>(*this, "other", "emu:sm_80", a100());
  other->evaluator.hold_finals_ = true;
  const auto leader = coordinator();
  ASSERT_TRUE(broker_->submit(job("a")));
  while (other->evaluator.finals_ == 0) std::this_thread::sleep_for(milliseconds(10));
  other.reset();
  expect_as_alone(wait_for("a"));
  EXPECT_TRUE(logged("left out: its workers are gone"));
}

TEST_F(PortabilityTest, TriedElsewhereByTwoCoordinatorsACandidateIsOnABoardOnce) {
  Worker worker(*this, "one"), other(*this, "other", "emu:sm_80", a100());
  {
    const auto first = coordinator();
    ASSERT_TRUE(broker_->submit(job("a")));
    while (other.evaluator.finals_ < 2) std::this_thread::sleep_for(milliseconds(1));
    other.evaluator.hold_finals_ = true;
  }
  other.evaluator.hold_finals_ = false;
  const auto second = coordinator();
  expect_as_alone(wait_for("a"));
  EXPECT_EQ(board("sm_80").rows.size(), 3U);
  for (const auto& id : best_three()) EXPECT_EQ(store_->final_results(id)->size(), 2U);
}

/// Two emulated GPUs, as processes.
TEST(Portability, WhatIsFoundOnOneEmulatorIsTriedOnTheOther) {
  const hone::testing::RedisServer server;
  const hone::testing::TemporaryFolder folder;
  const std::string db = folder.file("hone.db"), url = server.url_text();
  const auto worker = [&](const std::string& device) {
    return test::Daemon({"worker", "--device", device, "--at-once", "2", "--redis", url});
  };
  const test::Daemon one = worker("emu:sm_90"), other = worker("emu:sm_80");
  const test::Daemon coordinator({"coordinator", "--db", db, "--redis", url});
  const auto workers = [&] {
    return hone({"workers", "--redis", url, "--json", "-"}).json()["workers"].size();
  };
  for (int i = 0; i < 100 && workers() < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto submitted = hone({"submit", HONE_SOURCE_DIR "/baselines/vector_add/vector_add.cu",
                               "--arch", "emu:sm_90", "--budget", "12", "--redis", url, "--wait"});
  ASSERT_EQ(submitted.status, 0) << submitted.err << coordinator.log();

  const auto board = [&](const std::string& device) {
    return hone({"leaderboard", "--device", device, "--db", db, "--json", "-"}).json()["boards"];
  };
  const auto here = board("emu:sm_90"), there = board("emu:sm_80");
  ASSERT_EQ(here.size(), 1U);
  ASSERT_EQ(there.size(), 1U) << coordinator.log();
  const auto& best = here[0]["rows"][0];
  ASSERT_EQ(best["elsewhere"].size(), 1U);
  EXPECT_EQ(best["elsewhere"][0]["device"], "emu:sm_80");
  EXPECT_EQ(best["elsewhere"][0]["verdict"], "ok");
  EXPECT_TRUE(best["elsewhere"][0]["modelled"]);
  EXPECT_NE(best["elsewhere"][0]["time_us"], best["time_us"]);
  EXPECT_EQ(there[0]["rows"].back()["elsewhere"][0]["device"], "emu:sm_90");
  EXPECT_LE(there[0]["rows"].size(), 3U);
}

}  // namespace
}  // namespace hone
