// read_variants: programs that someone wrote by hand for a task.
#include <gtest/gtest.h>

#include "candidates/variant.h"
#include "tests/unit/candidates/helpers.h"

namespace hone {
namespace {

using test::as_comment;
using test::kScaleJson;
using test::replaced;
using test::TempDir;

/// Of what holds one program.
Result<Program> read_variant(const std::filesystem::path& path, const Task& task) {
  auto variants = read_variants(path, task);
  if (!variants) return std::unexpected(variants.error());
  EXPECT_EQ(variants->size(), 1U);
  EXPECT_TRUE(variants->front().recipe.empty());
  EXPECT_FALSE(variants->front().exported);
  return std::move(variants->front().program);
}

constexpr std::string_view kFaster =
    "__global__ void scale(const float* A, float* C, int N, float f) { /* faster */ }\n";

TEST(Variant, PlainSourceKeepsTheTasksLaunches) {
  const TempDir dir;
  const Task task = test::scale_task();
  const auto program = read_variant(dir.write("v.cu", kFaster), task);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->source, kFaster);
  EXPECT_EQ(program->launches, task.reference.launches);
  EXPECT_EQ(program->buffers, task.reference.buffers);
  EXPECT_EQ(program->defines, task.reference.defines);
}

TEST(Variant, OwnCommentGivesLaunchesAndScratch) {
  const TempDir dir;
  const Task task = test::scale_task();
  constexpr std::string_view kJson = R"x({
      "buffers": [{"name": "T", "type": "f64", "shape": ["ceildiv(N,BLOCK)"], "role": "scratch"}],
      "launches": [{"kernel": "first", "grid": ["N"], "block": [32], "args": ["A", "T"]},
                   {"kernel": "scale", "grid": [1], "block": [32], "args": ["T", "C", "N", 1.0]}],
      "sizes": {"N": 7}, "tolerance": {"rtol": 1e9}, "tunables": {"BLOCK": [512]}})x";
  const auto program = read_variant(dir.write("v.cu", as_comment(kJson, kFaster)), task);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->buffers.size(), 3u);
  EXPECT_EQ(program->buffers[2].name, "T");
  EXPECT_EQ(program->buffers[2].role, Role::kScratch);
  ASSERT_EQ(program->launches.size(), 2u);
  EXPECT_EQ(program->launches[0].args[1].buffer, "T");
  EXPECT_EQ(program->defines.at("BLOCK"), "512");
  // At the task's sizes, whatever the variant says of its own.
  const auto concrete = instantiate(*program, task.sizes);
  ASSERT_TRUE(concrete) << concrete.error().message;
  EXPECT_EQ(concrete->buffers[2].shape[0], 8);
}

TEST(Variant, TheTasksOwnFileIsAVariant) {
  const TempDir dir;
  const Task task = test::scale_task();
  const auto program = read_variant(dir.write("v.cu", as_comment(kScaleJson)), task);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(*program, task.reference);
}

TEST(Variant, JsonFormNamesItsSource) {
  const TempDir dir;
  dir.write("fast.cu", kFaster);
  const auto program =
      read_variant(dir.write("v.json", R"({"source": "fast.cu"})"), test::scale_task());
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->source, kFaster);
}

TEST(Variant, MistakesHaveTheirPlace) {
  const TempDir dir;
  const Task task = test::scale_task();
  const struct {
    const char* json;
    const char* want;
  } cases[] = {
      {R"({"buffers": [{"name": "T", "type": "f32", "shape": [1]}]})",
       ":1:31: $.buffers[0].name: the task has no buffer 'T'; a variant may add only"},
      {R"({"buffers": [{"name": "A", "type": "f16", "shape": ["N"]}]})",
       "$.buffers[0].name: buffer 'A' differs"},
      {R"({"buffers": [{"name": "C", "type": "f32", "shape": ["N"], "role": "inout"}]})",
       "$.buffers[0].name: buffer 'C' differs"},
      {R"({"launches": []})", "$.launches: is empty"},
      {R"({"launches": [{"kernel": "scale", "grid": [1], "block": [1], "args": ["Z"]}]})",
       "$.launches[0].args[0]: unknown name 'Z'"},
      {R"({"launch": []})", "$.launch: unknown key 'launch'; did you mean 'launches'?"},
      {R"({"launches": [})", "expected a value, found '}'"},
      {R"([])", ""},  // no brace after the word: plain source
  };
  for (const auto& [json, want] : cases) {
    const auto program = read_variant(dir.write("v.cu", as_comment(json, kFaster)), task);
    if (*want == '\0') {
      EXPECT_TRUE(program);
      continue;
    }
    ASSERT_FALSE(program) << json;
    EXPECT_EQ(program.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(program.error().message.find(want), std::string::npos) << program.error().message;
    EXPECT_TRUE(program.error().message.starts_with((dir.path() / "v.cu").string() + ":"));
  }
  EXPECT_FALSE(read_variant(dir.path() / "none.cu", task));
  EXPECT_FALSE(read_variant(dir.write("e.cu", ""), task));
  EXPECT_FALSE(read_variant(dir.write("b.cu", std::string("\0\1", 2)), task));
  EXPECT_FALSE(read_variant(dir.write("n.json", "{}"), task));
}

}  // namespace
}  // namespace hone
