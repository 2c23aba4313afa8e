// The local rule: every part of an output by its own measure.
#include "evaluator/check/local.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "evaluator/check/judge.h"
#include "evaluator/fill/formula_cpu.h"

namespace hone::check {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

template <class T>
Elements elements(const std::vector<T>& v) {
  return {std::span(reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * sizeof(T)),
          sizeof(T) == 4 ? ScalarType::kF32 : ScalarType::kF64};
}

constexpr std::size_t kRows = 40, kColumns = 64;
constexpr Tolerance kTolerance{1e-4, 1e-5, NonFinite::kFew};

/// Normal numbers; of every second row a part `small`.
Floats rows(double small) {
  Floats v(kRows * kColumns);
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = static_cast<float>(hone_normal(5, i) * (i / kColumns % 2 == 1 ? small : 1.0));
  return v;
}

Judgement judged(const Floats& want, const Floats& got, const std::optional<Doubles>& truth = {},
                 std::int64_t width = kColumns, const Tolerance& tolerance = kTolerance) {
  const Question question{.want = elements(want),
                          .got = elements(got),
                          .width = width,
                          .tolerance = tolerance,
                          .truth = [&] { return truth ? elements(*truth) : Elements{}; }};
  const auto result = judge(question, "y");
  EXPECT_TRUE(result);
  return *result;
}

Doubles in_double(const Floats& v) { return {v.begin(), v.end()}; }

TEST(Local, SmallRowsMayNotBeLeftOut) {
  for (const double small : {1e-3, 1e-5, 1e-7}) {
    const Floats want = rows(small);
    for (const double instead : {0.0, 0.5, -1.0, 1.01}) {
      Floats got = want;
      for (std::size_t i = 0; i < got.size(); ++i)
        if (i / kColumns % 2 == 1) got[i] *= static_cast<float>(instead);
      EXPECT_FALSE(judged(want, got).ok()) << small << " " << instead;
      EXPECT_FALSE(judged(want, got, in_double(want)).ok()) << small << " " << instead;
    }
    EXPECT_TRUE(judged(want, want).ok());
  }
}

TEST(Local, ColumnsAndSingleNumbersLikewise) {
  Floats want = rows(1), zeros = want;
  for (std::size_t i = 0; i < want.size(); i += 3) {
    want[i] *= 1e-6F;
    zeros[i] = 0;
  }
  for (const std::int64_t width : {kColumns, std::size_t{1}, want.size()}) {
    const auto wrong = judged(want, zeros, in_double(want), width);
    EXPECT_FALSE(wrong.ok());
    EXPECT_TRUE(wrong.detail.contains("of their own values")) << wrong.detail;
    EXPECT_FALSE(judged(want, zeros, {}, width).ok());
  }
}

// A sum that cancels is wrong in all its digits, and so is the reference's.
TEST(Local, WhatTheReferenceHasNotRightNeedNotBe) {
  Floats want = rows(1), got = want;
  Doubles truth = in_double(want);
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (i / kColumns % 2 == 0) continue;
    truth[i] = 0;
    want[i] = static_cast<float>(1e-7 * hone_normal(6, i));
    got[i] = static_cast<float>(1e-7 * hone_normal(7, i));
  }
  EXPECT_TRUE(judged(want, got, truth).ok()) << judged(want, got, truth).detail;
  // Without a run in double nobody knows; half of all is too much to believe it.
  const auto unknown = judged(want, got);
  EXPECT_FALSE(unknown.ok());
  // As large as before, but no longer explained.
  EXPECT_FALSE(judged(want, got, in_double(want)).ok());
}

TEST(Local, OrdinaryRoundingIsRight) {
  const Floats want = rows(1);
  Floats got = want;
  for (std::size_t i = 0; i < got.size(); ++i)
    got[i] += static_cast<float>(3e-6 * hone_normal(8, i));  // as a long sum has
  EXPECT_TRUE(judged(want, got).ok());
  for (std::size_t i = 0; i < got.size(); ++i)
    got[i] = want[i] + static_cast<float>(3e-3 * hone_normal(8, i));  // as tf32 has
  EXPECT_TRUE(judged(want, got, {}, kColumns, {1e-2, 1e-2, NonFinite::kFew}).ok());
}

// The candidate may be nearer to the truth than the reference.
TEST(Local, TheTruthIsRightWhateverTheReferenceSays) {
  const Floats good = rows(1e-3);
  Floats off = good;
  for (float& v : off) v *= 1.01F;
  EXPECT_FALSE(judged(off, good).ok());
  EXPECT_TRUE(judged(off, good, in_double(good)).ok());
}

TEST(Local, TasksWithAnAbsoluteToleranceAloneHaveNoSuchRule) {
  const Floats want = rows(1e-5);
  Floats got = want;
  for (std::size_t i = kColumns; i < 2 * kColumns; ++i) got[i] = 0;
  EXPECT_TRUE(judged(want, got, {}, kColumns, {0, 1e-3, NonFinite::kFew}).ok());
}

TEST(Local, GroupsCoverEveryElementOnce) {
  for (const std::uint64_t width : {1, 3, 7, 8, 31, 255, 256, 257, 1000, 1025}) {
    for (const std::uint64_t rows : {1, 2, 5}) {
      const std::uint64_t n = rows * width;
      const auto groups = hone_groups_of(n, width);
      std::vector<int> seen(n);
      for (hone_u64 g = 0; g < groups.count; ++g) {
        const auto begin = hone_group_begin(groups, g), end = hone_group_end(groups, g);
        EXPECT_LE(end - begin, 256U);
        if (width >= 8 && begin < end) {
          EXPECT_EQ(begin / width, (end - 1) / width);
        }
        for (auto i = begin; i < end; ++i) ++seen[i];
      }
      EXPECT_EQ(std::ranges::count(seen, 1), static_cast<std::ptrdiff_t>(n))
          << width << " " << rows;
    }
  }
}

}  // namespace
}  // namespace hone::check
