// Fills in a task file: of every type, with expressions, and what cannot be.
#include "candidates/fill_json.h"

#include <gtest/gtest.h>

#include "tests/unit/candidates/helpers.h"

namespace hone {
namespace {

using Kind = Fill::Kind;

std::string with_fill(const std::string& type, const std::string& shape, const std::string& fill) {
  return test::as_comment(test::replaced(test::kScaleJson,
                                         R"({"name": "A", "type": "f32", "shape": ["N"]})",
                                         R"({"name": "A", "type": ")" + type + R"(", "shape": )" +
                                             shape + R"(, "fill": )" + fill + "}"));
}

Fill fill_at(const Task& task, std::int64_t n) {
  const auto program = instantiate(task.reference, {{"N", n}});
  EXPECT_TRUE(program) << program.error().message;
  return program ? program->buffers[0].fill : Fill{};
}

TEST(FillJson, StructuredFillsAreWordsAndRanges) {
  const struct {
    const char* type;
    const char* shape;
    const char* fill;
    Fill want;
  } cases[] = {
      {"i32", R"(["N"])", R"("permutation")", {Kind::kPermutation, 0, 0, ""}},
      {"f32", R"(["N", 10])", R"("one_hot")", {Kind::kOneHot, 0, 0, ""}},
      {"bool", R"(["N", 10])", R"("one_hot")", {Kind::kOneHot, 0, 0, ""}},
      {"f16", R"(["N", "N"])", R"("lower_triangular")", {Kind::kLowerTriangle, 0, 0, ""}},
      {"f64", R"([3, "N", "N"])", R"("upper_triangular")", {Kind::kUpperTriangle, 0, 0, ""}},
      {"i32", R"(["N+1"])", R"({"sorted": [0, 9]})", {Kind::kSorted, 0, 9, ""}},
      {"f32", R"(["N"])", R"({"sorted": [-0.5, 0.5]})", {Kind::kSorted, -0.5, 0.5, ""}},
  };
  for (const auto& c : cases) {
    const auto task = parse_task(with_fill(c.type, c.shape, c.fill), "t.cu");
    ASSERT_TRUE(task) << c.fill << ": " << task.error().message;
    EXPECT_EQ(task->reference.buffers[0].fill, c.want) << c.fill;
    const auto back = task_from_json(nlohmann::json(*task));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->reference, task->reference) << c.fill;
  }
}

TEST(FillJson, ExpressionsFollowTheSizes) {
  const auto task = parse_task(with_fill("i32", R"(["N+1"])", R"({"sorted": [0, "3*N"]})"), "t.cu");
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(fill_at(*task, 4096), (Fill{Kind::kSorted, 0, 12288, ""}));
  EXPECT_EQ(fill_at(*task, 33), (Fill{Kind::kSorted, 0, 99, ""}));
  const auto back = task_from_json(nlohmann::json(*task));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->hash(), task->hash());
  EXPECT_EQ(fill_at(*back, 33), fill_at(*task, 33));
  const auto other =
      parse_task(with_fill("i32", R"(["N+1"])", R"({"sorted": [0, "2*N"]})"), "t.cu");
  EXPECT_NE(other->hash(), task->hash());
  const auto index =
      parse_task(with_fill("u64", R"(["N"])", R"({"integers": ["N/2", "N-1"]})"), "t.cu");
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(fill_at(*index, 10), (Fill{Kind::kIntegers, 5, 9, ""}));
}

TEST(FillJson, SixtyFourBitsAreKeptToTheLast) {
  const struct {
    const char* type;
    const char* fill;
    std::array<std::uint64_t, 2> want;
  } cases[] = {
      {"u64", R"({"integers": [0, 18446744073709551615]})", {0, ~0ULL}},
      {"i64",
       R"({"integers": [-9223372036854775808, 9223372036854775807]})",
       {1ULL << 63, ~0ULL >> 1}},
      {"u64", R"({"constant": 9007199254740993})", {9007199254740993ULL, 0}},
      {"i64", R"({"iota": [9007199254740993, 2]})", {9007199254740993ULL, 2}},
  };
  for (const auto& c : cases) {
    const auto task = parse_task(with_fill(c.type, R"(["N"])", c.fill), "t.cu");
    ASSERT_TRUE(task) << c.fill << ": " << task.error().message;
    ASSERT_TRUE(task->reference.buffers[0].fill.exact) << c.fill;
    EXPECT_EQ(*task->reference.buffers[0].fill.exact, c.want) << c.fill;
    const auto back = task_from_json(nlohmann::json::parse(nlohmann::json(*task).dump()));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->reference, task->reference) << c.fill;
    const auto concrete = instantiate(task->reference, task->sizes);
    ASSERT_TRUE(concrete);
    const auto sent = concrete_program_from_json(
        nlohmann::json::from_cbor(nlohmann::json::to_cbor(nlohmann::json(*concrete))));
    ASSERT_TRUE(sent) << sent.error().message;
    EXPECT_EQ(sent->buffers[0].fill, concrete->buffers[0].fill);
  }
}

TEST(FillJson, MistakesSayWhatWouldBeRight) {
  const struct {
    const char* type;
    const char* shape;
    const char* fill;
    const char* want;
  } cases[] = {
      {"i32", R"(["N"])", R"("permuted")", "'permuted' is none of"},
      {"f32", R"(["N"])", R"("permutation")", "a permutation is of integers, not of f32"},
      {"u8", R"(["N"])", R"("permutation")", "a permutation of 0 to 4095 does not fit u8"},
      {"f32", R"(["N"])", R"("lower_triangular")", "a triangular matrix needs two extents"},
      {"i32", R"(["N", "N"])", R"("lower_triangular")", "is of a floating type, not of i32"},
      {"i32", R"(["N"])", R"({"sorted": [5, 3]})", "low 5 is above high 3"},
      {"i32", R"(["N"])", R"({"sorted": ["N", 3]})", "low 4096 is above high 3"},
      {"u8", R"(["N"])", R"({"integers": [0, "N"]})", "4096 does not fit u8"},
      {"i32", R"(["N"])", R"({"integers": [0, "K"]})", "unknown name 'K'"},
      {"i32", R"(["N"])", R"({"integers": [0, "BLOCK"]})", "depends on the tunable 'BLOCK'"},
      {"i32", R"(["N"])", R"({"integers": [0.5, "N"]})", "0.5 does not fit i32|must be"},
      {"e4m3", R"(["N"])", R"({"constant": 449})", "449 does not fit e4m3"},
      {"e5m2", R"(["N"])", R"({"uniform": [0, 57345]})", "57345 does not fit e5m2"},
      {"u64", R"(["N"])", R"({"integers": [-1, 5]})", "-1 does not fit u64"},
      {"i64", R"(["N"])", R"({"integers": [0, 9223372036854775808]})", "does not fit i64"},
      {"u64", R"(["N"])", R"({"integers": [0, 18446744073709551616]})", "does not fit a 64-bit"},
      {"i32", R"(["N"])", R"({"integers": [0, true]})", "a number, or an expression over sizes"},
  };
  for (const auto& c : cases) {
    const auto task = parse_task(with_fill(c.type, c.shape, c.fill), "t.cu");
    ASSERT_FALSE(task) << c.fill;
    const std::string want = c.want;
    const auto bar = want.find('|');
    const bool found = task.error().message.contains(want.substr(0, bar)) ||
                       (bar != want.npos && task.error().message.contains(want.substr(bar + 1)));
    EXPECT_TRUE(found) << task.error().message;
    EXPECT_TRUE(task.error().message.contains("buffers[0].fill")) << task.error().message;
  }
}

}  // namespace
}  // namespace hone
