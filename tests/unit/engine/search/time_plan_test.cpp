// A budget in seconds: its parts end in order, and a search ends with it whatever its evaluator
// does.
#include "engine/search/phases/time_plan.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/search.h"
#include "tests/unit/engine/fake_evaluator.h"

namespace hone {
namespace {

TEST(TimePlan, PartsEndInOrderAndNotMuchAfterTheBudget) {
  for (const double seconds : {1.0, 20.0, 60.0, 600.0}) {
    for (const bool modelled : {false, true}) {
      const TimePlan plan({.seconds = seconds}, modelled);
      EXPECT_LE(plan.search_end(), plan.admission_end());
      EXPECT_LT(plan.admission_end(), plan.finals_end());
      EXPECT_LT(plan.finals_end(), seconds + std::max(10.0, 0.1 * seconds));
    }
  }
  EXPECT_GT(TimePlan({.evaluations = 10}, true).finals_end(), 1e9);
}

TEST(TimePlan, KeepsBackMoreWhereFinalStagesTakeLonger) {
  TimePlan plan({.seconds = 100}, true);
  const double first = plan.search_end();
  plan.searched(10, 20);  // half a second each
  const double slower = plan.search_end();
  EXPECT_LT(slower, first);
  plan.searched(20, 1);
  EXPECT_LT(plan.search_end(), slower);
  EXPECT_GE(plan.search_end(), 60) << "the search has its share, however slow it is";
  EXPECT_EQ(plan.affordable_finalists(5), 2);
  plan.searched(20, 1000);
  EXPECT_EQ(plan.affordable_finalists(5), 5);
}

/// On an H200 a matmul's search of 20 s left its final stage 6 s, in which not even the best was
/// done.
TEST(TimePlan, OnAGpuTheBestAndTheReferenceHaveTimeForTheirFinalStages) {
  for (const double admission_s : {1.0, 4.0, 6.0}) {
    TimePlan plan({.seconds = 20}, false);
    plan.admitted(3000, admission_s, admission_s);
    plan.compiled(1.5);
    EXPECT_GE(plan.finals_end() - plan.search_end(), 2 * 4.0) << admission_s;
  }
}

TEST(TimePlan, OnAGpuChecksThatTakeLongHaveTimeToo) {
  TimePlan plan({.seconds = 15}, false);
  plan.admitted(100, 0.5, 3);
  plan.compiled(0.1);
  const double with_quick_checks = plan.search_end();
  plan.checked(0.05);
  EXPECT_DOUBLE_EQ(plan.search_end(), with_quick_checks);
  plan.checked(1);
  EXPECT_LT(plan.search_end(), with_quick_checks - 1);
}

/// Four naive attentions of 0.7 s were searched on GPUs of one node that were opened at the same
/// time: of 15 s nine went by before the search began, and three at its end were for finalists that
/// were not there.
TEST(TimePlan, OnAGpuASearchThatHasFoundNothingGoesOnUntilTheBudgetIsSpent) {
  for (const double reference_us : {100.0, 16e3, 700e3}) {
    TimePlan plan({.seconds = 15}, false);
    plan.admitted(reference_us, 2, 9);
    EXPECT_DOUBLE_EQ(plan.search_end(), 15) << reference_us;
    EXPECT_LT(plan.proposals_end(), 12) << "what finds something ends the search then";
    plan.compiled(1.5);
    plan.pioneers_answered();
    EXPECT_LT(plan.search_end(), 12) << reference_us;
    EXPECT_DOUBLE_EQ(plan.search_end(), plan.proposals_end()) << reference_us;
  }
}

/// A naive attention of 0.7 s: of 15 s the search had three, as each of four final stages was taken
/// to run the reference sixteen times.
// Without a result all was for nothing: what takes seconds to compile and check gets them.
TEST(TimePlan, TheFirstFinalStageHasTheTimeThatItIsExpectedToTake) {
  TimePlan plan({.seconds = 15}, false);
  EXPECT_EQ(plan.for_the_first_s(), 18);
  plan.compiled(5);
  plan.checked(2);
  EXPECT_NEAR(plan.for_the_first_s(), 20, 1e-9);
  TimePlan slow({.seconds = 15}, false);
  slow.compiled(5);
  slow.checked(2);
  slow.admitted(700e3, 3, 5);
  EXPECT_NEAR(slow.for_the_first_s(), 20 + 5 * 0.7, 1e-9) << "and five runs of the reference";
  TimePlan cached({.seconds = 15}, false);
  cached.compiled(0.01);
  cached.checked(0.01);
  cached.admitted(4e6, 3, 5);
  EXPECT_NEAR(cached.for_the_first_s(), 4.5 + 4 * 4, 1e-9) << "its other sizes are compiled";
  plan.checked(40);
  EXPECT_EQ(plan.for_the_first_s(), 30);
}

TEST(TimePlan, ASearchHasTimeBesideAVerySlowReference) {
  TimePlan plan({.seconds = 15}, false);
  plan.admitted(700e3, 3, 5);
  plan.compiled(0.5);
  plan.pioneers_answered();
  EXPECT_GT(plan.search_end(), 9.5);
  EXPECT_LT(plan.search_end(), 12);
  EXPECT_EQ(plan.affordable_finalists(4), 1);
  TimePlan longer({.seconds = 60}, false);
  longer.admitted(700e3, 3, 5);
  longer.compiled(0.5);
  longer.pioneers_answered();
  EXPECT_GT(longer.search_end(), 40);
  EXPECT_GE(longer.affordable_finalists(4), 4);
}

/// Convolutions of 42 to 114 ms had 3 to 5 of 15 s: 6.75 s were kept back for two or three
/// finalists, of whom the best alone must be timed.
TEST(TimePlan, BesideASlowReferenceOthersThanTheBestHaveASmallerShare) {
  for (const double reference_us : {25e3, 53e3, 98e3, 114e3}) {
    TimePlan plan({.seconds = 15}, false);
    plan.admitted(reference_us, 2, 3);
    plan.compiled(1.2);
    plan.checked(0.3);
    plan.pioneers_answered();
    EXPECT_DOUBLE_EQ(plan.search_end(), 10.5) << reference_us;
    // What the best and the reference take is kept back, however much that is.
    plan.compiled(4);
    EXPECT_EQ(plan.search_end() < 10.5, reference_us > 60e3) << reference_us;
    EXPECT_GE(plan.search_end(), 8.25) << reference_us;
  }
  TimePlan longer({.seconds = 60}, false);
  longer.admitted(98e3, 2, 3);
  longer.compiled(1.2);
  longer.pioneers_answered();
  EXPECT_LT(longer.search_end(), 51) << "then there is time for others";
}

/// On an H100 that had been opened for the first time attention of 0.7 s had 1.8 s to be searched.
TEST(TimePlan, BesideAVerySlowReferenceASearchGoesOnUntilWhatWasSentAheadHasAnswers) {
  TimePlan plan({.seconds = 15}, false);
  plan.admitted(716'000, 2, 8.9);
  plan.compiled(1.5);
  EXPECT_DOUBLE_EQ(plan.search_end(), 15) << "what was sent ahead has no answer";
  plan.pioneers_answered();
  EXPECT_LT(plan.search_end(), 11);
  TimePlan quick({.seconds = 15}, false);
  quick.admitted(16'000, 2, 8.9);
  quick.compiled(1.5);
  EXPECT_LT(quick.search_end(), 11);
}

TEST(TimePlan, WhatIsKnownIsEvaluatedHoweverShortTheBudget) {
  TimePlan plan({.seconds = 5}, false);
  plan.admitted(2500, 2, 2.6);
  plan.compiled(1.5);
  EXPECT_LT(plan.search_end(), 4);
  EXPECT_DOUBLE_EQ(plan.known_end(), 5);
  TimePlan later({.seconds = 60}, false);
  later.admitted(2500, 2, 2.6);
  EXPECT_DOUBLE_EQ(later.known_end(), later.search_end());
}

TEST(TimePlan, ASearchFollowsALongAdmission) {
  for (const bool modelled : {false, true}) {
    TimePlan plan({.seconds = 20}, modelled);
    plan.admitted(7000, 12, 12);
    EXPECT_GE(plan.search_end(), 14) << modelled;
  }
}

/// On an H200 the first search took 11 s to open the GPU, and then no search followed.
TEST(TimePlan, ASearchFollowsAQuickAdmissionThatBeganLate) {
  TimePlan plan({.seconds = 20}, false);
  plan.admitted(7000, 0.7, 12);
  EXPECT_GE(plan.search_end(), 14);
}

/// Where it should, it takes until it is cancelled.
class SlowEvaluator final : public Evaluator {
 public:
  const DeviceInfo& info() const override { return inner_.info(); }
  Result<Evaluation> admit(const EvaluationRequest& request) override {
    if (slow_admission_) return hang();
    return inner_.admit(request);
  }
  Result<Evaluation> evaluate(const EvaluationRequest& request) override {
    if (request.stage == Stage::kFinal ? slow_finals_ : slow_search_) return hang();
    return inner_.evaluate(request);
  }
  Result<Ceilings> measure_ceilings() override { return inner_.measure_ceilings(); }
  void use_ceilings(const Ceilings& ceilings) override { inner_.use_ceilings(ceilings); }
  void cancel() override { cancelled_ = true, inner_.cancel(); }
  void resume() override { cancelled_ = false, inner_.resume(); }

  bool slow_admission_ = false, slow_search_ = false, slow_finals_ = false;

 private:
  Result<Evaluation> hang() {
    for (int i = 0; i < 6000 && !cancelled_; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return fail(ErrorCode::kInfrastructure, "cancelled after a while of something slow");
  }
  test::FakeEvaluator inner_;
  std::atomic<bool> cancelled_ = false;
};

class Deadline : public testing::Test {
 protected:
  /// In much less than the minute that it hangs; a loaded machine gets the rest.
  Result<SearchOutcome> search() {
    const auto begin = std::chrono::steady_clock::now();
    auto outcome = run_search(*parse_task(test::kScaleTask, "scale.cu"),
                              *DeviceSpec::parse("emu:sm_90"), evaluator_, rewriting_, nullptr,
                              {.settings = {.budget = {.seconds = 1}}, .workers = 4});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(took.count(), 30);
    return outcome;
  }
  SlowEvaluator evaluator_;
  LocalRewriting rewriting_;
};

TEST_F(Deadline, EndsAnAdmissionAndSaysHowFarItCame) {
  evaluator_.slow_admission_ = true;
  const auto outcome = search();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kTaskFailed) << "a bench goes on with its next task";
  EXPECT_NE(outcome.error().message.find("not admitted within the budget of 1 s"),
            std::string::npos)
      << outcome.error().message;
  EXPECT_NE(outcome.error().message.find("of something slow"), std::string::npos)
      << outcome.error().message;
}

TEST_F(Deadline, EndsTheEvaluationsInFlight) {
  evaluator_.slow_search_ = true;
  const auto outcome = search();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->stop_reason, StopReason::kBudget);
  EXPECT_EQ(outcome->ranked.size(), 1U) << "the reference";
}

TEST_F(Deadline, EndsFinalStagesAndNamesWhatTheyWere) {
  evaluator_.slow_finals_ = true;
  const auto outcome = search();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->ranked.empty());
  EXPECT_FALSE(outcome->timed.empty()) << "stored, each with its reason";
  const int late = outcome->ends.late;
  EXPECT_GT(late, 0);
  EXPECT_EQ(outcome->ends, FinalEnds{.late = late});
  const auto said = std::ranges::count_if(outcome->final_warnings, [](const std::string& warning) {
    return warning.find("when the budget was spent") != std::string::npos;
  });
  EXPECT_GE(said, 1);
}

}  // namespace
}  // namespace hone
