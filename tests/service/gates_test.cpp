// A search for a GPU, with workers for the emulated one beside: the cheap gates are theirs.
#include <gtest/gtest.h>

#include "tests/service/coordinator_fixture.h"

namespace hone {
namespace {

using std::chrono::milliseconds;

class GatesTest : public test::CoordinatorTest {
 protected:
  static DeviceInfo gpu() {
    DeviceInfo info = test::FakeEvaluator::h200();
    info.name = "NVIDIA H200";
    return info;
  }
  /// What the GPU is asked, in the search and in final stages.
  struct Asked {
    std::atomic<int> checked_before{0}, everything{0}, wrong{0}, finals{0},
        finals_without_checks{0};
  };
  static test::FakeEvaluator::Lie watch(Asked& asked) {
    return [&asked](const EvaluationRequest& request, Evaluation& evaluation) {
      const bool checks = !request.checks.empty();
      if (request.stage == Stage::kFinal) {
        ++asked.finals;
        if (!checks) ++asked.finals_without_checks;
      } else if (checks) {
        ++asked.everything;
      } else {
        ++asked.checked_before;
        if (evaluation.verdict != Verdict::kOk) ++asked.wrong;
      }
    };
  }
  queue::JobStatus run(const std::string& id) {
    while (broker_->workers()->size() < 2) std::this_thread::sleep_for(milliseconds(10));
    const Coordinator coordinator(*this, *store_);
    auto message = job(id);
    message.archs = {"sm_90"};
    EXPECT_TRUE(broker_->submit(message));
    return wait_for(id);
  }
};

TEST_F(GatesTest, TheGpuMeasuresWhatTheEmulatorsPass) {
  Asked asked;
  const Worker device(*this, "gpu", "cuda:0", gpu(), watch(asked));
  Worker emulators(*this, "emulators");
  const auto status = run("a");
  ASSERT_EQ(status.state, queue::JobState::kDone) << status.error;
  EXPECT_EQ(status.archs[0].counts.evaluated(), 40);
  EXPECT_GT(status.archs[0].counts.verdicts[static_cast<std::size_t>(Verdict::kWrongResult)], 0);
  EXPECT_GT(emulators.evaluator.answered_, 0);
  EXPECT_GT(asked.checked_before, 0);
  EXPECT_EQ(asked.wrong, 0);
  // All of them are believed in the search only.
  EXPECT_GT(asked.finals, 0);
  EXPECT_EQ(asked.finals_without_checks, 0);
  const auto boards = store_->boards({});
  ASSERT_TRUE(boards);
  ASSERT_EQ(boards->size(), 1U);
  EXPECT_FALSE(boards->front().modelled);
}

TEST_F(GatesTest, EmulatorsThatCannotRunTheTaskHoldUpNothing) {
  Asked asked;
  const Worker device(*this, "gpu", "cuda:0", gpu(), watch(asked));
  Worker emulators(*this, "emulators");
  emulators.evaluator.not_admitted_ = Error{ErrorCode::kTaskFailed, "an instruction is missing"};
  const auto status = run("a");
  ASSERT_EQ(status.state, queue::JobState::kDone) << status.error;
  EXPECT_EQ(status.archs[0].counts.evaluated(), 40);
  EXPECT_EQ(asked.checked_before, 0);
  EXPECT_GT(asked.everything, 0);
}

TEST_F(GatesTest, EmulatorsThatLeaveHoldUpNothing) {
  Asked asked;
  const Worker device(*this, "gpu", "cuda:0", gpu(), watch(asked));
  auto emulators = std::make_unique<Worker>(*this, "emulators");
  emulators->evaluator.slow_ = milliseconds(100);
  std::jthread leaves([&] {
    while (emulators->evaluator.answered_ < 3) std::this_thread::sleep_for(milliseconds(5));
    emulators.reset();
  });
  const auto status = run("a");
  ASSERT_EQ(status.state, queue::JobState::kDone) << status.error;
  EXPECT_EQ(status.archs[0].counts.evaluated(), 40);
}

}  // namespace
}  // namespace hone
