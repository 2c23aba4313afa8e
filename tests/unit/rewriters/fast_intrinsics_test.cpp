// What the fast form of tanhf gives, run on the emulator.
#include "rewriters/rules/fast_intrinsics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "candidates/task_reader.h"
#include "rewriters/core/registry.h"
#include "tests/unit/rewriters/generator_harness.h"

namespace hone::schedules {
namespace {

constexpr const char* kSquash = R"CU(/* hone {
  "name": "squash", "sizes": {"N": 4096},
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "squash", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y"]}]
} */
__global__ void squash(const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = tanhf(x[i]);
}
)CU";

/// 4096 values of both signs, from the tiniest to where tanh is 1, and some in particular.
std::vector<double> values_of_all_sizes() {
  std::vector<double> values = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, 0.55, -0.55, 44.5, 3e38};
  while (values.size() < 4096) {
    const double size = std::exp2(static_cast<double>(values.size()) / 4096 * 132 - 126);
    values.push_back(static_cast<float>(values.size() % 2 != 0 ? size : -size));
  }
  return values;
}

TEST(FastIntrinsics, TanhIsRightOfValuesOfAllSizes) {
  const auto task = parse_task(kSquash, "squash.cu");
  ASSERT_TRUE(task) << task.error().message;
  const RewriteContext context{&*task, task->sizes, target_limits("sm_90")};
  const Rewriter& rule = *find_rewriter("fast-intrinsics");
  EXPECT_TRUE(rule.approximates());
  const auto proposals = rule.propose(task->reference, context);
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].math, MathLevel::kReassociate);
  const auto fast = rule.apply(task->reference, proposals[0].step({}), context);
  ASSERT_TRUE(fast) << fast.error().message;
  ASSERT_NE(fast->source.find("__expf"), std::string::npos);

  NestCase runs;
  runs.buffer("x", ScalarType::kF32, 4096, Role::kIn);
  runs.buffer("y", ScalarType::kF32, 4096, Role::kOut);
  runs.contents["x"] = values_of_all_sizes();
  runs.nest.buffer = "y";
  Generated program;
  program.source = fast->source;
  program.launches.push_back(
      {.kernel = "squash", .grid = {32}, .block = {128}, .args = {"x", "y"}});
  const std::vector<double> got = runs.run(program);
  ASSERT_EQ(got.size(), 4096U);
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double x = runs.contents["x"][i], want = std::tanh(x);
    EXPECT_EQ(std::signbit(got[i]), std::signbit(x)) << x;
    if (want == 0) continue;
    EXPECT_LE(std::abs(got[i] / want - 1), 8 * 0x1p-23) << x << " gives " << got[i];
    worst = std::max(worst, std::abs(got[i] / want - 1));
  }
  EXPECT_GT(worst, 0x1p-26);  // or tanhf was run
}

}  // namespace
}  // namespace hone::schedules
