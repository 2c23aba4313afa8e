// Sets of integer inputs, and of what a task holds constant: what they contain, and that they stay
// where the task's fill says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

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
    EXPECT_LT(seen.size(), 60U);
  }
}

TEST(IntegerInputs, StayInTheRangeOfAStatedFill) {
  for (const auto& [low, high] : {std::pair(0.0, 100.0), {-3.0, 3.0}, {5.0, 6.0}, {100.0, 127.0}}) {
    const auto p = program(ScalarType::kI8, {Kind::kIntegers, low, high});
    const auto sets = input_sets_of(p);
    EXPECT_FALSE(has(sets, InputSet::kWhole));
    EXPECT_EQ(sets.size(), 8U);
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
                         InputSet::kMultiples, InputSet::kSmall, InputSet::kFar}));
}

TEST(IntegerInputs, MixedTasksHaveBothKindsApart) {
  auto p = program(ScalarType::kF32, {Kind::kUniform, -1, 1});
  p.buffers.push_back({"at", ScalarType::kI32, {40}, Role::kIn, kUnstated});
  p.buffers.push_back({"order", ScalarType::kI32, {40}, Role::kIn, {Kind::kPermutation, 0, 0}});
  EXPECT_EQ(input_sets_of(p).size(), 19U);
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
  // A size, say.
  EXPECT_EQ(input_sets_of(program(ScalarType::kI32, {Kind::kConstant, 64, 0})).size(), 1U);
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
