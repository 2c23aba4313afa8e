// How the rounds of reductions are numbered: triangles as products with zeros, windows from their
// edge, a block's strided loops as one.
#include <gtest/gtest.h>

#include "candidates/task_reader.h"
#include "rewriters/lift/lift.h"
#include "rewriters/nest/nest.h"

namespace hone::lift_tests {
namespace {

/// What the nests of a kernel in tests/lift/kernels are, at its sizes.
std::string lifted(const std::string& name) {
  const auto task = read_task(std::string(HONE_SOURCE_DIR) + "/tests/lift/kernels/" + name + ".cu");
  if (!task) return task.error().message;
  const auto program = nest::lift(task->reference, task->sizes, {});
  return program ? nest::to_string(*program) : program.error().message;
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Renumbered, TrianglesAreProductsWithZeros) {
  for (const char* name :
       {"lower_triangular_product", "upper_triangular_product", "lower_triangular_from_the_end"}) {
    const std::string text = lifted(name);
    expect_in(text, "sum(k < 512");
    expect_in(text, "A[k + 512*y]");
    expect_in(text, "B[512*k + x]");
  }
}

TEST(Renumbered, AStrictTriangleStartsAtItsFirstColumn) {
  const std::string text = lifted("strictly_lower_product");
  expect_in(text, "A[512*y + k]");
  expect_in(text, "B[x + 512*k]");
}

TEST(Renumbered, BandsAreBoundsOnRowsAndWhatIsSummed) {
  for (const char* name : {"banded_product_clipped", "banded_product_distance"}) {
    const std::string text = lifted(name);
    expect_in(text, "((-k + y + 5 >= 0) && (k - y + 5 >= 0))");
    expect_in(text, "A[k + 512*y]");
  }
}

TEST(Renumbered, WindowsStayAsSmallAsTheyAre) {
  expect_in(lifted("windowed_row_sums"), "sum(k < 7");
  const std::string pool = lifted("avg_pool_clipped_window");
  expect_in(pool, "sum(k < 3, k1 < 3");
  EXPECT_EQ(pool.find("x[4096*blockIdx.z + max"), std::string::npos) << pool;
}

TEST(Renumbered, WindowsOfSeveralSizesStayWhereTheyBegin) {
  expect_in(lifted("adaptive_avg_pool"), "x[64*k + k1 + (64*x2 / 5)");
}

TEST(Renumbered, ASuffixIsKnownByItsBound) {
  expect_in(lifted("suffix_sums"), "((k - x >= 0) ? (B[k] + A[k + 512*y]) : 0)");
}

TEST(Renumbered, FallingLoopsRise) {
  expect_in(lifted("cumsum_from_the_end"), "((k - c - 1 >= 0) ? x[k + 512*x] : 0)");
}

TEST(Renumbered, WhatEachPartialSumIsDividedByDividesTheirSum) {
  expect_in(lifted("mean_of_block_means"), "(sum(k < 65536: x[k]) / 65536)");
}

TEST(Renumbered, AnExtremeThatStartsFromTheFirstElementIsOneReduction) {
  expect_in(lifted("argmin_columns"), "y[x] = argmin(k < 512: x[512*k + x])");
}

TEST(Renumbered, StridedLoopsOfABlockAreOne) {
  expect_in(lifted("softmax_tree_of_256"), "max(k < 512: x[512*blockIdx.x + k])");
  expect_in(lifted("group_norm_odd_planes"), "sum(k < 784: ");
}

}  // namespace
}  // namespace hone::lift_tests
