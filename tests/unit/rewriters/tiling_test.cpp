// The arithmetic under the tiling rules, and the cases that goldens show badly.
#include <gtest/gtest.h>

#include <string>

#include "candidates/task_reader.h"
#include "rewriters/core/registry.h"
#include "rewriters/rules/common/guard.h"
#include "rewriters/rules/common/index_space.h"
#include "rewriters/rules/common/kernel_text.h"
#include "rewriters/rules/common/tile_plan.h"

namespace hone {
namespace {

/// A task with one kernel f over A[M][K], B[K][N], C[M][N] and 16x16 blocks.
Task task_of(const std::string& body, bool specialize = true) {
  const std::string text =
      "/* hone {\"name\": \"t\", \"sizes\": {\"M\": 50, \"N\": 70, \"K\": 40},"
      "\"check_sizes\": [{\"M\": 32, \"N\": 32, \"K\": 32}],"
      "\"specialize\": " +
      std::string(specialize ? "true" : "false") +
      ", \"buffers\": ["
      "{\"name\": \"A\", \"type\": \"f32\", \"shape\": [\"M\", \"K\"], \"fill\": {\"uniform\": [0, "
      "1]}},"
      "{\"name\": \"B\", \"type\": \"f32\", \"shape\": [\"K\", \"N\"], \"fill\": {\"uniform\": [0, "
      "1]}},"
      "{\"name\": \"C\", \"type\": \"f32\", \"shape\": [\"M\", \"N\"], \"role\": \"out\"}],"
      "\"launches\": [{\"kernel\": \"f\", \"grid\": [\"ceildiv(N,16)\", \"ceildiv(M,16)\"], "
      "\"block\": [16, 16], \"args\": [\"A\", \"B\", \"C\", \"M\", \"N\", \"K\"]}]} */\n"
      "__global__ void f(const float* A, const float* B, float* C, int M, int N, int K) {\n"
      "  int row = blockIdx.y * blockDim.y + threadIdx.y;\n"
      "  int col = blockIdx.x * blockDim.x + threadIdx.x;\n" +
      body + "}\n";
  auto task = parse_task(text, "t.cu");
  EXPECT_TRUE(task.has_value()) << task.error().message;
  return task ? *task : Task{};
}

RewriteContext context_of(const Task& task) { return {&task, task.sizes, target_limits("sm_90")}; }

Step step_of(std::string rule, std::string site, std::map<std::string, ParameterValue> params) {
  return {std::move(rule), 1, std::move(site), std::move(params), MathLevel::kExact};
}

const std::string kNaive =
    "  if (row < M && col < N) {\n"
    "    float s = 0;\n"
    "    for (int k = 0; k < K; ++k) s += A[row * K + k] * B[k * N + col];\n"
    "    C[row * N + col] = s;\n"
    "  }\n";

/// The index of the n-th load of A.
class IndexSpaceTest : public testing::Test {
 protected:
  void load(const std::string& body) {
    task_ = task_of(body);
    auto open = rules::open_program(task_.reference);
    ASSERT_TRUE(open.has_value()) << open.error().message;
    open_ = std::move(*open);
    space_.emplace(open_.kernels[0], task_.sizes);
    for (const auto* expr : open_.kernels[0].function->all_expressions) {
      if (expr->kind != syntax::Expr::Kind::kSubscript) continue;
      if (auto address = space_->element(*expr); address && address->base->name == "A") {
        index_ = address->offset;
        return;
      }
    }
    FAIL() << "no load of A";
  }

  Task task_;
  rules::OpenProgram open_;
  std::optional<rules::IndexSpace> space_;
  syntax::Polynomial index_;
};

TEST_F(IndexSpaceTest, ClampBoundsTheRange) {
  load("  int r = row < M - 1 ? row : M - 1;\n  C[0] = A[r];\n");
  const auto range = space_->range(index_, space_->launch_ranges({1, 1, 1}));
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(*range, (rules::Interval{0, 49}));  // rows reach 63 without it
}

TEST_F(IndexSpaceTest, CoarseningWidensTheGrid) {
  load("  C[0] = A[row];\n");
  EXPECT_EQ(space_->range(index_, space_->launch_ranges({1, 1, 1}))->high, 63);
  EXPECT_EQ(space_->range(index_, space_->launch_ranges({1, 8, 1}))->high, 127);
}

TEST_F(IndexSpaceTest, QuotientsKeepTheirOperands) {
  load("  C[0] = A[(row * 3 + 1) / 4 % 5];\n");
  EXPECT_TRUE(space_->uses(index_, {"threadIdx.y"}));
  EXPECT_FALSE(space_->uses(index_, {"threadIdx.x"}));
  EXPECT_EQ(space_->text(index_), "(((threadIdx.y * 3 + blockIdx.y * 48 + 1) / 4) % 5)");
  const auto moved = space_->replace(index_, {{"threadIdx.y", syntax::Polynomial::constant(1)},
                                              {"blockIdx.y", syntax::Polynomial::constant(2)}});
  EXPECT_EQ(space_->range(moved, {}), (rules::Interval{0, 0}));  // (96 + 3 + 1) / 4 % 5
}

TEST_F(IndexSpaceTest, PointerLocalsAreSeenThrough) {
  load("  const float* line = A + row * K;\n  const float* two = line + 2;\n  C[0] = two[col];\n");
  EXPECT_EQ(index_.coefficient("threadIdx.x")->as_constant(), 1);
  EXPECT_EQ(index_.terms.at({}), 2);
}

TEST_F(IndexSpaceTest, NegativeTermsArePrintedSigned) {
  load("  C[0] = A[row - 1];\n");
  EXPECT_EQ(space_->text(index_), "(int)threadIdx.y + (int)blockIdx.y * 16 - 1");
}

TEST(Guard, ClampsAndGuardsTheStore) {
  const Task task = task_of(kNaive);
  const auto flat = rules::flatten_guards(task.reference, "f", context_of(task));
  ASSERT_TRUE(flat.has_value()) << flat.error().message;
  EXPECT_TRUE(flat->changed);
  EXPECT_TRUE(flat->bounded[0] && flat->bounded[1]);
  EXPECT_NE(flat->program.source.find("row < M - 1 ? row : M - 1"), std::string::npos);
  EXPECT_NE(flat->program.source.find("if (row < M && col < N) C[row * N + col]"),
            std::string::npos);
}

TEST(Guard, DropsWhatAlwaysHoldsOnlyWhenSpecialising) {
  for (const bool specialize : {true, false}) {
    Task task = task_of(kNaive, specialize);
    task.sizes = {{"M", 64}, {"N", 64}, {"K", 8}};
    const auto flat = rules::flatten_guards(task.reference, "f", context_of(task));
    ASSERT_TRUE(flat.has_value()) << flat.error().message;
    EXPECT_EQ(flat->program.source.find("if (") == std::string::npos, specialize);
  }
}

TEST(Guard, CoarseningBringsTheGuardBack) {
  Task task = task_of(kNaive);
  task.sizes = {{"M", 48}, {"N", 64}, {"K", 8}};  // three blocks of rows: two replicas overshoot
  const auto flat = rules::flatten_guards(task.reference, "f", context_of(task), {{1, 2, 1}});
  ASSERT_TRUE(flat.has_value()) << flat.error().message;
  EXPECT_NE(flat->program.source.find("if (row < M) C"), std::string::npos);
  EXPECT_EQ(flat->program.source.find("col < N"), std::string::npos);
}

TEST(Guard, AGridThatStopsShortIsNotBounded) {
  Task task = task_of(kNaive);
  task.reference.launches[0].grid[1] = *hone::Expr::parse("1");  // only the first 16 rows
  const auto flat = rules::flatten_guards(task.reference, "f", context_of(task));
  ASSERT_TRUE(flat.has_value()) << flat.error().message;
  EXPECT_TRUE(flat->bounded[0]);
  EXPECT_FALSE(flat->bounded[1]) << "more rows would be computed than the reference computes";
}

TEST(Guard, RefusesCodeBehindThatUsesWhatTheGuardSets) {
  const Task task = task_of(
      "  float s = 0;\n  if (row < M && col < N) { for (int k = 0; k < K; ++k) s += A[row * K + "
      "k]; "
      "}\n  C[0] = s;\n");
  const auto flat = rules::flatten_guards(task.reference, "f", context_of(task));
  ASSERT_TRUE(flat.has_value());
  EXPECT_FALSE(flat->changed);
}

TEST(CoarsenThreads, DividesTheGridAndMultipliesGridDim) {
  Task task = task_of("  C[row * N + col] = gridDim.x;\n");
  task.sizes = {{"M", 64}, {"N", 64}, {"K", 8}};
  const auto result =
      find_rewriter("coarsen-threads")
          ->apply(task.reference, step_of("coarsen-threads", "f", {{"x", 2}}), context_of(task));
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->launches[0].grid[0].text(), "ceildiv(ceildiv(N,16),2)");
  EXPECT_EQ(result->launches[0].grid[1].text(), "ceildiv(M,16)");
  EXPECT_NE(result->source.find("(gridDim.x * 2)"), std::string::npos);
}

TEST(CoarsenThreads, RefusesTooManyReplicas) {
  const Task task = task_of(kNaive);
  const auto result =
      find_rewriter("coarsen-threads")
          ->apply(task.reference, step_of("coarsen-threads", "f", {{"x", 16}, {"y", 8}}),
                  context_of(task));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kRefused);
}

TEST(CoarsenThreads, RunsNeedTheGlobalPosition) {
  // threadIdx.x is used by itself: neighbours cannot change places.
  const Task task = task_of("  if (row < M && col < N) C[row * N + col] = threadIdx.x;\n");
  const auto* rule = find_rewriter("coarsen-threads");
  EXPECT_TRUE(
      rule->apply(task.reference, step_of("coarsen-threads", "f", {{"x", 2}}), context_of(task))
          .has_value());
  EXPECT_FALSE(rule->apply(task.reference, step_of("coarsen-threads", "f", {{"x", 2}, {"run", 2}}),
                           context_of(task))
                   .has_value());
}

TEST(SharedTile, RefusesMoreSharedMemoryThanABlockHas) {
  const Task task = task_of(kNaive);
  const auto result =
      find_rewriter("shared-tile")
          ->apply(task.reference, step_of("shared-tile", "f/serial0", {{"k", 1024}}),
                  context_of(task));
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("shared memory"), std::string::npos);
}

TEST(SharedTile, InclusiveBoundsAndLargeSteps) {
  const Task task = task_of(
      "  if (row < M && col < N) {\n    float s = 0;\n"
      "    for (int k = 0; k <= K - 1; k += 2) s += A[row * K + k] * B[k * N + col];\n"
      "    C[row * N + col] = s;\n  }\n");
  const auto result = find_rewriter("shared-tile")
                          ->apply(task.reference, step_of("shared-tile", "f/serial0", {{"k", 16}}),
                                  context_of(task));
  ASSERT_TRUE(result.has_value()) << result.error().message;
  // 20 iterations: one tile of 16, and the rest as it was.
  EXPECT_NE(result->source.find("const int k_full = ((K - 1) + 1) / 32 * 32;"), std::string::npos)
      << result->source;
  EXPECT_NE(result->source.find("for (int k = k_full; k < ((K - 1) + 1); k += 2)"),
            std::string::npos);
}

TEST(SharedTile, SitesStayWhatTheyWereAfterATiledLoop) {
  const Task task = task_of(
      "  if (row < M && col < N) {\n    float s = 0, t = 0;\n"
      "    for (int k = 0; k < K; ++k) s += A[row * K + k];\n"
      "    for (int j = 0; j < K; ++j) t += B[j * N + col] * s;\n"
      "    C[row * N + col] = t;\n  }\n");
  const auto* rule = find_rewriter("shared-tile");
  const RewriteContext context = context_of(task);
  for (const int remainder : {0, 1}) {
    // 40 iterations: tiles of 8 leave nothing over, tiles of 16 leave a second loop.
    const Step first = step_of("shared-tile", "f/serial0", {{"k", remainder ? 16 : 8}});
    const auto one = rule->apply(task.reference, first, context);
    ASSERT_TRUE(one.has_value()) << one.error().message;
    const auto two = rule->apply(*one, step_of("shared-tile", "f/serial1", {{"k", 8}}), context);
    ASSERT_TRUE(two.has_value()) << two.error().message;
    EXPECT_NE(two->source.find("B_tile"), std::string::npos);
  }
}

}  // namespace
}  // namespace hone
