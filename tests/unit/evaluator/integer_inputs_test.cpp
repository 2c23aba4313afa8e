// Sets of integer inputs, and of what a task holds constant: what they contain, and that they stay
// where the task's fill says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "candidates/task_reader.h"
#include "evaluator/fill/fill.h"
#include "evaluator/fill/input_sets.h"

namespace hone {
namespace {

using Kind = Fill::Kind;

constexpr Fill kUnstated{.kind = Kind::kIntegers, .a = 0, .b = 100, .unstated = true};

ConcreteProgram program(ScalarType type, const Fill& fill) {
  ConcreteProgram p;
  p.buffers = {{"x", type, {40, 250}, Role::kIn, fill},
               {"y", ScalarType::kF32, {40}, Role::kOut, {}}};
  return p;
}

template <class T>
std::vector<T> contents(const ConcreteProgram& p, InputSet set, std::uint64_t seed = 7) {
  const auto varied = with_inputs(p, set, seed);
  std::vector<T> out(static_cast<std::size_t>(varied.buffers[0].elements()));
  (*fill::Source::open(varied.buffers[0], seed))
      ->read(0, reinterpret_cast<std::uint8_t*>(out.data()), out.size() * sizeof(T));
  return out;
}

template <class T>
bool has(const std::vector<T>& values, T value) {
  return std::ranges::find(values, value) != values.end();
}

TEST(IntegerInputs, HaveTheStructureThatTheyAreCalledBy) {
  const auto p = program(ScalarType::kI32, {Kind::kIntegers, -500, 1000});
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const auto equal = contents<int>(p, InputSet::kEqual, seed);
    EXPECT_EQ(std::set(equal.begin(), equal.end()).size(), 1U);
    const auto two = contents<int>(p, InputSet::kTwo, seed);
    EXPECT_EQ(std::set(two.begin(), two.end()), (std::set<int>{-500, 1000}));
    const auto rising = contents<int>(p, InputSet::kRising, seed);
    const auto falling = contents<int>(p, InputSet::kFalling, seed);
    for (std::size_t row = 0; row < 40; ++row) {
      EXPECT_TRUE(std::is_sorted(rising.data() + row * 250, rising.data() + row * 250 + 250));
      EXPECT_TRUE(std::is_sorted(falling.rend() - static_cast<std::ptrdiff_t>(row) * 250 - 250,
                                 falling.rend() - static_cast<std::ptrdiff_t>(row) * 250));
    }
    const auto runs = contents<int>(p, InputSet::kRuns, seed);
    int changes = 0;
    for (std::size_t i = 1; i < runs.size(); ++i) changes += runs[i] != runs[i - 1] ? 1 : 0;
    EXPECT_GE(changes, 5);
    EXPECT_LE(changes, 700);
    const auto limits = contents<int>(p, InputSet::kLimits, seed);
    const std::set<int> seen(limits.begin(), limits.end());
    for (const int v : {-500, -499, 999, 1000, 250, 0, 1, -1, 255, 256, -128})
      EXPECT_TRUE(seen.contains(v)) << v;
    EXPECT_LT(seen.size(), 100U);
  }
}

TEST(IntegerInputs, StayInTheRangeOfAStatedFill) {
  for (const auto& [low, high] : {std::pair(0.0, 100.0), {-3.0, 3.0}, {5.0, 6.0}, {100.0, 127.0}}) {
    const auto p = program(ScalarType::kI8, {Kind::kIntegers, low, high});
    const auto sets = input_sets_of(p);
    EXPECT_FALSE(has(sets, InputSet::kWhole));
    EXPECT_EQ(sets.size(), 10U);
    for (const InputSet set : sets) {
      for (const std::int8_t v : contents<std::int8_t>(p, set)) {
        ASSERT_GE(v, low) << to_string(set);
        ASSERT_LE(v, high) << to_string(set);
      }
    }
  }
}

// What compares 16 bits of keys of which powers of two are out of range takes some for equal.
TEST(IntegerInputs, AlikeOnesAgreeWhenTheyAreFolded) {
  const auto p = program(ScalarType::kU32, {Kind::kIntegers, 5e8, 6e8});
  bool low = false, high = false, both = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto keys = contents<std::uint32_t>(p, InputSet::kAlike, seed);
    for (std::size_t i = 1; i < keys.size(); ++i) {
      const std::uint32_t a = keys[i - 1], b = keys[i];
      if (a == b) continue;
      low = low || (a & 0xFFFF) == (b & 0xFFFF);
      high = high || a >> 16 == b >> 16;
      both = both || ((a ^ a >> 16) & 0xFFFF) == ((b ^ b >> 16) & 0xFFFF);
    }
  }
  EXPECT_TRUE(low);
  EXPECT_TRUE(high);
  EXPECT_TRUE(both);
}

TEST(IntegerInputs, WithoutAFillTheyReachTheEndsOfTheType) {
  const auto reaches = [](auto zero, ScalarType type) {
    using T = decltype(zero);
    const auto p = program(type, kUnstated);
    for (const InputSet set : {InputSet::kLimits, InputSet::kWhole}) {
      const auto v = contents<T>(p, set);
      const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
      EXPECT_LE(std::ranges::min(v), low / 16 * 15 + (low == 0 ? high / 16 : 0)) << to_string(type);
      EXPECT_GE(std::ranges::max(v), high / 16 * 15) << to_string(type);
      if (set == InputSet::kWhole) continue;
      EXPECT_TRUE(has(v, low)) << to_string(type);
      EXPECT_TRUE(has(v, high)) << to_string(type);
    }
    for (const InputSet set :
         {InputSet::kEqual, InputSet::kTwo, InputSet::kRising, InputSet::kRuns})
      for (const T v : contents<T>(p, set)) ASSERT_LE(v, T{100}) << to_string(set);
  };
  reaches(std::int8_t{}, ScalarType::kI8);
  reaches(std::uint8_t{}, ScalarType::kU8);
  reaches(std::int32_t{}, ScalarType::kI32);
  reaches(std::uint32_t{}, ScalarType::kU32);
  reaches(std::int64_t{}, ScalarType::kI64);
  reaches(std::uint64_t{}, ScalarType::kU64);
}

// Each set costs a run of every finalist.
TEST(IntegerInputs, FloatTasksHaveNoMoreSetsThanBefore) {
  const auto p = program(ScalarType::kF32, {Kind::kUniform, -1, 1});
  EXPECT_EQ(input_sets_of(p),
            (std::vector{InputSet::kOwn, InputSet::kTails, InputSet::kEither, InputSet::kEdges,
                         InputSet::kMultiples, InputSet::kSmall, InputSet::kFar,
                         InputSet::kPatterns, InputSet::kStrided}));
}

// The root of a double rounds a square less one up; a carry goes through all words but the first;
// what is high may all be one thread's.
TEST(IntegerInputs, HaveSquaresAndCarriesAndStrides) {
  const auto words = program(ScalarType::kU64, {Kind::kIntegers, 1e18, 4e18});
  bool squares = false, before = false;
  for (const auto v : contents<std::uint64_t>(words, InputSet::kLimits)) {
    ASSERT_TRUE(v >= 1000000000000000000 && v <= 4000000000000000000);
    auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(v)));
    while (root * root > v) --root;
    squares = squares || root * root == v;
    before = before || (root + 1) * (root + 1) == v + 1;
  }
  EXPECT_TRUE(squares);
  EXPECT_TRUE(before);
  const auto p = program(ScalarType::kI32, {Kind::kIntegers, -500, 999});
  const auto high = contents<int>(p, InputSet::kStridedIntegers);
  const auto many = std::ranges::count_if(high, [](int v) { return v > 250; });
  EXPECT_GT(many, 0);
  EXPECT_LT(many, static_cast<std::ptrdiff_t>(high.size() / 2));
}

TEST(IntegerInputs, MixedTasksHaveBothKindsApart) {
  auto p = program(ScalarType::kF32, {Kind::kUniform, -1, 1});
  p.buffers.push_back({"at", ScalarType::kI32, {40}, Role::kIn, kUnstated});
  p.buffers.push_back({"order", ScalarType::kI32, {40}, Role::kIn, {Kind::kPermutation, 0, 0}});
  EXPECT_EQ(input_sets_of(p).size(), 23U);
  for (const InputSet set : input_sets_of(p)) {
    const auto varied = with_inputs(p, set, 3);
    EXPECT_FALSE(varied.buffers[0].fill != p.buffers[0].fill &&
                 varied.buffers[2].fill != p.buffers[2].fill);
    const bool order = set >= InputSet::kCurves && set <= InputSet::kOneEnd;
    EXPECT_EQ(varied.buffers[3].fill != p.buffers[3].fill, order);
  }
}

TEST(ConstantInputs, AreVariedAroundTheConstant) {
  const auto p = program(ScalarType::kF32, {Kind::kConstant, 1, 0});
  EXPECT_EQ(input_sets_of(p), (std::vector{InputSet::kOwn, InputSet::kConstants}));
  const auto v = contents<float>(p, InputSet::kConstants);
  EXPECT_GT(std::set(v.begin(), v.end()).size(), 1000U);
  EXPECT_GE(std::ranges::min(v), 0.5F);
  EXPECT_LE(std::ranges::max(v), 1.5F);
  const auto zeros =
      contents<float>(program(ScalarType::kF32, {Kind::kConstant, 0, 0}), InputSet::kConstants);
  EXPECT_LT(std::ranges::min(zeros), -0.9F);
  const auto flags = contents<std::uint8_t>(program(ScalarType::kBool, {Kind::kConstant, 1, 0}),
                                            InputSet::kConstants);
  EXPECT_EQ(std::set(flags.begin(), flags.end()), (std::set<std::uint8_t>{0, 1}));
  // A size, say: never larger, and multiples of what a vector may want.
  const auto size = program(ScalarType::kI32, {Kind::kConstant, 64, 0});
  EXPECT_EQ(input_sets_of(size), (std::vector{InputSet::kOwn, InputSet::kConstants}));
  const auto sizes = contents<int>(size, InputSet::kConstants);
  EXPECT_EQ(std::set(sizes.begin(), sizes.end()), (std::set{32, 48, 64}));
  const auto below =
      contents<int>(program(ScalarType::kI32, {Kind::kConstant, -3, 0}), InputSet::kConstants);
  EXPECT_EQ(std::set(below.begin(), below.end()), (std::set{-3, -2}));
}

TEST(ConstantInputs, OfSixtyFourBitsAreVariedToTheBit) {
  constexpr std::uint64_t kKey = 11400714819323198485ULL;
  Fill fill{Kind::kConstant, 1.14e19, 0};
  fill.exact = {{kKey, 0}};
  const auto keys = contents<std::uint64_t>(program(ScalarType::kU64, fill), InputSet::kConstants);
  EXPECT_GT(std::set(keys.begin(), keys.end()).size(), 9000U);
  EXPECT_GE(std::ranges::min(keys), kKey / 2);
  EXPECT_LE(std::ranges::max(keys), kKey);
  fill.exact = {{~0ULL << 40, 0}};  // -2^40
  const auto below = contents<std::int64_t>(program(ScalarType::kI64, fill), InputSet::kConstants);
  EXPECT_EQ(std::ranges::min(below), -(1LL << 40));
  EXPECT_LE(std::ranges::max(below), -(1LL << 39));
  const auto large = contents<std::uint32_t>(
      program(ScalarType::kU32, {Kind::kConstant, 2654435761, 0}), InputSet::kConstants);
  EXPECT_GT(std::set(large.begin(), large.end()).size(), 9000U);
}

TEST(IntegerInputs, HangOnOneAnother) {
  auto p = program(ScalarType::kI32, {Kind::kIntegers, -500, 500});
  EXPECT_FALSE(has(input_sets_of(p), InputSet::kRelatedIntegers));
  p.buffers.push_back(p.buffers[0]);
  p.buffers.back().name = "z";
  EXPECT_TRUE(has(input_sets_of(p), InputSet::kRelatedIntegers));
  const auto other = [&](std::uint64_t seed) {
    auto turned = with_inputs(p, InputSet::kRelatedIntegers, seed);
    std::swap(turned.buffers[0], turned.buffers[2]);
    return contents<int>(turned, InputSet::kOwn, 7);
  };
  int same = 0, mirrored = 0, moved = 0;
  for (std::uint64_t form = 0; form < 3; ++form) {
    const auto varied = with_inputs(p, InputSet::kRelatedIntegers, form);
    const auto x = contents<int>(varied, InputSet::kOwn, 7), z = other(form);
    bool is_mirrored = true;
    for (std::size_t i = 0; i < x.size(); ++i) is_mirrored = is_mirrored && x[i] == -z[i];
    same += x == z ? 1 : 0;
    mirrored += is_mirrored ? 1 : 0;
    auto one = x, two = z;
    std::ranges::sort(one);
    std::ranges::sort(two);
    moved += x != z && one == two ? 1 : 0;
  }
  EXPECT_EQ(same, 1);
  EXPECT_EQ(mirrored, 1);
  EXPECT_EQ(moved, 1);
  const auto nearly = with_inputs(p, InputSet::kRelatedIntegers, 3);
  const auto x = contents<int>(nearly, InputSet::kOwn, 7), z = other(3);
  int one_more = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(x[i] + z[i] == 0 || x[i] + z[i] == 1) << i;
    one_more += x[i] + z[i];
  }
  EXPECT_GT(one_more, 30);
  EXPECT_LE(one_more, 40);  // rows
}

/// Quotients that are computed as floats are off where a quotient is whole, or nearly so.
TEST(IntegerInputs, AreMultiplesOfAnotherBuffers) {
  auto p = program(ScalarType::kI32, {Kind::kIntegers, 0, 4'250'000});
  p.buffers.push_back({"d", ScalarType::kI32, {40, 250}, Role::kIn, {Kind::kIntegers, 1, 2000}});
  const auto varied = with_inputs(p, InputSet::kRelatedIntegers, 4);
  auto turned = varied;
  std::swap(turned.buffers[0], turned.buffers[2]);
  const auto x = contents<int>(varied, InputSet::kOwn), d = contents<int>(turned, InputSet::kOwn);
  int exact = 0, before = 0, high = 0, small = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(x[i] >= 0 && x[i] <= 4'250'000 && d[i] >= 1 && d[i] <= 2000);
    exact += x[i] % d[i] == 0 ? 1 : 0;
    before += (x[i] + 1) % d[i] == 0 ? 1 : 0;
    high += x[i] > 4'200'000 ? 1 : 0;
    small += d[i] <= 32 ? 1 : 0;
  }
  EXPECT_GT(exact, 2000);
  EXPECT_GT(before, 4000);
  EXPECT_GT(high, 4000);
  EXPECT_GT(small, 1500);
  EXPECT_LT(small, 4000);
}

/// Of all buffers of a relation, so that one's piece stands in the other many times.
TEST(IntegerInputs, RepeatWhatAnotherBufferRepeats) {
  auto p = program(ScalarType::kI32, {Kind::kIntegers, 0, 3});
  p.buffers.push_back({"word", ScalarType::kI32, {16}, Role::kIn, {Kind::kIntegers, 0, 3}});
  for (const std::uint64_t form : {5, 6}) {
    const auto varied = with_inputs(p, InputSet::kRelatedIntegers, form);
    auto turned = varied;
    std::swap(turned.buffers[0], turned.buffers[2]);
    const auto text = contents<int>(varied, InputSet::kOwn),
               word = contents<int>(turned, InputSet::kOwn);
    int found = 0;
    for (std::size_t i = 0; i + 16 <= 250; ++i)
      found += std::equal(word.begin(), word.end(), text.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_GE(found, form == 5 ? 234 / 3 : 234 / 13) << form;
    EXPECT_LE(found, form == 5 ? 235 : 234 / 5 + 1) << form;
  }
}

TEST(IntegerInputs, HavePatterns) {
  const auto p = program(ScalarType::kU32, {Kind::kIntegers, 0, 1000});
  for (std::uint64_t seed = 102; seed < 126; ++seed) {
    const auto v = contents<unsigned>(p, InputSet::kPatternsOfIntegers, seed);
    EXPECT_LE(std::ranges::max(v), 1000U);
    std::set<std::vector<unsigned>> rows;
    for (std::size_t row = 0; row < 40; ++row)
      rows.emplace(v.begin() + static_cast<std::ptrdiff_t>(row) * 250,
                   v.begin() + static_cast<std::ptrdiff_t>(row + 1) * 250);
    int low = 0;
    for (std::size_t i = 1; i < v.size(); ++i) low += (v[i] <= 500) != (v[i - 1] <= 500) ? 1 : 0;
    switch (seed % 6) {
      case 0:
        EXPECT_LT(rows.size(), 25U);
        break;
      case 1:
        EXPECT_LE(std::set(v.begin(), v.begin() + 250).size(), 64U);
        break;
      case 2:
        EXPECT_GT(low, 4500);
        break;
      case 4:
      case 5:
        // 0 and the end in turns from row to row, but for one to three elements, of which one is
        // near a row's beginning, or near its end; or but for more of them, up to half.
        for (std::size_t row = 0; row < 40; ++row) {
          const std::span one(v.data() + 250 * row, 250);
          const unsigned usual = (row + seed) % 2 == 0 ? 0 : 1000;
          if (row % 4 > 1) {
            const std::ptrdiff_t least = std::ptrdiff_t{4} << (row / 4 % 5);
            const std::ptrdiff_t others = 250 - std::ranges::count(one, usual);
            EXPECT_GE(others, least / 3) << seed << " " << row;
            EXPECT_LE(others, 3 * least + 8) << seed << " " << row;
            continue;
          }
          EXPECT_GE(std::ranges::count(one, usual), 247) << seed << " " << row;
          EXPECT_LE(std::ranges::count(one, usual), 249) << seed << " " << row;
          EXPECT_LT(std::ranges::count(row % 2 == 0 ? one.first(16) : one.last(16), usual), 16);
        }
        break;
      default:
        for (std::size_t i = 2; i < v.size(); ++i)
          EXPECT_EQ((v[i] + 1001 - v[i - 1]) % 1001, (v[1] + 1001 - v[0]) % 1001);
    }
  }
}

TEST(Sequences, KeepTheirOrderOrTheirNumbers) {
  auto p = program(ScalarType::kI32, {Kind::kIota, 3, 16});
  p.buffers[0].shape = {50};
  EXPECT_EQ(input_sets_of(p), (std::vector{InputSet::kOwn, InputSet::kSequences}));
  for (const std::uint64_t seed : {0, 1}) {
    const auto offsets = contents<int>(p, InputSet::kSequences, seed);
    EXPECT_EQ(offsets.front(), 3);
    EXPECT_EQ(offsets.back(), 3 + 49 * 16);
    EXPECT_TRUE(std::ranges::is_sorted(offsets));
    EXPECT_NE(offsets[1], 19);
  }
  p.buffers[0].fill.b = 1;
  auto numbers = contents<int>(p, InputSet::kSequences, 1);
  EXPECT_FALSE(std::ranges::is_sorted(numbers));
  std::ranges::sort(numbers);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(numbers[static_cast<std::size_t>(i)], i + 3);
}

/// What a task leaves out is known as such wherever the program travels; its hash stays.
TEST(UnstatedFill, TravelsAndDoesNotCountInTheHash) {
  const std::string text =
      "/* hone {\"name\": \"t\", \"sizes\": {\"N\": 64}, \"check_sizes\": [{\"N\": 9}],\n"
      "\"buffers\": [{\"name\": \"x\", \"type\": \"i32\", \"shape\": [\"N\"]FILL},\n"
      "{\"name\": \"y\", \"type\": \"i32\", \"shape\": [\"N\"], \"role\": \"out\"}],\n"
      "\"launches\": [{\"kernel\": \"k\", \"grid\": [1], \"block\": [64], \"args\": [\"x\", "
      "\"y\"]}]} */\n__global__ void k(const int* x, int* y) { y[0] = x[0]; }\n";
  const auto task = [&](const std::string& fill) {
    auto with = text;
    with.replace(with.find("FILL"), 4, fill);
    const auto read = parse_task(with, "t.cu");
    EXPECT_TRUE(read) << read.error().message;
    return *read;
  };
  const Task without = task(""), stated = task(", \"fill\": {\"integers\": [0, 100]}");
  EXPECT_TRUE(without.reference.buffers[0].fill.unstated);
  EXPECT_FALSE(stated.reference.buffers[0].fill.unstated);
  EXPECT_EQ(without.hash(), stated.hash());
  const auto again = task_from_json(nlohmann::json(without));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->reference, without.reference);
  const auto concrete = instantiate(without.reference, without.sizes);
  const auto travelled = concrete_program_from_json(nlohmann::json(*concrete));
  ASSERT_TRUE(travelled) << travelled.error().message;
  EXPECT_TRUE(travelled->buffers[0].fill.unstated);
}

}  // namespace
}  // namespace hone
