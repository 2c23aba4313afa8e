// MathLevel::kTf32: products of operands that are rounded once to TF32 pass, however long their
// sums are and however much these cancel; operands of bf16 do not.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "evaluator/check/judge.h"
#include "evaluator/fill/formula_cpu.h"
#include "evaluator/fill/input_sets.h"

namespace hone::check {
namespace {

constexpr std::size_t kRows = 16, kColumns = 12;
constexpr Tolerance kDefault{2e-3, 1e-5};  // of a task with f32 outputs

std::uint32_t bits_of(float v) { return __builtin_bit_cast(std::uint32_t, v); }
float float_of(std::uint64_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits));
}

float as_f32(float v) { return v; }
float as_tf32(float v) { return float_of(hone_f32_to_tf32(bits_of(v))); }
float as_bf16(float v) { return float_of(std::uint64_t{hone_f32_to_bf16(bits_of(v))} << 16); }
float as_f16(float v) { return float_of(hone_f16_to_f32(hone_f32_to_f16(bits_of(v)))); }
using Rounding = float (*)(float);

/// A is kRows x depth, B depth x kColumns.
struct Matrices {
  std::size_t depth;
  std::vector<float> a, b;
};

using Content = std::function<double(std::size_t row, std::size_t k)>;
Matrices matrices(std::size_t depth, const Content& a, const Content& b) {
  Matrices m{depth, {}, {}};
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t k = 0; k < depth; ++k) m.a.push_back(static_cast<float>(a(i, k)));
  for (std::size_t k = 0; k < depth; ++k)
    for (std::size_t j = 0; j < kColumns; ++j) m.b.push_back(static_cast<float>(b(j, k)));
  return m;
}

double normal(std::uint64_t key, std::size_t i, std::size_t k) {
  return hone_normal(hone_key(7, key), i * 100'000 + k);
}

/// Elements of any size, with signs.
Matrices random_signs(std::size_t depth) {
  return matrices(
      depth, [](auto i, auto k) { return normal(1, i, k); },
      [](auto j, auto k) { return normal(2, j, k); });
}

/// All products of one sign: sums are large, and so are their roundings in f32.
Matrices positive(std::size_t depth) {
  return matrices(
      depth, [](auto i, auto k) { return 0.5 + std::abs(normal(1, i, k)); },
      [](auto j, auto k) { return 0.5 + std::abs(normal(2, j, k)); });
}

/// Terms that come twice, the second time with the other sign and a little off: what is left is a
/// thousandth of the products.
Matrices cancelling(std::size_t depth) {
  return matrices(
      depth,
      [](auto i, auto k) {
        const double term = 1 + 0.3 * normal(1, i, k / 2);
        return k % 2 == 0 ? term : -term * (1 + 0.001 * normal(3, i, k));
      },
      [](auto j, auto k) { return 1 + 0.3 * normal(2, j, k / 2); });
}

/// Rows of very different sizes.
Matrices uneven(std::size_t depth) {
  return matrices(
      depth, [](auto i, auto k) { return std::exp2(-static_cast<double>(i)) * normal(1, i, k); },
      [](auto j, auto k) { return normal(2, j, k); });
}

/// The product with operands rounded so, summed in T.
template <class T>
std::vector<T> product(const Matrices& m, Rounding rounding) {
  std::vector<T> c;
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t j = 0; j < kColumns; ++j) {
      T sum = 0;
      for (std::size_t k = 0; k < m.depth; ++k)
        sum += static_cast<T>(rounding(m.a[i * m.depth + k])) *
               static_cast<T>(rounding(m.b[k * kColumns + j]));
      c.push_back(sum);
    }
  return c;
}

template <class T>
Elements elements(const std::vector<T>& v) {
  return {std::span(reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * sizeof(T)),
          sizeof(T) == 4 ? ScalarType::kF32 : ScalarType::kF64};
}

/// What is wrong with the product in this rounding; "": nothing.
std::string wrong_with(const Matrices& m, Rounding rounding, Tolerance tolerance = kDefault,
                       InputSet inputs = InputSet::kOwn, bool in_double = true) {
  const auto want = product<float>(m, as_f32), got = product<float>(m, rounding);
  const auto truth = product<double>(m, as_f32), rounded = product<double>(m, as_tf32);
  const auto result = judge({.want = elements(want),
                             .got = elements(got),
                             .width = kColumns,
                             .tolerance = tolerance,
                             .inputs = inputs,
                             .truth = [&] { return in_double ? elements(truth) : Elements{}; },
                             .rounded = [&] { return elements(rounded); }},
                            "C");
  if (!result) return result.error().message;
  if (result->ok()) return "";
  return result->detail.empty()
             ? describe(result->comparison, "C", ScalarType::kF32, kRows * kColumns)
             : result->detail;
}

struct Family {
  const char* name;
  Matrices (*make)(std::size_t depth);
};
constexpr Family kFamilies[] = {{"random signs", random_signs},
                                {"positive", positive},
                                {"cancelling", cancelling},
                                {"uneven", uneven}};
constexpr std::size_t kDepths[] = {8, 64, 1024, 16384};

TEST(Tf32, PassesHoweverLongItsSumsAreAndHoweverMuchTheyCancel) {
  for (const Family& family : kFamilies)
    for (const std::size_t depth : kDepths) {
      const Matrices m = family.make(depth);
      for (const bool in_double : {true, false})
        for (const InputSet inputs : {InputSet::kOwn, InputSet::kTails})
          for (const Rounding rounding : {as_f32, as_tf32})
            EXPECT_EQ(wrong_with(m, rounding, kDefault, inputs, in_double), "")
                << family.name << ", " << depth << " terms, in double: " << in_double;
    }
}

TEST(Tf32, IsMoreThanBf16Gives) {
  for (const Family& family : kFamilies)
    for (const std::size_t depth : kDepths) {
      // There f32 sums are off by more than bf16 costs, which averages out.
      if (family.make == positive && depth > 1024) continue;
      const Matrices m = family.make(depth);
      EXPECT_NE(wrong_with(m, as_bf16), "") << family.name << ", " << depth << " terms";
      // Nor does a loose tolerance let it pass.
      EXPECT_NE(wrong_with(m, as_bf16, {1e-1, 1e-1}), "") << family.name << ", " << depth;
    }
}

TEST(Tf32, HasTheBitsOfF16AndMoreRange) {
  EXPECT_EQ(wrong_with(random_signs(256), as_f16), "");
  const auto scaled = [](double by) {
    return matrices(
        256, [=](auto i, auto k) { return by * normal(1, i, k); },
        [](auto j, auto k) { return normal(2, j, k); });
  };
  for (const double by : {0x1p-20, 0x1p-30, 0x1p20}) {
    EXPECT_EQ(wrong_with(scaled(by), as_tf32), "") << by;
    EXPECT_NE(wrong_with(scaled(by), as_f16), "") << by;
  }
}

// Inputs of few bits lose nothing, but what is computed of them does.
TEST(Tf32, MayRoundWhatIsComputedOfInputsThatLoseNothing) {
  std::vector<double> truth;
  for (std::size_t i = 0; i < 1000; ++i) truth.push_back(hone_normal(hone_key(7, 3), i));
  const auto right = [&](double error) {
    std::vector<float> got;
    for (std::size_t i = 0; i < truth.size(); ++i)
      got.push_back(static_cast<float>(truth[i] * (1 + error * hone_normal(hone_key(7, 4), i))));
    const std::vector<float> want(truth.begin(), truth.end());
    const auto result = judge({.want = elements(want),
                               .got = elements(got),
                               .width = 1000,
                               .tolerance = {1e-1, 1e-1},
                               .truth = [&] { return elements(truth); },
                               .rounded = [&] { return elements(truth); }},
                              "C");
    EXPECT_TRUE(result) << result.error().message;
    return result->ok();
  };
  EXPECT_TRUE(right(3e-4));
  EXPECT_FALSE(right(2.3e-3));
}

// A function that saturates: of sums of hundreds few lie where it bends, and there both the
// rounding of operands and that of sums in f32 leave no digit.
TEST(Tf32, SumsMayRoundWhereAFunctionOfThemBends) {
  const auto right = [](double rounding, double summing, double everywhere = 0) {
    std::vector<double> truth, rounded;
    std::vector<float> want, got;
    for (std::size_t i = 0; i < 100'000; ++i) {
      const auto noise = [&](std::uint64_t key) { return hone_normal(hone_key(7, key), i); };
      const double sum = 500 * noise(5);
      truth.push_back(std::tanh(sum));
      want.push_back(static_cast<float>(std::tanh(sum + 1e-4 * noise(6))));
      rounded.push_back(std::tanh(sum + 0.3 * noise(7)));
      got.push_back(static_cast<float>(std::tanh(sum + rounding * noise(7) + summing * noise(8)) +
                                       everywhere * noise(9)));
    }
    const auto result = judge({.want = elements(want),
                               .got = elements(got),
                               .width = 1000,
                               .tolerance = kDefault,
                               .inputs = InputSet::kFar,
                               .truth = [&] { return elements(truth); },
                               .rounded = [&] { return elements(rounded); }},
                              "C");
    EXPECT_TRUE(result) << result.error().message;
    return result->ok();
  };
  EXPECT_TRUE(right(0.3, 0));
  EXPECT_TRUE(right(0.3, 2e-2));
  EXPECT_FALSE(right(0.3, 0.5)) << "sums of f16";
  EXPECT_FALSE(right(2.4, 0)) << "operands of bf16";
  EXPECT_FALSE(right(-0.3, 0)) << "rounded otherwise";
  EXPECT_FALSE(right(0.3, 0, 2e-2)) << "off at every element, not only where the function bends";
}

TEST(Tf32, IsNotAskedWhereFewElementsLeaveItToChance) {
  const std::vector<double> truth = {1, 2, 3};
  const std::vector<float> want = {1, 2, 3}, got = {1.002F, 2.001F, 3.003F};
  const auto result = judge({.want = elements(want),
                             .got = elements(got),
                             .width = 3,
                             .tolerance = kDefault,
                             .truth = [&] { return elements(truth); },
                             .rounded = [&] { return elements(truth); }},
                            "C");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->ok());
}

TEST(Tf32, RoundsToNearestAndTiesAway) {
  const auto rounded = [](std::uint32_t bits) { return hone_f32_to_tf32(bits); };
  EXPECT_EQ(rounded(0x3F800FFF), 0x3F800000U);  // just below a tie
  EXPECT_EQ(rounded(0x3F801000), 0x3F802000U);  // 1 + 2^-11, a tie: to even it would be 1
  EXPECT_EQ(rounded(0xBF801000), 0xBF802000U);
  EXPECT_EQ(rounded(0x3F803000), 0x3F804000U);
  EXPECT_EQ(rounded(0x3FFFF000), 0x40000000U);  // the next power of two
  EXPECT_EQ(rounded(0x7F800000), 0x7F800000U);  // infinity
  EXPECT_EQ(rounded(0x7FC00001), 0x7FC00001U);  // NaN
  EXPECT_EQ(rounded(0x00000001), 0U);
  EXPECT_EQ(hone_rounded_to_tf32(HONE_F64, __builtin_bit_cast(std::uint64_t, 1 + 0x1p-11)),
            __builtin_bit_cast(std::uint64_t, 1 + 0x1p-10));
}

TEST(Tf32, RoundsAllInputsOfF32AndTheirFormsInDouble) {
  ConcreteProgram program;
  const auto add = [&](Role role, ScalarType type, std::optional<ScalarType> through = {}) {
    ConcreteBuffer buffer{.name = "b", .type = type, .shape = {4}, .role = role};
    buffer.fill.through = through;
    program.buffers.push_back(buffer);
  };
  add(Role::kIn, ScalarType::kF16);
  add(Role::kIn, ScalarType::kI32);
  add(Role::kOut, ScalarType::kF32);
  EXPECT_FALSE(with_tf32_inputs(program));
  add(Role::kIn, ScalarType::kF32);
  add(Role::kInOut, ScalarType::kF32);
  add(Role::kIn, ScalarType::kF64);
  add(Role::kIn, ScalarType::kF64, ScalarType::kF32);
  const auto rounded = with_tf32_inputs(program);
  ASSERT_TRUE(rounded);
  std::vector<bool> which;
  for (const ConcreteBuffer& buffer : rounded->buffers) which.push_back(buffer.fill.tf32);
  EXPECT_EQ(which, (std::vector<bool>{false, false, false, true, true, false, true}));
}

// A bias is added, and no product rounds it.
TEST(Tf32, LeavesABiasBesideTwoOperandsOfSeveralDimensions) {
  const auto rounded = [](const std::vector<std::vector<std::int64_t>>& shapes) {
    ConcreteProgram program;
    for (const auto& shape : shapes)
      program.buffers.push_back(
          {.name = "b", .type = ScalarType::kF32, .shape = shape, .role = Role::kIn});
    std::vector<bool> which;
    for (const ConcreteBuffer& buffer : with_tf32_inputs(program)->buffers)
      which.push_back(buffer.fill.tf32);
    return which;
  };
  EXPECT_EQ(rounded({{8, 4, 3, 3}, {8}, {2, 4, 16, 16}}), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(rounded({{1, 4}, {8, 4}, {8}}), (std::vector<bool>{true, true, false})) << "of one row";
  EXPECT_EQ(rounded({{8, 4}, {4}}), (std::vector<bool>{true, true})) << "a matrix and a vector";
  EXPECT_EQ(rounded({{32}, {64}}), (std::vector<bool>{true, true})) << "flat matrices";
}

}  // namespace
}  // namespace hone::check
