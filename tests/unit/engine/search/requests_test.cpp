#include "engine/search/requests/requests.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "rewriters/core/hand_edit.h"
#include "rewriters/llm/model_steps.h"

namespace hone {
namespace {

constexpr const char* kTask = R"CU(/* hone {
  "name": "scale", "sizes": {"N": 4096}, "check_sizes": [{"N": 100}, {"N": 37}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]
}],
  "flops": "N"
}
*/ __global__ void scale(float* x, float* y, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = 2.0f * x[i];
}
)CU";

TEST(AlignedSizes, TakesTheDivisorsOfTheTimedSizes) {
  EXPECT_EQ(aligned_sizes({{"N", 37}}, {{"N", 4096}})["N"], 64);
  EXPECT_EQ(aligned_sizes({{"N", 65}}, {{"N", 4096}})["N"], 128);
  EXPECT_EQ(aligned_sizes({{"N", 37}}, {{"N", 4095}})["N"], 37);
  EXPECT_EQ(aligned_sizes({{"N", 37}}, {{"N", 12}})["N"], 40);
}

TEST(RequestBuilder, InstantiatesReferenceAndCandidateAtEverySize) {
  const auto task = parse_task(kTask, "scale.cu");
  ASSERT_TRUE(task) << task.error().message;
  LocalRewriting rewriting;
  auto builder = RequestBuilder::make(rewriting, *task, target_limits("sm_90"), {});
  ASSERT_TRUE(builder) << builder.error().message;
  const auto request = (*builder)->for_recipe({}, 7);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->timed.candidate.launches[0].grid[0], 32);
  ASSERT_EQ(request->checks.size(), 2U);
  EXPECT_EQ(request->checks[0].reference.buffers[0].elements(), 100);
  EXPECT_EQ(request->checks[1].candidate.launches[0].grid[0], 1);
  EXPECT_DOUBLE_EQ(request->flops, 4096);
  EXPECT_NE(request->checks[0].seed, request->checks[1].seed);
}

// Only near 0 does an approximation show that is good elsewhere: not in the final stage alone.
TEST(RequestBuilder, ChecksApproximationsOnTinyValuesInTheQuickStage) {
  std::string text = kTask;
  text.replace(text.find("2.0f * x[i]"), 11, "tanhf(x[i])");
  const auto task = parse_task(text, "squash.cu");
  ASSERT_TRUE(task) << task.error().message;
  LocalRewriting rewriting;
  auto builder = RequestBuilder::make(rewriting, *task, target_limits("sm_90"), {});
  ASSERT_TRUE(builder) << builder.error().message;
  Step fast, bounds;
  const Space::Proposals proposals = (*builder)->space().proposals({});
  for (const Proposal& one : *proposals) {
    if (one.rewriter == "fast-intrinsics") fast = one.step({});
    if (one.rewriter == "launch-bounds")
      bounds = one.step(std::vector<std::size_t>(one.parameters.size(), 0));
  }
  ASSERT_EQ(fast.rewriter, "fast-intrinsics");
  ASSERT_EQ(bounds.rewriter, "launch-bounds");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto exact = (*builder)->for_recipe({bounds}, seed);
    const auto request = (*builder)->for_recipe({bounds, fast}, seed);
    ASSERT_TRUE(exact && request);
    EXPECT_EQ(exact->checks.size(), 2U);
    ASSERT_EQ(request->checks.size(), 3U);
    const CheckCase& tiny = request->checks.back();
    EXPECT_EQ(tiny.reference.buffers[0].elements(), 37);  // the smallest
    const auto varied = with_inputs(tiny.reference, tiny.inputs, tiny.seed);
    EXPECT_EQ(varied.buffers[0].fill.b, 0x1p-30);
    EXPECT_EQ(tiny.seed, (*builder)->for_recipe({fast}, seed + 1)->checks.back().seed);
  }
}

TEST(RequestBuilder, RefusesARecipeThatDoesNotReplay) {
  const auto task = parse_task(kTask, "scale.cu");
  ASSERT_TRUE(task);
  LocalRewriting rewriting;
  auto builder = RequestBuilder::make(rewriting, *task, target_limits("sm_90"), {});
  ASSERT_TRUE(builder);
  Step step;
  step.rewriter = "no-such-rule";
  const auto request = (*builder)->for_recipe({step}, 7);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, ErrorCode::kRefused);
  EXPECT_NE(request.error().message.find("no-such-rule"), std::string::npos);
}

// What a model wrote is at the mercy of its own expressions: a launch that cannot be had at sizes
// of ours is wrong there, and no reason to leave those sizes out.
TEST(RequestBuilder, AModelsProgramMustExistAtTheHiddenSizes) {
  const auto task = parse_task(kTask, "scale.cu");
  ASSERT_TRUE(task) << task.error().message;
  LocalRewriting rewriting;
  auto builder = RequestBuilder::make(rewriting, *task, target_limits("sm_90"), {});
  ASSERT_TRUE(builder) << builder.error().message;
  // 100 and 37 are among the listed sizes, 1 and 3 modulo 4 of others are not.
  for (const auto& [grid, good] :
       {std::pair{"ceildiv(N,128)", true},
        {"ceildiv(N,128) / (N == 4096 || N == 100 || N == 37)", false}}) {
    Program program = task->reference;
    program.source += "__device__ int by_a_model;\n";
    program.launches[0].grid[0] = *Expr::parse(grid);
    const Recipe recipe = {model_code_step(program, "r", task->math)};
    EXPECT_TRUE((*builder)->for_recipe(recipe, 7)) << grid;
    const auto request = (*builder)->for_recipe(recipe, 7, Stage::kFinal);
    EXPECT_EQ(request.has_value(), good) << grid;
    if (!request) continue;
    EXPECT_TRUE(std::ranges::any_of(request->checks, &CheckCase::hidden));
  }
}

std::string product_task(const std::string& more) {
  return R"CU(/* hone {
  "name": "product", "sizes": {"M": 4096, "N": 4096}, "check_sizes": [{"M": 10, "N": 37}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M"]}, {"name": "w", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "bf16", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "product", "grid": ["ceildiv(N,128)", "M"], "block": [128], "args": ["x", "w", "y", "N"]}])CU" +
         more + R"CU(} */
#include <cuda_bf16.h>
__global__ void product(float* x, float* w, __nv_bfloat16* y, int N) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < N) y[blockIdx.y * N + i] = __float2bfloat16(x[blockIdx.y] * w[i]);
}
)CU";
}

// Sets that ask more than a task's math are for other tasks.
TEST(RequestBuilder, AsksForNoMoreBitsThanTheTaskDoes) {
  for (const auto& [math, wide, ties] : {std::tuple{"exact", true, true},
                                         {"reassociate", true, false},
                                         {"tf32x3", false, false},
                                         {"tf32", false, false},
                                         {"reduced", false, false}}) {
    const auto task = parse_task(product_task(std::string(", \"math\": \"") + math + "\""), "p.cu");
    ASSERT_TRUE(task) << task.error().message;
    LocalRewriting rewriting;
    auto builder = RequestBuilder::make(rewriting, *task, target_limits("sm_90"), {});
    ASSERT_TRUE(builder) << builder.error().message;
    const auto has = [](const EvaluationRequest& request, InputSet set) {
      return std::ranges::any_of(request.checks,
                                 [&](const auto& one) { return one.inputs == set; });
    };
    const auto request = (*builder)->for_program(task->reference, 7, Stage::kFinal);
    ASSERT_TRUE(request) << request.error().message;
    // The reference itself claims to be exact.
    Program other = task->reference;
    other.source += "// other\n";
    const auto candidate = (*builder)->for_program(other, 7, Stage::kFinal);
    ASSERT_TRUE(candidate) << candidate.error().message;
    EXPECT_EQ(has(*candidate, InputSet::kWide), wide) << math;
    EXPECT_EQ(has(*candidate, InputSet::kTies), ties) << math;
    bool quick = false;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      quick = quick || has(*(*builder)->for_program(other, seed), InputSet::kWide);
    EXPECT_EQ(quick, wide) << math;
  }
}

TEST(RequestBuilder, ComparesLargeSizesInPart) {
  const auto task = parse_task(product_task(", \"specialize\": false"), "p.cu");
  ASSERT_TRUE(task) << task.error().message;
  LocalRewriting rewriting;
  auto builder = RequestBuilder::make(rewriting, *task, target_limits("sm_90"), {});
  ASSERT_TRUE(builder) << builder.error().message;
  const auto request = (*builder)->for_program(task->reference, 7, Stage::kFinal);
  ASSERT_TRUE(request) << request.error().message;
  int in_part = 0;
  for (const CheckCase& one : request->checks) {
    if (!one.in_part) continue;
    ++in_part;
    EXPECT_TRUE(one.hidden);
    EXPECT_EQ(one.inputs, InputSet::kOwn);
    EXPECT_GT(one.reference.buffers[2].elements(), 400'000);
  }
  EXPECT_EQ(in_part, 5);
}

class EditRequests : public testing::Test {
 protected:
  void SetUp() override {
    task_ = *parse_task(kTask, "scale.cu");
    builder_ = std::move(*RequestBuilder::make(rewriting_, task_, target_limits("sm_90"), {}));
    for (const Proposal& proposal : *builder_->space().proposals({}))
      if (proposal.rewriter == "bake-sizes")
        bake_ = proposal.step(std::vector<std::size_t>(proposal.parameters.size(), 0));
    ASSERT_FALSE(bake_.rewriter.empty());
  }
  Step edit(const std::string& search, const std::string& replace) const {
    llm::ModelDiff diff;
    diff.edits = {{search + "\n", replace + "\n"}};
    return model_edit_step(diff, "r", task_.math);
  }

  Task task_;
  LocalRewriting rewriting_;
  std::unique_ptr<RequestBuilder> builder_;
  Step bake_;
  const std::string line_ = "  int i = blockIdx.x * blockDim.x + threadIdx.x;";
};

TEST_F(EditRequests, AreOfUnknownOrigin) {
  for (const auto& [step, by_rules] :
       {std::pair{bake_, true}, std::pair{edit(line_, line_ + " i += 0;"), false},
        std::pair{hand_edit_step({{line_ + "\n", line_ + " i += 0;\n"}}, task_.math), false}}) {
    const auto request = builder_->for_recipe({step}, 7, Stage::kFinal);
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->by_rules, by_rules) << step.rewriter;
  }
}

TEST_F(EditRequests, AreMadeAtEverySize) {
  const Recipe recipe = {edit(line_, line_ + " i += 0;")};
  const auto request = builder_->for_recipe(recipe, 7, Stage::kFinal);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_TRUE(builder_->checks_edits_as_timed(recipe));
  EXPECT_TRUE(builder_->checks_edits_as_timed({}));
  EXPECT_TRUE(builder_->checks_edits_as_timed({bake_}));
}

// Of an emulated GPU nobody sees what is timed: it must be a text that some check runs.
TEST_F(EditRequests, OfATextWithSizesAreNotCheckedAsTimed) {
  EXPECT_FALSE(builder_->checks_edits_as_timed({bake_, edit(line_, line_ + " i += 0;")}));
  EXPECT_TRUE(builder_->checks_edits_as_timed({edit(line_, line_ + " i += 0;"), bake_}));
  // 64 stands in for 37 only where 37 is refused.
  task_.sizes["N"] = 64;
  task_.check_sizes = {{{"N", 37}}};
  builder_ = std::move(*RequestBuilder::make(rewriting_, task_, target_limits("sm_90"), {}));
  EXPECT_FALSE(builder_->checks_edits_as_timed({bake_, edit(line_, line_ + " i += 0;")}));
}

// Rules may be replaced by their like at sizes nearby; what a model's edit does not find is
// refused.
TEST_F(EditRequests, ThatAreFoundAtSomeSizesOnlyAreRefused) {
  const auto program = builder_->space().program({bake_});
  ASSERT_TRUE(program);
  const auto at = program->source.find("4096");
  ASSERT_NE(at, std::string::npos) << program->source;
  const auto begin = program->source.rfind('\n', at) + 1;
  const std::string line = program->source.substr(begin, program->source.find('\n', at) - begin);
  const auto request = builder_->for_recipe({bake_, edit(line, line + " // the same")}, 7);
  ASSERT_FALSE(request);
  EXPECT_NE(request.error().message.find("not in the program"), std::string::npos)
      << request.error().message;
}

}  // namespace
}  // namespace hone
