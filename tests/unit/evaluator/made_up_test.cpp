#include "evaluator/check/made_up.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hone::check {
namespace {

/// The reference answers what is true; every element of the candidate's is off by `error`.
Comparison decided(InputSet inputs, bool exact, float error, bool there_is_a_truth = true) {
  const std::vector<float> want = {1, 2, 3, 1000};
  std::vector<float> got = want;
  for (float& value : got) value *= 1 + error;
  const auto bytes = [](const std::vector<float>& values) {
    return std::span(reinterpret_cast<const std::uint8_t*>(values.data()), 4 * values.size());
  };
  const Tolerance tolerance{1e-2, 1e-2};
  const auto decides = judge_made_up(
      tolerance, inputs, exact,
      [&](Answer wanted, Answer answer, const Tolerance& allowed) {
        EXPECT_NE(wanted, Answer::kCandidate);
        return compare(bytes(want), ScalarType::kF32,
                       bytes(answer == Answer::kCandidate ? got : want), ScalarType::kF32, allowed);
      },
      [&] { return Result<bool>(there_is_a_truth); }, [] { return Result<bool>(false); });
  EXPECT_TRUE(decides) << decides.error().message;
  return *decides;
}

bool right(InputSet inputs, bool exact, float error, bool there_is_a_truth = true) {
  return decided(inputs, exact, error, there_is_a_truth).ok();
}

TEST(MadeUp, ExactAnswersMustBeExact) {
  EXPECT_TRUE(right(InputSet::kMultiples, true, 0));
  EXPECT_TRUE(right(InputSet::kMultiples, true, 1e-7F)) << "the last bit";
  EXPECT_FALSE(right(InputSet::kMultiples, true, 3e-7F));
  EXPECT_TRUE(right(InputSet::kMultiples, false, 3e-7F));
  EXPECT_TRUE(right(InputSet::kEdges, true, 1e-3F));
}

TEST(MadeUp, WideInputsAllowOneRoundingAndNotFewerBits) {
  EXPECT_TRUE(right(InputSet::kWide, true, 3e-7F));
  EXPECT_FALSE(right(InputSet::kWide, true, 1e-5F));
  EXPECT_TRUE(right(InputSet::kWide, false, 1e-5F));
  EXPECT_FALSE(right(InputSet::kWide, false, 5e-2F));
}

TEST(MadeUp, OnlyWhatIsWithinTheToleranceMayBeWrongByChance) {
  EXPECT_TRUE(decided(InputSet::kWide, true, 1e-5F).perhaps_by_chance);
  EXPECT_FALSE(decided(InputSet::kWide, true, 5e-2F).perhaps_by_chance);
  EXPECT_TRUE(decided(InputSet::kMultiples, true, 3e-7F).perhaps_by_chance);
  EXPECT_FALSE(decided(InputSet::kMultiples, true, 1e-5F).perhaps_by_chance);
}

/// The draws, one letter each: 'r' right, 'w' wrong, 'c' wrong, perhaps by chance.
bool ends_right(const std::string& draws) {
  struct Case {
    std::uint64_t seed;
  };
  std::size_t draw = 0;
  return drawn_anew(
      Case{7},
      [&](const Case& one, bool& perhaps_by_chance) {
        EXPECT_EQ(one.seed == 7, draw == 0);
        EXPECT_FALSE(perhaps_by_chance);  // nothing is left over from the draw before
        const char now = draws.at(draw++);
        perhaps_by_chance = now == 'c';
        return now == 'r';
      },
      [](bool answer) { return answer; });
}

TEST(MadeUp, WhatIsWrongPerhapsByChanceMustBeRightTwice) {
  EXPECT_TRUE(ends_right("r"));
  EXPECT_FALSE(ends_right("w"));
  EXPECT_TRUE(ends_right("crr"));
  for (const char* draws : {"cw", "cc", "crw", "crc"}) EXPECT_FALSE(ends_right(draws)) << draws;
}

TEST(MadeUp, WithoutATruthNobodyKnowsWhetherAnswersAreExact) {
  EXPECT_TRUE(right(InputSet::kMultiples, true, 1e-3F, false));
  EXPECT_FALSE(right(InputSet::kMultiples, true, 0.5F, false));
}

}  // namespace
}  // namespace hone::check
