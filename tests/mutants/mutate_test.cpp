// The generator: which changes it makes of one small kernel.
#include "tests/mutants/mutate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "rewriters/syntax/parse.h"

namespace hone::mutants {
namespace {

constexpr const char* kKernel =
    R"CU(__global__ void sums(const float* a, float* y, int rows, int n) {
  __shared__ float tile[8][8];
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int k = 1; k < n; k++) {
    sum += fmaxf(a[row * n + k], 2.0f);
  }
  tile[row][n] = sum;
  __syncthreads();
  if (row < rows && n > 0) y[row] = tile[row][n];
}
)CU";

std::map<Operator, std::set<std::string>> by_operator(const std::string& source) {
  const auto unit = syntax::parse(source);
  EXPECT_TRUE(unit) << unit.error().message;
  std::map<Operator, std::set<std::string>> found;
  for (const Mutation& mutation : mutations(**unit))
    found[mutation.op].insert(description(**unit, mutation));
  return found;
}

TEST(Mutations, EveryOperatorFindsItsPlaces) {
  auto found = by_operator(kKernel);
  EXPECT_TRUE(
      found[Operator::kArithmetic].contains("3: int row = blockIdx.x + blockDim.x + threadIdx.x;"));
  EXPECT_TRUE(found[Operator::kArithmetic].contains("6: sum -= fmaxf(a[row * n + k], 2.0f);"));
  EXPECT_TRUE(found[Operator::kComparison].contains("5: for (int k = 1; k <= n; k++) {"));
  EXPECT_TRUE(found[Operator::kIndexOffByOne].contains(
      "10: if (row < rows && n > 0) y[row - 1] = tile[row][n];"));
  EXPECT_TRUE(found[Operator::kIndexExchanged].contains("6: sum += fmaxf(a[k * n + row], 2.0f);"));
  EXPECT_TRUE(found[Operator::kIndexExchanged].contains("8: tile[n][row] = sum;"));
  EXPECT_EQ(found[Operator::kLoopBound],
            (std::set<std::string>{"5: for (int k = 1; k < n + 1; k++) {",
                                   "5: for (int k = 1; k < n - 1; k++) {"}));
  EXPECT_EQ(found[Operator::kLoopStart],
            (std::set<std::string>{"5: for (int k = 1 + 1; k < n; k++) {",
                                   "5: for (int k = 1 - 1; k < n; k++) {"}));
  EXPECT_EQ(found[Operator::kLoopStep],
            (std::set<std::string>{"5: for (int k = 1; k < n; k += 2) {"}));
  EXPECT_EQ(found[Operator::kGuard],
            (std::set<std::string>{"10: if (row < rows) y[row] = tile[row][n];",
                                   "10: if (n > 0) y[row] = tile[row][n];",
                                   "10: if (true) y[row] = tile[row][n];"}));
  EXPECT_TRUE(
      found[Operator::kConstant].contains("6: sum += fmaxf(a[row * n + k], (1.01f * 2.0f));"));
  EXPECT_EQ(found[Operator::kBarrier], (std::set<std::string>{"9: ;"}));
  EXPECT_EQ(found[Operator::kInitialValue], (std::set<std::string>{"4: float sum = 1.0f;"}));
  EXPECT_EQ(found[Operator::kFunction],
            (std::set<std::string>{"6: sum += fminf(a[row * n + k], 2.0f);"}));
  EXPECT_EQ(found[Operator::kStatement],
            (std::set<std::string>{"6: ;", "8: ;", "10: if (row < rows && n > 0) ;"}));
  EXPECT_TRUE(
      found[Operator::kAxis].contains("3: int row = blockIdx.x * blockDim.x + threadIdx.y;"));
  EXPECT_EQ(found.size(), static_cast<std::size_t>(kOperators));
}

TEST(Mutations, EarlyExitsAreNeverTaken) {
  auto found = by_operator(
      "__global__ void f(float* y, int n) {\n  if (threadIdx.x >= n) return;\n  y[threadIdx.x] = "
      "1;\n"
      "}\n");
  EXPECT_EQ(found[Operator::kGuard], (std::set<std::string>{"2: if (false) return;"}));
}

TEST(Mutations, TextOfMacrosIsLeftAlone) {
  auto found = by_operator(
      "#define PUT(i) y[i] = 1\n__global__ void f(float* y) {\n  PUT(threadIdx.x);\n}\n");
  EXPECT_TRUE(found[Operator::kIndexOffByOne].empty());
}

}  // namespace
}  // namespace hone::mutants
