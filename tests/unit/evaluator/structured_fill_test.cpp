// Fills that keep a promise over a whole row or matrix, and integers of all 64 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

#include "evaluator/fill/fill.h"
#include "evaluator/fill/input_sets.h"

namespace hone::fill {
namespace {

using Kind = Fill::Kind;

template <class T>
std::vector<T> values(const ConcreteBuffer& b, std::uint64_t seed = 7) {
  const auto source = Source::open(b, seed);
  EXPECT_TRUE(source);
  std::vector<T> out(static_cast<std::size_t>(b.elements()));
  (*source)->read(0, reinterpret_cast<std::uint8_t*>(out.data()), out.size() * sizeof(T));
  return out;
}

ConcreteBuffer buffer(ScalarType type, Fill fill, std::vector<std::int64_t> shape) {
  return {"x", type, std::move(shape), Role::kIn, std::move(fill)};
}

TEST(StructuredFill, SortedGoesFromLowToHighAtEverySize) {
  for (std::int64_t n = 1; n < 400; n += n < 20 ? 1 : 37) {
    for (const double high : {0.0, 1.0, 5.0, 1e3, 2e9}) {
      for (const std::uint64_t seed : {1, 2, 3}) {
        const auto v =
            values<std::int32_t>(buffer(ScalarType::kI32, {Kind::kSorted, -3, high}, {n}), seed);
        EXPECT_EQ(v.front(), -3);
        if (n > 1) {
          EXPECT_EQ(v.back(), static_cast<std::int32_t>(high));
        }
        EXPECT_TRUE(std::ranges::is_sorted(v)) << n << " " << high << " " << seed;
      }
    }
  }
}

// A sparse matrix's rows are empty, short and long.
TEST(StructuredFill, SortedHasStepsOfAllLengths) {
  const auto v = values<std::int32_t>(buffer(ScalarType::kI32, {Kind::kSorted, 0, 40000}, {4001}));
  std::vector<int> steps;
  for (std::size_t i = 1; i < v.size(); ++i) steps.push_back(v[i] - v[i - 1]);
  EXPECT_GT(std::ranges::count(steps, 0), 100);
  EXPECT_GT(std::ranges::count_if(steps, [](int s) { return s > 30; }),
            100);  // three times the mean
  EXPECT_LE(std::ranges::max(steps), 160);
}

TEST(StructuredFill, SortedRowsAreSortedOneByOne) {
  const auto v = values<float>(buffer(ScalarType::kF32, {Kind::kSorted, -0.5, 2}, {3, 50}));
  for (int row = 0; row < 3; ++row) {
    const auto* first = v.data() + row * 50;
    EXPECT_EQ(first[0], -0.5F);
    EXPECT_EQ(first[49], 2.0F);
    EXPECT_TRUE(std::is_sorted(first, first + 50));
  }
  EXPECT_NE(v[10], v[60]);
}

TEST(StructuredFill, PermutationHasEveryIntegerOnce) {
  for (std::int64_t n = 1; n < 300; ++n) {
    auto p = values<std::int32_t>(buffer(ScalarType::kI32, {Kind::kPermutation, 0, 0}, {n}));
    std::ranges::sort(p);
    std::vector<std::int32_t> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(p, all) << n;
  }
  const auto p =
      values<std::uint64_t>(buffer(ScalarType::kU64, {Kind::kPermutation, 0, 0}, {2, 5000}));
  const std::vector<std::uint64_t> a(p.begin(), p.begin() + 5000), b(p.begin() + 5000, p.end());
  EXPECT_EQ(std::set(a.begin(), a.end()).size(), 5000U);
  EXPECT_EQ(std::set(b.begin(), b.end()).size(), 5000U);
  EXPECT_NE(a, b);
  int fixed = 0;
  for (std::size_t i = 0; i < a.size(); ++i) fixed += a[i] == i ? 1 : 0;
  EXPECT_LT(fixed, 10);  // one is expected
}

TEST(StructuredFill, OneHotRowsHaveOneOne) {
  for (const auto type : {ScalarType::kF32, ScalarType::kI32}) {
    const auto bits = values<std::uint32_t>(buffer(type, {Kind::kOneHot, 0, 0}, {100, 10}));
    const std::uint32_t one = type == ScalarType::kF32 ? 0x3F800000U : 1U;
    std::set<std::size_t> places;
    for (int row = 0; row < 100; ++row) {
      const auto* first = bits.data() + row * 10;
      EXPECT_EQ(std::count(first, first + 10, one), 1);
      EXPECT_EQ(std::count(first, first + 10, 0U), 9);
      places.insert(static_cast<std::size_t>(std::find(first, first + 10, one) - first));
    }
    EXPECT_EQ(places.size(), 10U);
  }
}

TEST(StructuredFill, TriangularMatricesAreWellConditioned) {
  constexpr std::size_t kN = 64;
  for (const auto kind : {Kind::kLowerTriangle, Kind::kUpperTriangle}) {
    const auto v = values<double>(buffer(ScalarType::kF64, {kind, 0, 0}, {2, kN, kN}));
    const bool lower = kind == Kind::kLowerTriangle;
    for (std::size_t m = 0; m < 2; ++m) {
      for (std::size_t i = 0; i < kN; ++i) {
        double beside = 0;
        for (std::size_t j = 0; j < kN; ++j) {
          const double x = v[(m * kN + i) * kN + j];
          if (i == j) {
            EXPECT_TRUE(x >= 1 && x < 2);
            continue;
          }
          EXPECT_EQ(x == 0, lower ? j > i : j < i);
          beside += std::abs(x);
        }
        EXPECT_LT(beside, 1);
      }
    }
  }
}

TEST(StructuredFill, IntegersReachBothEndsOfAll64Bits) {
  const Fill all_signed{.kind = Kind::kIntegers, .exact = {{1ULL << 63, ~0ULL >> 1}}};
  const auto i = values<std::int64_t>(buffer(ScalarType::kI64, all_signed, {10000}));
  EXPECT_LT(std::ranges::min(i), -9'200'000'000'000'000'000);
  EXPECT_GT(std::ranges::max(i), 9'200'000'000'000'000'000);
  const Fill all_unsigned{.kind = Kind::kIntegers, .exact = {{0, ~0ULL}}};
  const auto u = values<std::uint64_t>(buffer(ScalarType::kU64, all_unsigned, {10000}));
  EXPECT_GT(std::ranges::max(u), 0xFFF0000000000000ULL);
  const Fill top{.kind = Kind::kIntegers, .exact = {{~0ULL - 2, ~0ULL}}};
  const auto few = values<std::uint64_t>(buffer(ScalarType::kU64, top, {100}));
  EXPECT_EQ(std::set(few.begin(), few.end()),
            (std::set<std::uint64_t>{~0ULL - 2, ~0ULL - 1, ~0ULL}));
  const Fill constant{.kind = Kind::kConstant, .a = 0x1p64, .exact = {{~0ULL - 1, 0}}};
  EXPECT_EQ(values<std::uint64_t>(buffer(ScalarType::kU64, constant, {1}))[0], ~0ULL - 1);
  const Fill iota{.kind = Kind::kIota, .exact = {{(1ULL << 60) + 1, 3}}};
  EXPECT_EQ(values<std::uint64_t>(buffer(ScalarType::kU64, iota, {3}))[2], (1ULL << 60) + 7);
}

TEST(StructuredFill, OtherInputsKeepThePromise) {
  ConcreteProgram program;
  program.buffers = {
      buffer(ScalarType::kI32, {Kind::kSorted, 0, 9}, {50}),
      buffer(ScalarType::kF32, {Kind::kSorted, 0, 1}, {50}),
      buffer(ScalarType::kI32, {Kind::kPermutation, 0, 0}, {50}),
      buffer(ScalarType::kF32, {Kind::kOneHot, 0, 0}, {5, 10}),
      buffer(ScalarType::kF32, {Kind::kLowerTriangle, 0, 0}, {7, 7}),
  };
  for (const InputSet set : kAllInputSets) {
    const auto varied = with_inputs(program, set, 3);
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      Fill fill = varied.buffers[i].fill;
      const InputSet last = i == 4 ? InputSet::kJumps : InputSet::kOneEnd;
      const bool orders = set >= InputSet::kCurves && set <= last;
      EXPECT_EQ(fill.form != 0, orders) << to_string(set);
      fill.form = 0;
      EXPECT_EQ(fill, program.buffers[i].fill) << to_string(set);
    }
  }
}

TEST(StructuredFill, TrianglesFarFromTheirDiagonalAreDominatedByIt) {
  for (const Kind kind : {Kind::kLowerTriangle, Kind::kUpperTriangle}) {
    for (const InputSet set : {InputSet::kCurves, InputSet::kJumps}) {
      const auto own = buffer(ScalarType::kF32, {kind, 0, 0}, {40, 40});
      const auto v = values<float>(with_inputs({.buffers = {own}}, set, 3).buffers[0]);
      for (std::size_t row = 0; row < 40; ++row) {
        float beside = 0;
        for (std::size_t column = 0; column < 40; ++column) {
          const float x = v[row * 40 + column];
          if (column != row) beside += std::abs(x);
          if (column != row && (column > row) == (kind == Kind::kLowerTriangle)) EXPECT_EQ(x, 0);
        }
        const bool first = row == (kind == Kind::kLowerTriangle ? 0 : 39);
        EXPECT_EQ(v[row * 40 + row], 1);
        EXPECT_LT(beside, 1);
        EXPECT_EQ(beside > 0.9F, !first);
      }
    }
  }
}

std::vector<ConcreteBuffer> forms_of(const ConcreteBuffer& own) {
  std::vector<ConcreteBuffer> out;
  for (const InputSet set :
       {InputSet::kCurves, InputSet::kJumps, InputSet::kOneStep, InputSet::kOneEnd})
    out.push_back(with_inputs({.buffers = {own}}, set, 3).buffers[0]);
  return out;
}

TEST(FormsOfFills, SortedRowsKeepTheirOrderAndTheirEnds) {
  for (std::int64_t n = 1; n < 300; n += n < 20 ? 1 : 37) {
    for (const auto& own : forms_of(buffer(ScalarType::kI32, {Kind::kSorted, -3, 1000}, {3, n}))) {
      for (const std::uint64_t seed : {1, 2, 3, 4}) {
        const auto v = values<std::int32_t>(own, seed);
        for (std::int64_t row = 0; row < 3; ++row) {
          const auto *first = v.data() + row * n, *last = first + n - 1;
          EXPECT_EQ(*first, -3);
          if (n > 1) {
            EXPECT_EQ(*last, 1000);
          }
          EXPECT_TRUE(std::is_sorted(first, last + 1)) << own.fill.form << " " << n << " " << seed;
        }
      }
    }
    for (const auto& own : forms_of(buffer(ScalarType::kF32, {Kind::kSorted, 0.1, 0.7}, {n}))) {
      const auto v = values<float>(own);
      EXPECT_TRUE(std::ranges::is_sorted(v));
      EXPECT_EQ(v.front(), 0.1F);
      if (n > 1) {
        EXPECT_EQ(v.back(), 0.7F);
      }
    }
  }
}

// A row of a sparse matrix that holds half of it, long flat runs, and values far from the line.
TEST(FormsOfFills, SortedRowsLeaveTheLine) {
  const auto forms = forms_of(buffer(ScalarType::kI32, {Kind::kSorted, 0, 100000}, {1001}));
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    std::vector<int> longest, kinds, far;
    for (const auto& form : forms) {
      const auto v = values<std::int32_t>(form, seed);
      int step = 0, off = 0;
      for (std::size_t i = 1; i < v.size(); ++i) {
        step = std::max(step, v[i] - v[i - 1]);
        off = std::max(off, std::abs(v[i] - static_cast<int>(i) * 100));
      }
      longest.push_back(step);
      far.push_back(off);
      kinds.push_back(static_cast<int>(std::set(v.begin(), v.end()).size()));
    }
    for (std::size_t i = 0; i < 4; ++i) EXPECT_GT(far[i], 20000) << i;
    EXPECT_GT(kinds[0], 100);
    EXPECT_LT(kinds[1], 9);
    EXPECT_GE(longest[2], 50000);
    EXPECT_EQ(longest[3], 100000);
  }
}

TEST(FormsOfFills, PermutationsAndOneHotRowsAreStillSuch) {
  for (const std::int64_t n : {1, 2, 7, 64}) {
    const auto forms = forms_of(buffer(ScalarType::kI32, {Kind::kPermutation, 0, 0}, {2, n}));
    for (const auto& form : forms) {
      const auto v = values<std::int32_t>(form);
      for (std::int64_t row = 0; row < 2; ++row)
        EXPECT_EQ(std::set(v.begin() + row * n, v.begin() + (row + 1) * n).size(),
                  static_cast<std::size_t>(n))
            << form.fill.form;
    }
    const auto still = values<std::int32_t>(forms[0]);
    EXPECT_TRUE(std::is_sorted(still.begin(), still.begin() + n));
    for (const auto& form : forms_of(buffer(ScalarType::kF32, {Kind::kOneHot, 0, 0}, {9, n}))) {
      const auto v = values<float>(form);
      std::set<std::ptrdiff_t> places;
      for (std::int64_t row = 0; row < 9; ++row) {
        const auto* first = v.data() + row * n;
        EXPECT_EQ(std::count(first, first + n, 1.0F), 1);
        EXPECT_EQ(std::count(first, first + n, 0.0F), n - 1);
        places.insert(std::find(first, first + n, 1.0F) - first);
      }
      EXPECT_EQ(places.size() == 1, form.fill.form != 4 || n == 1);
    }
  }
}

}  // namespace
}  // namespace hone::fill
