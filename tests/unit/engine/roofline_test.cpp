#include "engine/results/roofline.h"

#include <gtest/gtest.h>

namespace hone::results {
namespace {

TEST(RooflinePosition, IsUnderTheLowerOfBandwidthAndArithmetic) {
  // 2 FLOP/B under 4 TB/s: 8 TFLOP/s at most.
  const Roofline streaming{.flops = 2e9, .bytes = 1e9, .bytes_per_s = 4e12, .flops_per_s = 60e12};
  const RooflinePosition at = position_on(streaming, 500);
  EXPECT_DOUBLE_EQ(at.intensity, 2);
  EXPECT_TRUE(at.memory_bound);
  EXPECT_DOUBLE_EQ(at.roof_flops_per_s, 8e12);
  EXPECT_DOUBLE_EQ(at.flops_per_s, 4e12);
  EXPECT_DOUBLE_EQ(at.fraction, 0.5);
  const Roofline product{.flops = 60e9, .bytes = 1e9, .bytes_per_s = 4e12, .flops_per_s = 60e12};
  EXPECT_FALSE(position_on(product, 2000).memory_bound);
  EXPECT_DOUBLE_EQ(position_on(product, 2000).fraction, 0.5);
  EXPECT_EQ(position_on(product, 0).fraction, 0);
}

}  // namespace
}  // namespace hone::results
