// On a driver without a GPU: what a search saves. What cannot win is timed, checked and modelled no
// further than that takes to know.
#include "tests/unit/evaluator/fake_gpu.h"

#include <atomic>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <utility>

namespace hone {
namespace {

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
  EXPECT_EQ(status_of(slow), "unchecked");
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

// It hangs in its second run at the timed size: one tells how long it takes, and that it is right.
TEST_F(OnAFakeGpu, AVerySlowCandidateRunsOnce) {
  const auto e = evaluate(request("naive_takes150_hang_run2", "naive"));
  ASSERT_EQ(e.verdict, Verdict::kOk) << e.detail;
  EXPECT_NEAR(e.measurement.time_us, 150e3, 1);
  EXPECT_EQ(e.measurement.samples_us.size(), 1U);
  EXPECT_EQ(evaluate(request("naive_takes150_wrong_run1", "naive")).verdict, Verdict::kWrongResult);
}

// Nobody waits for its end, so nobody knows whether it would have come.
TEST_F(OnAFakeGpu, AKernelThatIsFarSlowerThanTheBestIsEndedAsSlower) {
  ASSERT_TRUE(evaluator_->admit(request("scale")));
  for (const bool measure_first : {true, false}) {
    auto r = request("scale_hang");
    r.best_time_us = 100;
    r.measure_first = measure_first;
    const auto e = evaluate(r);
    EXPECT_EQ(e.verdict, Verdict::kSlower) << to_string(e.verdict) << ": " << e.detail;
    EXPECT_TRUE(e.detail.starts_with("slower than ")) << e.detail;
    EXPECT_TRUE(e.detail.contains(" times the best known time of 0.1 ms: still running after"))
        << e.detail;
    EXPECT_EQ(e.measurement.time_us, 0);
    // Between two launches it would have ended after 0.5 s, and its process would have gone on.
    const std::string before = "still running after ";
    EXPECT_GE(std::stod(e.detail.substr(e.detail.find(before) + before.size())), 0.62) << e.detail;
    const auto next = evaluate(request("scale"));
    EXPECT_EQ(next.verdict, Verdict::kOk) << "the runner was not replaced: " << next.detail;
  }
}

/// Three launches of it, one after another.
EvaluationRequest thrice(EvaluationRequest r) {
  for (ConcreteProgram* one : {&r.checks[0].candidate, &r.timed.candidate})
    one->launches.resize(3, one->launches.front());
  return r;
}

// While the next part of several launches is queued, the GPU idles: a sample is of one part.
TEST_F(OnAFakeGpu, ARunInSeveralPartsIsNoSample) {
  auto r = request("scale_slow");
  r.best_time_us = 90;
  EXPECT_EQ(evaluate(r).measurement.samples_us.size(), 1U);
  const auto e = evaluate(thrice(r));
  EXPECT_EQ(e.verdict, Verdict::kOk) << e.detail;
  EXPECT_EQ(e.measurement.samples_us.size(), 2U);
  EXPECT_NEAR(e.measurement.time_us, 1200, 0.01);
}

// The reference would fault in a process that replaced the one that admitted it.
TEST_F(OnAFakeGpu, ASlowProgramEndsBetweenItsLaunchesAndItsProcessGoesOn) {
  ASSERT_TRUE(evaluator_->admit(request("scale", "scale_grudge")));
  auto r = thrice(request("naive_takes300", "scale_grudge"));
  r.best_time_us = 10e3;
  const auto e = evaluate(r);
  EXPECT_EQ(e.verdict, Verdict::kSlower) << to_string(e.verdict) << ": " << e.detail;
  EXPECT_TRUE(e.detail.contains("times the best known time of 10 ms: 2 of its 3 launches took"))
      << e.detail;
  const auto next = evaluator_->evaluate(request("scale", "scale_grudge"));
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->verdict, Verdict::kOk) << next->detail;
  // Nothing is known to be faster.
  r.best_time_us = 0;
  EXPECT_EQ(evaluate(r).verdict, Verdict::kOk);
}

TEST_F(OnAFakeGpu, WhatASlowProgramWroteBeforeItsEndCounts) {
  auto r = thrice(request("naive_takes600_after"));
  r.best_time_us = 10e3;
  const auto e = evaluate(r);
  EXPECT_EQ(e.verdict, Verdict::kFault) << to_string(e.verdict) << ": " << e.detail;
  EXPECT_TRUE(e.detail.contains("at byte 800000 of 'y'")) << e.detail;
}

// The next process runs the reference twice before it takes a candidate: 0.6 s.
TEST_F(OnAFakeGpu, AKernelIsWaitedForAsLongAsANewProcessTakes) {
  auto options = small_options();
  options.device_timeout_s = 20;
  auto evaluator = Evaluator::open(*DeviceSpec::parse("cuda:0"), options);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  auto r = request("scale_hang", "naive_takes300");
  ASSERT_TRUE((*evaluator)->admit(r));
  r.best_time_us = 1e3;
  const auto e = (*evaluator)->evaluate(r);
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_EQ(e->verdict, Verdict::kSlower) << to_string(e->verdict) << ": " << e->detail;
  const std::string before = "still running after ";
  const auto at = e->detail.find(before);
  ASSERT_NE(at, std::string::npos) << e->detail;
  EXPECT_GE(std::stod(e->detail.substr(at + before.size())), 0.6) << e->detail;
}

}  // namespace
}  // namespace hone
