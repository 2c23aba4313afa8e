// References that answer NaN or infinity, as a user of the command line meets them.
#include <gtest/gtest.h>

#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

std::string source(const std::string& value) {
  return "__global__ void root(const float* a, const float* b, float* y, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i < n) y[i] = " +
         value + ";\n}\n";
}

/// Without fills, as `hone init` guesses them.
std::string task(const std::string& value, const std::string& more = "") {
  return R"CU(/* hone {"name": "root", "sizes": {"n": 4096}, "check_sizes": [{"n": 2048}], )CU" +
         more +
         R"CU("buffers": [{"name": "a", "type": "f32", "shape": ["n"]},
  {"name": "b", "type": "f32", "shape": ["n"]}, {"name": "y", "type": "f32", "shape": ["n"], "role": "out"}],
  "launches": [{"kernel": "root", "grid": ["ceildiv(n,128)"], "block": [128], "args": ["a", "b", "y", "n"]}]} */
)CU" + source(value);
}

constexpr const char* kNan = "__int_as_float(0x7FC00000)";

class NonFiniteTask : public ::testing::Test {
 protected:
  ProcessResult check(const std::string& text) {
    return hone({"check", folder_.write("root.cu", text)});
  }
  ProcessResult evaluate(const std::string& text, const std::string& variant) {
    return hone({"evaluate", folder_.write("root.cu", text),
                 folder_.write("variant.cu", source(variant)), "--device", "emu:sm_90", "--db",
                 folder_.file("hone.db"), "--json", folder_.file("out.json")});
  }
  TemporaryFolder folder_;
};

TEST_F(NonFiniteTask, IsNoCleanTaskAndNamesItsFills) {
  const std::string text = task("sqrtf(a[i] * b[i] - 2.0f)");
  const auto checked = check(text);
  EXPECT_EQ(checked.status, 1) << checked.out << checked.err;
  for (const char* part :
       {"wrong_result: 2048 of 2048 elements of 'y' are not finite on the task's own inputs",
        "the first is y[0] = nan", "('a' uniform -1 to 1, 'b' uniform -1 to 1)",
        "\"non_finite\": \"same\""})
    EXPECT_TRUE(checked.out.contains(part)) << checked.out;
  EXPECT_FALSE(checked.out.contains("clean")) << checked.out;

  const auto evaluated = evaluate(text, kNan);
  EXPECT_NE(evaluated.status, 0) << evaluated.out;
  EXPECT_TRUE(evaluated.err.contains("are not finite on the task's own inputs")) << evaluated.err;
  EXPECT_FALSE(evaluated.out.contains("ok:")) << evaluated.out;

  const auto searched = hone({"optimize", folder_.file("root.cu"), "--device", "emu:sm_90",
                              "--budget", "3", "--db", folder_.file("hone.db")});
  EXPECT_NE(searched.status, 0) << searched.out;
  EXPECT_TRUE(searched.err.contains("the fill of an input")) << searched.err;
}

TEST_F(NonFiniteTask, ThatMeansItIsComparedByClass) {
  const std::string text =
      task("a[i] > 0.5f ? 1.0f / 0.0f : sqrtf(a[i])", R"("non_finite": "same", )");
  const auto checked = check(text);
  EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
  EXPECT_TRUE(checked.out.contains("note: ")) << checked.out;
  EXPECT_TRUE(checked.out.contains("n=2048: clean")) << checked.out;
  const auto same = evaluate(text, "a[i] > 0.5f ? -1.0f / -0.0f : sqrtf(a[i])");
  EXPECT_EQ(same.status, 0) << same.out << same.err;
  EXPECT_TRUE(same.out.contains("note: ")) << same.out;
  for (const char* other : {kNan, "sqrtf(a[i])", "a[i] > 0.5f ? 3e38f : sqrtf(a[i])"}) {
    const auto wrong = evaluate(text, other);
    EXPECT_EQ(wrong.status, 1) << wrong.out << wrong.err;
    EXPECT_TRUE(wrong.out.contains("wrong_result")) << wrong.out;
  }
}

TEST_F(NonFiniteTask, OnMadeUpInputsIsSaid) {
  const auto checked = check(task("logf(a[i] * a[i] + 0.25f) + sqrtf(b[i] + 1.5f)"));
  EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
  EXPECT_TRUE(checked.out.contains("n=2048: clean")) << checked.out;
  EXPECT_FALSE(checked.out.contains("the task's own inputs")) << checked.out;
  EXPECT_TRUE(check(task("sqrtf(a[i] + 1.5f) + sqrtf(b[i] + 1.5f)"))
                  .out.contains("on far negative inputs"));
}

TEST_F(NonFiniteTask, HasOneSpelling) {
  const auto checked = check(task("a[i]", R"("non_finite": "ok", )"));
  EXPECT_EQ(checked.status, 2) << checked.out << checked.err;
  EXPECT_TRUE(checked.err.contains("'ok' is not \"same\"")) << checked.err;
}

}  // namespace
}  // namespace hone::testing
