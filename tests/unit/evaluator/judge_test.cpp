// Fewer bits than f32, by the norm of the error.
#include "evaluator/check/judge.h"
#include "evaluator/check/doubles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "evaluator/fill/formula_cpu.h"
#include "evaluator/fill/input_sets.h"

namespace hone::check {
namespace {

constexpr std::size_t kElements = 1000;

/// Off by as much in each element, up or down.
std::vector<float> off_by(const std::vector<double>& from, double error) {
  std::vector<float> out;
  for (std::size_t i = 0; i < from.size(); ++i)
    out.push_back(static_cast<float>(from[i] * (1 + (hone_normal(9, i) < 0 ? -error : error))));
  return out;
}

template <class T>
Elements elements(const std::vector<T>& v) {
  return {std::span(reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * sizeof(T)),
          sizeof(T) == 4 ? ScalarType::kF32 : ScalarType::kF64};
}

struct Errors {
  double candidate = 0, reference = 0, coarse = 0;
  bool there_is_a_truth = true;
};

/// At a loose tolerance, on the task's own inputs.
Judgement judged(const Errors& errors, InputSet inputs = InputSet::kOwn) {
  std::vector<double> truth;
  for (std::size_t i = 0; i < kElements; ++i) truth.push_back(hone_normal(5, i));
  const auto got = off_by(truth, errors.candidate), want = off_by(truth, errors.reference),
             coarse = off_by(truth, errors.coarse);
  const auto result =
      judge({.want = elements(want),
             .got = elements(got),
             .width = kElements,
             .tolerance = {1e-2, 1e-2},
             .inputs = inputs,
             .truth = [&] { return errors.there_is_a_truth ? elements(truth) : Elements{}; },
             .coarse = [&] { return errors.coarse > 0 ? elements(coarse) : Elements{}; }},
            "y");
  EXPECT_TRUE(result) << result.error().message;
  return *result;
}

/// Half of the pieces are large, and in the others nothing is left but what cancelled.
TEST(RelatedInputs, SmallPartsCountByTheirOwnMeasure) {
  std::vector<double> truth;
  for (std::size_t i = 0; i < 4096; ++i)
    truth.push_back(hone_normal(5, i) * (i / 256 % 2 == 0 ? 1 : 1e-7));
  const auto ends = [&](double candidate, double reference, bool locally, bool known = true) {
    auto got = off_by(truth, 0), want = got;
    for (std::size_t i = 256; i < truth.size(); i += i % 512 == 511 ? 257 : 1) {
      const double up = hone_normal(8, i) < 0 ? -1e-7 : 1e-7;
      got[i] += static_cast<float>(candidate * up);
      want[i] -= static_cast<float>(reference * up);
    }
    const auto result = judge({.want = elements(want),
                               .got = elements(got),
                               .width = 1,
                               .tolerance = {1e-4, 0},
                               .inputs = InputSet::kRelated,
                               .truth = [&] { return known ? elements(truth) : Elements{}; },
                               .locally = locally},
                              "y");
    return result && result->ok();
  };
  EXPECT_TRUE(ends(0, 0, true));
  EXPECT_FALSE(ends(0.01, 0, true));
  EXPECT_TRUE(ends(0.01, 0, false));
  EXPECT_TRUE(ends(0.01, 0.01, true)) << "the reference is no better";
  EXPECT_TRUE(ends(0.01, 0, true, false)) << "nobody knows whether it is";
}

TEST(FewerBits, AreWrongWhateverTheToleranceSays) {
  for (const double bits : {8, 9, 11, 13}) {
    const Judgement judgement = judged({.candidate = std::exp2(-bits), .coarse = 0x1p-9});
    EXPECT_FALSE(judgement.ok()) << bits;
    EXPECT_TRUE(judgement.detail.starts_with("y has fewer bits than f32 gives")) << bits;
  }
  for (const double bits : {17, 20, 24})
    EXPECT_TRUE(judged({.candidate = std::exp2(-bits), .coarse = 0x1p-9}).ok()) << bits;
}

TEST(FewerBits, AreWhatAFewBitsOfTheInputsAreNotWorth) {
  // What hangs on the last bits of its inputs is off by more.
  EXPECT_TRUE(judged({.candidate = 0x1p-13, .coarse = 0x1p-4}).ok());
  EXPECT_FALSE(judged({.candidate = 0x1p-10, .coarse = 0x1p-4}).ok());
  // Or the reference itself is.
  EXPECT_TRUE(judged({.candidate = 0x1p-13, .reference = 0x1p-15, .coarse = 0x1p-9}).ok());
}

TEST(FewerBits, AreNotAskedForWithoutATruthCoarseInputsOrOnOtherInputs) {
  EXPECT_TRUE(judged({.candidate = 0x1p-9, .coarse = 0x1p-9, .there_is_a_truth = false}).ok());
  EXPECT_TRUE(judged({.candidate = 0x1p-9}).ok());
  EXPECT_TRUE(judged({.candidate = 0x1p-9, .coarse = 0x1p-9}, InputSet::kTails).ok());
}

TEST(FewerBits, OfDoublesCountWhereTheReferenceHasNothingElse) {
  const auto right = [](double bits, double worth, bool in_doubles) {
    std::vector<double> want, got, coarse;
    for (std::size_t i = 0; i < kElements; ++i) {
      want.push_back(hone_normal(5, i));
      const double sign = hone_normal(9, i) < 0 ? -1 : 1;
      got.push_back(want[i] * (1 + sign * std::exp2(-bits)));
      coarse.push_back(want[i] * (1 + sign * worth));
    }
    const auto result = judge({.want = elements(want),
                               .got = elements(got),
                               .width = kElements,
                               .tolerance = {1e-2, 1e-2},
                               .truth = [] { return Elements{}; },
                               .coarse = [&] { return elements(coarse); },
                               .in_doubles = in_doubles},
                              "y");
    EXPECT_TRUE(result) << result.error().message;
    return result->ok();
  };
  EXPECT_FALSE(right(24, 0x1p-9, true));
  EXPECT_FALSE(right(41, 0x1p-9, true));
  EXPECT_TRUE(right(44, 0x1p-9, true));
  EXPECT_TRUE(right(41, 0x1p-4, true));  // what hangs on the last bits of its inputs
  EXPECT_TRUE(right(24, 0x1p-9, false));
}

TEST(FewerBits, AreThoseOfCodeThatComputesInNothingButDoubles) {
  EXPECT_TRUE(
      computes_in_doubles("ld.global.f32 %f1, [%rd1];\n cvt.f64.f32 %fd1, %f1;\n fma.rn.f64 %fd2, "
                          "%fd1, %fd1, %fd1;\n"));
  EXPECT_FALSE(computes_in_doubles("mul.f32 %f1, %f2, %f3;\n cvt.f64.f32 %fd1, %f1;\n"));
  EXPECT_FALSE(computes_in_doubles("cvt.rn.f32.f64 %f1, %fd1;\n"));
}

TEST(FewerBits, AreAskedForWhereInputsAndOutputsHaveMore) {
  const auto program = [](std::vector<ScalarType> types) {
    ConcreteProgram made;
    for (const ScalarType type : types)
      made.buffers.push_back({.name = "b", .type = type, .shape = {4}});
    return made;
  };
  const auto coarse = with_coarse_inputs(program({ScalarType::kF32, ScalarType::kI32}));
  ASSERT_TRUE(coarse);
  EXPECT_EQ(coarse->buffers[0].fill.through, ScalarType::kBf16);
  EXPECT_EQ(coarse->buffers[1].fill.through, std::nullopt);
  EXPECT_FALSE(with_coarse_inputs(program({ScalarType::kF32, ScalarType::kF16})));
  EXPECT_FALSE(with_coarse_inputs(program({ScalarType::kI32})));
}

}  // namespace
}  // namespace hone::check
