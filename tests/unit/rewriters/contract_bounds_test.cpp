// Products of which some terms are zero by their places, or some outputs need no sum: Hopper's
// pipes leave out tiles of k, run on the emulator with every check on.
#include <functional>
#include <string>

#include "tests/unit/rewriters/contract_product.h"

namespace hone::schedules {
namespace {

struct BoundedLevel {
  const char* pipe;
  MathLevel math;
  double tolerance;
};

Ref not_before(Product& p, SymbolId first, SymbolId last, std::int64_t more = 0) {
  const Ref apart = p.nodes.subtract(p.nodes.index(last), p.nodes.index(first));
  return p.nodes.non_negative(p.nodes.add(apart, p.nodes.integer(more)));
}

Ref zero_unless(Product& p, Ref there, Ref value) {
  return p.nodes.select(there, value, p.nodes.number(0, value->type));
}

/// Right, and what is multiplied as a part of what `all` multiplies.
double part_of(Product& all, Product& product, const Choice& choice, double tolerance) {
  all.check(*kContract, choice, tolerance);
  product.check(*kContract, choice, tolerance);
  return static_cast<double>(product.last_counters.tensor_flops) /
         static_cast<double>(all.last_counters.tensor_flops);
}

/// Both operands are zero above the diagonal, or below it; sums are shared, or added up in runs.
TEST(ContractBounds, TrianglesOfF32) {
  const BoundedLevel thrice{"wgmma-bulk-tf32x3", MathLevel::kTf32x3, 2e-6};
  const BoundedLevel once{"wgmma-bulk-tf32", MathLevel::kTf32, 3e-3};
  for (const auto& [level, lower, share, in_f64] : {std::tuple(thrice, false, "none", false),
                                                    {thrice, true, "all-2", false},
                                                    {once, true, "none", false},
                                                    {once, false, "all-2", true},
                                                    {thrice, true, "none", true}}) {
    SCOPED_TRACE(std::string(level.pipe) + (lower ? " lower " : " upper ") + share);
    const Shape shape{.m = 200, .n = 194, .k = 198, .sum_in_f64 = in_f64};
    const auto triangle = [&](Product& p, Ref term) {
      const auto [first, last] = lower ? std::pair(p.j, p.i) : std::pair(p.i, p.j);
      return zero_unless(p, p.nodes.both(not_before(p, first, p.k), not_before(p, p.k, last)),
                         term);
    };
    Product all(shape, {}, {}, level.math), product(shape, triangle, {}, level.math);
    const Choice choice = {
        {"pipe", level.pipe}, {"bm", "64"}, {"bn", "64"}, {"stages", "3"}, {"share", share}};
    if (share != std::string("none")) {
      product.check(*kContract, choice, level.tolerance);
      continue;
    }
    // A sixth, the diagonal's tiles, and a tile of k where there is nothing.
    EXPECT_LT(part_of(all, product, choice, level.tolerance), 0.6);
  }
}

/// A sum in f64 of fewer terms than a tile of k has is one run.
TEST(ContractBounds, FewerTermsThanATileHas) {
  const auto part = [](Product& p, Ref term) {
    return zero_unless(p, not_before(p, p.k, p.i), term);
  };
  for (const auto& [pipe, type, math, tolerance] :
       {std::tuple("wgmma-bulk", ScalarType::kF16, MathLevel::kReassociate, 1e-4),
        {"wgmma-bf16", ScalarType::kF32, MathLevel::kReduced, 2e-2},
        {"wgmma-bulk-tf32", ScalarType::kF32, MathLevel::kTf32, 3e-3}}) {
    for (const std::int64_t k : {20, 48, 100}) {
      SCOPED_TRACE(std::string(pipe) + " " + std::to_string(k));
      Shape shape{.m = 72, .n = 72, .k = k};
      shape.type = type;
      shape.sum_in_f64 = true;
      Product(shape, part, {}, math)
          .check(*kContract, {{"pipe", pipe}, {"bm", "64"}, {"bn", "64"}, {"share", "none"}},
                 tolerance);
    }
  }
}

/// One operand alone is bounded, from either side, and not at the diagonal, in a batch and in
/// clusters.
TEST(ContractBounds, OneSideAndOffTheDiagonal) {
  for (const bool of_b : {false, true}) {
    for (const bool from : {false, true}) {
      const std::int64_t more = of_b == from ? -70 : 3;
      SCOPED_TRACE(std::to_string(of_b) + std::to_string(from));
      const auto part = [&](Product& p, Ref term) {
        const SymbolId outer = of_b ? p.j : p.i;
        return zero_unless(
            p, from ? not_before(p, outer, p.k, more) : not_before(p, p.k, outer, more), term);
      };
      Shape shape{.m = 136, .n = 136, .k = 132, .batch = 2, .b_transposed = true};
      Product floats(shape, {}, {}, MathLevel::kTf32), bounded(shape, part, {}, MathLevel::kTf32);
      Choice choice = {{"pipe", "wgmma-bulk-tf32"}, {"bm", "64"}, {"bn", "64"}, {"share", "none"}};
      EXPECT_LT(part_of(floats, bounded, choice, 3e-3), 0.9);
      if (of_b) continue;
      shape.type = ScalarType::kF16;
      choice["pipe"] = "wgmma-bulk";
      choice["cluster"] = "2";
      Product halves(shape), bounded_halves(shape, part);
      EXPECT_LT(part_of(halves, bounded_halves, choice, 1e-5), 1);
    }
  }
}

/// Sums that nobody looks at: those tiles of the output have one tile of k.
TEST(ContractBounds, OutputsBelowTheDiagonal) {
  for (const char* cluster : {"1", "2"}) {
    for (const bool guarded : {false, true}) {
      SCOPED_TRACE(std::string(cluster) + (guarded ? " guarded" : ""));
      Shape shape{.m = 192, .n = 192, .k = 192, .type = ScalarType::kBf16};
      shape.out = guarded ? ScalarType::kF32 : ScalarType::kBf16;
      Product product(shape, {}, [&](Product& p, Ref sum) {
        return guarded ? sum : zero_unless(p, not_before(p, p.j, p.i), sum);
      });
      if (guarded) {
        product.nest.guard = not_before(product, product.j, product.i);
        for (ConcreteBuffer& one : product.concrete.buffers)
          if (one.name == "C") one.role = Role::kInOut;
      }
      Product all(shape);
      EXPECT_LT(part_of(all, product,
                        {{"pipe", "wgmma-bulk"},
                         {"bm", "64"},
                         {"bn", "64"},
                         {"stages", "3"},
                         {"share", "none"},
                         {"cluster", cluster}},
                        1e-2),
                0.85);
    }
  }
}

/// The first guess of triangular matrices as large as KernelBench's leaves out what is zero, too.
TEST(ContractBounds, FirstGuess) {
  Product product(
      {.m = 4096, .n = 4096, .k = 4096},
      [](Product& p, Ref term) {
        return zero_unless(p, p.nodes.both(not_before(p, p.j, p.k), not_before(p, p.k, p.i)), term);
      },
      {}, MathLevel::kTf32x3);
  const auto offer = kContract->match(product.goal());
  ASSERT_TRUE(offer) << offer.error().message;
  const auto start = std::ranges::find_if(offer->starts, [&](const auto& one) {
    return offer->maths.at(one[0]) == MathLevel::kTf32x3;
  });
  ASSERT_NE(start, offer->starts.end());
  EXPECT_EQ(to_string(offer->parameters[0].domain.at((*start)[0])), "wgmma-bulk-tf32x3");
}

}  // namespace
}  // namespace hone::schedules
