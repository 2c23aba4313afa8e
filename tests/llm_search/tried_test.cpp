// What a model is shown of what was tried.
#include "engine/llm/tried.h"

#include <gtest/gtest.h>

#include "rewriters/llm/model_steps.h"

namespace hone::llm {
namespace {

Recipe recipe(const char* rewriter, int number) {
  Step step;
  step.rewriter = rewriter;
  step.params["n"] = number;
  return {step};
}

Tried right(double time_us) {
  Tried tried;
  tried.recipe = recipe("unroll", static_cast<int>(time_us));
  tried.time_us = time_us;
  return tried;
}

Tried failed(const char* rewriter, int number, Verdict verdict = Verdict::kWrongResult) {
  Tried tried;
  tried.recipe = recipe(rewriter, number);
  tried.verdict = verdict;
  return tried;
}

Tried reference() {
  Tried tried;
  tried.time_us = 100;
  return tried;
}

TEST(TriedSet, TheBestIsTheFastestThatIsRight) {
  TriedSet set(reference());
  EXPECT_TRUE(set.best().recipe.empty());
  set.add(right(120));
  EXPECT_EQ(set.best().time_us, 100);
  set.add(right(40));
  set.add(right(60));
  set.add(failed("unroll", 1));
  EXPECT_EQ(set.best().time_us, 40);
}

TEST(TriedSet, ExamplesAreOneThatFailedAndSpreadSpeeds) {
  TriedSet set(reference());
  EXPECT_TRUE(set.examples(4, 1).empty());
  for (const double time_us : {10.0, 11.0, 12.0, 50.0, 90.0}) set.add(right(time_us));
  const auto without = set.examples(4, 1);
  ASSERT_EQ(without.size(), 4U);
  EXPECT_GE(without.front().time_us, 90);
  EXPECT_GT(without.front().time_us, without.back().time_us);
  EXPECT_NE(without.back().time_us, 10) << "the best is shown by itself";
  set.add(failed("unroll", 1));
  const auto with = set.examples(4, 1);
  ASSERT_EQ(with.size(), 4U);
  EXPECT_EQ(with.front().verdict, Verdict::kWrongResult);
  EXPECT_TRUE(set.examples(0, 1).empty());
  EXPECT_EQ(set.examples(1, 1).size(), 1U);
}

TEST(TriedSet, AModelsMistakesComeBeforeThoseOfRules) {
  TriedSet set(reference());
  set.add(failed(kModelEdit, 1));
  for (int i = 0; i < 200; ++i) set.add(failed("unroll", i));
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(set.examples(1, seed).front().recipe.front().rewriter, kModelEdit);
}

TEST(TriedSet, AMachinesFailuresTeachNobody) {
  TriedSet set(reference());
  set.add(failed(kModelCode, 1, Verdict::kCrash));
  set.add(failed(kModelCode, 2, Verdict::kSlower));
  EXPECT_TRUE(set.examples(4, 1).empty());
}

TEST(TriedSet, OfManyTheFastestAndTheSlowestStay) {
  TriedSet set(reference());
  for (int i = 0; i < 2000; ++i) set.add(right(1000 - i * 0.47));
  EXPECT_NEAR(set.best().time_us, 1000 - 1999 * 0.47, 1e-9);
  const auto examples = set.examples(256, 1);
  EXPECT_LE(examples.size(), 256U);
  EXPECT_EQ(examples.front().time_us, 1000);
}

TEST(TriedSet, WordsOfAnEvaluationNameItsBoundAndResources) {
  Evaluation evaluation;
  evaluation.measurement.bound = "L2 bandwidth";
  evaluation.measurement.modelled = true;
  evaluation.measurement.roof_fraction = 0.4;
  KernelResources kernel;
  kernel.kernel = "popcount";
  kernel.registers = 42;
  evaluation.resources.push_back(kernel);
  const std::string text = bound_text(evaluation);
  EXPECT_NE(text.find("modelled as bound by L2 bandwidth"), text.npos) << text;
  EXPECT_NE(text.find("40 % of the roof"), text.npos) << text;
  EXPECT_NE(text.find("42 registers"), text.npos) << text;
  EXPECT_EQ(tried_reference(evaluation, true).speedup, 1);
}

}  // namespace
}  // namespace hone::llm
