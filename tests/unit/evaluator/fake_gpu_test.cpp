// The measure runner's logic on a driver without a GPU: verdicts, and what is replaced and checked
// again.
#include "tests/unit/evaluator/fake_gpu.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace hone {
namespace {

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
