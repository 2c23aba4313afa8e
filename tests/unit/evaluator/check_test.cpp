#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "evaluator/check/compare.h"
#include "evaluator/timing/statistics.h"

namespace hone::check {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class T>
Comparison compared(ScalarType type, const std::vector<T>& want, const std::vector<T>& got,
                    Tolerance tolerance = {1e-4, 1e-5}) {
  const auto bytes = [](const std::vector<T>& v) {
    return std::span(reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * sizeof(T));
  };
  const auto result = compare(bytes(want), bytes(got), type, tolerance);
  EXPECT_TRUE(result);
  return *result;
}

TEST(Compare, WithinAndBeyondTheTolerance) {
  EXPECT_TRUE(compared<float>(ScalarType::kF32, {1, 2}, {1.00005F, 2}).ok());
  const auto c = compared<float>(ScalarType::kF32, {1, 2}, {1, 2.1F});
  EXPECT_EQ(c.mismatches, 1);
  EXPECT_EQ(c.first_mismatch, 1);
  EXPECT_NEAR(c.max_rel_error, 0.05, 1e-6);
  EXPECT_EQ(describe(c, "C", ScalarType::kF32, 2),
            "C[1] is 2.0999999, want 2 (1 of 2 elements differ, largest relative error 0.05)");
}

TEST(Compare, SmallValuesAreHeldAgainstTheRms) {
  // An error of 1e-3 where everything else is about 100 is rounding; alone it is not.
  EXPECT_TRUE(compared<float>(ScalarType::kF32, {100, 100, 0}, {100, 100, 1e-3F}).ok());
  EXPECT_FALSE(compared<float>(ScalarType::kF32, {0, 0, 0}, {0, 0, 1e-3F}).ok());
}

TEST(Compare, WhatIsNotFiniteEqualsNothingUnlessItMay) {
  const std::vector<float> odd = {kNan, kInf, -kInf, 1, 2, 3};
  EXPECT_EQ(compared<float>(ScalarType::kF32, odd, odd).mismatches, 3);
  const auto mismatches = [&](NonFinite non_finite, const std::vector<float>& got, int finite) {
    std::vector<float> want = odd, answer = got;
    want.resize(want.size() + static_cast<std::size_t>(finite), 1);
    answer.resize(want.size(), 1);
    return compared<float>(ScalarType::kF32, want, answer, {1e-4, 1e-5, non_finite}).mismatches;
  };
  EXPECT_EQ(mismatches(NonFinite::kFew, odd, 291), 3);  // more than one in a hundred
  EXPECT_EQ(mismatches(NonFinite::kFew, odd, 300), 0);
  EXPECT_EQ(mismatches(NonFinite::kMadeUp, odd, 0), 0);
  EXPECT_EQ(mismatches(NonFinite::kSame, odd, 0), 0);
  EXPECT_EQ(mismatches(NonFinite::kSame, {kInf, kInf, -kInf, 1, 2, 3}, 0), 1);
  EXPECT_EQ(mismatches(NonFinite::kSame, {kNan, -kInf, -kInf, 1, 2, 3}, 0), 1);
  EXPECT_EQ(mismatches(NonFinite::kSame, {kNan, 3.4e38F, -kInf, 1, 2, 3}, 0), 1);
  // What hone made up overflows in one order of adding and not in another.
  EXPECT_EQ(mismatches(NonFinite::kMadeUp, {kNan, 3.4028234e38F, -kInf, 1, 2, 3}, 0), 0);
  EXPECT_EQ(mismatches(NonFinite::kMadeUp, {kNan, 3.3e38F, -kInf, 1, 2, 3}, 0), 1);
  EXPECT_EQ(mismatches(NonFinite::kMadeUp, {0, kInf, -kInf, 1, 2, 3}, 0), 1);
  const std::vector<float> nothing(100, kNan);
  for (const auto rule : {NonFinite::kNever, NonFinite::kFew, NonFinite::kMadeUp, NonFinite::kSame})
    EXPECT_EQ(compared<float>(ScalarType::kF32, nothing, nothing, {1, 1, rule}).mismatches, 100);
}

// In double it does not overflow: that must not widen the tolerance of the rest.
TEST(Compare, OverflowThatDoubleHasNot) {
  const std::vector<double> want = {1e43, 1, 1, 1};
  for (const float one : {1.0F, 1.1F}) {
    const std::vector<float> got = {kInf, one, 1, 1};
    const auto bytes = [](const auto& v) {
      return std::span(reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * sizeof(v[0]));
    };
    const auto c = compare(bytes(want), ScalarType::kF64, bytes(got), ScalarType::kF32,
                           {1e-4, 1e-5, NonFinite::kMadeUp});
    ASSERT_TRUE(c);
    EXPECT_EQ(c->ok(), one == 1) << describe(*c, "y", ScalarType::kF32, 4);
  }
}

TEST(Compare, NanAndInfMasksMustAgree) {
  for (const auto& [want, got] : std::vector<std::pair<float, float>>{
           {1, kNan}, {kNan, 1}, {1, kInf}, {kInf, 1}, {kInf, -kInf}, {kNan, kInf}, {kInf, kNan}}) {
    const auto c = compared<float>(ScalarType::kF32, {want, 1}, {got, 1}, {1e30, 1e30});
    EXPECT_EQ(c.mismatches, 1) << want << " " << got;
    EXPECT_TRUE(std::isinf(c.max_rel_error));
  }
  // An infinity somewhere must not widen the tolerance of the rest.
  EXPECT_FALSE(
      compared<float>(ScalarType::kF32, {kInf, 1}, {kInf, 1.1F}, {1e-4, 1e-5, NonFinite::kSame})
          .ok());
}

TEST(Compare, AsRightAsAReferenceThatIsOff) {
  const auto off = [](std::int64_t mismatches) {
    Comparison c;
    c.elements = 100'000;
    c.mismatches = mismatches;
    c.norm_limit = 0.01;
    return c;
  };
  EXPECT_TRUE(as_right(off(26), off(4)));  // 4 * 4 + 10
  EXPECT_FALSE(as_right(off(27), off(4)));
  EXPECT_FALSE(as_right(off(1), off(0)));    // the reference is right everywhere
  EXPECT_TRUE(as_right(off(1), off(100)));   // 0.1 %
  EXPECT_FALSE(as_right(off(1), off(101)));  // so wrong that it tells nothing
  auto candidate = off(5), reference = off(5);
  candidate.norm_error = 0.02;
  EXPECT_FALSE(as_right(candidate, reference));
  reference.norm_error = 0.01;
  EXPECT_TRUE(as_right(candidate, reference));
  candidate.max_rel_error = kInf;  // a NaN, or an infinity
  EXPECT_FALSE(as_right(candidate, reference));
  candidate.max_rel_error = 3;
  reference.want_type = ScalarType::kI32;
  EXPECT_FALSE(as_right(candidate, reference));
}

TEST(Compare, SignedZerosAreEqual) {
  EXPECT_TRUE(compared<float>(ScalarType::kF32, {0.0F}, {-0.0F}, {0, 0}).ok());
}

TEST(Compare, IntegersAreExactWhateverTheTolerance) {
  EXPECT_FALSE(compared<int>(ScalarType::kI32, {1000000}, {1000001}, {1, 1e9}).ok());
  const std::int64_t big = std::int64_t{1} << 60;
  EXPECT_FALSE(compared<std::int64_t>(ScalarType::kI64, {big}, {big + 1}, {1, 1}).ok());
  EXPECT_TRUE(compared<std::uint8_t>(ScalarType::kU8, {0, 255}, {0, 255}).ok());
  EXPECT_FALSE(compared<std::int8_t>(ScalarType::kI8, {-1}, {1}).ok());
}

TEST(Compare, BoolsAreZeroOrOne) {
  EXPECT_TRUE(compared<std::uint8_t>(ScalarType::kBool, {1, 0}, {1, 0}).ok());
  EXPECT_FALSE(compared<std::uint8_t>(ScalarType::kBool, {1, 0}, {2, 0}).ok());
  EXPECT_FALSE(compared<std::uint8_t>(ScalarType::kBool, {1, 0}, {255, 0}).ok());
  EXPECT_FALSE(compared<std::uint8_t>(ScalarType::kBool, {1, 0}, {1, 1}).ok());
}

TEST(Compare, HalfTypes) {
  EXPECT_TRUE(compared<std::uint16_t>(ScalarType::kF16, {0x3C00}, {0x3C01}, {1e-2, 0}).ok());
  EXPECT_FALSE(compared<std::uint16_t>(ScalarType::kF16, {0x3C00}, {0x4000}, {1e-2, 0}).ok());
  EXPECT_FALSE(compared<std::uint16_t>(ScalarType::kBf16, {0x3F80}, {0x7FC0}, {1, 1}).ok());
}

TEST(Compare, LengthsMustAgree) {
  const std::vector<std::uint8_t> four(4), eight(8), five(5);
  EXPECT_FALSE(compare(four, eight, ScalarType::kF32, {}));
  EXPECT_FALSE(compare(five, five, ScalarType::kF32, {}));
  EXPECT_TRUE(compare({}, {}, ScalarType::kF32, {}));
}

TEST(Statistics, Median) {
  EXPECT_EQ(timing::median({}), 0);
  EXPECT_EQ(timing::median({3}), 3);
  EXPECT_EQ(timing::median({5, 1, 3}), 3);
  EXPECT_EQ(timing::median({4, 1, 3, 2}), 2.5);
}

TEST(Statistics, IntervalHoldsTheRatioAndRepeats) {
  std::vector<double> slow, fast;
  for (int i = 0; i < 30; ++i) {
    slow.push_back(200 + i % 5);
    fast.push_back(100 + i % 7);
  }
  const auto a = timing::ratio_interval(slow, fast, 1);
  EXPECT_LT(a.low, 202.0 / 103);
  EXPECT_GT(a.high, 202.0 / 103);
  EXPECT_GT(a.low, 1.9);
  EXPECT_LT(a.high, 2.05);
  const auto b = timing::ratio_interval(slow, fast, 1);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(timing::ratio_interval({}, fast, 1).high, 0);
}

}  // namespace
}  // namespace hone::check
