// The measure runner's logic against a driver without a GPU (tests/fakes/fake_cuda.cpp): what a
// candidate does at the timed size is decided by its kernel's name there. Real devices are the
// business of tests/gpu.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>
#include <tuple>

#include "evaluator/evaluator.h"
#include "tests/fakes/doubling.h"

namespace hone {
namespace {

constexpr std::int64_t kTimed = 200000;

EvaluationRequest request(const std::string& candidate, const std::string& reference = "scale") {
  EvaluationRequest r;
  r.checks.push_back({doubling(reference, 1000), doubling(candidate, 1000), 1});
  r.timed = {doubling(reference, kTimed), doubling(candidate, kTimed), 2};
  r.seed = 3;
  return r;
}

EvaluatorOptions small_options() {
  EvaluatorOptions options;
  options.compile_processes = options.check_processes = 1;
  options.final_check_processes = 2;
  options.device_timeout_s = 1;
  options.final_timing_s = 8;  // the count of pairs must not depend on the machine
  return options;
}

class OnAFakeGpu : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("HONE_LIBCUDA", HONE_BIN_DIR "/../fakes/libcuda.so.1", 1);
    auto opened = Evaluator::open(*DeviceSpec::parse("cuda:0"), small_options());
    if (opened) {
      evaluator_ = std::move(*opened);
    } else {
      reason_ = opened.error().message;
    }
  }
  /// Not in SetUpTestSuite: what fails there skips the tests.
  void SetUp() override { ASSERT_TRUE(evaluator_) << reason_; }
  static void TearDownTestSuite() {
    evaluator_.reset();
    unsetenv("HONE_LIBCUDA");
  }

  static Evaluation evaluate(const EvaluationRequest& r) {
    auto result = evaluator_->evaluate(r);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : Evaluation{};
  }
  static void expect(Verdict verdict, const std::string& detail, const std::string& candidate) {
    const auto e = evaluate(request(candidate));
    EXPECT_EQ(e.verdict, verdict) << to_string(e.verdict) << ": " << e.detail;
    EXPECT_NE(e.detail.find(detail), std::string::npos) << e.detail;
    const auto next = evaluate(request("scale"));
    EXPECT_EQ(next.verdict, Verdict::kOk) << "the runner was not replaced: " << next.detail;
  }

  static std::unique_ptr<Evaluator> evaluator_;
  static std::string reason_;
};
std::unique_ptr<Evaluator> OnAFakeGpu::evaluator_;
std::string OnAFakeGpu::reason_;

TEST_F(OnAFakeGpu, KnowsItsDevice) {
  EXPECT_EQ(evaluator_->info().name, "Fake GPU");
  EXPECT_EQ(evaluator_->info().arch, "sm_90");
  EXPECT_EQ(evaluator_->info().driver, "13.0");
  EXPECT_GT(evaluator_->info().ceilings.dram_bytes_per_s, 0);
}

TEST_F(OnAFakeGpu, QuickAndFinalTimesAreMeasured) {
  const auto admitted = evaluator_->admit(request("scale"));
  ASSERT_TRUE(admitted) << admitted.error().message;
  EXPECT_NEAR(admitted->measurement.time_us, 100, 0.01);
  for (const auto stage : {Stage::kQuick, Stage::kFinal}) {
    auto r = request("scale_quick");
    r.stage = stage;
    const auto e = evaluate(r);
    ASSERT_EQ(e.verdict, Verdict::kOk) << e.detail;
    EXPECT_NEAR(e.measurement.time_us, 50, 0.01);
    EXPECT_NEAR(e.measurement.reference_time_us, 100, 0.01);
    EXPECT_NEAR(e.measurement.speedup, 2, 1e-3);
    EXPECT_NEAR(e.measurement.ci95_low, 2, 1e-3);
    EXPECT_NEAR(e.measurement.ci95_high, 2, 1e-3);
    EXPECT_FALSE(e.measurement.modelled);
    EXPECT_EQ(e.final_stage, stage == Stage::kFinal);
    if (stage == Stage::kFinal) {
      EXPECT_GE(e.measurement.samples_us.size(), 20U);
    }
  }
}

TEST_F(OnAFakeGpu, ARaceThatOnlyTheTimedSizeHasIsSeen) {
  auto r = request("scale");
  for (ConcreteProgram* one : {&r.checks[0].candidate, &r.timed.candidate}) {
    const auto body = one->source.find('{', one->source.find("scale("));
    one->source.insert(body + 1,
                       "\n  __shared__ float met[256];"
                       "\n  if (n > 5000) {"
                       "\n    met[threadIdx.x] = 0;"
                       "\n    __syncthreads();"
                       "\n    met[threadIdx.x] = threadIdx.x;"
                       "\n    if (met[threadIdx.x ^ 32] == 12345.0f) y[0] = 1;"
                       "\n  }\n");
  }
  r.stage = Stage::kFinal;
  r.by_rules = true;
  EXPECT_EQ(evaluate(r).verdict, Verdict::kOk);
  r.by_rules = false;
  const auto e = evaluate(r);
  EXPECT_EQ(e.verdict, Verdict::kRace) << to_string(e.verdict) << ": " << e.detail;
}

TEST_F(OnAFakeGpu, ClearlySlowerStopsEarly) {
  auto r = request("scale_slow");
  // The last sample is the one whose answer is compared; what cannot win is run once.
  for (const auto& [best_us, samples] : {std::pair(250.0, 4U), std::pair(90.0, 1U)}) {
    r.best_time_us = best_us;  // the candidate takes 400
    const auto e = evaluate(r);
    ASSERT_EQ(e.verdict, Verdict::kOk) << e.detail;
    EXPECT_EQ(e.measurement.samples_us.size(), samples);
  }
}

// A kernel that runs for a tenth of a second cannot be stopped: where another one is known to take
// a thousandth of that, the time model's word is enough.
TEST_F(OnAFakeGpu, WhatIsSlowAndHopelessIsNotMeasured) {
  const auto modelled_first = [](const std::string& kernel) {
    auto r = request(kernel, "naive_takes60");
    r.screen_above_us = std::numeric_limits<double>::infinity();
    return r;
  };
  const auto admitted = evaluator_->admit(modelled_first("naive_takes60"));
  ASSERT_TRUE(admitted) << admitted.error().message;
  const auto before = evaluate(modelled_first("naive_takes61"));
  EXPECT_EQ(before.verdict, Verdict::kOk) << before.detail;
  EXPECT_FALSE(before.screened);
  const auto fast = evaluate(modelled_first("scale_quick"));
  EXPECT_EQ(fast.verdict, Verdict::kOk) << fast.detail;
  EXPECT_FALSE(fast.screened);
  const auto after = evaluate(modelled_first("naive_takes62"));
  EXPECT_EQ(after.verdict, Verdict::kOk) << after.detail;
  EXPECT_TRUE(after.screened);
  EXPECT_EQ(after.measurement.time_us, 0);
  auto at_once = modelled_first("naive_takes63");
  at_once.screen_above_us = 0;
  EXPECT_FALSE(evaluate(at_once).screened) << "nobody asked the model";
}

/// `loop`: statements of every thread, before it writes.
EvaluationRequest with_loop(EvaluationRequest r, const std::string& loop) {
  for (ConcreteProgram* one : {&r.checks[0].candidate, &r.timed.candidate}) {
    const auto at = one->source.find("  if (i < n)");
    one->source.insert(at, "  float s = i;\n  " + loop + "\n  if (s == 12345.25f) y[0] = s;\n");
  }
  return r;
}

// To model it would take longer than to measure it.
TEST_F(OnAFakeGpu, ABlockThatWorksForLongIsMeasuredWithoutBeingModelled) {
  const auto admitted = evaluator_->admit(request("naive_takes60", "naive_takes60"));
  ASSERT_TRUE(admitted) << admitted.error().message;
  auto r = request("scale_quick", "naive_takes60");
  r.screen_above_us = std::numeric_limits<double>::infinity();
  EXPECT_GT(evaluate(r).modelled_us, 0);
  const auto e = evaluate(with_loop(r, "for (int k = 0; k < n / 2; ++k) s = s * 0.5f + k;"));
  EXPECT_EQ(e.verdict, Verdict::kOk) << e.detail;
  EXPECT_FALSE(e.screened);
  EXPECT_EQ(e.modelled_us, 0);
  EXPECT_NEAR(e.measurement.time_us, 50, 0.01);
}

// A final stage checks everything itself: what is measured by the end of a search is not lost.
TEST_F(OnAFakeGpu, WhatIsMeasuredButNotCheckedByTheEndOfASearchHasATime) {
  auto r = with_loop(request("scale_quick"),
                     "if (n < 5000) for (int k = 0; k < 1 << 24; ++k) "
                     "s = s * 0.5f + k;");
  r.measure_first = r.by_rules = true;
  r.best_time_us = 200;
  r.allowance = std::uint64_t{1} << 40;
  const auto measured = [] { return evaluator_->gpus().at(0).measured; };
  const auto before = measured();
  Result<Evaluation> e = fail(ErrorCode::kInfrastructure, "not there");
  std::atomic<bool> ended = false;
  std::thread evaluating([&] {
    e = evaluator_->evaluate(r);
    ended = true;
  });
  while (measured() == before && !ended) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  evaluator_->cancel();
  evaluating.join();
  evaluator_->resume();
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_EQ(e->verdict, Verdict::kOk) << e->detail;
  EXPECT_TRUE(e->outpaced);
  EXPECT_NE(e->detail.find("the search ended"), std::string::npos) << e->detail;
  EXPECT_NEAR(e->measurement.time_us, 50, 0.01);
  r.measure_first = false;
  evaluating = std::thread([&] { e = evaluator_->evaluate(r); });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  evaluator_->cancel();
  evaluating.join();
  evaluator_->resume();
  EXPECT_FALSE(e) << "what was not measured has no answer";
}

TEST_F(OnAFakeGpu, WhatWasCompiledAheadIsNotCompiledAgain) {
  auto r = request("scale");
  std::string sum = "float t = x[i % n];\n";
  for (int k = 0; k < 1500; ++k) sum += "  t = t * " + std::to_string(k) + ".5f + s;\n";
  r = with_loop(r, sum + "  s = t;");
  const auto begin = std::chrono::steady_clock::now();
  evaluator_->compile_ahead(r, {});
  const std::chrono::duration<double> ahead = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(ahead.count(), 0.05);
  const auto e = evaluate(r);
  EXPECT_EQ(e.verdict, Verdict::kOk) << e.detail;
  EXPECT_LT(e.gates.compile, 0.5 * ahead.count());
}

// It is measured before it is checked.
TEST_F(OnAFakeGpu, AFastProgramThatIsWrongMakesNothingHopeless) {
  const auto modelled_first = [](const std::string& kernel) {
    auto r = request(kernel, "naive_takes65");
    r.screen_above_us = std::numeric_limits<double>::infinity();
    r.measure_first = true;
    r.best_time_us = 65e3;
    return r;
  };
  const auto admitted = evaluator_->admit(modelled_first("naive_takes65"));
  ASSERT_TRUE(admitted) << admitted.error().message;
  auto wrong = modelled_first("scale_quick");
  auto& source = wrong.checks[0].candidate.source;
  source.replace(source.find("2.0f"), 4, "3.0f");
  EXPECT_EQ(evaluate(wrong).verdict, Verdict::kWrongResult);
  const auto slow = evaluate(modelled_first("naive_takes66"));
  EXPECT_EQ(slow.verdict, Verdict::kOk) << slow.detail;
  EXPECT_FALSE(slow.screened);
  EXPECT_FALSE(evaluate(modelled_first("scale_quick")).screened);
  EXPECT_TRUE(evaluate(modelled_first("naive_takes67")).screened);
}

TEST_F(OnAFakeGpu, MeasuredFirstWhatIsMuchSlowerIsNotCheckedFurther) {
  const auto wrong_when_small = [](const std::string& kernel) {
    auto r = request(kernel);
    auto& source = r.checks[0].candidate.source;
    source.replace(source.find("2.0f"), 4, "3.0f");
    r.measure_first = true;
    r.best_time_us = 200;
    return r;
  };
  const auto slow = evaluate(wrong_when_small("scale_slow"));
  EXPECT_EQ(slow.verdict, Verdict::kOk) << slow.detail;
  EXPECT_TRUE(slow.outpaced);
  EXPECT_NE(slow.detail.find("not checked further"), std::string::npos) << slow.detail;
  EXPECT_NEAR(slow.measurement.time_us, 400, 0.01);

  const auto fast = evaluate(wrong_when_small("scale"));
  EXPECT_EQ(fast.verdict, Verdict::kWrongResult) << fast.detail;
  EXPECT_FALSE(fast.outpaced);
  EXPECT_EQ(fast.measurement.time_us, 0);

  auto faulting = request("scale_fault");
  faulting.measure_first = true;
  faulting.best_time_us = 200;
  EXPECT_EQ(evaluate(faulting).verdict, Verdict::kFault);

  auto final_stage = wrong_when_small("scale_slow");  // checks everything, whatever is asked
  final_stage.stage = Stage::kFinal;
  EXPECT_EQ(evaluate(final_stage).verdict, Verdict::kWrongResult);
}

TEST_F(OnAFakeGpu, InTheFinalStageChecksAreDividedAmongRunners) {
  for (const bool by_rules : {true, false}) {
    const auto final_of = [&](const std::string& candidate, std::int64_t wrong_at) {
      auto r = request(candidate);
      r.stage = Stage::kFinal;
      r.by_rules = by_rules;
      for (const std::int64_t n : {300, 1500, 77}) {
        auto check = r.checks[0];
        check = {doubling("scale", n), doubling(candidate, n), 4};
        check.hidden = true;
        if (n == wrong_at)
          check.candidate.source.replace(check.candidate.source.find("2.0f"), 4, "3.0f");
        r.checks.push_back(check);
      }
      r.checks.push_back(r.checks[0]);
      r.checks.back().inputs = InputSet::kEither;
      return evaluate(r);
    };
    const auto right = final_of("scale_quick", 0);
    EXPECT_EQ(right.verdict, Verdict::kOk) << right.detail;
    EXPECT_NEAR(right.measurement.time_us, 50, 0.01);
    const auto wrong = final_of("scale_quick", 77);
    EXPECT_EQ(wrong.verdict, Verdict::kWrongResult);
    EXPECT_EQ(wrong.measurement.time_us, 0);
  }
}

// A process that is started while the processor checks is as fresh as one that is started later.
TEST_F(OnAFakeGpu, EachFinalStageHasAProcessThatHasServedNobody) {
  auto r = request("scale_wrong_run60");  // counted by the process
  r.stage = Stage::kFinal;
  for (int i = 0; i < 3; ++i) {
    const auto e = evaluate(r);
    ASSERT_EQ(e.verdict, Verdict::kOk) << i << ": " << e.detail;
    EXPECT_GE(3 * e.measurement.samples_us.size(), 60U) << "then the test says nothing";
  }
}

TEST_F(OnAFakeGpu, InTheFinalStageOrdersOfBlocksAreDividedAmongRunners) {
  auto r = request("scale_quick");
  r.stage = Stage::kFinal;
  r.by_rules = true;
  r.checks.push_back({doubling("scale", 1500), doubling("scale_quick", 1500), 4});
  r.checks.push_back({doubling("scale", 300), doubling("scale_quick", 300), 5});
  std::string& source = r.checks[1].candidate.source;  // the most work
  const std::string body = "if (i < n) y[i] = 2.0f * x[i];";
  source.replace(source.find(body), body.size(),
                 "if (i > 0 && i < n) y[i] = 2.0f * x[i];\n"
                 "  if (threadIdx.x == 0) atomicExch((int*)y, blockIdx.x == gridDim.x - 1 ? "
                 "__float_as_int(2.0f * x[0]) : 0);");
  const auto ordered = evaluate(r);
  EXPECT_EQ(ordered.verdict, Verdict::kWrongResult) << ordered.detail;
  EXPECT_NE(ordered.detail.find("the order in which blocks and warps run"), std::string::npos)
      << ordered.detail;
  // What is wrong in grid order at a later size comes after it, and at an earlier one before.
  for (const std::size_t at : {2, 0}) {
    auto& wrong = r.checks[at].candidate.source;
    wrong.replace(wrong.find("2.0f"), 4, "3.0f");
    const auto e = evaluate(r);
    EXPECT_EQ(e.verdict, Verdict::kWrongResult);
    EXPECT_EQ(e.detail.find("the order in which") != std::string::npos, at == 2) << e.detail;
  }
}

TEST_F(OnAFakeGpu, InTheFinalStageNumbersOfAStrangersOwnAreAmongTheInputs) {
  const auto verdict = [&](bool by_rules) {
    auto r = request("scale_quick");
    r.stage = Stage::kFinal;
    r.by_rules = by_rules;
    const auto own = [](ConcreteProgram& p) {
      p.source.replace(p.source.find("2.0f"), 4, "(x[i] == 0.7310586f ? 3.0f : 2.0f)");
    };
    r.checks.push_back({doubling("scale", 77), doubling("scale_quick", 77), 4});
    for (auto& check : r.checks) own(check.candidate);
    own(r.timed.candidate);
    return evaluate(r);
  };
  const auto of_a_stranger = verdict(false);
  EXPECT_EQ(of_a_stranger.verdict, Verdict::kWrongResult);
  EXPECT_NE(of_a_stranger.detail.find("that its code names"), std::string::npos)
      << of_a_stranger.detail;
  EXPECT_EQ(verdict(true).verdict, Verdict::kOk);
}

TEST_F(OnAFakeGpu, WhatTheEmulatorLacksSwitchesNoCheckOff) {
  const auto uncovered = [](const std::string& kernel, std::int64_t n) {
    auto p = doubling(kernel, n);
    p.source.insert(p.source.find("int i ="),
                    "unsigned int e; asm volatile(\"mov.u32 %0, %%envreg0;\" : \"=r\"(e));\n  ");
    return p;
  };
  for (const char* hidden : {"scale", "scale_wrong"}) {
    EvaluationRequest r;
    r.checks.push_back({doubling("scale", 1000), uncovered("scale", 1000), 1});
    // Large enough for the fake to be wrong there, which the emulator does not get to see.
    r.checks.push_back(
        {doubling("scale", kTimed), uncovered(hidden, kTimed), 2, InputSet::kMultiples, true});
    r.timed = {doubling("scale", kTimed), uncovered("scale", kTimed), 2};
    r.seed = 3;
    r.stage = Stage::kFinal;
    const auto e = evaluate(r);
    EXPECT_EQ(e.verdict, hidden == std::string("scale") ? Verdict::kOk : Verdict::kWrongResult)
        << e.detail;
    EXPECT_NE(e.note.find("not run on the emulator"), std::string::npos) << e.note;
  }
}

TEST_F(OnAFakeGpu, FasterThanTheRoofIsNotBelieved) {
  const Ceilings real = evaluator_->info().ceilings;
  Ceilings slow;
  slow.dram_read_bytes_per_s = 1.2e10;  // 800 kB of x in 66.7 us
  evaluator_->use_ceilings(slow);
  ASSERT_TRUE(evaluator_->admit(request("scale")));
  for (const auto stage : {Stage::kQuick, Stage::kFinal}) {
    auto r = request("scale_quick");  // 50 us
    r.stage = stage;
    const auto e = evaluate(r);
    EXPECT_EQ(e.verdict, Verdict::kTampering) << e.detail;
    EXPECT_TRUE(e.faster_than_roof);
    EXPECT_NE(e.detail.find("faster than the roof: 50.00 us, but reading 0.8 MiB takes 66.67 us"),
              std::string::npos)
        << e.detail;
  }
  EXPECT_EQ(evaluate(request("scale")).verdict, Verdict::kOk);
  // A reference that is faster than its floor refutes the floor.
  slow.dram_read_bytes_per_s = 1e9;
  evaluator_->use_ceilings(slow);
  ASSERT_TRUE(evaluator_->admit(request("scale")));
  EXPECT_EQ(evaluate(request("scale_quick")).verdict, Verdict::kOk);
  evaluator_->use_ceilings(real);
  ASSERT_TRUE(evaluator_->admit(request("scale")));
}

TEST_F(OnAFakeGpu, ASlowReferenceIsNotRunAgainForEachCandidate) {
  // Its twelfth run would answer something else.
  const auto r = request("scale_quick", "naive_wrong_run12");
  ASSERT_TRUE(evaluator_->admit(r));
  for (int i = 0; i < 8; ++i) {
    const auto e = evaluate(r);
    ASSERT_EQ(e.verdict, Verdict::kOk) << i << ": " << e.detail;
    EXPECT_NEAR(e.measurement.speedup, 1000, 1);
  }
  EXPECT_EQ(evaluate(request("scale_wrong", "naive_wrong_run12")).verdict, Verdict::kWrongResult);
  // In the last timed run, too: two checks that are run once each, then three samples at least.
  EXPECT_EQ(evaluate(request("scale_restless_nan_few", "naive_wrong_run12")).verdict,
            Verdict::kWrongResult);
}

// Without a flush before it this one takes half the time, as it does in a check.
TEST_F(OnAFakeGpu, OfASlowReferenceTheChecksRunIsNoSample) {
  auto r = request("scale_quick", "naive_cached");
  r.stage = Stage::kFinal;
  const auto e = evaluate(r);
  ASSERT_EQ(e.verdict, Verdict::kOk) << e.detail;
  EXPECT_EQ(e.measurement.reference_samples_us.size(), 3U);
  for (const double us : e.measurement.reference_samples_us) EXPECT_NEAR(us, 50e3, 1);
}

TEST_F(OnAFakeGpu, ASlowReferenceIsTimedApartFromFinalists) {
  auto r = request("scale_quick", "naive");
  r.stage = Stage::kFinal;
  const auto e = evaluate(r);
  ASSERT_EQ(e.verdict, Verdict::kOk) << e.detail;
  EXPECT_EQ(e.measurement.reference_samples_us.size(), 3U);
  EXPECT_GE(e.measurement.samples_us.size(), 15U);
  EXPECT_NEAR(e.measurement.speedup, 1000, 1);
  EXPECT_GT(e.measurement.warm_time_us, 0);
  // Every second run after the two checks is timed and compared.
  for (const std::string name : {"scale_wrong_run4", "scale_wrong_run10", "scale_nan_few_run6"}) {
    auto wrong = request(name, "naive");
    wrong.stage = Stage::kFinal;
    const auto refused = evaluate(wrong);
    EXPECT_EQ(refused.verdict, Verdict::kWrongResult) << name;
    EXPECT_NE(refused.detail.find("in a timed launch"), std::string::npos) << refused.detail;
  }
  auto tampers = request("scale_tamper_run6", "naive");
  tampers.stage = Stage::kFinal;
  EXPECT_EQ(evaluate(tampers).verdict, Verdict::kTampering);
  // What it remembers of an earlier run on the same inputs is gone: it cannot be faster for it.
  auto keeps = request("scale_keep", "naive");
  keeps.stage = Stage::kFinal;
  EXPECT_NE(evaluate(keeps).verdict, Verdict::kOk);
  auto itself = request("naive", "naive");
  itself.stage = Stage::kFinal;
  EXPECT_NEAR(evaluate(itself).measurement.speedup, 1, 1e-3);
}

// It hangs in its second run at the timed size: one tells how long it takes, and that it is right.
TEST_F(OnAFakeGpu, AVerySlowCandidateRunsOnce) {
  const auto e = evaluate(request("naive_takes150_hang_run2", "naive"));
  ASSERT_EQ(e.verdict, Verdict::kOk) << e.detail;
  EXPECT_NEAR(e.measurement.time_us, 150e3, 1);
  EXPECT_EQ(e.measurement.samples_us.size(), 1U);
  EXPECT_EQ(evaluate(request("naive_takes150_wrong_run1", "naive")).verdict, Verdict::kWrongResult);
}

// It hangs in the run after: a check and one that is timed, and two as its own candidate.
TEST_F(OnAFakeGpu, AVerySlowReferenceRunsTwiceInTheFinalStage) {
  const std::string slow = "naive_takes150_hang_run3";
  const auto admitted = evaluator_->admit(request(slow, slow));
  ASSERT_TRUE(admitted) << admitted.error().message;
  for (const std::string& candidate : {std::string("scale_quick"), slow}) {
    auto r = request(candidate, slow);
    r.stage = Stage::kFinal;
    const auto e = evaluate(r);
    ASSERT_EQ(e.verdict, Verdict::kOk) << candidate << ": " << e.detail;
    EXPECT_EQ(e.measurement.reference_samples_us.size(), candidate == slow ? 1U : 2U);
    EXPECT_NEAR(e.measurement.reference_time_us, 150e3, 1);
    EXPECT_NEAR(e.measurement.speedup, candidate == slow ? 1 : 3000, 1);
  }
}

// The fake misbehaves in one run at the timed size and in no other: the first two are checks, then
// come the pair that warms up, those that are timed, and ten with a warm cache.
TEST_F(OnAFakeGpu, InTheFinalStageEveryTimedAnswerIsCompared) {
  const auto in_run = [](const std::string& kernel, int run) {
    auto r = request(kernel + "_run" + std::to_string(run));
    r.stage = Stage::kFinal;
    return evaluate(r);
  };
  const auto never = in_run("scale_wrong", 1000);
  ASSERT_EQ(never.verdict, Verdict::kOk) << never.detail;
  const int last_cold = 3 + static_cast<int>(never.measurement.samples_us.size());
  for (const int run : {4, 12, last_cold, last_cold + 1, last_cold + 10}) {
    const auto e = in_run("scale_wrong", run);
    EXPECT_EQ(e.verdict, Verdict::kWrongResult) << run;
    EXPECT_NE(e.detail.find("in a timed launch"), std::string::npos) << run << ": " << e.detail;
  }
  for (const int run : {12, last_cold + 1}) {
    const auto e = in_run("scale_tamper", run);
    EXPECT_EQ(e.verdict, Verdict::kTampering) << run << ": " << e.detail;
  }
}

// It writes ones over the input, with the hash as it was, and answers for them.
TEST_F(OnAFakeGpu, InTheFinalStageTheReferenceNeverRunsOnInputsThatTheCandidateHad) {
  for (int run = 4; run < 12; ++run) {
    auto r = request("scale_forge_run" + std::to_string(run));
    r.stage = Stage::kFinal;
    const auto e = evaluate(r);
    EXPECT_EQ(e.verdict, Verdict::kWrongResult) << run;
    EXPECT_NE(e.detail.find("in a timed launch"), std::string::npos) << run << ": " << e.detail;
  }
}

// A file's contents are the same in every pair: an answer kept in a module would be right.
TEST_F(OnAFakeGpu, InTheFinalStageAnswersThatAModuleKeptAreOfNoUseOnAFile) {
  const std::string path = testing::TempDir() + "hone_fake_gpu_inputs.bin";
  auto options = small_options();
  options.input_files = {path};
  auto evaluator = Evaluator::open(*DeviceSpec::parse("cuda:0"), options);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  const std::vector<float> contents(kTimed, 0.75F);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(contents.data()), 4 * kTimed);
  auto r = request("scale_keep");
  for (auto* p : {&r.timed.reference, &r.timed.candidate})
    p->buffers[0].fill = {Fill::Kind::kFile, 0, 0, path};
  r.stage = Stage::kFinal;
  const auto e = (*evaluator)->evaluate(r);
  std::filesystem::remove(path);
  ASSERT_TRUE(e) << e.error().message;
  ASSERT_EQ(e->verdict, Verdict::kOk) << e->detail;
  EXPECT_NEAR(e->measurement.time_us, 100, 0.01);  // 10 where it has its answer
  EXPECT_NEAR(e->measurement.warm_time_us, 100, 0.01);
}

TEST_F(OnAFakeGpu, InTheFinalStageWarmTimesAreTakenWithoutAFlush) {
  auto r = request("scale_cached");  // half the time where nothing was flushed
  r.stage = Stage::kFinal;
  const auto e = evaluate(r);
  ASSERT_EQ(e.verdict, Verdict::kOk) << e.detail;
  EXPECT_NEAR(e.measurement.time_us, 100, 0.01);
  EXPECT_NEAR(e.measurement.warm_time_us, 50, 0.01);
  EXPECT_NEAR(e.measurement.reference_warm_time_us, 100, 0.01);
}

// The fake is right on the task's own inputs, and at the check sizes on all.
TEST_F(OnAFakeGpu, InTheFinalStageOtherInputsAreTriedAtTheTimedSize) {
  const auto final_of = [](const std::string& kernel, InputSet set, MathLevel math) {
    auto r = request(kernel);
    r.checks[0].inputs = set;
    for (auto* c : {&r.checks[0], &r.timed})
      for (auto* p : {&c->reference, &c->candidate})
        p->source.erase(0, p->source.find("__global__"));  // the fake reads types in C++ names
    r.tolerance = {1e-2, 1e-2};
    r.math = r.claims = math;
    r.stage = Stage::kFinal;
    return evaluate(r);
  };
  constexpr auto kFull = MathLevel::kReassociate;
  for (const auto& [kernel, set, where] :
       std::vector<std::tuple<const char*, InputSet, std::string>>{
           {"scale_bf16", InputSet::kMultiples, "inputs with exact answers"},
           {"scale_divides", InputSet::kEdges, "edge values"}}) {
    EXPECT_EQ(final_of("scale", set, kFull).verdict, Verdict::kOk) << where;
    EXPECT_EQ(final_of(kernel, InputSet::kOwn, kFull).verdict, Verdict::kOk) << kernel;
    const auto e = final_of(kernel, set, kFull);
    EXPECT_EQ(e.verdict, Verdict::kWrongResult) << kernel;
    EXPECT_NE(e.detail.find("at the timed size, on " + where), std::string::npos) << e.detail;
  }
  // Where a task allows fewer bits, its tolerance alone decides.
  const auto allowed = final_of("scale_bf16", InputSet::kMultiples, MathLevel::kReduced);
  EXPECT_EQ(allowed.verdict, Verdict::kOk) << allowed.detail;
}

// At the timed size alone the fake rounds to TF32, or to bf16, which is too much at 1e-4.
TEST_F(OnAFakeGpu, AtTf32AnswersMayBeOffAsThoseOnRoundedInputsAre) {
  const auto expect = [](Verdict wanted, const std::string& kernel, MathLevel level, Stage stage,
                         bool in_double) {
    auto r = request(kernel);
    for (auto* c : {&r.checks[0], &r.timed})
      for (auto* p : {&c->reference, &c->candidate})
        if (in_double)
          p->source.erase(0, p->source.find("__global__"));
        else  // has no form in double
          p->source.insert(p->source.find('{') + 1, "\n  asm(\"\");");
    r.tolerance = {1e-4, 1e-5};
    r.math = r.claims = level;
    r.stage = stage;
    const auto e = evaluate(r);
    EXPECT_EQ(e.verdict, wanted) << kernel << ": " << e.detail;
  };
  for (const bool in_double : {true, false})
    for (const Stage stage : {Stage::kQuick, Stage::kFinal}) {
      expect(Verdict::kOk, "scale", MathLevel::kTf32, stage, in_double);
      expect(Verdict::kOk, "scale_tf32", MathLevel::kTf32, stage, in_double);
      expect(Verdict::kWrongResult, "scale_bf16", MathLevel::kTf32, stage, in_double);
      expect(Verdict::kWrongResult, "scale_tf32", MathLevel::kTf32x3, stage, in_double);
    }
}

TEST_F(OnAFakeGpu, WrongAtTheTimedSize) {
  expect(Verdict::kWrongResult, "y[199999]", "scale_wrong");
}
TEST_F(OnAFakeGpu, AnElementLeftOut) { expect(Verdict::kWrongResult, "y[5]", "scale_hole"); }
TEST_F(OnAFakeGpu, InputWritten) { expect(Verdict::kTampering, "'x' was written", "scale_tamper"); }
TEST_F(OnAFakeGpu, GuardAfterWritten) {
  expect(Verdict::kFault, "at byte 800000 of 'y'", "scale_after");
}
TEST_F(OnAFakeGpu, GuardBeforeWritten) {
  expect(Verdict::kFault, "at byte -4 of 'y'", "scale_before");
}
TEST_F(OnAFakeGpu, Fault) { expect(Verdict::kFault, "CUDA_ERROR_ILLEGAL_ADDRESS", "scale_fault"); }
TEST_F(OnAFakeGpu, Hang) { expect(Verdict::kTimeout, "still running", "scale_hang"); }
TEST_F(OnAFakeGpu, RunnerDies) { expect(Verdict::kCrash, "Aborted", "scale_die"); }
TEST_F(OnAFakeGpu, TheReferenceIsCheckedAgainAfterAReplacement) {
  auto faulting = request("scale_fault", "scale_grudge");
  ASSERT_TRUE(evaluator_->admit(faulting));
  EXPECT_EQ(evaluate(faulting).verdict, Verdict::kFault);
  const auto next = evaluator_->evaluate(request("scale", "scale_grudge"));
  ASSERT_FALSE(next) << "the reference's fault in the new process was not noticed";
  EXPECT_EQ(next.error().code, ErrorCode::kInfrastructure);
  EXPECT_NE(next.error().message.find("in a new process"), std::string::npos)
      << next.error().message;
}
// In its first process it takes 100 us, in one that replaces it 200.
TEST_F(OnAFakeGpu, AReferenceThatDriftedIsTimedAnew) {
  auto faulting = request("scale_fault", "scale_ageing");
  ASSERT_TRUE(evaluator_->admit(faulting));
  EXPECT_NEAR(evaluate(request("scale", "scale_ageing")).measurement.reference_time_us, 100, 0.01);
  EXPECT_EQ(evaluate(faulting).verdict, Verdict::kFault);
  for (int i = 0; i < 2; ++i) {
    const auto e = evaluate(request("scale", "scale_ageing"));
    EXPECT_EQ(e.verdict, Verdict::kOk) << e.detail;
    EXPECT_NEAR(e.measurement.reference_time_us, 200, 0.01);
  }
}
TEST_F(OnAFakeGpu, LaunchRefused) {
  expect(Verdict::kLaunchError, "LAUNCH_OUT_OF_RESOURCES", "scale_refuse");
}
TEST_F(OnAFakeGpu, AnswersKeptFromAnEarlierRun) {
  expect(Verdict::kWrongResult, "after the timed launches", "scale_replay");
}
TEST_F(OnAFakeGpu, AHungReferenceIsTheTasksFault) {
  const auto e = evaluator_->admit(request("scale_hang", "scale_hang"));
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().code, ErrorCode::kTaskFailed);
  EXPECT_NE(e.error().message.find("does not finish"), std::string::npos) << e.error().message;
  EXPECT_TRUE(evaluator_->admit(request("scale")));
}
// What the GPU was at was waited for.
TEST_F(OnAFakeGpu, AReferenceThatDependsOnOrderIsRefusedBeforeTheTimedSizeEnds) {
  auto options = small_options();
  options.device_timeout_s = 300;
  auto evaluator = Evaluator::open(*DeviceSpec::parse("cuda:0"), options);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  auto r = request("scale_hang", "scale_hang");
  std::string& source = r.checks[0].reference.source;
  const std::string body = "if (i < n) y[i] = 2.0f * x[i];";
  source.replace(source.find(body), body.size(),
                 "if (i > 0 && i < n) y[i] = 2.0f * x[i];\n"
                 "  if (threadIdx.x == 0) atomicExch(&y[0], (float)blockIdx.x);");
  const auto begin = std::chrono::steady_clock::now();
  const auto refused = (*evaluator)->admit(r);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(120));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the order in which blocks and warps run"),
            std::string::npos)
      << refused.error().message;
  EXPECT_TRUE((*evaluator)->admit(request("scale")));
}
TEST_F(OnAFakeGpu, BadReferencesAreNamed) {
  for (const auto& [kernel, message] :
       std::vector<std::pair<std::string, std::string>>{{"scale_hole", "leaves y[5] unwritten"},
                                                        {"scale_restless", "different answers"},
                                                        {"scale_tamper", "'x' was written"},
                                                        {"scale_fault", "faults"}}) {
    const auto e = evaluator_->admit(request(kernel, kernel));
    ASSERT_FALSE(e) << kernel;
    EXPECT_EQ(e.error().code, ErrorCode::kTaskFailed) << kernel;
    EXPECT_NE(e.error().message.find(message), std::string::npos) << e.error().message;
  }
}
// Where NaN is wanted, whatever stores NaN would be right.
TEST_F(OnAFakeGpu, AReferenceThatAnswersNanAtTheTimedSizeIsRefused) {
  const auto e = evaluator_->admit(request("scale_nan", "scale_nan"));
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().code, ErrorCode::kTaskFailed);
  for (const char* part :
       {"200000 of 200000 elements of 'y' are not finite on the task's own inputs",
        "the first is y[0] = nan", "the fill of an input ('x' uniform -1 to 1)",
        "(at the timed size)"})
    EXPECT_TRUE(e.error().message.contains(part)) << e.error().message;
  auto r = request("scale_nan", "scale_nan");
  for (const auto stage : {Stage::kQuick, Stage::kFinal}) {
    r.stage = stage;
    EXPECT_EQ(evaluate(r).verdict, Verdict::kWrongResult);
  }
}
// Of the running variance of a batch norm, say, nobody can tell at a large size what it is; of what
// is normed by it one can.
TEST_F(OnAFakeGpu, ASmallOutputBesideOthersMayBeFlatAtTheTimedSize) {
  const auto alone = evaluator_->admit(request("scale_flat", "scale_flat"));
  ASSERT_FALSE(alone);
  EXPECT_TRUE(alone.error().message.contains("instead of 'y', their mean everywhere would pass"))
      << alone.error().message;
  // Beside a second output with a part of the elements of the first.
  const auto with = [](std::int64_t part) {
    auto both = request("scale");
    for (auto* one : {&both.checks[0].candidate, &both.checks[0].reference, &both.timed.candidate,
                      &both.timed.reference}) {
      const std::int64_t n = one->buffers[0].shape[0] / part;
      one->source += doubling("scale_flat", n).source;
      one->buffers.push_back({"z", ScalarType::kF32, {n}, Role::kOut, {}});
      one->launches.push_back(doubling("scale_flat", n).launches[0]);
      one->launches.back().args[1] = BufferIndex{2};
    }
    return both;
  };
  const auto large = evaluator_->admit(with(50));
  ASSERT_FALSE(large);
  EXPECT_TRUE(large.error().message.contains("instead of 'z', their mean"))
      << large.error().message;
  const auto e = evaluator_->admit(with(100));
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_TRUE(e->note.starts_with("instead of 'z', their mean everywhere would pass")) << e->note;
  EXPECT_TRUE(e->note.ends_with("(at the timed size)")) << e->note;
  EXPECT_EQ(evaluate(with(100)).verdict, Verdict::kOk) << evaluate(with(100)).detail;
}
TEST_F(OnAFakeGpu, AFewElementsThatAreNotFiniteAreSaidAndCompared) {
  const auto e = evaluator_->admit(request("scale_few_nan", "scale_few_nan"));
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_EQ(e->note,
            "1 of 200000 elements of 'y' is not finite on the task's own inputs, the first is "
            "y[7] = nan (at the timed size)");
  for (const auto stage : {Stage::kQuick, Stage::kFinal}) {
    auto same = request("scale_few_nan", "scale_few_nan"),
         other = request("scale", "scale_few_nan");
    same.stage = other.stage = stage;
    EXPECT_EQ(evaluate(same).verdict, Verdict::kOk) << evaluate(same).detail;
    EXPECT_EQ(evaluate(other).verdict, Verdict::kWrongResult);
  }
}
TEST_F(OnAFakeGpu, NanThatIsMeantMustStandInTheSamePlaces) {
  const auto with = [](const char* candidate, const char* reference) {
    auto r = request(candidate, reference);
    r.tolerance.non_finite = NonFinite::kSame;
    return r;
  };
  EXPECT_TRUE(evaluator_->admit(with("scale_some_nan", "scale_some_nan")));
  const auto all = evaluator_->admit(with("scale_nan", "scale_nan"));
  ASSERT_FALSE(all);
  EXPECT_TRUE(all.error().message.contains("less than 1 % finite")) << all.error().message;
  EXPECT_EQ(evaluate(with("scale_some_nan", "scale_some_nan")).verdict, Verdict::kOk);
  EXPECT_EQ(evaluate(with("scale", "scale_some_nan")).verdict, Verdict::kWrongResult);
  EXPECT_EQ(evaluate(with("scale_nan", "scale_some_nan")).verdict, Verdict::kWrongResult);
}
TEST_F(OnAFakeGpu, InOutStartsFreshInEveryRun) {
  auto r = request("add", "add");
  for (auto* c : {&r.checks[0], &r.timed}) {
    for (auto* p : {&c->reference, &c->candidate}) {
      p->buffers[1].role = Role::kInOut;
      p->source.replace(p->source.find("y[i] ="), 6, "y[i] +=");
      p->source.replace(p->source.find("2.0f * "), 7, "");
    }
  }
  EXPECT_TRUE(evaluator_->admit(r));
  const auto e = evaluate(r);
  EXPECT_EQ(e.verdict, Verdict::kOk) << e.detail;
}
TEST_F(OnAFakeGpu, ThereIsNoSecondOne) {
  const auto e = Evaluator::open(*DeviceSpec::parse("cuda:1"));
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().code, ErrorCode::kEnvironment);
  EXPECT_NE(e.error().message.find("no cuda:1: 1 GPU is visible"), std::string::npos)
      << e.error().message;
}
TEST_F(OnAFakeGpu, DoctorSeesIt) {
  const auto items = diagnose();
  EXPECT_TRUE(std::any_of(items.begin(), items.end(), [](const DoctorItem& i) {
    return i.name == "GPU 0" && i.present && i.detail.find("Fake GPU") != std::string::npos;
  }));
}

TEST(WithoutADriver, CudaDevicesSayWhatIsMissing) {
  if (std::getenv("LD_LIBRARY_PATH") != nullptr)
    GTEST_SKIP() << "the environment may bring a driver";
  const auto e = Evaluator::open(*DeviceSpec::parse("cuda:0"));
  if (e) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(e.error().code, ErrorCode::kEnvironment);
  EXPECT_FALSE(e.error().message.empty());
}

}  // namespace
}  // namespace hone
