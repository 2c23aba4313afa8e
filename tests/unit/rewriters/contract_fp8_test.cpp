// Products of 8-bit floats: on tensor cores where k runs along the rows of both operands.
#include <algorithm>

#include "tests/unit/rewriters/contract_product.h"

namespace hone::schedules {
namespace {

constexpr ScalarType kE4m3 = ScalarType::kE4m3, kE5m2 = ScalarType::kE5m2;
// Sums of the tensor cores keep 13 places, and what is beyond is cut off.
constexpr double kThirteenPlaces = 5e-3;

Choice at(const char* pipe, const char* bm, const char* bn, const char* stages = "3") {
  return {{"pipe", pipe}, {"bm", bm}, {"bn", bn}, {"stages", stages}, {"share", "none"}};
}

Shape along_k(std::int64_t m, std::int64_t n, std::int64_t k, ScalarType a, ScalarType b) {
  return {.m = m, .n = n, .k = k, .b_transposed = true, .type = a, .b_type = b};
}

bool offers(Product& product, const std::string& pipe) {
  const auto offer = kContract->match(product.goal());
  EXPECT_TRUE(offer.has_value());
  if (!offer) return false;
  const auto& pipes = offer->parameters.at(0).domain;
  return std::ranges::find(pipes, ParameterValue(pipe)) != pipes.end();
}

TEST(ContractFp8, EveryPairOfTypes) {
  for (const ScalarType a : {kE4m3, kE5m2}) {
    for (const ScalarType b : {kE4m3, kE5m2}) {
      SCOPED_TRACE(std::string(to_string(a)) + " " + std::string(to_string(b)));
      const std::string kind = "f32." + std::string(to_string(a)) + "." + std::string(to_string(b));
      for (const char* pipe : {"wgmma-bulk", "wgmma-fast"}) {
        Product whole(along_k(64, 64, 128, a, b), {}, {}, MathLevel::kReduced);
        const std::string text =
            whole.check(*kContract, at(pipe, "64", "64"), kThirteenPlaces).source;
        EXPECT_NE(text.find("m64n64k32." + kind), std::string::npos) << text;
        // Ends of every dimension, and of the batch.
        Shape odd = along_k(71, 69, 144, a, b);
        odd.batch = 2;
        Product(odd, {}, {}, MathLevel::kReduced)
            .check(*kContract, at(pipe, "128", "64", "2"), kThirteenPlaces);
      }
      const std::string text = Product(along_k(50, 35, 144, a, b))
                                   .check(*kContract,
                                          {{"pipe", "mma"},
                                           {"bm", "32"},
                                           {"bn", "64"},
                                           {"wm", "16"},
                                           {"wn", "32"},
                                           {"share", "none"}},
                                          kThirteenPlaces)
                                   .source;
      EXPECT_NE(text.find("m16n8k32.row.col." + kind), std::string::npos) << text;
    }
  }
}

TEST(ContractFp8, AtManyPoints) {
  Product product(along_k(264, 136, 336, kE4m3, kE4m3), {}, {}, MathLevel::kReduced);
  for (const auto& [pipe, bm, bn, stages] : {std::tuple("wgmma-bulk", "128", "128", "4"),
                                             {"wgmma-bulk", "64", "128", "2"},
                                             {"wgmma-bulk", "256", "256", "5"},
                                             {"wgmma-fast", "128", "256", "3"},
                                             {"wgmma-fast", "256", "128", "4"}}) {
    SCOPED_TRACE(std::string(pipe) + " " + bm + " " + bn + " " + stages);
    product.check(*kContract, at(pipe, bm, bn, stages), kThirteenPlaces);
  }
}

TEST(ContractFp8, ShortRunsInTilesOf192Columns) {
  for (const ScalarType out : {ScalarType::kF32, ScalarType::kBf16}) {
    for (const char* cluster : {"1", "2"}) {
      SCOPED_TRACE(std::string(to_string(out)) + " in clusters of " + cluster);
      Shape shape = along_k(264, 400, 336, kE4m3, kE5m2);
      shape.out = out;
      Product product(shape, {}, {}, MathLevel::kReduced);
      Choice choice = at("wgmma-bulk", "128", "192", "4");
      choice["cluster"] = cluster;
      const double tolerance = out == ScalarType::kF32 ? kThirteenPlaces : 1e-2;
      const std::string text = product.check(*kContract, choice, tolerance).source;
      EXPECT_NE(text.find("m64n192k32"), std::string::npos) << text;
    }
  }
  // Other pipes have powers of two.
  Product product(along_k(264, 400, 336, kE4m3, kE4m3), {}, {}, MathLevel::kReduced);
  const std::string text =
      product.check(*kContract, at("wgmma-fast", "128", "192", "4"), kThirteenPlaces).source;
  EXPECT_NE(text.find("m64n128k32"), std::string::npos) << text;
}

TEST(ContractFp8, ClustersAndTilesThatShareTheirSums) {
  for (const char* pipe : {"wgmma-bulk", "wgmma-fast"}) {
    Product product(along_k(136, 136, 336, kE4m3, kE5m2), {}, {}, MathLevel::kReduced);
    product.context.target.sm_count = 4;
    Choice choice = at(pipe, "64", "128");
    choice["cluster"] = "2";
    product.check(*kContract, choice, kThirteenPlaces);
    choice["share"] = "all-2";
    EXPECT_EQ(product.check(*kContract, choice, kThirteenPlaces).launches.size(), 2U);
  }
}

/// Scales of one element, and outputs of every floating type; neither is part of the sum.
TEST(ContractFp8, ScalesAndNarrowOutputs) {
  const auto scaled = [](Product& p, nest::Ref sum) {
    for (const char* scale : {"scale_a", "scale_b"}) {
      p.buffer(scale, ScalarType::kF32, 1, Role::kIn);
      sum = p.f32(Op::kMul, {sum, p.nodes.load(scale, ScalarType::kF32, p.nodes.integer(0))});
    }
    return sum;
  };
  for (const auto& [out, tolerance] : {std::pair(ScalarType::kBf16, 1e-2),
                                       {ScalarType::kF16, 3e-3},
                                       {kE4m3, 0.07},
                                       {kE5m2, 0.14}}) {
    for (const char* pipe : {"wgmma-bulk", "mma", "fma"}) {
      SCOPED_TRACE(std::string(to_string(out)) + " " + pipe);
      Shape shape = along_k(72, 80, 208, kE4m3, kE4m3);
      shape.out = out;
      Product(shape, {}, scaled).check(*kContract, at(pipe, "64", "64"), tolerance);
    }
  }
}

/// Where k runs along the columns a launch before turns the operand; and bf16 holds what 8 bits do,
/// so the level stays.
TEST(ContractFp8, OtherOrientations) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      SCOPED_TRACE(std::string(a ? "T" : "N") + (b ? "T" : "N"));
      Shape shape = along_k(72, 80, 96, kE4m3, kE5m2);
      shape.a_transposed = a;
      shape.b_transposed = b;
      Product product(shape);
      const bool both_along_k = !a && b;
      EXPECT_EQ(offers(product, "mma"), both_along_k);
      for (const char* pipe : {"wgmma-bf16", "bf16", "fma"})
        product.check(*kContract, at(pipe, "64", "64"), 1e-5);
      const Generated turned =
          product.check(*kContract, at("wgmma-bulk", "64", "64"), kThirteenPlaces);
      EXPECT_EQ(turned.launches.size(), 1U + (a ? 1 : 0) + (b ? 0 : 1));
    }
  }
}

TEST(ContractFp8, WhatIsNotOffered) {
  Product plain(along_k(64, 64, 128, kE4m3, kE4m3));
  EXPECT_TRUE(offers(plain, "wgmma-bulk"));
  EXPECT_FALSE(offers(plain, "wgmma-fast"));  // the sum has fewer bits than the nest's
  Product odd(along_k(64, 64, 120, kE4m3, kE4m3));
  EXPECT_TRUE(offers(odd, "wgmma-bulk"));  // packed: rows of no multiple of 16 bytes
  EXPECT_TRUE(offers(odd, "mma"));
  Product mixed(along_k(64, 64, 128, kE4m3, ScalarType::kBf16));
  EXPECT_FALSE(offers(mixed, "wgmma-bulk"));
  EXPECT_FALSE(offers(mixed, "mma"));
  Shape in_f64 = along_k(64, 64, 128, kE4m3, kE4m3);
  in_f64.sum_in_f64 = true;
  Product doubles(in_f64);
  EXPECT_FALSE(offers(doubles, "wgmma-bulk"));
  EXPECT_FALSE(offers(doubles, "mma"));
  Product older(along_k(64, 64, 128, kE4m3, kE4m3));
  older.context.target = target_limits("sm_80");
  EXPECT_FALSE(offers(older, "mma"));
  EXPECT_TRUE(offers(older, "bf16"));
}

TEST(ContractFp8, OnAda) {
  Product product(along_k(72, 80, 304, kE4m3, kE5m2));
  product.context.target = target_limits("sm_89");
  EXPECT_FALSE(offers(product, "wgmma-bulk"));
  product.check(*kContract, at("mma", "64", "64"), kThirteenPlaces);
}

/// Long sums of numbers of one sign: what 13 places cut off adds up. Runs lose as little as one
/// does.
TEST(ContractFp8, RunsAreMoreExactThanOneLongSum) {
  const auto error = [](const char* pipe) {
    Product product(along_k(16, 16, 2048, kE4m3, kE4m3), {}, {}, MathLevel::kReduced);
    for (const char* name : {"A", "B"})
      for (double& value : product.contents[name]) value = std::abs(value);
    const auto offer = kContract->match(product.goal());
    const auto generated =
        kContract->generate(product.goal(), Product::step_at(*offer, at(pipe, "64", "64")), "g_");
    EXPECT_TRUE(generated.has_value());
    const std::vector<double> got = product.run(*generated), &want = product.expected();
    double squares = 0, wanted = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      squares += (got[i] - want[i]) * (got[i] - want[i]);
      wanted += want[i] * want[i];
    }
    return std::sqrt(squares / wanted);
  };
  const double in_runs = error("wgmma-bulk"), in_one = error("wgmma-fast");
  EXPECT_LT(in_runs, 7e-4);
  EXPECT_GT(in_one, 3 * in_runs);
}

TEST(ContractFp8, FirstGuessesAreOfTensorCores) {
  Product product(along_k(2048, 2048, 2048, kE4m3, kE4m3), {}, {}, MathLevel::kReduced);
  const auto offer = kContract->match(product.goal());
  ASSERT_TRUE(offer.has_value());
  std::size_t bulk = 0, fast = 0;
  for (const auto& start : offer->starts) {
    const std::string pipe = to_string(offer->parameters[0].domain[start[0]]);
    bulk += pipe == "wgmma-bulk" ? 1 : 0;
    fast += pipe == "wgmma-fast" ? 1 : 0;
  }
  EXPECT_GE(bulk, 2U);
  EXPECT_GE(fast, 2U);
}

TEST(ContractFp8, FirstGuessOfManyTilesHas192Columns) {
  // As many tiles for each multiprocessor as 8192 x 8192 outputs are on 128 of them.
  Shape shape = along_k(2048, 2048, 2048, kE4m3, kE4m3);
  shape.out = ScalarType::kBf16;
  Product product(shape);
  product.context.target.sm_count = 8;
  const auto offer = kContract->match(product.goal());
  ASSERT_TRUE(offer.has_value());
  ASSERT_FALSE(offer->starts.empty());
  std::map<std::string, std::string> first;
  for (std::size_t p = 0; p < offer->parameters.size(); ++p)
    first[offer->parameters[p].name] = to_string(offer->parameters[p].domain[offer->starts[0][p]]);
  EXPECT_EQ(first["pipe"], "wgmma-bulk");
  EXPECT_EQ(first["bm"], "128");
  EXPECT_EQ(first["bn"], "192");
}

}  // namespace
}  // namespace hone::schedules
