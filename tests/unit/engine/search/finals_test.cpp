#include "engine/search/finals/finals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/target/workers.h"
#include "tests/unit/engine/fake_evaluator.h"

namespace hone {
namespace {

/// What became of a finalist whose tunable has a value that the task does not know.
std::vector<Evaluation> stored(bool with_refused) {
  const Task task = *parse_task(test::kScaleTask, "scale.cu");
  LocalRewriting rewriting;
  test::FakeEvaluator evaluator;
  LocalTarget local(*DeviceSpec::parse("emu:sm_90"), evaluator, 1);
  const Target target = local.target();
  auto builder = *RequestBuilder::make(rewriting, task, target_limits("sm_90"), {}, {});
  Random random(1);
  std::uint64_t next_id = 0;
  std::vector<Evaluation> evaluations;
  FinalStage stage{target, rewriting, *builder, random, next_id};
  stage.with_refused = with_refused;
  stage.report = [] {};
  stage.given_up = [] { return false; };
  stage.store = [&](CandidateRecord&, const Evaluation& e) { evaluations.push_back(e); };
  stage.warn = [](const std::string&) {};
  CandidateRecord finalist;
  finalist.program_hash = std::string(32, 'a');
  finalist.program = task.reference;
  finalist.recipe = {{"tunables", 1, "task", {{"BLOCK", 33}}, MathLevel::kExact}};
  EXPECT_TRUE(time_finalists(stage, {finalist}, std::nullopt, 5).ranked.empty());
  EXPECT_EQ(evaluator.calls_, 0);
  return evaluations;
}

TEST(Finals, WhatCannotBeMadeIsStoredAsRefusedWhereThatIsWanted) {
  EXPECT_TRUE(stored(false).empty());
  const auto evaluations = stored(true);
  ASSERT_EQ(evaluations.size(), 1U);
  EXPECT_EQ(evaluations[0].verdict, Verdict::kRefused);
  EXPECT_TRUE(evaluations[0].final_stage);
  EXPECT_FALSE(evaluations[0].detail.empty());
}

/// How many finalists pass where the time is over after half a second, the reference has its result
/// at once and the finalist after a second.
std::size_t passed_in_time(double for_the_first_s) {
  const Task task = *parse_task(test::kScaleTask, "scale.cu");
  LocalRewriting rewriting;
  test::FakeEvaluator evaluator;
  evaluator.lie_ = [&](const EvaluationRequest& request, Evaluation& evaluation) {
    evaluation.verdict = Verdict::kOk;
    if (request.timed.candidate.defines != request.timed.reference.defines)
      std::this_thread::sleep_for(std::chrono::seconds(1));
  };
  LocalTarget local(*DeviceSpec::parse("emu:sm_90"), evaluator, 2);
  const Target target = local.target();
  auto builder = *RequestBuilder::make(rewriting, task, target_limits("sm_90"), {}, {});
  Random random(1);
  std::uint64_t next_id = 0;
  FinalStage stage{target, rewriting, *builder, random, next_id};
  stage.report = [] {};
  stage.given_up = [] { return false; };
  stage.store = [](CandidateRecord&, const Evaluation&) {};
  stage.warn = [](const std::string&) {};
  stage.for_the_first_s = for_the_first_s;
  using Clock = std::chrono::steady_clock;
  stage.left_s = [begin = Clock::now()] {
    return 0.5 - std::chrono::duration<double>(Clock::now() - begin).count();
  };
  CandidateRecord reference;
  reference.program_hash = std::string(32, 'b');
  reference.program = task.reference;
  CandidateRecord finalist = reference;
  finalist.program_hash = std::string(32, 'a');
  finalist.recipe = {{"tunables", 1, "task", {{"BLOCK", 64}, {"ITEMS", 1}}, MathLevel::kExact}};
  finalist.program.defines["BLOCK"] = "64";
  finalist.program.defines["ITEMS"] = "1";
  const auto ranked = time_finalists(stage, {finalist}, reference, 5).ranked;
  return static_cast<std::size_t>(
      std::ranges::count_if(ranked, [](const Finalist& f) { return !f.candidate.recipe.empty(); }));
}

/// What becomes of finalists of so many threads a block. Time is over once `settled` of them and
/// the reference are stored.
FinalEnds ends_of(const std::vector<int>& blocks, int settled) {
  const Task task = *parse_task(test::kScaleTask, "scale.cu");
  LocalRewriting rewriting;
  test::FakeEvaluator evaluator;
  evaluator.lie_ = [&](const EvaluationRequest& request, Evaluation& evaluation) {
    const std::string block = request.timed.candidate.defines.at("BLOCK");
    evaluation.verdict = Verdict::kOk;
    if (block == "64" || block == "96") {
      evaluation.verdict = block == "64" ? Verdict::kWrongResult : Verdict::kUnsupported;
      evaluation.detail = "of " + block;
    }
    if (block == "128") evaluation.measurement.speedup = 0.9;
    if (block == "160") evaluation.measurement.speedup = 3;
    while (block == "192" && !evaluator.cancelled_)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (block == "32") evaluation.measurement.speedup = 1.01;  // the reference
    if (block == "224") evaluation.measurement.speedup = 1.005;
  };
  LocalTarget local(*DeviceSpec::parse("emu:sm_90"), evaluator, 8);
  const Target target = local.target();
  auto builder = *RequestBuilder::make(rewriting, task, target_limits("sm_90"), {}, {});
  Random random(1);
  std::uint64_t next_id = 0;
  int stored = 0;
  FinalStage stage{target, rewriting, *builder, random, next_id};
  stage.report = [] {};
  stage.given_up = [] { return false; };
  stage.store = [&](CandidateRecord&, const Evaluation&) { ++stored; };
  stage.warn = [](const std::string&) {};
  stage.left_s = [&] { return stored > settled ? 0.0 : 60.0; };
  CandidateRecord reference;
  reference.program_hash = std::string(32, 'r');
  reference.program = task.reference;
  reference.program.defines["BLOCK"] = "32";
  reference.program.defines["ITEMS"] = "1";
  std::vector<CandidateRecord> finalists;
  for (const int block : blocks) {
    CandidateRecord finalist = reference;
    finalist.program_hash = std::string(31, 'f') + std::to_string(finalists.size());
    finalist.recipe = {
        {"tunables", 1, "task", {{"BLOCK", block}, {"ITEMS", 1}}, MathLevel::kExact}};
    finalist.program.defines["BLOCK"] = std::to_string(block);
    finalists.push_back(std::move(finalist));
  }
  return time_finalists(stage, std::move(finalists), reference, 9).ends;
}

TEST(Finals, SayHowEachFinalistEnded) {
  EXPECT_EQ(ends_of({64}, 9), (FinalEnds{.failed = 1, .why_failed = "wrong_result (of 64)"}));
  EXPECT_EQ(ends_of({192}, 0), (FinalEnds{.late = 1}));
  EXPECT_EQ(ends_of({160, 128}, 9), (FinalEnds{.faster = 1, .no_faster = 1}));
  EXPECT_EQ(ends_of({224}, 9), (FinalEnds{.no_faster = 1})) << "than the reference beside it";
  EXPECT_EQ(ends_of({192, 64, 96, 128}, 3), (FinalEnds{.no_faster = 1,
                                                       .failed = 1,
                                                       .late = 1,
                                                       .unchecked = 1,
                                                       .why_failed = "wrong_result (of 64)",
                                                       .why_unchecked = "unsupported (of 96)"}));
  // No value of the task's.
  const FinalEnds refused = ends_of({33}, 9);
  EXPECT_EQ(refused.unchecked, 1);
  EXPECT_FALSE(refused.why_unchecked.empty());
}

TEST(Finals, WaitForAFinalistAfterTheReferenceHasItsTime) {
  EXPECT_EQ(passed_in_time(0), 0U);
  EXPECT_EQ(passed_in_time(20), 1U);
}

}  // namespace
}  // namespace hone
