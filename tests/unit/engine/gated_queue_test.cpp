#include "engine/service/gated_queue.h"

#include <gtest/gtest.h>

#include <limits>

#include "engine/queue/in_process_queue.h"

namespace hone {
namespace {

using std::chrono::milliseconds;

constexpr double kAnyTime = std::numeric_limits<double>::infinity();

/// The test is the workers of both sides.
class GatedQueueTest : public testing::Test {
 protected:
  GatedQueueTest() {
    auto gpu = std::make_unique<InProcessQueue>(64);
    auto emulators = std::make_unique<InProcessQueue>(64);
    gpu_ = gpu.get();
    emulators_ = emulators.get();
    queue_ = std::make_unique<GatedQueue>(std::move(gpu), std::move(emulators),
                                          [this] { return capacity_.load(); });
  }

  static Work work(std::uint64_t id, double screen_above_us = kAnyTime) {
    Work work{.id = id};
    work.request.checks.resize(2);
    work.request.measure_first = true;
    work.request.screen_above_us = screen_above_us;
    work.request.best_time_us = 100;
    return work;
  }
  static Evaluation evaluation(Verdict verdict, double time_us = 50) {
    Evaluation evaluation;
    evaluation.verdict = verdict;
    evaluation.measurement.time_us = time_us;
    evaluation.gates.check = 1;
    return evaluation;
  }
  std::optional<Work> at_gpu() { return gpu_->take(milliseconds(2000)); }
  std::optional<Work> at_emulators() { return emulators_->take(milliseconds(2000)); }
  std::optional<Done> result() { return queue_->next_result(milliseconds(2000)); }

  std::atomic<int> capacity_ = 8;
  InProcessQueue* gpu_ = nullptr;
  InProcessQueue* emulators_ = nullptr;
  std::unique_ptr<GatedQueue> queue_;
};

TEST_F(GatedQueueTest, WhatPassesIsMeasuredAndNotCheckedAgain) {
  ASSERT_TRUE(queue_->submit(work(7)));
  const auto gate = at_emulators();
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate->request.checks.size(), 2U);
  EXPECT_EQ(gate->request.screen_above_us, 0);
  emulators_->complete({gate->id, evaluation(Verdict::kOk, 33)});
  const auto timing = at_gpu();
  ASSERT_TRUE(timing);
  EXPECT_TRUE(timing->request.checks.empty());
  EXPECT_FALSE(timing->request.measure_first);
  EXPECT_EQ(timing->request.screen_above_us, 0);
  EXPECT_EQ(timing->request.best_time_us, 100);
  gpu_->complete({timing->id, evaluation(Verdict::kOk, 40)});
  const auto done = result();
  ASSERT_TRUE(done && done->evaluation);
  EXPECT_EQ(done->id, 7U);
  EXPECT_EQ(done->evaluation->measurement.time_us, 40);  // the GPU's
  EXPECT_EQ(done->evaluation->modelled_us, 33);
  EXPECT_EQ(done->evaluation->gates.check, 2);
  EXPECT_EQ(queue_->judged(), 1);
}

TEST_F(GatedQueueTest, WhatFailsOrIsTooSlowNeverReachesABusyGpu) {
  for (std::uint64_t id = 11; id < 15; ++id) {  // an idle one measures what is too slow, too
    ASSERT_TRUE(queue_->submit(work(id, 60)));
    ASSERT_TRUE(at_emulators());
    emulators_->complete({id, evaluation(Verdict::kOk, 61)});
    ASSERT_TRUE(at_gpu());
  }
  ASSERT_TRUE(queue_->submit(work(1)));
  ASSERT_TRUE(queue_->submit(work(2, 60)));
  ASSERT_TRUE(at_emulators());
  ASSERT_TRUE(at_emulators());
  emulators_->complete({1, evaluation(Verdict::kRace)});
  emulators_->complete({2, evaluation(Verdict::kOk, 61)});
  auto done = result();
  ASSERT_TRUE(done && done->evaluation);
  EXPECT_EQ(done->id, 1U);
  EXPECT_EQ(done->evaluation->verdict, Verdict::kRace);
  EXPECT_EQ(done->evaluation->measurement.time_us, 0);  // a modelled time is not the GPU's
  done = result();
  ASSERT_TRUE(done && done->evaluation);
  EXPECT_TRUE(done->evaluation->screened);
  EXPECT_EQ(done->evaluation->modelled_us, 61);
  EXPECT_EQ(done->evaluation->measurement.time_us, 0);
  EXPECT_FALSE(gpu_->take(milliseconds(50)));
}

TEST_F(GatedQueueTest, WhatTheEmulatorCannotJudgeGoesThroughEveryGateOfTheGpusNode) {
  for (const Verdict verdict : {Verdict::kUnsupported, Verdict::kTimeout, Verdict::kTampering}) {
    ASSERT_TRUE(queue_->submit(work(1)));
    ASSERT_TRUE(at_emulators());
    emulators_->complete({1, evaluation(verdict)});
    const auto all = at_gpu();
    ASSERT_TRUE(all);
    EXPECT_EQ(all->request.checks.size(), 2U);
    EXPECT_TRUE(all->request.measure_first);
    EXPECT_EQ(all->request.screen_above_us, kAnyTime);
  }
  EXPECT_EQ(queue_->judged(), 0);
}

TEST_F(GatedQueueTest, AdmissionFinalsAndWhatHasNoRoomGoToTheGpu) {
  Work admission = work(1), final_stage = work(2);
  admission.kind = Work::Kind::kAdmit;
  final_stage.request.stage = Stage::kFinal;
  ASSERT_TRUE(queue_->submit(std::move(admission)));
  ASSERT_TRUE(queue_->submit(std::move(final_stage)));
  EXPECT_EQ(at_gpu()->id, 1U);
  EXPECT_EQ(at_gpu()->request.checks.size(), 2U);
  capacity_ = 1;
  ASSERT_TRUE(queue_->submit(work(3)));
  ASSERT_TRUE(queue_->submit(work(4)));
  EXPECT_EQ(at_emulators()->id, 3U);
  EXPECT_EQ(at_gpu()->id, 4U);
}

TEST_F(GatedQueueTest, EmulatorsThatFailAreAskedNoMore) {
  for (std::uint64_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(queue_->submit(work(id)));
    ASSERT_TRUE(at_emulators());
    emulators_->complete({id, fail(ErrorCode::kInfrastructure, "no worker gave an answer")});
    EXPECT_EQ(at_gpu()->id, id);
  }
  ASSERT_TRUE(queue_->submit(work(4)));
  EXPECT_EQ(at_gpu()->id, 4U);
}

TEST_F(GatedQueueTest, WhatWasAtTheGatesWhenTheLastEmulatorWentGoesToTheGpu) {
  ASSERT_TRUE(queue_->submit(work(1)));
  ASSERT_TRUE(queue_->submit(work(2)));
  capacity_ = 0;
  const auto one = at_gpu(), other = at_gpu();
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->id + other->id, 3U);
  EXPECT_EQ(one->request.checks.size(), 2U);
}

TEST_F(GatedQueueTest, ACancelledSearchHearsOfNothingMore) {
  ASSERT_TRUE(queue_->submit(work(1)));
  ASSERT_TRUE(at_emulators());
  std::jthread worker([this] {
    std::this_thread::sleep_for(milliseconds(50));
    emulators_->complete({1, evaluation(Verdict::kOk)});
  });
  queue_->cancel();
  EXPECT_FALSE(queue_->submit(work(2)));
  queue_->resume();
  EXPECT_FALSE(gpu_->take(milliseconds(100)));
  ASSERT_TRUE(queue_->submit(work(3)));
  EXPECT_EQ(at_emulators()->id, 3U);
}

}  // namespace
}  // namespace hone
