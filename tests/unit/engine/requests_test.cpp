#include "engine/service/requests.h"

#include <gtest/gtest.h>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"

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

}  // namespace
}  // namespace hone
