// Which factors the unroll rule offers.
#include <gtest/gtest.h>

#include "candidates/task_reader.h"
#include "rewriters/core/registry.h"

namespace hone {
namespace {

Task task_of(const std::string& body) {
  const auto task = parse_task(R"(/* hone {
  "name": "t", "sizes": {"N": 4096}, "check_sizes": [{"N": 256}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "t", "grid": [1], "block": [32], "args": ["x", "y", "N"]}] } */
__global__ void t(const float* x, float* y, int n) {
  float sum = 0.0f;
)" + body + "  y[threadIdx.x] = sum;\n}\n",
                               "t.cu");
  EXPECT_TRUE(task) << task.error().message;
  return *task;
}

/// Of the loop: "1 2 4".
std::string factors(const Task& task, const std::string& site) {
  std::string text;
  const RewriteContext context{&task, task.sizes, target_limits("sm_90")};
  for (const Proposal& p : find_rewriter("unroll")->propose(task.reference, context)) {
    if (p.site != site) continue;
    for (const ParameterValue& value : p.parameters.front().domain)
      text += (text.empty() ? "" : " ") + to_string(value);
  }
  return text;
}

TEST(Unroll, AShortBodyByAllFactors) {
  const Task task = task_of("  for (int i = 0; i < n; ++i) sum += x[i];\n");
  EXPECT_EQ(factors(task, "t/loop0"), "1 2 4 8 16");
}

TEST(Unroll, WhatIsUnrolledWithinCounts) {
  const Task task = task_of(R"(  for (int i = 0; i < n; i += 1024) {
#pragma unroll
    for (int j = 0; j < 16; ++j) {
#pragma unroll
      for (int k = 0; k < 32; ++k) sum += x[i + j * 32 + k];
    }
  }
)");
  EXPECT_EQ(factors(task, "t/loop0"), "2") << "so large a body is not unrolled unasked: 1 is idle";
  EXPECT_EQ(factors(task, "t/loop2"), "") << "it is to be unrolled as a whole";
}

TEST(Unroll, APragmaOfALargeBodyCanBeTakenBack) {
  const Task task = task_of(R"(#pragma unroll 2
  for (int i = 0; i < n; i += 1024) {
#pragma unroll
    for (int j = 0; j < 1024; ++j) sum += x[i + j];
  }
)");
  EXPECT_EQ(factors(task, "t/loop0"), "1") << "2 is there already";
}

// The compiler may leave the inner ones rolled: then 1 is no idle change.
TEST(Unroll, ABodyThatIsLargeOnlyIfTheCompilerWantsIsNotLarge) {
  const Task task = task_of(R"(  for (int i = 0; i < n; i += 1024) {
    for (int j = 0; j < 16; ++j)
      for (int k = 0; k < 16; ++k)
        for (int l = 0; l < 4; ++l) sum += x[i + j * 64 + k * 4 + l];
  }
)");
  EXPECT_TRUE(factors(task, "t/loop0").starts_with("1")) << factors(task, "t/loop0");
}

TEST(Unroll, AnInnerLoopThatIsNotUnrolledCountsOnce) {
  const Task task = task_of(R"(  for (int i = 0; i < n; i += 1024) {
#pragma unroll 1
    for (int j = 0; j < 1024; ++j) sum += x[i + j];
  }
)");
  EXPECT_EQ(factors(task, "t/loop0"), "1 2 4");
}

}  // namespace
}  // namespace hone
