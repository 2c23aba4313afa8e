// Convolutions whose input copies bring in boxes, run on the emulator with every check on.
#include "rewriters/schedules/contract/analysis.h"
#include "tests/unit/rewriters/contract_product.h"
#include "tests/unit/rewriters/convolution.h"

namespace hone::schedules {
namespace {

Choice patches(const char* math, const char* bm, const char* bn, const char* stages = "3") {
  return {{"pipe", std::string("wgmma-bulk-") + math}, {"bm", bm}, {"bn", bn}, {"stages", stages}};
}

std::string checked(const Window& window, const Choice& choice, double tolerance,
                    MathLevel math = MathLevel::kTf32) {
  Convolution convolution(window, math);
  convolution.context.target.sm_count = 3;
  const Generated generated = convolution.check(*kContract, choice, tolerance);
  EXPECT_GE(generated.launches.size(), 2U);
  EXPECT_NE(generated.source.find("full_patches"), std::string::npos);
  return generated.source;
}

TEST(ContractPatches, OfInputsWithAndWithoutEdges) {
  for (const std::int64_t pad : {0, 1, 2}) {
    for (const bool turned : {false, true}) {
      SCOPED_TRACE(std::to_string(pad) + (turned ? ", turned" : ""));
      checked({.images = 2, .pad = pad, .turned = turned}, patches("tf32", "128", "64"), 2e-3);
    }
  }
}

TEST(ContractPatches, InOneThirdAsThreeProducts) {
  for (const char* bm : {"64", "128"})
    checked({.images = 2, .outputs = 128, .pad = 1}, patches("tf32x3", bm, "128"), 1e-5,
            MathLevel::kTf32x3);
}

/// Boxes of 8, 16 and 32 channels: places in the window that fill a tile of k, and such that do
/// not.
TEST(ContractPatches, OfFewAndManyChannels) {
  for (const std::int64_t channels : {8, 12, 16, 32, 40}) {
    SCOPED_TRACE(channels);
    checked({.channels = channels, .rows = 3, .columns = 1}, patches("tf32", "64", "64"), 2e-3);
  }
}

/// Narrow outputs are read in boxes of several rows.
TEST(ContractPatches, OfNarrowImages) {
  for (const std::int64_t width : {4, 8, 12, 20}) {
    SCOPED_TRACE(width);
    checked({.images = 3, .height = 12, .width = width, .pad = 1, .bias = true},
            patches("tf32", "128", "64"), 2e-3);
  }
}

TEST(ContractPatches, InStepsOverTheInput) {
  for (const auto& [step, pad] : {std::pair{2, 0}, {2, 1}, {3, 1}, {4, 1}}) {
    SCOPED_TRACE(std::to_string(step) + ", " + std::to_string(pad));
    checked({.images = 2, .height = 20, .width = 72, .pad = pad, .step = step},
            patches("tf32", "64", "64"), 2e-3);
  }
}

/// Of several bounds the tightest counts.
TEST(ContractPatches, OfInputsOfWhichAPartCounts) {
  for (const bool first : {false, true})
    checked({.pad = 1, .rows_there = 6, .tight_first = first}, patches("tf32", "64", "64"), 2e-3);
}

TEST(ContractPatches, OfWeightsWithTheNamesOfIndices) {
  for (const char* name : {"k", "n", "at"})
    checked({.pad = 1, .weights = name}, patches("tf32", "64", "64"), 2e-3);
}

/// Where packing the other operand writes less, it is packed; and no tensor map has rows of 120
/// bytes.
TEST(ContractPatches, NotOfProductsWithFewRows) {
  const auto in_patches = [](const Window& window) {
    Convolution convolution(window);
    const auto contraction = contract::analyse(convolution.goal());
    EXPECT_TRUE(contraction) << contraction.error().message;
    EXPECT_TRUE(contraction->bulk.as_f32.has_value());
    return contraction->bulk.as_f32->in_patches;
  };
  EXPECT_TRUE(in_patches({.images = 2, .outputs = 64, .rows = 1, .columns = 1}));
  EXPECT_FALSE(in_patches({.images = 2, .height = 1, .outputs = 128, .rows = 1, .columns = 1}));
  EXPECT_TRUE(in_patches({.height = 6, .outputs = 64}));
  EXPECT_FALSE(in_patches({.height = 3, .outputs = 64})) << "30 rows";
  EXPECT_FALSE(in_patches({.width = 30}));
}

/// Inputs of which no boxes can be copied are packed as the product reads them.
TEST(ContractPatches, PackedWhereThereAreNone) {
  for (const std::int64_t width : {7, 30}) {
    Convolution convolution({.images = 2, .width = width, .outputs = 32, .pad = 1, .bias = true});
    const Generated generated = convolution.check(*kContract, patches("tf32", "64", "64"), 2e-3);
    EXPECT_EQ(generated.source.find("full_patches"), std::string::npos);
    EXPECT_EQ(generated.launches.size(), 2U);
  }
}

TEST(ContractPatches, InOneDimensionAndDilated) {
  checked(
      {.images = 2, .channels = 16, .height = 1, .width = 100, .rows = 1, .pad = 0, .dilation = 3},
      patches("tf32", "64", "64"), 2e-3);
  checked({.height = 14, .width = 36, .pad = 2, .dilation = 2}, patches("tf32", "64", "64"), 2e-3);
}

TEST(ContractPatches, SumsInF64AndSharedOnes) {
  checked({.channels = 32, .pad = 1, .sum_in_f64 = true}, patches("tf32", "128", "64"), 2e-3);
  Choice shared = patches("tf32", "64", "64");
  shared["share"] = "all-2";
  checked({.channels = 32, .pad = 1, .bias = true}, shared, 2e-3);
}

}  // namespace
}  // namespace hone::schedules
