// Sums in f64 of products of f32 and less, whose results are f32: generate-contract adds runs of
// terms in f32, on every pipe.
#include <cmath>

#include "tests/unit/rewriters/contract_product.h"

namespace hone::schedules {
namespace {

struct RunsPoint {
  ScalarType type;
  Choice choice;
};
const std::vector<RunsPoint> kRunsPoints = {
    {ScalarType::kF32,
     {{"pipe", "fma-runs"}, {"bm", "64"}, {"bn", "64"}, {"tm", "8"}, {"tn", "8"}}},
    {ScalarType::kF32,
     {{"pipe", "fma-runs"}, {"bm", "32"}, {"bn", "32"}, {"tm", "4"}, {"tn", "4"}}},
    {ScalarType::kF32,
     {{"pipe", "tf32x3"}, {"bm", "32"}, {"bn", "64"}, {"wm", "16"}, {"wn", "32"}}},
    {ScalarType::kF32, {{"pipe", "wgmma-bulk-tf32x3"}, {"bm", "64"}, {"bn", "64"}}},
    {ScalarType::kF16,
     {{"pipe", "fma-runs"}, {"bm", "64"}, {"bn", "64"}, {"tm", "8"}, {"tn", "8"}}},
    {ScalarType::kF16, {{"pipe", "mma"}, {"bm", "32"}, {"bn", "64"}, {"wm", "16"}, {"wn", "32"}}},
    {ScalarType::kBf16, {{"pipe", "wgmma-bulk"}, {"bm", "64"}, {"bn", "64"}}},
    {ScalarType::kF16, {{"pipe", "wgmma-bulk"}, {"bm", "128"}, {"bn", "128"}}},
};

TEST(ContractRuns, RightOnEveryPipe) {
  for (const auto& [type, choice] : kRunsPoints) {
    for (const char* share : {"none", "all-2", "tail-2"}) {
      SCOPED_TRACE(std::string(to_string(type)) + " " + choice.at("pipe") + " " + share);
      Choice point = choice;
      point["share"] = share;
      for (const bool transposed : {false, true}) {
        if (transposed && point["share"] != "none") continue;
        Product product({.m = 66,
                         .n = 36,
                         .k = 540,
                         .a_transposed = transposed,
                         .b_transposed = transposed,
                         .type = type,
                         .out = type == ScalarType::kF16 ? type : ScalarType::kF32,
                         .sum_in_f64 = true},
                        {}, {}, MathLevel::kTf32x3);
        product.context.target.sm_count = 1;
        product.check(*kContract, point, type == ScalarType::kF16 ? 1e-3 : 2e-6);
      }
    }
  }
}

/// Of the largest error of all results, relative to the largest result, in halves of an f32's last
/// bit.
double worst_error(const std::vector<double>& got, const std::vector<double>& want) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    worst = std::max(worst, std::abs(got.at(i) - want[i]));
    largest = std::max(largest, std::abs(want[i]));
  }
  return worst / largest * 0x1p24;
}

/// A product of terms between 0 and 1 in f64, which f32 adds up wrong, one by one.
class Positive : public Product {
 public:
  Positive(std::int64_t terms, ScalarType type)
      : Product({.m = 8, .n = 8, .k = terms, .type = type, .sum_in_f64 = true}, {}, {},
                MathLevel::kTf32x3) {
    for (const char* name : {"A", "B"})
      for (double& value : contents[name]) value = round_to(type, value + 0.5);
  }
};

// Of 16,384 terms, as few bits are wrong as of a few; the multiply-adds are in f32.
TEST(ContractRuns, LoseNothingOfLongSums) {
  for (const auto& [type, choice] : kRunsPoints) {
    SCOPED_TRACE(std::string(to_string(type)) + " " + choice.at("pipe"));
    Positive product(16384, type);
    Choice point = choice;
    point["share"] = "none";
    const auto offer = kContract->match(product.goal());
    ASSERT_TRUE(offer) << offer.error().message;
    const auto made = kContract->generate(product.goal(), Product::step_at(*offer, point), "g_");
    ASSERT_TRUE(made) << made.error().message;
    // Tensor cores cut off what they add instead of rounding it.
    const bool cuts = choice.at("pipe") != "fma-runs";
    const double most = !cuts ? 4 : type == ScalarType::kF32 ? 12 : 24;
    EXPECT_LT(worst_error(product.run(*made), product.expected()), most);
    EXPECT_LT(product.last_counters.fp64, product.last_counters.fp32 / 4 + 10000);
  }
  Positive product(16384, ScalarType::kF32);
  const std::vector<double>&a = product.contents["A"], &b = product.contents["B"];
  std::vector<double> one_by_one;
  for (std::size_t i = 0; i < 64; ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < 16384; ++k)
      sum = std::fma(static_cast<float>(a[i / 8 * 16384 + k]), static_cast<float>(b[k * 8 + i % 8]),
                     sum);
    one_by_one.push_back(sum);
  }
  EXPECT_GT(worst_error(one_by_one, product.expected()), 40);
}

// What f32 cannot hold goes on as infinite, not as a difference of infinities.
TEST(ContractRuns, OverflowsAreInfinite) {
  for (const auto& [type, choice] : kRunsPoints) {
    if (type != ScalarType::kF32) continue;
    SCOPED_TRACE(choice.at("pipe"));
    Positive product(1024, type);
    for (double& value : product.contents["A"]) value = round_to(type, value * 0x1p123);
    const auto offer = kContract->match(product.goal());
    ASSERT_TRUE(offer) << offer.error().message;
    Choice point = choice;
    point["share"] = "none";
    const auto made = kContract->generate(product.goal(), Product::step_at(*offer, point), "g_");
    ASSERT_TRUE(made) << made.error().message;
    for (const double value : product.run(*made)) EXPECT_EQ(value, HUGE_VAL);
  }
}

// Not where more than f32 goes in or out.
TEST(ContractRuns, OnlyOfNarrowTermsAndResults) {
  const auto pipes = [](const Product& p) {
    Goal goal{const_cast<nest::Nodes*>(&p.nodes), {p.nest}, &p.concrete, &p.context};
    const auto offer = kContract->match(goal);
    EXPECT_TRUE(offer);
    return offer->parameters.at(0).domain.size();
  };
  const Shape shape{.m = 64, .n = 64, .k = 1024, .sum_in_f64 = true};
  EXPECT_EQ(pipes(Product(shape)), 2U);
  Shape wide = shape;
  wide.out = ScalarType::kF64;
  EXPECT_EQ(pipes(Product(wide)), 1U);
  wide = shape;
  wide.type = ScalarType::kF64;
  EXPECT_EQ(pipes(Product(wide)), 1U);
  Shape plain = shape;
  plain.sum_in_f64 = false;
  EXPECT_EQ(pipes(Product(plain)), 1U);
}

}  // namespace
}  // namespace hone::schedules
