// On a driver without a GPU: how final stages divide their work, and what they repeat and compare.
#include "tests/unit/evaluator/fake_gpu.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

namespace hone {
namespace {

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

}  // namespace
}  // namespace hone
