// A search takes as long as its budget says, and its roof bounds what it says.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

/// Four loops over long rows, a thread for each: one block at the timed size takes the emulator
/// longer than the budget.
constexpr const char* kLongRows = R"CU(/* hone {
  "name": "rows", "sizes": {"M": 4096, "N": 4194304}, "check_sizes": [{"M": 33, "N": 65}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "N"]},
              {"name": "y", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "k", "grid": ["ceildiv(M,512)"], "block": [512], "args": ["x", "y", "M", "N"]}]
}
*/
__global__ void k(const float* x, float* y, int M, int N) {
  int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= M) return;
  float sum = 0.0f;
  for (int round = 0; round < 4; ++round)
    for (int n = 0; n < N; ++n) sum = sum * 0.5f + expf(x[(size_t)m * N + n]);
  y[m] = sum;
}
)CU";

TEST(Budget, EndsARunWhateverTheReferenceTakes) {
  TemporaryFolder folder;
  folder.write("rows.cu", kLongRows);
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult run = hone({"optimize", folder.file("rows.cu"), "--device", "emu:sm_90",
                                  "--budget", "5s", "--quiet", "--db", folder.file("hone.db")});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 25) << "5 s, 10 s of grace, and what a loaded machine adds";
  EXPECT_NE(run.status, 0);
  EXPECT_NE(run.err.find("not admitted within the budget of 5 s"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("the reference", run.err.find("cancelled after")), std::string::npos)
      << "how far it came: " << run.err;
}

TEST(Roof, AGatheredTableCountsAsNothing) {
  TemporaryFolder folder;
  folder.write("gather.cu", R"CU(/* hone {
  "name": "gather", "sizes": {"N": 1048576, "T": 33554432}, "check_sizes": [{"N": 4096, "T": 64}],
  "buffers": [{"name": "table", "type": "f32", "shape": ["T"]},
              {"name": "index", "type": "i32", "shape": ["N"], "fill": {"uniform": [0, 63]}},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "k", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["table", "index", "y", "N"]}]
}
*/
__global__ void k(const float* table, const int* index, float* y, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = table[index[i]];
}
)CU");
  const ProcessResult run =
      hone({"optimize", folder.file("gather.cu"), "--device", "emu:sm_90", "--budget", "20",
            "--quiet", "--db", folder.file("hone.db"), "--json", "-"});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto document = run.json();
  EXPECT_NE(document["stop_reason"], "roof");
  for (const auto& finalist : document["finalists"])
    EXPECT_LE(finalist["roof_fraction"].get<double>(), 1.0) << finalist;
  EXPECT_EQ(run.err.find("is not believed"), std::string::npos) << run.err;
}

TEST(Roof, WhatTheTimedSizeDoesNotReadCountsAsNothing) {
  TemporaryFolder folder;
  folder.write("part.cu", R"CU(/* hone {
  "name": "part", "sizes": {"N": 67108864}, "check_sizes": [{"N": 4096}, {"N": 1000}],
  "flops": "100000*N",
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": [4096], "role": "out"}],
  "launches": [{"kernel": "k", "grid": [16], "block": [256], "args": ["x", "y", "N"]}]
}
*/
__global__ void k(const float* x, float* y, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i % N] * 2.0f;
}
)CU");
  const ProcessResult run =
      hone({"optimize", folder.file("part.cu"), "--device", "emu:sm_90", "--budget", "10",
            "--quiet", "--db", folder.file("hone.db"), "--json", "-"});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto document = run.json();
  EXPECT_NE(document["stop_reason"], "roof");
  EXPECT_LE(document["best"]["roof_fraction"].get<double>(), 1.0) << document["best"];
  EXPECT_EQ(run.err.find("faster than the roof"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace hone::testing
