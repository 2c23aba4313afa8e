// What a lift is in numbers, and when two are the same.
#include "rewriters/nest/facts.h"

#include <gtest/gtest.h>

#include <string>

#include "candidates/task_reader.h"
#include "rewriters/lift/lift.h"

namespace hone::nest {
namespace {

/// A product of matrices; `body` is done with its sum.
LiftedProgram matmul(const std::string& a, const std::string& c, int m, int k,
                     const std::string& body = "sum", const std::string& b_at = "i * n + column") {
  const std::string source = R"CU(/* hone {
  "name": "matmul", "sizes": {"M": )CU" +
                             std::to_string(m) + R"CU(, "N": 48, "K": )CU" + std::to_string(k) +
                             R"CU(},
  "check_sizes": [{"M": 8, "N": 8, "K": 8}],
  "buffers": [{"name": ")CU" +
                             a + R"CU(", "type": "f32", "shape": ["M", "K"]},
              {"name": "B", "type": "f32", "shape": ["K", "N"]},
              {"name": ")CU" +
                             c + R"CU(", "type": "f32", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "matmul", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16],
                "args": [")CU" +
                             a + R"CU(", "B", ")CU" + c + R"CU(", "M", "N", "K"]}] }
*/
__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[)CU" +
                             b_at + R"CU(];
  c[row * n + column] = )CU" +
                             body + R"CU(;
}
)CU";
  const auto task = parse_task(source, "matmul.cu");
  EXPECT_TRUE(task) << task.error().message;
  auto lifted = lift(task->reference, task->sizes);
  EXPECT_TRUE(lifted) << lifted.error().message;
  return std::move(*lifted);
}

TEST(NestFacts, CountWhatAProductDoes) {
  NestFacts facts = facts_of(matmul("A", "C", 64, 32, "expf(sum)"));
  EXPECT_EQ(facts["nests"], 1);
  EXPECT_EQ(facts["points"], 64 * 48);
  EXPECT_EQ(facts["parallel_axes"], 2);
  EXPECT_EQ(facts["reduction_axes"], 1);
  EXPECT_EQ(facts["reduced"], 32);
  EXPECT_EQ(facts["operations"], 64 * 48 * 32 * 2);
  EXPECT_EQ(facts["loads"], 64 * 48 * 32 * 2);
  EXPECT_EQ(facts["special"], 64 * 48);
  EXPECT_EQ(facts["products"], 1);
  EXPECT_EQ(facts["gathers"], 0);
  EXPECT_EQ(facts["input_bytes"], 4);
}

TEST(NestStructure, IsTheSameUnderOtherNamesAndSizes) {
  const std::string one = structure_of(matmul("A", "C", 64, 32));
  EXPECT_EQ(one.size(), 32U);
  EXPECT_EQ(one, structure_of(matmul("left", "result", 64, 32)));
  EXPECT_EQ(one, structure_of(matmul("A", "C", 80, 40)));
  EXPECT_NE(one, structure_of(matmul("A", "C", 64, 32, "expf(sum)")));
  EXPECT_NE(one, structure_of(matmul("A", "C", 64, 32, "sum", "column * k + i")));
}

}  // namespace
}  // namespace hone::nest
