// The helpers of the rules in which threads cooperate, and what those rules do at awkward sizes.
#include <gtest/gtest.h>

#include "rewriters/core/registry.h"
#include "rewriters/rules/cooperative/accumulators.h"
#include "rewriters/rules/cooperative/kernel_tools.h"
#include "rewriters/rules/cooperative/patch.h"
#include "rewriters/rules/cooperative/split_plan.h"

namespace hone {
namespace {

namespace coop = rules::coop;

Program row_program(const std::string& body, const std::string& rows = "R") {
  Program program;
  program.source =
      "__global__ void k(const float* x, float* y, int rows, int cols) {\n"
      "  int row = blockIdx.x * blockDim.x + threadIdx.x;\n" +
      body + "}\n";
  program.buffers = {{"x", ScalarType::kF32, {Expr::parse("R").value(), Expr::parse("C").value()}},
                     {"y", ScalarType::kF32, {Expr::parse("R").value()}, Role::kOut}};
  Launch launch;
  launch.kernel = "k";
  launch.grid = {Expr::parse("ceildiv(" + rows + ",64)").value()};
  launch.block = {Expr(64)};
  for (const char* name : {"x", "y"}) launch.args.push_back({Argument::Kind::kBuffer, name, {}, 0});
  for (const char* name : {"R", "C"}) {
    launch.args.push_back({Argument::Kind::kExpr, "", Expr::parse(name).value(), 0});
  }
  program.launches = {launch};
  return program;
}

RewriteContext at(std::int64_t rows, std::int64_t cols) {
  return {nullptr, {{"R", rows}, {"C", cols}}, target_limits("sm_90")};
}

Step split(std::int64_t lanes, std::int64_t vec) {
  Step step;
  step.rewriter = "split-reduction";
  step.site = "k";
  step.params = {{"lanes", lanes}, {"block", std::int64_t{128}}, {"vec", vec}};
  step.math = MathLevel::kReassociate;
  return step;
}

const char* const kRowSum =
    "  if (row >= rows) return;\n"
    "  float s = 0.0f;\n"
    "  for (int i = 0; i < cols; ++i) s += x[row * cols + i];\n"
    "  y[row] = s;\n";

TEST(Patch, InnerEditsBecomePartOfOuterOnes) {
  const auto parsed = coop::parse_program(row_program(kRowSum));
  ASSERT_TRUE(parsed) << parsed.error().message;
  const std::string& source = parsed->unit->source;
  const int loop = static_cast<int>(source.find("for ("));
  const int update = static_cast<int>(source.find("s += x"));
  const int end = static_cast<int>(source.find(";\n  y[row]")) + 1;
  coop::Patch patch(*parsed->unit);
  patch.replace({update, update + 1}, "t");
  patch.before({update, end}, "{ ");
  patch.after({update, end}, " }");
  EXPECT_EQ(patch.text({update, end}), "{ t += x[row * cols + i]; }");
  const std::string twice = patch.text({update, end}) + patch.text({update, end});
  patch.replace({loop, end}, twice);
  patch.after({loop, end}, " // done");
  const auto result = patch.source();
  ASSERT_TRUE(result);
  EXPECT_NE(
      result->find("  { t += x[row * cols + i]; }{ t += x[row * cols + i]; } // done\n  y[row]"),
      std::string::npos)
      << *result;
}

struct Reduction {
  const char* update;
  bool accepted;
  coop::ReductionOp op;
};

class Updates : public testing::TestWithParam<Reduction> {};

TEST_P(Updates, AreRecognisedForWhatTheyAre) {
  const Program program = row_program(
      "  if (row >= rows) return;\n"
      "  float s = 0.0f; int n = 0; bool b = true;\n"
      "  for (int i = 0; i < cols; ++i) { float v = x[row * cols + i]; " +
      std::string(GetParam().update) + " }\n  y[row] = s + n + b;\n");
  const auto parsed = coop::parse_program(program);
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto found = coop::find_accumulators(*parsed->unit, *parsed->kernels[0].loops[0], {});
  ASSERT_EQ(found.has_value(), GetParam().accepted) << GetParam().update;
  if (!GetParam().accepted) return;
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].op, GetParam().op);
}

using enum coop::ReductionOp;
INSTANTIATE_TEST_SUITE_P(
    Spellings, Updates,
    testing::Values(
        Reduction{"s += v * v;", true, kSum}, Reduction{"s -= v;", true, kSum},
        Reduction{"s = v + s;", true, kSum}, Reduction{"s = s + v - 2.0f * v;", true, kSum},
        Reduction{"s = fmaf(v, v, s);", true, kSum}, Reduction{"n++;", true, kSum},
        Reduction{"if (v > 0.0f) ++n;", true, kSum}, Reduction{"s *= v;", true, kProduct},
        Reduction{"s = v * s;", true, kProduct}, Reduction{"s = fmaxf(v, s);", true, kMax},
        Reduction{"if (v > s) s = v;", true, kMax}, Reduction{"if (s < v) { s = v; }", true, kMax},
        Reduction{"s = s > v ? v : s;", true, kMin}, Reduction{"s = v <= s ? v : s;", true, kMin},
        Reduction{"n |= i;", true, kOr}, Reduction{"n = n & i;", true, kAnd},
        Reduction{"n ^= i;", true, kXor}, Reduction{"b = b && v > 0.0f;", true, kAll},
        // Not reductions.
        Reduction{"s = v - s;", false, kSum}, Reduction{"s = s / v;", false, kSum},
        Reduction{"s += s * v;", false, kSum}, Reduction{"s = v;", false, kSum},
        Reduction{"if (v > s) s = v + 1.0f;", false, kSum}, Reduction{"n += v;", false, kSum},
        Reduction{"s += v; s *= 0.5f;", false, kSum},
        Reduction{"s += v; n = s > 1.0f;", false, kSum},
        Reduction{"if (s < 10.0f) s += v;", false, kSum},
        Reduction{"n = (int)(n + 0.5f);", false, kSum}));

TEST(SplitReduction, VectorsShrinkToWhatTheSizeAllows) {
  const Rewriter* rule = find_rewriter("split-reduction");
  ASSERT_NE(rule, nullptr);
  const Program program = row_program(kRowSum);
  const auto wide = rule->apply(program, split(8, 4), at(64, 128));
  const auto narrow = rule->apply(program, split(8, 4), at(64, 126));
  const auto scalar = rule->apply(program, split(8, 4), at(64, 127));
  ASSERT_TRUE(wide && narrow && scalar);
  EXPECT_NE(wide->source.find("float4"), std::string::npos);
  EXPECT_NE(narrow->source.find("float2"), std::string::npos);
  EXPECT_EQ(narrow->source.find("float4"), std::string::npos);
  EXPECT_EQ(scalar->source.find("reinterpret_cast"), std::string::npos);
}

TEST(SplitReduction, ThreadsOutsideTheOldGridLeave) {
  // Blocks of one thread: 16 groups a block do not divide 37 rows.
  Program program = row_program(
      "  float s = 0.0f;\n"
      "  for (int i = 0; i < cols; ++i) s += x[row * cols + i];\n"
      "  y[row] = s;\n");
  program.launches[0].grid = {Expr::parse("R").value()};
  program.launches[0].block = {Expr(1)};
  const auto split_program =
      find_rewriter("split-reduction")->apply(program, split(8, 1), at(37, 64));
  ASSERT_TRUE(split_program) << split_program.error().message;
  EXPECT_NE(split_program->source.find(">= 37u) return;"), std::string::npos)
      << split_program->source;
  const auto grid = split_program->launches[0].grid[0].eval({{"R", 37}, {"C", 64}});
  EXPECT_EQ(grid.value_or(0), 3);
}

TEST(SplitReduction, IsNotOfferedTwice) {
  const Program program = row_program(kRowSum);
  const Rewriter* rule = find_rewriter("split-reduction");
  const auto once = rule->apply(program, split(32, 1), at(64, 128));
  ASSERT_TRUE(once);
  EXPECT_TRUE(rule->propose(*once, at(64, 128)).empty());
}

TEST(SplitReduction, RefusesLanesThatAreNoPowerOfTwo) {
  const auto result =
      find_rewriter("split-reduction")->apply(row_program(kRowSum), split(12, 1), at(64, 128));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kRefused);
}

}  // namespace
}  // namespace hone
