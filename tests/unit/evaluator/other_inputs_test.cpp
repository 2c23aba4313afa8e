// Inputs that a task does not list, the reference in double, and answers that take no computing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "candidates/task_reader.h"
#include "evaluator/check/exact.h"
#include "evaluator/check/fakes.h"
#include "evaluator/check/precise.h"
#include "evaluator/compile/compile.h"
#include "evaluator/fill/fill.h"
#include "evaluator/fill/formula_cpu.h"
#include "evaluator/fill/input_sets.h"

namespace hone {
namespace {

ConcreteProgram program(const Fill& fill, const std::string& source = "") {
  ConcreteProgram p;
  p.source = source;
  p.buffers = {{"a", ScalarType::kF32, {5000}, Role::kIn, fill},
               {"b", ScalarType::kF32, {5000}, Role::kIn, fill},
               {"i", ScalarType::kI32, {5000}, Role::kIn, {Fill::Kind::kIntegers, 0, 9}},
               {"y", ScalarType::kF32, {5000}, Role::kOut, {}}};
  return p;
}

std::vector<float> contents(const ConcreteBuffer& buffer) {
  std::vector<float> out(static_cast<std::size_t>(buffer.elements()));
  (*fill::Source::open(buffer, 7))
      ->read(0, reinterpret_cast<std::uint8_t*>(out.data()), out.size() * 4);
  return out;
}

TEST(InputSets, StayInTheRangeOfTheTasksOwnFill) {
  for (const auto& [low, high] : {std::pair(-1.0, 1.0), {0.0, 1.0}, {0.1, 0.9}, {-3.0, -2.0}}) {
    const auto own = program({Fill::Kind::kUniform, low, high});
    for (const InputSet set : kAllInputSets) {
      if (set >= InputSet::kEqual) continue;  // integer_inputs_test.cpp
      const auto varied = with_inputs(own, set, 3);
      EXPECT_EQ(varied.buffers[2].fill, own.buffers[2].fill);
      EXPECT_EQ(varied.buffers[3].fill, own.buffers[3].fill);
      if (set == InputSet::kFar) {
        EXPECT_EQ(varied.buffers[0].fill == own.buffers[0].fill, low >= 0);
        continue;
      }
      for (const int b : {0, 1}) {
        for (const float v : contents(varied.buffers[static_cast<std::size_t>(b)])) {
          ASSERT_GE(v, static_cast<float>(low)) << to_string(set);
          ASSERT_LE(v, static_cast<float>(high)) << to_string(set);
        }
      }
      if (set != InputSet::kOwn) {
        EXPECT_NE(varied.buffers[0].fill, own.buffers[0].fill);
      }
    }
  }
}

TEST(InputSets, OneFormOfPatternsIsTinyValues) {
  for (const std::uint64_t seed : {0, 5, 12345}) {
    const auto own = program({Fill::Kind::kUniform, -2, 2});
    const auto tiny = with_inputs(own, InputSet::kPatterns, seed_of_tiny_values(seed));
    for (const int b : {0, 1}) {
      const auto values = contents(tiny.buffers[static_cast<std::size_t>(b)]);
      EXPECT_LE(std::ranges::max(values), 0x1p-29);
      EXPECT_GT(std::ranges::max(values), 0x1p-33);  // and no square of it is 0
    }
  }
}

/// Honest programs skip what is 0; others take for 0 what is so at a few places.
TEST(InputSets, OneFormOfPatternsIsZeroButForFewElementsAndOneAnEnd) {
  const auto own = program({Fill::Kind::kUniform, -1, 1});
  int all_zero = 0, all_end = 0;
  for (int form = 0; form < forms_of(InputSet::kPatterns); ++form) {
    const auto varied = with_inputs(own, InputSet::kPatterns, static_cast<std::uint64_t>(form));
    const auto values = contents(varied.buffers[0]);
    const auto zeros = static_cast<std::size_t>(std::ranges::count(values, 0.0F));
    const auto ends = static_cast<std::size_t>(std::ranges::count(values, 1.0F) +
                                               std::ranges::count(values, -1.0F));
    if (std::max(zeros, ends) < values.size() * 9 / 10) continue;
    EXPECT_LT(std::max(zeros, ends), values.size()) << form;
    (zeros > ends ? all_zero : all_end) += 1;
  }
  EXPECT_EQ(all_zero, 1);
  EXPECT_EQ(all_end, 1);
}

TEST(InputSets, EdgesAndMultiplesHaveMinusZero) {
  const auto minus_zeros = [](const ConcreteProgram& own, InputSet set) {
    return std::ranges::count_if(contents(with_inputs(own, set, 1).buffers[0]),
                                 [](float v) { return v == 0 && std::signbit(v); });
  };
  for (const InputSet set : {InputSet::kEdges, InputSet::kMultiples}) {
    EXPECT_GT(minus_zeros(program({Fill::Kind::kUniform, -1, 1}), set), 0) << to_string(set);
    EXPECT_EQ(minus_zeros(program({Fill::Kind::kUniform, 0, 1}), set), 0) << to_string(set);
  }
  EXPECT_GT(minus_zeros(program({Fill::Kind::kIntegers, -3, 3}), InputSet::kMultiples), 0);
}

TEST(InputSets, PatternsStayInTheRangeOfTheTasksOwnFill) {
  for (const auto& [low, high] : {std::pair(-1.0, 1.0), {0.0, 1.0}, {0.1, 0.9}, {-3.0, -2.0}}) {
    const auto own = program({Fill::Kind::kUniform, low, high});
    for (const InputSet set : {InputSet::kRelated, InputSet::kPatterns}) {
      for (int form = 0; form < forms_of(set); ++form) {
        const auto varied = with_inputs(own, set, static_cast<std::uint64_t>(form));
        EXPECT_EQ(varied.buffers[2].fill, own.buffers[2].fill);
        const auto a = contents(varied.buffers[0]), b = contents(varied.buffers[1]);
        for (const auto* v : {&a, &b}) {
          EXPECT_GE(std::ranges::min(*v), static_cast<float>(low)) << form;
          EXPECT_LE(std::ranges::max(*v), static_cast<float>(high)) << form;
        }
        int same = 0, mirrored = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
          same += a[i] == b[i] ? 1 : 0;
          mirrored += std::abs(a[i] + b[i] - low - high) < 1e-6 ? 1 : 0;
        }
        if (set != InputSet::kRelated) continue;
        // In half of the pieces, so that there is something to measure errors by.
        EXPECT_EQ(std::max(same, mirrored) > 1500, form < 2 || form > 4) << form;
        EXPECT_LT(std::max(same, mirrored), 3500);
      }
    }
  }
}

TEST(InputSets, RowsRiseAndFallAndHaveNeighboursOfOneSize) {
  auto own = program({Fill::Kind::kUniform, 0, 1});
  own.buffers[0].shape = {50, 100};
  const auto x = contents(with_inputs(own, InputSet::kStrided, 1).buffers[0]);
  int rising = 0, falling = 0, smooth = 0, beside = 0;
  for (std::size_t row = 0; row < 50; ++row) {
    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(100 * row), end = begin + 100;
    const auto highest = std::max_element(begin, end);
    float most = 0;
    for (auto at = begin + 1; at != end; ++at) most = std::max(most, std::abs(*at - at[-1]));
    rising += std::is_sorted(begin, end) ? 1 : 0;
    falling += std::is_sorted(begin, end, std::greater<>()) ? 1 : 0;
    smooth += most < 0.25F ? 1 : 0;
    if (highest == begin || highest + 1 == end) continue;
    beside += highest[1] > 0.7F * *highest && highest[-1] > 0.7F * *highest ? 1 : 0;
  }
  EXPECT_GE(rising, 5);
  EXPECT_GE(falling, 5);
  EXPECT_GE(smooth, 12);
  EXPECT_GE(beside, 8);
}

/// Sparse rows have any number of elements.
TEST(InputSets, RowsOfZerosHaveAnyNumberOfOthers) {
  auto own = program({Fill::Kind::kUniform, -1, 1});
  own.buffers[0].shape = {20, 250};
  bool few = false, more = false, many = false;
  for (int form = 0; form < forms_of(InputSet::kPatterns); ++form) {
    const auto x = contents(
        with_inputs(own, InputSet::kPatterns, static_cast<std::uint64_t>(form)).buffers[0]);
    for (std::size_t row = 0; row < 20; ++row) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(250 * row);
      const auto others = 250 - std::count(begin, begin + 250, 0.0F);
      few = few || (others >= 5 && others <= 16);
      more = more || (others > 16 && others <= 40);
      many = many || (others > 40 && others <= 125);
    }
  }
  EXPECT_TRUE(few && more && many);
  own.buffers[0].shape = {64, 512};
  for (int form = 0; form < forms_of(InputSet::kPatterns); ++form) {
    const auto rare =
        with_inputs(own, InputSet::kPatterns, static_cast<std::uint64_t>(form)).buffers[0];
    if (rare.fill.pattern != HONE_RARE) continue;
    const auto x = contents(rare);
    for (std::size_t row = 0; row < 64; row += 2) {  // those of zeros
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(512 * row);
      EXPECT_GT(std::count(begin, begin + 512, 0.0F), 180) << row;
    }
  }
}

/// In a common part of both ranges: also where a task says other ends of one than of the other.
TEST(InputSets, WhatOverlapsHangsOnOneAnother) {
  auto own = program({Fill::Kind::kUniform, -1, 1});
  own.buffers[1].fill = {Fill::Kind::kUniform, -0.5, 1.25};
  const auto varied = with_inputs(own, InputSet::kRelated, 0);
  const auto a = contents(varied.buffers[0]), b = contents(varied.buffers[1]);
  int same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
  EXPECT_GT(same, 1500);
  for (const auto* v : {&a, &b}) {
    EXPECT_GE(std::ranges::min(*v), -0.5F);
    EXPECT_LE(std::ranges::max(*v), 1.0F);
  }
  own.buffers[1].fill = {Fill::Kind::kUniform, 2, 3};
  for (std::uint64_t form = 0; form < 4; ++form) {
    const auto apart = with_inputs(own, InputSet::kRelated, form);
    EXPECT_EQ(apart.buffers[0].fill.pattern == 0 && apart.buffers[1].fill.pattern == 0, false);
  }
}

/// Many rows are near many of the other buffer's, and not all by their last bits alone.
TEST(InputSets, ManyRowsAreNearManyOthers) {
  auto own = program({Fill::Kind::kUniform, -1, 1});
  own.buffers[0].shape = {40, 64};
  own.buffers[1].fill = {Fill::Kind::kUniform, -1, 1.25};
  own.buffers[1].shape = {33, 64};
  for (std::uint64_t draw = 0; draw < 20; ++draw) {
    const std::uint64_t nearly =
        3 + static_cast<std::uint64_t>(forms_of(InputSet::kRelated)) * draw;
    const auto varied = with_inputs(own, InputSet::kRelated, nearly);
    const auto a = contents(varied.buffers[0]), b = contents(varied.buffers[1]);
    std::size_t close = 0, in_last_bits = 0;
    for (std::size_t i = 0; i < 40; ++i)
      for (std::size_t j = 0; j < 33; ++j) {
        float most = 0;
        for (std::size_t k = 0; k < 64; ++k)
          most = std::max(most, std::abs(a[64 * i + k] - b[64 * j + k]));
        close += most > 0 && most < 1e-3F ? 1 : 0;
        in_last_bits += most > 0 && most < 1e-6F ? 1 : 0;
      }
    EXPECT_GT(close, 25U) << draw;
    EXPECT_GT(close, in_last_bits) << draw;
    EXPECT_GT(in_last_bits, 0U) << draw;
  }
}

/// Two pairs at once: then what is nearly the same may cancel.
TEST(InputSets, SeveralBuffersHangOnOneAnotherInTheSameRows) {
  auto own = program({Fill::Kind::kUniform, 0.5, 1});
  for (const char* name : {"c", "d"})
    own.buffers.push_back({name, ScalarType::kF32, {5000}, Role::kIn, own.buffers[0].fill});
  const auto varied = with_inputs(own, InputSet::kRelated, 3);  // nearly
  const auto a = contents(varied.buffers[0]), b = contents(varied.buffers[1]);
  const auto c = contents(varied.buffers[4]), d = contents(varied.buffers[5]);
  int cancel = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    cancel += std::abs(a[i] * d[i] - b[i] * c[i]) < 1e-3F ? 1 : 0;
  EXPECT_GT(cancel, 1500);
  EXPECT_LT(cancel, 3500);
}

TEST(InputSets, MultiplesOfAnotherBuffersElements) {
  auto own = program({Fill::Kind::kUniform, 0, 1});
  own.buffers[1].fill = {Fill::Kind::kUniform, 0.3, 0.7};
  own.buffers[1].shape = {2};
  const auto varied = with_inputs(own, InputSet::kRelated, 4);
  const auto x = contents(varied.buffers[0]), scale = contents(varied.buffers[1]);
  int exact = 0;
  for (const float v : x) {
    const float one = v / scale[0], two = v / scale[1];
    exact += one == std::floor(one) || two == std::floor(two) ? 1 : 0;
  }
  EXPECT_GT(exact, 1200);
  EXPECT_LT(exact, 3500);
  for (const float by : scale) EXPECT_LT(by * (1 / by), 1);
  own.buffers[0].shape = {200};  // one piece
  own.buffers[1].shape = {1};
  const auto few = with_inputs(own, InputSet::kRelated, 4);
  const float of = contents(few.buffers[1])[0];
  int multiples = 0;
  for (const float v : contents(few.buffers[0])) multiples += v / of == std::floor(v / of) ? 1 : 0;
  EXPECT_GT(multiples, 50);
}

/// Of products some bits are left, or few: between those that have all and those that are 0.
TEST(InputSets, SomeProductsAreDenormal) {
  const auto own = program({Fill::Kind::kUniform, -1, 1});
  int few = 0, some = 0, denormal = 0;
  for (int form = 0; form < forms_of(InputSet::kPatterns); ++form) {
    const auto varied = with_inputs(own, InputSet::kPatterns, static_cast<std::uint64_t>(form));
    const float most = std::ranges::max(contents(varied.buffers[0]));
    const float square = most * most;
    few += square > 0 && square < 0x1p-140F ? 1 : 0;
    some += square >= 0x1p-140F && square < 0x1p-126F ? 1 : 0;
    denormal +=
        rounds_products(varied, InputSet::kPatterns, static_cast<std::uint64_t>(form)) ? 1 : 0;
  }
  EXPECT_EQ(few, 1);
  EXPECT_EQ(some, 1);
  EXPECT_EQ(denormal, 2);
}

/// Of f16 such ranges are nothing special: a weight may be as small, and small inputs are.
TEST(InputSets, OnlyThoseFormsRoundProducts) {
  for (const double most : {1.0, 0.002}) {
    auto own = program({Fill::Kind::kUniform, -most, most});
    for (int i : {0, 1, 3}) own.buffers[static_cast<std::size_t>(i)].type = ScalarType::kF16;
    for (const InputSet set : kAllInputSets) {
      if (set == InputSet::kPatterns) continue;
      for (std::uint64_t form = 0; form < 3; ++form)
        EXPECT_FALSE(rounds_products(with_inputs(own, set, form), set, form)) << to_string(set);
    }
    int rounded = 0;
    for (int form = 0; form < forms_of(InputSet::kPatterns); ++form) {
      const auto seed = static_cast<std::uint64_t>(form);
      const auto varied = with_inputs(own, InputSet::kPatterns, seed);
      rounded += rounds_products(varied, InputSet::kPatterns, seed) ? 1 : 0;
    }
    EXPECT_EQ(rounded, 2);
  }
}

/// A narrow buffer, or one of another type, takes no values from those that are alike.
TEST(InputSets, WhatIsAlikeIsRelatedInItsWholeRange) {
  auto own = program({Fill::Kind::kUniform, -1, 1});
  own.buffers.push_back(
      {"aa", ScalarType::kF32, {5000}, Role::kIn, {Fill::Kind::kUniform, -0.001, 0.001}});
  own.buffers.push_back({"h", ScalarType::kF16, {5000}, Role::kIn, own.buffers[0].fill});
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto varied = with_inputs(own, InputSet::kRelated, seed);
    EXPECT_GT(std::ranges::max(contents(varied.buffers[0])), 0.9F) << seed;
    EXPECT_GT(std::ranges::max(contents(varied.buffers[1])), 0.9F) << seed;
    for (const ConcreteBuffer& buffer : varied.buffers) {
      if (buffer.fill.like.empty()) continue;
      const auto other = std::ranges::find(varied.buffers, buffer.fill.like, &ConcreteBuffer::name);
      ASSERT_NE(other, varied.buffers.end());
      EXPECT_EQ(other->type, buffer.type) << seed;
    }
  }
}

/// What an iteration that converges changes from call to call.
TEST(Changes, OfTheLastBitsAreSmallAndManyAndInTheRange) {
  const ConcreteBuffer x{"x", ScalarType::kF32, {5000}, Role::kIn, {Fill::Kind::kUniform, 0, 1}};
  const auto before = contents(x);
  std::vector<float> after(5000);
  fill::Source::with_changes(*fill::Source::open(x, 7), x, 9 | fill::kLastBits)
      ->read(0, reinterpret_cast<std::uint8_t*>(after.data()), 20000);
  int changed = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_LE(std::abs(after[i] - before[i]), 0x1p-11F * before[i]) << i;
    EXPECT_TRUE(after[i] >= 0 && after[i] <= 1);
    changed += after[i] != before[i] ? 1 : 0;
  }
  EXPECT_GT(changed, 3000);
  const ConcreteBuffer n{"n", ScalarType::kI32, {5000}, Role::kIn, {Fill::Kind::kIntegers, 3, 9}};
  std::vector<int> own(5000), other(5000);
  (*fill::Source::open(n, 7))->read(0, reinterpret_cast<std::uint8_t*>(own.data()), 20000);
  fill::Source::with_changes(*fill::Source::open(n, 7), n, 9 | fill::kLastBits)
      ->read(0, reinterpret_cast<std::uint8_t*>(other.data()), 20000);
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_LE(std::abs(own[i] - other[i]), 1);
    EXPECT_TRUE(other[i] >= 3 && other[i] <= 9);
  }
  EXPECT_NE(own, other);
  // One of the buffers that have such bits is chosen, whatever the others are.
  auto p = program({Fill::Kind::kUniform, 0, 1});
  p.buffers[1].type = ScalarType::kBool;
  p.buffers[2].fill = {Fill::Kind::kTails, 0, 1};
  for (std::uint64_t changes = 0; changes < 8; ++changes)
    EXPECT_EQ(fill::changed_buffer(p, changes | fill::kLastBits), "a");
}

TEST(InputSets, ProductsOfMultiplesAreExactInF32AndNotInTf32) {
  const auto varied = with_inputs(program({}), InputSet::kMultiples, 0);
  const auto a = contents(varied.buffers[0]), b = contents(varied.buffers[1]);
  float sum = 0;
  double exact = 0;
  bool rounds = false;
  for (int i = 0; i < 500; ++i) {
    sum += a[static_cast<std::size_t>(i)] * b[static_cast<std::size_t>(i)];
    exact += static_cast<double>(a[static_cast<std::size_t>(i)]) * b[static_cast<std::size_t>(i)];
    std::uint32_t bits = 0;
    std::memcpy(&bits, &a[static_cast<std::size_t>(i)], 4);
    rounds = rounds || (bits & 0x1FFF) != 0;
  }
  EXPECT_EQ(static_cast<double>(sum), exact);
  EXPECT_TRUE(rounds);
}

// Nearly all bits of f32 in one buffer, and of the others so little that sums are exact.
TEST(InputSets, WideInputsHaveExactProductsThatSixteenBitsLose) {
  ConcreteProgram own = program({});
  own.buffers[0].shape = {20, 50};
  own.buffers[1].shape = {50, 30};
  for (const std::uint64_t seed : {0, 1}) {
    const auto varied = with_inputs(own, InputSet::kWide, seed);
    const auto a = contents(varied.buffers[0]), b = contents(varied.buffers[1]);
    int last_bits = 0, products = 0;
    for (const float v : seed == 0 ? a : b)
      last_bits += (__builtin_bit_cast(std::uint32_t, v) & 0x1F) != 0 ? 1 : 0;
    EXPECT_GT(last_bits, 400);
    for (std::size_t i = 0; i < 20; ++i) {
      for (std::size_t j = 0; j < 30; ++j) {
        float sum = 0;
        double exact = 0;
        for (std::size_t k = 0; k < 50; ++k) {
          sum += a[i * 50 + k] * b[k * 30 + j];
          exact += static_cast<double>(a[i * 50 + k]) * b[k * 30 + j];
        }
        EXPECT_EQ(static_cast<double>(sum), exact);
        products += sum != 0 ? 1 : 0;
      }
    }
    EXPECT_GT(products, 100) << seed;
  }
  own.buffers.erase(own.buffers.begin());  // one alone has no product
  EXPECT_EQ(with_inputs(own, InputSet::kWide, 0).buffers[0].fill, own.buffers[0].fill);
}

// In the task's order what follows changes nothing; in another it is added up before.
TEST(InputSets, TiesShowTheOrderOfSumsBehindHalves) {
  ConcreteProgram own = program({Fill::Kind::kUniform, 0, 1});
  const auto has_ties = [&] {
    const auto sets = input_sets_of(own);
    return std::ranges::find(sets, InputSet::kTies) != sets.end();
  };
  EXPECT_FALSE(has_ties());
  own.buffers[0].shape = {40, 64};
  own.buffers[3].type = ScalarType::kBf16;
  ASSERT_TRUE(has_ties());
  const auto bits = [](float v) {
    return std::pair(hone_encode_float(HONE_BF16, v), hone_encode_float(HONE_F16, v));
  };
  const auto varied = with_inputs(own, InputSet::kTies, 0);
  const auto x = contents(varied.buffers[0]);
  int differ = 0;
  for (std::size_t row = 0; row < 40; ++row) {
    float serial = 0, even = 0, odd = 0;
    for (std::size_t c = 0; c < 64; ++c) {
      serial += x[row * 64 + c];
      (c % 2 == 0 ? even : odd) += x[row * 64 + c];
    }
    differ += bits(serial) != bits(even + odd) ? 1 : 0;
  }
  EXPECT_GE(differ, 30);
}

TEST(Precise, ReadsFloatAsDoubleWithTheSameInputs) {
  const auto wide = check::in_double(
      program({}, "#include <cuda_fp16.h>\n__global__ void k(float* y) { y[0] = expf(y[1]); }"));
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->buffers[0].type, ScalarType::kF64);
  EXPECT_EQ(wide->buffers[2].type, ScalarType::kI32);
  EXPECT_LT(wide->source.find("#include"), wide->source.find("#define float double"));
  double first = 0;
  (*fill::Source::open(wide->buffers[0], 7))->read(0, reinterpret_cast<std::uint8_t*>(&first), 8);
  EXPECT_EQ(first, contents(program({}).buffers[0])[0]);
  for (const char* source :
       {"__global__ void k(float* y) { asm(\"trap;\"); }", "__global__ void k(int* y) {}",
        "__global__ void k(float* y) { y[0] = ((int*)y)[1]; }"})
    EXPECT_FALSE(check::in_double(program({}, source))) << source;
}

TEST(Precise, HalvesThatAreReadAsFloatsArePrecise) {
  const auto wide = check::in_double(program(
      {},
      "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n__global__ void k(__half* y, float* x, "
      "__nv_bfloat16* z) {\n  y[0] = __float2half(__half2float(y[1]) * x[0]);\n"
      "  z[0] = __float2bfloat16(__bfloat162float(z[1]));\n}"));
  ASSERT_TRUE(wide);
  EXPECT_TRUE(wide->source.contains("#define __float2half __double2half"));
  for (const char* packed :
       {"sum = __hfma(a, b, sum);", "__half sum = 0;", "__shared__ half tile[9];", "half2 h;",
        "__nv_bfloat162 b;", "__half22float2(h)"})
    EXPECT_FALSE(
        check::in_double(program({}, std::string("#include <cuda_fp16.h>\nfloat f; ") + packed)))
        << packed;
}

TEST(Exact, FunctionsThatRoundAreNot) {
  for (const char* source : {"y[0] = expf(y[1]);", "y[0] = __sinf(y[1]);",
                             "y[0] = std::tanh(y[1]);", "y[0] = rsqrtf(y[1]);"})
    EXPECT_FALSE(check::can_be_exact(program({}, source), "")) << source;
  for (const char* source :
       {"y[0] = fmaf(y[1], y[2], 1.0f); // expf", "/* sin(x) */ y[0] = fabsf(y[1]);",
        "float expected = y[1], logits = y[2], y1 = sqrtf(y[3]);"})
    EXPECT_TRUE(check::can_be_exact(program({}, source), "")) << source;
}

/// Tensor cores add their products with fewer bits than f32 has.
TEST(Exact, InstructionsThatApproximateAreNot) {
  const auto exact = [](const char* statement, ScalarType output) {
    auto p = program({}, "");
    p.buffers[3].type = output;
    return check::can_be_exact(p, std::string("$L1:\n\t@%p1 ") + statement + ";\n");
  };
  for (const char* statement :
       {"ex2.approx.ftz.f32 %f1, %f2", "tanh.approx.f32 %f1, %f2", "div.full.f32 %f1, %f2, %f3",
        "rcp.approx.ftz.f32 %f1, %f2", "rsqrt.approx.f32 %f1, %f2"}) {
    EXPECT_FALSE(exact(statement, ScalarType::kF32)) << statement;
    EXPECT_FALSE(exact(statement, ScalarType::kF16)) << statement;
  }
  // Rounded once: a run in double shows what is lost, unless the output hides it.
  for (const char* statement :
       {"div.rn.f32 %f1, %f2, %f3", "sqrt.rn.f32 %f1, %f2", "mul.f32 %f1, %f2, 0f3D372713",
        "mul.f64 %fd1, %fd2, 0d3FD5555555555555"}) {
    EXPECT_TRUE(exact(statement, ScalarType::kF32)) << statement;
    EXPECT_FALSE(exact(statement, ScalarType::kBf16)) << statement;
  }
  for (const char* statement :
       {"fma.rn.f32 %f1, %f2, %f3, %f4", "mul.f32 %f1, %f2, 0f3E800000", "div.s32 %r1, %r2, %r3",
        "max.f32 %f1, %f2, 0fFF7FFFFF", "cvt.rn.f16.f32 %rs1, %f1"})
    EXPECT_TRUE(exact(statement, ScalarType::kF16)) << statement;
}

TEST(Exact, ALongNumberAmongTheArgumentsHidesInANarrowOutput) {
  auto p = program({}, "");
  p.buffers[3].type = ScalarType::kF16;
  p.launches = {{"k", {1, 1, 1}, {1, 1, 1}, 0, {BufferIndex{0}, 0.125}}};
  EXPECT_TRUE(check::can_be_exact(p, ""));
  p.launches[0].args[1] = 0.1;
  EXPECT_FALSE(check::can_be_exact(p, ""));
}

// A reference that silently has no double run is held to its own rounding errors.
TEST(Precise, ReferencesThatHaveADoubleFormCompileInIt) {
  int compiled = 0, none = 0;
  for (const char* folder : {"/baselines", "/rewriters/schedules/tasks"}) {
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(std::string(HONE_SOURCE_DIR) + folder)) {
      if (file.path().extension() != ".cu") continue;
      const auto task = read_task(file.path());
      ASSERT_TRUE(task) << task.error().message;
      const auto wide = check::in_double(*instantiate(task->reference, task->check_sizes[0]));
      if (!wide) {
        ++none;
        continue;
      }
      std::vector<std::string> kernels;
      for (const auto& launch : wide->launches) kernels.push_back(launch.kernel);
      const auto result = compile::compile_program({wide->source, wide->defines, kernels, "sm_90"});
      EXPECT_EQ(result.verdict, Verdict::kOk) << file.path() << ": " << result.log;
      ++compiled;
    }
  }
  EXPECT_GE(compiled, 35);
  EXPECT_LE(none, 2);  // a histogram, and bf16 without a float in it
}

TEST(Fakes, AreFoundByWhatTheyWouldAnswer) {
  const auto p = program({});
  const auto x = contents(p.buffers[0]);
  std::vector<std::string> let_pass;
  const auto survivor = [&](const std::vector<float>& y, const Tolerance& tolerance,
                            double beside = 0) {
    check::Fakes fakes(tolerance);
    const auto bytes = [](const std::vector<float>& v) {
      const auto* data = reinterpret_cast<const std::uint8_t*>(v.data());
      return std::vector<std::uint8_t>(data, data + v.size() * 4);
    };
    fakes.see(p.buffers[3], bytes(y), {{&p.buffers[0], bytes(x)}});
    const auto survivors =
        fakes.survivors({{p.buffers[3].name, static_cast<double>(y.size())}, {"beside", beside}});
    let_pass = survivors.let_pass();
    return survivors.refusal();
  };
  auto twice = x, nearly = x, flat = x, tiny = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    twice[i] = 2 * x[i];
    nearly[i] = x[i] * 1.00001F;
    flat[i] = 1000 + 0.001F * x[i];
    tiny[i] = 1e-6F * x[i];
  }
  EXPECT_EQ(survivor(twice, {1e-4, 1e-5}), "");
  EXPECT_EQ(survivor(x, {1e-4, 1e-5}), "");  // to the bit: a task that copies
  EXPECT_NE(survivor(nearly, {1e-4, 1e-5}).find("a copy of 'a'"), std::string::npos);
  EXPECT_NE(survivor(flat, {1e-5, 0}).find("mean"), std::string::npos);
  // Of two outputs the small one may be flat, such as the running variance of a batch norm.
  const auto n = static_cast<double>(x.size());
  EXPECT_NE(survivor(flat, {1e-5, 0}, 98 * n), "");
  EXPECT_TRUE(let_pass.empty()) << "it is refused";
  EXPECT_EQ(survivor(flat, {1e-5, 0}, 99 * n), "");
  ASSERT_FALSE(let_pass.empty()) << "and that is said";
  EXPECT_EQ(let_pass.size(), 1U);
  EXPECT_NE(let_pass[0].find("their mean everywhere would pass"), std::string::npos) << let_pass[0];
  // An atol above all values lets nothing pass: the norm still counts.
  EXPECT_EQ(survivor(tiny, {1e-4, 1e-5}), "");
  EXPECT_TRUE(let_pass.empty());
  check::Fakes of_others({1e-4, 1e-5});
  of_others.add({{.buffer = "nobody's", .fake = "zeros"}});
  EXPECT_NE(of_others.survivors({{"y", 1e9}}).refusal(), "") << "however large the outputs are";
}

}  // namespace
}  // namespace hone
