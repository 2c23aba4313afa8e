// Workers that lie in a way that could be true, beside honest ones: what they say does not reach
// the board.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "engine/search/finals/agreement.h"
#include "tests/service/coordinator_fixture.h"

namespace hone {
namespace {

using std::chrono::milliseconds;
using test::CoordinatorTest;

// The fake evaluator's times are whole; a lie's are not.
void say(Evaluation& evaluation, double time_us) {
  Measurement& m = evaluation.measurement;
  m.time_us = std::floor(time_us) + 0.25;
  m.speedup = m.ci95_low = m.ci95_high = m.reference_time_us / m.time_us;
}

void half_of_every_time(const EvaluationRequest&, Evaluation& evaluation) {
  say(evaluation, evaluation.measurement.time_us / 2);
}

void half_of_final_times(const EvaluationRequest& request, Evaluation& evaluation) {
  if (request.stage == Stage::kFinal) half_of_every_time(request, evaluation);
}

/// So fast that each comes to the final stage.
void ok_for_what_is_wrong(const EvaluationRequest&, Evaluation& evaluation) {
  if (evaluation.verdict == Verdict::kOk) return;
  evaluation.verdict = Verdict::kOk;
  say(evaluation, 150);
}

class Trust : public CoordinatorTest {
 protected:
  /// How many there are on the board; none may be a lie.
  std::size_t believed_results() {
    const auto boards = store_->boards({});
    EXPECT_TRUE(boards);
    std::size_t count = 0;
    for (const auto& board : *boards) {
      for (const auto& row : board.rows) {
        const double time = row.evaluation.measurement.time_us;
        EXPECT_EQ(time, std::floor(time)) << row.candidate.id;
        ++count;
      }
    }
    return count;
  }
};

TEST_F(Trust, ALiarBesideTwoHonestWorkersIsOutvotedAndNamed) {
  const Worker liar(*this, "liar", half_of_final_times), one(*this, "one"), two(*this, "two");
  while (broker_->workers()->size() < 3) std::this_thread::sleep_for(milliseconds(10));
  const Coordinator coordinator(*this, *store_);
  ASSERT_TRUE(broker_->submit(job("a")));
  expect_as_alone(wait_for("a"));
  EXPECT_EQ(believed_results(), alone().ranked.size());
  EXPECT_TRUE(logged("worker liar reports ok"));
  EXPECT_FALSE(logged("worker one reports"));
  EXPECT_FALSE(logged("worker two reports"));
}

TEST_F(Trust, WhatIsWrongIsNotRankedThoughOneSaysOk) {
  const Worker liar(*this, "liar", ok_for_what_is_wrong), one(*this, "one"), two(*this, "two");
  while (broker_->workers()->size() < 3) std::this_thread::sleep_for(milliseconds(10));
  const Coordinator coordinator(*this, *store_);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(broker_->submit(job("job-" + std::to_string(i), static_cast<std::uint64_t>(i))));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(wait_for("job-" + std::to_string(i)).state, queue::JobState::kDone);
  EXPECT_GE(believed_results(), 1U);
  EXPECT_TRUE(logged("worker liar reports ok"));
  EXPECT_TRUE(logged("failed on fresh inputs: wrong_result"));
  EXPECT_FALSE(logged("worker one reports"));
  EXPECT_FALSE(logged("worker two reports"));
}

TEST_F(Trust, OneAgainstOneIsNotBelieved) {
  const Worker liar(*this, "liar", half_of_every_time), one(*this, "one");
  while (broker_->workers()->size() < 2) std::this_thread::sleep_for(milliseconds(10));
  const Coordinator coordinator(*this, *store_);
  ASSERT_TRUE(broker_->submit(job("a")));
  const auto status = wait_for("a");
  EXPECT_EQ(status.state, queue::JobState::kFailed);  // nor is the reference
  EXPECT_NE(status.error.find("no two agree"), std::string::npos) << status.error;
  EXPECT_EQ(believed_results(), 0U);
  EXPECT_TRUE(logged("worker liar reports ok"));
  EXPECT_TRUE(logged("worker one reports ok"));
}

TEST_F(Trust, AnotherWorkerThatEndsIsNotWaitedForWithoutEnd) {
  const Worker one(*this, "one");
  auto two = std::make_unique<Worker>(*this, "two", [](const EvaluationRequest& request, auto&) {
    if (request.stage == Stage::kFinal) std::this_thread::sleep_for(milliseconds(2000));
  });
  while (broker_->workers()->size() < 2) std::this_thread::sleep_for(milliseconds(10));
  const Coordinator coordinator(*this, *store_);
  ASSERT_TRUE(broker_->submit(job("a")));
  while (broker_->status("a")->state != queue::JobState::kFinishing)
    std::this_thread::sleep_for(milliseconds(10));
  two.reset();
  expect_as_alone(wait_for("a"));
  EXPECT_EQ(believed_results(), alone().ranked.size());
  EXPECT_TRUE(logged("nobody but worker one could time it"));
}

TEST_F(Trust, ASingleWorkerIsBelieved) {
  const Worker one(*this, "one");
  const Coordinator coordinator(*this, *store_);
  ASSERT_TRUE(broker_->submit(job("a")));
  expect_as_alone(wait_for("a"));
  EXPECT_EQ(believed_results(), alone().ranked.size());
  EXPECT_FALSE(logged("nobody but"));
}

Evaluation measured(double speedup, double half_interval) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::kOk;
  Measurement& m = evaluation.measurement;
  m.reference_time_us = 100;
  m.time_us = 100 / speedup;
  m.speedup = speedup;
  m.ci95_low = speedup - half_interval;
  m.ci95_high = speedup + half_interval;
  return evaluation;
}

TEST(Agreement, OfMeasurementsIsWhatTheirNoiseExplains) {
  EXPECT_TRUE(agree(measured(2, 0.01), measured(2.05, 0.01)));
  EXPECT_FALSE(agree(measured(2, 0.01), measured(2.1, 0.01)));
  EXPECT_TRUE(agree(measured(2, 0.1), measured(2.1, 0.1)));
  Evaluation halved = measured(2, 0.01);  // the reference's time too
  halved.measurement.time_us /= 2;
  halved.measurement.reference_time_us /= 2;
  EXPECT_FALSE(agree(halved, measured(2, 0.01)));
  // No interval explains twice the speed.
  EXPECT_FALSE(agree(measured(2, 0.01), measured(4, 3)));
  Evaluation wrong = measured(2, 0.01);
  wrong.verdict = Verdict::kWrongResult;
  EXPECT_FALSE(agree(wrong, measured(2, 0.01)));
  EXPECT_TRUE(agree(wrong, wrong));
}

TEST(Agreement, OfModelsIsToTheThousandth) {
  const auto modelled = [](double time_us) {
    Evaluation evaluation = measured(100 / time_us, 0);
    evaluation.measurement.modelled = true;
    return evaluation;
  };
  EXPECT_TRUE(agree(modelled(20), modelled(20.01)));
  EXPECT_FALSE(agree(modelled(20), modelled(20.1)));
  Evaluation slow_reference = modelled(20);
  slow_reference.measurement.reference_time_us = 200;
  EXPECT_FALSE(agree(modelled(20), slow_reference));
  EXPECT_FALSE(agree(modelled(20), measured(5, 0)));
}

TEST(Agreement, TheSlowerOfTwoThatAgreeIsBelieved) {
  EXPECT_EQ(believed({}), std::nullopt);
  EXPECT_EQ(believed({{"a", measured(2, 0)}}), std::nullopt);
  EXPECT_EQ(believed({{"a", measured(2, 0)}, {"b", measured(4, 0)}}), std::nullopt);
  EXPECT_EQ(believed({{"a", measured(2.02, 0)}, {"b", measured(2, 0)}}), 1U);
  EXPECT_EQ(believed({{"a", measured(4, 0)}, {"b", measured(2, 0)}, {"c", measured(2.01, 0)}}), 1U);
}

}  // namespace
}  // namespace hone
