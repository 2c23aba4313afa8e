// Transposed convolutions with a stride as products of the phases of their outputs.
#include "rewriters/nest/phases.h"
#include "rewriters/schedules/contract/analysis.h"
#include "tests/unit/rewriters/contract_product.h"
#include "tests/unit/rewriters/convolution.h"
#include "tests/unit/rewriters/transposed.h"

namespace hone::schedules {
namespace {

Window strided(std::int64_t step, std::int64_t pad = 1) {
  return {.images = 2,
          .channels = 4,
          .height = 5,
          .width = 6,
          .outputs = 8,
          .pad = pad,
          .step = step,
          .turned = true};
}

std::vector<std::int64_t> extents_of(const nest::Nodes& nodes,
                                     const std::vector<nest::SymbolId>& symbols) {
  std::vector<std::int64_t> all;
  for (const nest::SymbolId symbol : symbols) all.push_back(nodes.extent(symbol));
  return all;
}

/// Terms of each sum of the nest as it is and by its phases; the same where it has none. Both give
/// the same.
std::pair<std::int64_t, std::int64_t> terms_of(const Window& window) {
  Convolution convolution(window);
  const auto terms = [&] {
    std::int64_t count = 0;
    nest::for_each(convolution.nest.value, [&](Ref node) {
      if (node->kind != nest::Node::Kind::kReduce) return;
      count = 1;
      for (const std::int64_t extent : extents_of(convolution.nodes, node->symbols))
        count *= extent;
    });
    return count;
  };
  const std::int64_t before = terms();
  const std::vector<double> expected = convolution.evaluate_all();
  const auto phased = nest::by_phases(convolution.nodes, convolution.nest);
  if (!phased) return {before, before};
  convolution.nest = phased->nest;
  EXPECT_EQ(convolution.evaluate_all(), expected);
  return {before, terms()};
}

TEST(ContractPhases, HaveFewerTerms) {
  using Terms = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(terms_of(strided(2)), (Terms{36, 16}));
  EXPECT_EQ(terms_of(strided(2, 0)), (Terms{36, 16}));
  EXPECT_EQ(terms_of(strided(3)), (Terms{36, 16}));
  EXPECT_EQ(terms_of(strided(5, 0)), (Terms{36, 4}));
  Window window = strided(2, 3);  // of three rows two are met, of seven columns four
  window.columns = 7;
  EXPECT_EQ(terms_of(window), (Terms{84, 32}));
  window = strided(2);  // each output has its two inputs or none
  window.more = 1;
  EXPECT_EQ(terms_of(window), (Terms{36, 16}));
}

TEST(ContractPhases, OfDilatedWindows) {
  using Terms = std::pair<std::int64_t, std::int64_t>;
  Window window = strided(5);
  window.dilation = 2;
  EXPECT_EQ(terms_of(window), (Terms{36, 16}));
  window = strided(3);
  window.dilation = 2;
  EXPECT_EQ(terms_of(window), (Terms{36, 36})) << "three neighbours of each phase are no fewer";
  window = strided(2);
  window.dilation = 2;
  EXPECT_EQ(terms_of(window), (Terms{36, 36})) << "half of the phases have nothing";
}

TEST(ContractPhases, ConvolutionsWithoutAStrideStayAsTheyAre) {
  EXPECT_EQ(terms_of(strided(1)), (std::pair<std::int64_t, std::int64_t>{36, 36}));
  Window window = strided(2);
  window.turned = false;
  EXPECT_EQ(terms_of(window), (std::pair<std::int64_t, std::int64_t>{36, 36}));
}

/// C[o] = sum over k, where place % stride == 0 and place >= 0, of A[(place + more) / stride] *
/// B[weight].
struct StridedSum : NestCase {
  SymbolId o, k;
  Ref place = nullptr, weight = nullptr;  ///< to be set before make()

  StridedSum(std::int64_t outputs, std::int64_t rounds, std::int64_t inputs, std::int64_t weights)
      : o(nodes.new_symbol("o", outputs)), k(nodes.new_symbol("k", rounds)) {
    buffer("A", ScalarType::kF32, inputs, Role::kIn);
    buffer("B", ScalarType::kF32, weights, Role::kIn);
    buffer("C", ScalarType::kF32, outputs, Role::kOut);
  }

  void make(std::int64_t stride, std::int64_t more) {
    const Ref step = nodes.integer(stride);
    const Ref met =
        nodes.both(nodes.is_zero(nodes.remainder(place, step)), nodes.non_negative(place));
    const Ref from = nodes.divide(nodes.add(place, nodes.integer(more)), step);
    const Ref term = nodes.op(
        Op::kMul, ScalarType::kF32,
        {nodes.load("A", ScalarType::kF32, from), nodes.load("B", ScalarType::kF32, weight)});
    nest.buffer = "C";
    nest.type = ScalarType::kF32;
    nest.dims = {o};
    nest.element = nodes.index(o);
    nest.guard = nodes.boolean(true);
    nest.value =
        nodes.reduce(Op::kAdd, {k}, nodes.select(met, term, nodes.number(0, ScalarType::kF32)));
  }
};

/// What reads only where a sum is divisible reads as far from its place before and after it.
TEST(ContractPhases, OfRoundsThatRise) {
  StridedSum one(11, 5, 12, 5);
  nest::Nodes& nodes = one.nodes;
  one.place = nodes.add(nodes.index(one.o),
                        nodes.add(nodes.scale(nodes.index(one.k), 3), nodes.integer(-4)));
  one.weight = nodes.index(one.k);
  one.make(4, 8);
  const std::vector<double> expected = one.evaluate_all();
  const auto phased = nest::by_phases(nodes, one.nest);
  ASSERT_TRUE(phased);
  EXPECT_EQ(extents_of(nodes, phased->nest.dims), (std::vector<std::int64_t>{3, 4}));
  one.nest = phased->nest;
  EXPECT_EQ(one.evaluate_all(), expected);
}

/// Weights that are another for each output: behind the last one there are none to load.
TEST(ContractPhases, WhatDependsOnTheOutputOtherwiseNeedsWholeBlocks) {
  for (const std::int64_t outputs : {5, 6}) {
    StridedSum one(outputs, 4, 3, 4 * outputs);
    nest::Nodes& nodes = one.nodes;
    one.place = nodes.subtract(nodes.index(one.o), nodes.index(one.k));
    one.weight = nodes.add(nodes.scale(nodes.index(one.k), outputs), nodes.index(one.o));
    one.make(2, 0);
    EXPECT_EQ(nest::by_phases(nodes, one.nest).has_value(), outputs % 2 == 0);
  }
}

/// Of three channels and windows that are as wide as the stride each phase has three terms.
TEST(ContractPhases, WithTooFewTermsAreMultipliedAsTheyAre) {
  const Window window = {.channels = 3,
                         .height = 4,
                         .width = 5,
                         .outputs = 8,
                         .rows = 2,
                         .columns = 2,
                         .step = 2,
                         .turned = true};
  EXPECT_EQ(terms_of(window).second, 3);
  Convolution convolution(window, MathLevel::kReassociate);
  convolution.check(*kContract, {{"pipe", "fma"}, {"bm", "32"}, {"bn", "32"}}, 1e-5);
}

TEST(ContractPhases, OfDilatedWindowsAndMoreOutputsAreMultiplied) {
  Window window = strided(3);
  window.rows = 4;
  window.columns = 5;
  window.dilation = 2;
  window.more = 2;
  const auto [before, after] = terms_of(window);
  EXPECT_LT(after, before);
  Convolution exact(window, MathLevel::kReassociate);
  exact.check(*kContract, {{"pipe", "fma"}, {"bm", "32"}, {"bn", "32"}}, 1e-5);
  Convolution bulk(window);
  bulk.check(*kContract, {{"pipe", "wgmma-bulk-tf32"}, {"bm", "64"}, {"bn", "64"}}, 2e-3);
}

/// Kernels of each kind, all edges and phases without a whole block among them.
TEST(ContractPhases, AreMultiplied) {
  for (const std::int64_t step : {2, 3}) {
    SCOPED_TRACE(step);
    Window window = strided(step);
    window.bias = true;
    Convolution exact(window, MathLevel::kReassociate);
    exact.check(*kContract, {{"pipe", "fma"}, {"bm", "32"}, {"bn", "32"}}, 1e-5);
    Convolution tf32(window);
    tf32.check(*kContract, {{"pipe", "tf32"}, {"bm", "64"}, {"bn", "64"}}, 2e-3);
    Convolution bulk(window);
    bulk.check(*kContract, {{"pipe", "wgmma-bulk-tf32"}, {"bm", "64"}, {"bn", "64"}}, 2e-3);
  }
}

/// The windows of all phases are read as those of a convolution without a stride.
TEST(ContractPhases, AreReadInPatches) {
  Window window = strided(2);
  window.channels = 16;
  window.height = 12;
  window.width = 32;
  Convolution convolution(window);
  const Generated generated = convolution.check(
      *kContract, {{"pipe", "wgmma-bulk-tf32"}, {"bm", "128"}, {"bn", "64"}, {"stages", "3"}},
      2e-3);
  EXPECT_NE(generated.source.find("full_patches"), std::string::npos);
}

using After = Transposed::After;
using Dimensions = std::vector<Transposed::Dimension>;

/// Kernels of each kind.
void check_all(const Dimensions& dimensions, const Transposed::Options& options = {}) {
  Transposed exact(dimensions, MathLevel::kReassociate, options);
  exact.check(*kContract, {{"pipe", "fma"}, {"bm", "32"}, {"bn", "32"}}, 1e-5);
  Transposed tf32(dimensions, MathLevel::kTf32, options);
  tf32.check(*kContract, {{"pipe", "tf32"}, {"bm", "64"}, {"bn", "64"}}, 2e-3);
  Transposed bulk(dimensions, MathLevel::kTf32, options);
  bulk.check(*kContract, {{"pipe", "wgmma-bulk-tf32"}, {"bm", "64"}, {"bn", "64"}}, 2e-3);
}

/// Rows, columns and summed of the product, as phases say.
std::string product_of(const Dimensions& dimensions, const Transposed::Options& options = {}) {
  Transposed one(dimensions, MathLevel::kReassociate, options);
  const auto contraction = contract::analyse(one.goal());
  return contraction ? contraction->describe() : contraction.error().message;
}

/// Stride and dilation share a factor: only outputs that have terms are multiplied.
TEST(ContractPhases, WithoutTermsAreNotMultiplied) {
  EXPECT_EQ(product_of({{.size = 9}}), "8 x 18 x 12");            // 2 x 9 of 2 x 19 outputs
  EXPECT_EQ(product_of({{.size = 9, .pad = 0}}), "8 x 22 x 12");  // of 2 x 21
  EXPECT_EQ(product_of({{.size = 9, .step = 3, .dilation = 3}}), "8 x 18 x 12");
  EXPECT_EQ(product_of({{.size = 5}, {.size = 4}, {.size = 6}}), "8 x 240 x 108");
  // Of one dimension alone, the other by phases; and by phases of what is left.
  EXPECT_EQ(product_of({{.size = 5, .dilation = 1}, {.size = 6}}), "16 x 60 x 24");
  EXPECT_EQ(product_of({{.size = 9, .step = 4}}), "18 x 16 x 8");
  check_all({{.size = 9}});
  check_all({{.size = 9, .pad = 0}});
  check_all({{.size = 9, .more = 1}});
  for (const std::int64_t pad : {0, 1, 2, 4})
    check_all({{.size = 7, .step = 3, .dilation = 3, .pad = pad}});
  check_all({{.size = 5}, {.size = 6, .pad = 2}});
  check_all({{.size = 5, .step = 3, .dilation = 3, .more = 1}, {.size = 6, .step = 2}});
  check_all({{.size = 3}, {.size = 4}, {.size = 5}});
}

TEST(ContractPhases, WithoutTermsBesideOthers) {
  check_all({{.size = 5, .dilation = 1}, {.size = 6}});
  check_all({{.size = 5}, {.size = 6, .dilation = 1}});
  check_all({{.size = 9, .step = 4}});
  check_all({{.size = 9, .step = 4, .pad = 2}, {.size = 5, .step = 6, .dilation = 3}});
}

/// What blocks share is finished with the outputs around, and 16 bits are stored so.
TEST(ContractPhases, WithoutTermsAreWrittenByEveryKernel) {
  const Dimensions dimensions = {{.size = 5}, {.size = 6}};
  Transposed split(dimensions, MathLevel::kTf32, {.channels = 32});
  const Generated generated = split.check(
      *kContract, {{"pipe", "wgmma-bulk-tf32"}, {"bm", "64"}, {"bn", "64"}, {"share", "all-4"}},
      2e-3);
  EXPECT_NE(generated.source.find("g_finish"), std::string::npos);
  Transposed half(dimensions, MathLevel::kReassociate,
                  {.channels = 16, .outputs = 16, .type = ScalarType::kF16});
  half.check(*kContract, {{"bm", "64"}, {"bn", "64"}}, 5e-3);
}

/// Outputs go by shared memory, or lanes swap them: neighbouring lanes write neighbours.
TEST(ContractPhases, WithoutTermsAreWrittenInWholeSectors) {
  for (const bool last : {false, true}) {
    const Dimensions dimensions = {{.size = 5, .dilation = last ? 1 : 2},
                                   {.size = 18, .dilation = last ? 2 : 1}};
    Transposed exact(dimensions, MathLevel::kReassociate, {.outputs = 32});
    const Generated generated =
        exact.check(*kContract, {{"pipe", "fma"}, {"bm", "32"}, {"bn", "64"}}, 1e-5);
    EXPECT_EQ(generated.source.find("swapped") != std::string::npos, last);
  }
  for (const bool three : {false, true}) {
    Dimensions dimensions = {{.size = 3}, {.size = 16}};
    if (three) dimensions.insert(dimensions.begin(), {.size = 2, .window = 2, .pad = 0});
    Transposed patches(dimensions, MathLevel::kTf32, {.channels = 8, .outputs = 32});
    const Generated generated = patches.check(*kContract,
                                              {{"pipe", "wgmma-bulk-tf32"},
                                               {"bm", "128"},
                                               {"bn", "64"},
                                               {"stages", "3"},
                                               {"share", "none"}},
                                              2e-3);
    EXPECT_NE(generated.source.find("full_patches"), std::string::npos);
    EXPECT_NE(generated.source.find("beside = number % 2"), std::string::npos);
  }
}

/// Copies in bulk write no places around outputs: threads do. The outputs that have terms are the
/// rows of a matrix, apart from each other, where there is one image or each has an even number.
TEST(ContractPhases, WithoutTermsAreWrittenByThreadsWhereChannelsAreLast) {
  for (const std::int64_t images : {1, 2}) {
    Transposed half({{.size = 9, .pad = 0, .more = images - 1}}, MathLevel::kReassociate,
                    {.channels = 16,
                     .outputs = 64,
                     .images = images,
                     .channels_last = true,
                     .type = ScalarType::kF16});
    const Generated generated =
        half.check(*kContract, {{"pipe", "wgmma-bulk"}, {"bm", "64"}, {"bn", "64"}}, 5e-3);
    EXPECT_NE(generated.source.find("place0"), std::string::npos);
  }
}

/// Where the outputs that have terms read less than those around: all at odd places, say.
TEST(ContractPhases, WithoutTermsReadInputsThatOthersDoNot) {
  const Dimensions dimensions = {{.size = 5}, {.size = 6}};
  const std::map<After, std::string> only_around = {{After::kOfEdges, "edge"},
                                                    {After::kOfParity, "even"}};
  for (const auto& [after, buffer] : only_around) {
    Transposed one(dimensions, MathLevel::kReassociate, {.after = after});
    const auto contraction = contract::analyse(one.goal());
    ASSERT_TRUE(contraction);
    const auto reads = [&](Ref value) {
      return std::ranges::any_of(nest::loads_in(value),
                                 [&](Ref load) { return load->name == buffer; });
    };
    EXPECT_FALSE(reads(contraction->value));
    EXPECT_TRUE(reads(contraction->around->empty));
    check_all(dimensions, {.after = after});
    Transposed split(dimensions, MathLevel::kTf32, {.channels = 32, .after = after});
    split.check(*kContract,
                {{"pipe", "wgmma-bulk-tf32"}, {"bm", "64"}, {"bn", "64"}, {"share", "all-4"}},
                2e-3);
  }
}

/// Up to eight places are written around each output; beyond that all outputs are multiplied.
TEST(ContractPhases, WithoutTermsAreFewAroundEachOutput) {
  for (const std::int64_t factor : {6, 8, 9, 16}) {
    SCOPED_TRACE(factor);
    for (const std::int64_t pad : {0, 1}) {
      const Dimensions dimensions = {{.size = 2, .window = 2},
                                     {.size = 3, .step = factor, .dilation = factor, .pad = pad}};
      Transposed one(dimensions, MathLevel::kReassociate, {});
      const auto contraction = contract::analyse(one.goal());
      ASSERT_TRUE(contraction);
      EXPECT_EQ(contraction->around->places.size(), factor <= 8 ? 2 : 1);
      check_all(dimensions);
    }
    // By lanes that swap outputs, and by shared memory.
    const Dimensions row = {{.size = 16, .step = factor, .dilation = factor}};
    for (const char* pipe : {"fma", "wgmma-bulk-tf32"}) {
      Transposed wide(row, MathLevel::kTf32, {.channels = 8, .outputs = 16});
      const Generated generated =
          wide.check(*kContract, {{"pipe", pipe}, {"bm", "64"}, {"bn", "64"}}, 2e-3);
      EXPECT_EQ(generated.source.find("place0") != std::string::npos, factor <= 8);
    }
  }
}

/// Inputs that each output has its own element of, in batches and in every order of the outputs.
TEST(ContractPhases, WithoutTermsAreWrittenWithWhatFollows) {
  const Dimensions two = {{.size = 3}, {.size = 4, .step = 3, .dilation = 3}};
  const Dimensions beside_phases = {{.size = 5, .dilation = 1}, {.size = 4}};
  for (const bool channels_last : {false, true}) {
    SCOPED_TRACE(channels_last);
    check_all(two, {.channels_last = channels_last, .after = After::kOfOutputs});
    check_all(beside_phases,
              {.images = 3, .channels_last = channels_last, .after = After::kOfOutputs});
    check_all({{.size = 9, .step = 4}},
              {.images = 1, .channels_last = channels_last, .after = After::kOfParity});
    check_all(two, {.groups = 3, .channels_last = channels_last, .after = After::kOfOutputs});
    check_all({{.size = 7}}, {.images = 3,
                              .channels_last = channels_last,
                              .own_weights = true,
                              .after = After::kOfOutputs});
    for (const std::int64_t groups : {1, 2}) {
      Transposed split(two, MathLevel::kTf32,
                       {.channels = 16,
                        .groups = groups,
                        .channels_last = channels_last,
                        .after = After::kOfOutputs});
      const Generated slices = split.check(
          *kContract, {{"pipe", "tf32"}, {"bm", "64"}, {"bn", "64"}, {"share", "all-2"}}, 2e-3);
      EXPECT_NE(slices.source.find("g_finish"), std::string::npos);
    }
  }
}

/// Groups and each image's own weights are batches of the product.
TEST(ContractPhases, WithoutTermsAreNotMultipliedInBatches) {
  EXPECT_EQ(product_of({{.size = 9}}, {.groups = 3}), "3 of 8 x 18 x 12");
  EXPECT_EQ(product_of({{.size = 9}}, {.images = 3, .own_weights = true}), "3 of 8 x 9 x 12");
  EXPECT_EQ(product_of({{.size = 9}}, {.channels_last = true}), "18 x 8 x 12");
}

}  // namespace
}  // namespace hone::schedules
