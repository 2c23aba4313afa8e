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

/// The reference answers what is true of many elements, one after the other off by `errors`; all
/// but each `apart`-th are zero, and right.
bool right_of_many(const std::vector<float>& errors, InputSet inputs = InputSet::kMultiples,
                   std::size_t apart = 1) {
  std::vector<float> want(1024 * apart), got(1024 * apart);
  for (std::size_t i = 0; i < want.size(); i += apart) {
    want[i] = 1 + static_cast<float>(i / apart % 7);
    got[i] = want[i] + 4 * errors[i / apart % errors.size()];
  }
  const auto bytes = [](const std::vector<float>& values) {
    return std::span(reinterpret_cast<const std::uint8_t*>(values.data()), 4 * values.size());
  };
  const auto decides = judge_made_up(
      Tolerance{1e-4, 1e-5}, inputs, true,
      [&](Answer, Answer answer, const Tolerance& allowed) {
        return compare(bytes(want), ScalarType::kF32,
                       bytes(answer == Answer::kCandidate ? got : want), ScalarType::kF32, allowed);
      },
      [] { return Result<bool>(true); }, [] { return Result<bool>(false); });
  return decides && decides->ok();
}

TEST(MadeUp, AnotherFormulaMayRoundAtManyPlaces) {
  EXPECT_TRUE(right_of_many({0, 4e-7F, -8e-7F, 2e-6F, 0, -2e-7F, 6e-7F}));
  EXPECT_FALSE(right_of_many({2e-6F, -3e-6F})) << "eighteen bits";
  std::vector<float> one(1024);
  one[17] = 3e-6F;
  EXPECT_FALSE(right_of_many(one)) << "something was left out at one place";
  EXPECT_TRUE(right_of_many(one, InputSet::kWide)) << "sums of few terms";
  EXPECT_TRUE(right_of_many(one, InputSet::kWide, 64)) << "most of which are zero";
  one[17] = 2e-5F;
  EXPECT_FALSE(right_of_many(one, InputSet::kWide, 64));
}

/// Inputs may leave a reference no digit: what is as far off is as right.
TEST(MadeUp, WhereTheReferenceHasNoDigitNoCandidateNeedsOne) {
  const std::vector<double> truth = {1, 2, 3, 4};
  const std::vector<float> own = {1.5F, 1, 4, 2};
  const auto ends = [&](InputSet inputs, const std::vector<float>& got) {
    const auto elements =
        [&](Answer answer) -> std::pair<std::span<const std::uint8_t>, ScalarType> {
      if (answer == Answer::kTruth)
        return {{reinterpret_cast<const std::uint8_t*>(truth.data()), 32}, ScalarType::kF64};
      const auto& values = answer == Answer::kReference ? own : got;
      return {{reinterpret_cast<const std::uint8_t*>(values.data()), 16}, ScalarType::kF32};
    };
    const auto decides = judge_made_up(
        Tolerance{1e-4, 1e-5}, inputs, false,
        [&](Answer want, Answer answer, const Tolerance& allowed) {
          const auto [wanted, type] = elements(want);
          const auto [had, its] = elements(answer);
          return compare(wanted, type, had, its, allowed);
        },
        [] { return Result<bool>(true); }, [] { return Result<bool>(false); });
    return decides && decides->ok();
  };
  EXPECT_TRUE(ends(InputSet::kRelated, {0.5F, 3, 3, 5}));
  EXPECT_TRUE(ends(InputSet::kPatterns, {0.5F, 3, 3, 5}));
  EXPECT_FALSE(ends(InputSet::kEdges, {0.5F, 3, 3, 5}));
  EXPECT_FALSE(ends(InputSet::kRelated, {0.5F, 3, 3, 50}));
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
