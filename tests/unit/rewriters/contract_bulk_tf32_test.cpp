// Products of f32 on Hopper's tensor cores whose tiles a thread copies in bulk, run on the emulator
// with every check on.
#include <bit>
#include <cmath>

#include "rewriters/schedules/contract/hopper.h"
#include "tests/unit/rewriters/contract_product.h"

namespace hone::schedules {
namespace {

Choice tf32_at(const char* pipe, const char* bm, const char* bn, const char* stages = "3") {
  return {{"pipe", pipe}, {"bm", bm}, {"bn", bn}, {"stages", stages}};
}

struct Tf32Level {
  const char* pipe;
  MathLevel math;
  double tolerance;
};
const std::vector<Tf32Level> kTf32Levels = {{"wgmma-bulk-tf32x3", MathLevel::kTf32x3, 2e-6},
                                            {"wgmma-bulk-tf32", MathLevel::kTf32, 3e-3}};

/// A product of which either operand, or none, lies along k, in every way that they can lie.
TEST(ContractBulkTf32, InEveryOrientation) {
  for (const auto& [pipe, math, tolerance] : kTf32Levels) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        SCOPED_TRACE(std::string(pipe) + (a ? " T" : " N") + (b ? "T" : "N"));
        Product({.m = 64, .n = 64, .k = 32, .a_transposed = a, .b_transposed = b}, {}, {}, math)
            .check(*kContract, tf32_at(pipe, "64", "64"), tolerance);
        // Ends of every dimension, and of the batch.
        Product({.m = 76, .n = 92, .k = 100, .batch = 2, .a_transposed = a, .b_transposed = b}, {},
                {}, math)
            .check(*kContract, tf32_at(pipe, "64", "64", "2"), tolerance);
      }
    }
  }
}

TEST(ContractBulkTf32, AtManyPoints) {
  for (const auto& [pipe, math, tolerance] : kTf32Levels) {
    for (const bool transposed : {false, true}) {
      Product floats(
          {.m = 136, .n = 264, .k = 100, .a_transposed = transposed, .b_transposed = transposed},
          {}, {}, math);
      for (const auto& [bm, bn, stages] : {std::tuple("128", "128", "4"),
                                           {"64", "128", "5"},
                                           {"128", "64", "2"},
                                           {"64", "32", "3"}}) {
        SCOPED_TRACE(std::string(pipe) + " " + bm + " " + bn + " " + stages);
        floats.check(*kContract, tf32_at(pipe, bm, bn, stages), tolerance);
      }
    }
  }
}

/// Tiles that share a sum; the second kernel reads what the first has left, and adds the bias.
TEST(ContractBulkTf32, TilesThatShareTheirSums) {
  const auto bias = [](Product& p, nest::Ref sum) {
    return p.f32(Op::kAdd, {sum, p.nodes.load("bias", ScalarType::kF32, p.nodes.index(p.j))});
  };
  for (const auto& [pipe, math, tolerance] : kTf32Levels) {
    for (const char* share : {"none", "all-4"}) {
      for (const bool transposed : {false, true}) {
        SCOPED_TRACE(std::string(pipe) + " " + share + (transposed ? " NT" : " NN"));
        Product product({.m = 40, .n = 72, .k = 292, .batch = 2, .b_transposed = transposed}, {},
                        bias, math);
        product.context.target.sm_count = 3;
        Choice choice = tf32_at(pipe, "64", "64");
        choice["share"] = share;
        const Generated generated = product.check(*kContract, choice, tolerance);
        EXPECT_EQ(generated.launches.size(), std::string(share) == "none" ? 1U : 2U);
      }
    }
  }
}

/// Three products of halves leave as little as f32 itself; one leaves what rounding the operands
/// does, half a last bit of tf32 each, and no more: nothing is cut off.
TEST(ContractBulkTf32, RoundsAsItSays) {
  for (const bool transposed : {false, true}) {
    for (const auto& [pipe, math, tolerance] : kTf32Levels) {
      SCOPED_TRACE(std::string(pipe) + (transposed ? " NT" : " NN"));
      Product product({.m = 8, .n = 8, .k = 4096, .b_transposed = transposed}, {}, {}, math);
      // All above 0: what is cut off instead of rounded adds up.
      for (const char* name : {"A", "B"})
        for (double& value : product.contents[name])
          value = static_cast<float>(1 + std::abs(value));
      const auto offer = kContract->match(product.goal());
      ASSERT_TRUE(offer.has_value()) << offer.error().message;
      const auto generated = kContract->generate(
          product.goal(), Product::step_at(*offer, tf32_at(pipe, "64", "64")), "g_");
      ASSERT_TRUE(generated.has_value()) << generated.error().message;
      const std::vector<double> got = product.run(*generated), want = product.expected();
      ASSERT_EQ(got.size(), want.size());
      double worst = 0;
      for (std::size_t i = 0; i < want.size(); ++i)
        worst = std::max(worst, std::abs(got[i] / want[i] - 1));
      // Of 4096 terms; each is off by 2^-10 at most, at random.
      EXPECT_LT(worst, math == MathLevel::kTf32 ? 0x1p-14 : 0x1p-21);
    }
  }
}

/// Sums in f64 of products of f32: runs are added up, and what that loses is kept.
TEST(ContractBulkTf32, SumsInF64) {
  for (const auto& [pipe, math, tolerance] : kTf32Levels) {
    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(std::string(pipe) + (transposed ? " NT" : " NN"));
      Product({.m = 68, .n = 36, .k = 700, .b_transposed = transposed, .sum_in_f64 = true}, {}, {},
              math)
          .check(*kContract, tf32_at(pipe, "64", "64"), tolerance);
    }
  }
}

/// Parts of sums in f64, where A lies along its rows; NaN, as CUDA makes it, stays NaN in either
/// operand.
TEST(ContractBulkTf32, SharedSumsInF64AndNaN) {
  for (const auto& [pipe, math, tolerance] : kTf32Levels) {
    SCOPED_TRACE(pipe);
    Product shared({.m = 68, .n = 36, .k = 300, .a_transposed = true, .sum_in_f64 = true}, {}, {},
                   math);
    shared.context.target.sm_count = 3;
    Choice choice = tf32_at(pipe, "64", "64");
    choice["share"] = "all-2";
    shared.check(*kContract, choice, tolerance);

    for (const bool of_a : {true, false}) {
      Product product({.m = 8, .n = 8, .k = 64, .b_transposed = of_a}, {}, {}, math);
      for (const char* name : {"A", "B"})
        for (double& value : product.contents[name]) value = 1;
      // The first row of A, or column of B.
      product.contents[of_a ? "A" : "B"][0] = std::bit_cast<float>(0x7fffffffU);
      const auto offer = kContract->match(product.goal());
      ASSERT_TRUE(offer.has_value()) << offer.error().message;
      const auto generated = kContract->generate(
          product.goal(), Product::step_at(*offer, tf32_at(pipe, "64", "64")), "g_");
      ASSERT_TRUE(generated.has_value()) << generated.error().message;
      const std::vector<double> got = product.run(*generated);
      ASSERT_EQ(got.size(), 64U);
      for (std::size_t i = 0; i < 64; ++i)
        EXPECT_EQ(std::isnan(got[i]), (of_a ? i / 8 : i % 8) == 0) << i << ": " << got[i];
    }
  }
}

/// Outputs that go by shared memory, or are added to what was there.
TEST(ContractBulkTf32, OutputsThatCopiesWrite) {
  const Choice choice = tf32_at("wgmma-bulk-tf32x3", "64", "64");
  const std::string halves =
      Product({.m = 64, .n = 64, .k = 40, .b_transposed = true, .out = ScalarType::kF16}, {}, {},
              MathLevel::kTf32x3)
          .check(*kContract, choice, 1e-3)
          .source;
  EXPECT_NE(halves.find("cp.async.bulk.tensor.2d.global"), std::string::npos);
  const Shape added{.m = 64, .n = 64, .k = 40, .b_transposed = true};
  Product sums(
      added, {},
      [&](Product& p, Ref sum) {
        const Ref at = p.nodes.add(p.nodes.scale(p.nodes.index(p.i), 64), p.nodes.index(p.j));
        return p.f32(Op::kAdd, {sum, p.nodes.load("C", ScalarType::kF32, at)});
      },
      MathLevel::kTf32x3);
  for (ConcreteBuffer& one : sums.concrete.buffers)
    if (one.name == "C") one.role = Role::kInOut;
  const Generated generated = sums.check(*kContract, choice, 2e-6);
  EXPECT_NE(generated.source.find("cp.reduce.async.bulk.tensor"), std::string::npos);
}

/// Where the math level asks for more, or more would have to be packed than 1 GiB, it is not
/// offered.
TEST(ContractBulkTf32, IsOfferedWhereItCan) {
  const auto offers = [](const Shape& shape, MathLevel math, std::string_view pipe) {
    Product product(shape, {}, {}, math);
    const auto offer = kContract->match(product.goal());
    EXPECT_TRUE(offer.has_value());
    for (const Parameter& parameter : offer->parameters)
      for (const ParameterValue& value : parameter.domain)
        if (parameter.name == "pipe" && to_string(value) == pipe) return true;
    return false;
  };
  const Shape even = {.m = 256, .n = 256, .k = 256}, odd = {.m = 255, .n = 255, .k = 255};
  EXPECT_TRUE(offers(even, MathLevel::kTf32x3, "wgmma-bulk-tf32x3"));
  EXPECT_FALSE(offers(even, MathLevel::kTf32x3, "wgmma-bulk-tf32"));
  EXPECT_FALSE(offers(even, MathLevel::kReassociate, "wgmma-bulk-tf32x3"));
  EXPECT_TRUE(offers(even, MathLevel::kTf32, "wgmma-bulk-tf32"));
  EXPECT_TRUE(offers(odd, MathLevel::kTf32, "wgmma-bulk-tf32"));
}

}  // namespace
}  // namespace hone::schedules
