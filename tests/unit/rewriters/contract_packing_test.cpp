// Products on Hopper's tensor cores of which a launch before packs operands, run on the emulator
// with every check on.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "rewriters/schedules/contract/analysis.h"
#include "tests/unit/rewriters/contract_product.h"
#include "tests/unit/rewriters/convolution.h"

namespace hone::schedules {
namespace {

struct PackedLevel {
  const char* pipe;
  MathLevel math;
  double tolerance;
};
const std::vector<PackedLevel> kPackedLevels = {{"wgmma-bulk-tf32x3", MathLevel::kTf32x3, 2e-6},
                                                {"wgmma-bulk-tf32", MathLevel::kTf32, 3e-3}};

Choice packed_at(const PackedLevel& level, const char* share = "none") {
  return {{"pipe", level.pipe}, {"bm", "64"}, {"bn", "64"}, {"stages", "3"}, {"share", share}};
}

/// Which operands are packed: "", "a", "b" or "ab", as wgmma has them.
std::string packed_of(const Generated& generated) {
  std::string names;
  for (const char* name : {"a", "b"}) {
    const std::string kernel = std::string("g_pack_") + name;
    if (std::ranges::count(generated.launches, kernel, &GeneratedLaunch::kernel) == 1)
      names += name;
  }
  return names;
}

/// Only where neither operand lies along k is one of two packed whose rows copies can bring, and
/// of those the smaller one.
TEST(ContractPacking, OneOperandThatLiesAlongK) {
  for (const PackedLevel& level : kPackedLevels) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        for (const auto& [m, n] : {std::pair(132, 68), std::pair(68, 132)}) {
          SCOPED_TRACE(
              fmt::format("{} {}{} {} x {}", level.pipe, a ? 'T' : 'N', b ? 'T' : 'N', m, n));
          Product product({.m = m, .n = n, .k = 100, .a_transposed = a, .b_transposed = b}, {}, {},
                          level.math);
          const Generated generated = product.check(*kContract, packed_at(level), level.tolerance);
          EXPECT_EQ(packed_of(generated), a && !b ? "b" : "");
          if (!a || b) continue;
          const auto packed = std::ranges::find(generated.scratch, "g_packed_b", &Buffer::name);
          ASSERT_NE(packed, generated.scratch.end());
          EXPECT_EQ(*packed->shape[0].eval({}), 68);
          EXPECT_EQ(*packed->shape[1].eval({}), 128) << "rows of whole lines";
        }
      }
    }
  }
}

/// Rows that are no multiples of 16 bytes, of one operand or of both, in every layout.
TEST(ContractPacking, RowsThatNoTensorMapCanHave) {
  for (const PackedLevel& level : kPackedLevels) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        for (const auto& [m, n, k] :
             {std::tuple(67, 51, 45), {66, 68, 70}, {65, 64, 128}, {64, 61, 36}, {130, 4, 5}}) {
          SCOPED_TRACE(fmt::format("{} {}{} {} x {} x {}", level.pipe, a ? 'T' : 'N', b ? 'T' : 'N',
                                   m, n, k));
          Product({.m = m, .n = n, .k = k, .batch = 2, .a_transposed = a, .b_transposed = b}, {},
                  {}, level.math)
              .check(*kContract, packed_at(level), level.tolerance);
        }
      }
    }
  }
}

TEST(ContractPacking, PacksWhatItHasTo) {
  const auto packed = [](const Shape& shape) {
    Product product(shape, {}, {}, MathLevel::kTf32);
    return packed_of(product.check(*kContract, packed_at(kPackedLevels[1]), 3e-3));
  };
  // What wgmma has in registers may lie in either way: B of NN.
  EXPECT_EQ(packed({.m = 68, .n = 68, .k = 67}), "b") << "the rows of A are odd";
  EXPECT_EQ(packed({.m = 68, .n = 67, .k = 68}), "a") << "those of B";
  EXPECT_EQ(packed({.m = 67, .n = 68, .k = 68, .a_transposed = true}), "b") << "those of A";
  EXPECT_EQ(packed({.m = 68, .n = 68, .k = 67, .b_transposed = true}), "ab") << "all";
  EXPECT_EQ(packed({.m = 67, .n = 67, .k = 68, .b_transposed = true}), "") << "none";
}

/// Sums that blocks share, sums in f64, an operand that is the same in all of a batch and begins at
/// its second element, f16 beside f32, terms under conditions and scaled ones.
TEST(ContractPacking, OfAllKindsOfProducts) {
  for (const PackedLevel& level : kPackedLevels) {
    SCOPED_TRACE(level.pipe);
    Product shared({.m = 65, .n = 70, .k = 293, .a_transposed = true}, {}, {}, level.math);
    shared.context.target.sm_count = 3;
    const Generated generated =
        shared.check(*kContract, packed_at(level, "all-4"), level.tolerance);
    EXPECT_EQ(generated.launches.size(), 4U) << "two that pack, one that adds up";

    Product({.m = 66, .n = 36, .k = 701, .a_transposed = true, .sum_in_f64 = true}, {}, {},
            level.math)
        .check(*kContract, packed_at(level), level.tolerance);

    const auto of_one_matrix = [](Product& p, Ref term) {
      const Ref element =
          p.nodes.add(p.nodes.add(p.nodes.scale(p.nodes.index(p.k), 68), p.nodes.index(p.j)),
                      p.nodes.integer(1));
      const Ref b = p.nodes.load("B", ScalarType::kF32, element);
      const Ref a = term->args[term->args[0]->uses(p.i) ? 0 : 1];
      return p.f32(Op::kMul, {a, b});
    };
    Product({.m = 64, .n = 68, .k = 36, .batch = 3, .a_transposed = true}, of_one_matrix, {},
            level.math)
        .check(*kContract, packed_at(level), level.tolerance);

    Product mixed({.m = 68, .n = 72, .k = 64, .b_type = ScalarType::kF16}, {}, {}, level.math);
    EXPECT_EQ(packed_of(mixed.check(*kContract, packed_at(level), level.tolerance)), "a");
    for (const ScalarType narrow : {ScalarType::kF16, ScalarType::kBf16}) {
      Product other({.m = 68, .n = 72, .k = 64, .type = narrow, .b_type = ScalarType::kF32}, {}, {},
                    level.math);
      EXPECT_NE(packed_of(other.check(*kContract, packed_at(level), level.tolerance)), "");
    }

    const auto scaled = [](Product& p, Ref term) {
      return p.f32(
          Op::kMul,
          {term, p.nodes.call("exp", ScalarType::kF32,
                              {p.nodes.load("bias", ScalarType::kF32, p.nodes.index(p.k))})});
    };
    Product({.m = 72, .n = 68, .k = 64}, scaled, {}, level.math)
        .check(*kContract, packed_at(level), level.tolerance);
  }
}

/// 16-bit operands whose rows no tensor map can have, in every layout: each is packed as it lies.
TEST(ContractPacking, SixteenBits) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      for (const auto& [m, n, k] :
           {std::tuple(72, 80, 96), {67, 51, 45}, {66, 72, 72}, {72, 66, 72}, {72, 72, 66}}) {
        SCOPED_TRACE(fmt::format("{}{} {} x {} x {}", a ? 'T' : 'N', b ? 'T' : 'N', m, n, k));
        Product product({.m = m,
                         .n = n,
                         .k = k,
                         .batch = 2,
                         .a_transposed = a,
                         .b_transposed = b,
                         .type = a == b ? ScalarType::kF16 : ScalarType::kBf16});
        const Generated generated = product.check(
            *kContract, {{"pipe", "wgmma-bulk"}, {"bm", "64"}, {"bn", "64"}, {"share", "none"}},
            1e-5);
        std::string odd;
        if ((a ? m : k) % 8 != 0) odd += "a";
        if ((b ? k : n) % 8 != 0) odd += "b";
        EXPECT_EQ(packed_of(generated), odd);
      }
    }
  }
}

/// f32 and mixed types rounded to bf16 by the launch before, by vectors where rows are even.
TEST(ContractPacking, RoundsToBf16) {
  for (const auto& [m, n, k] : {std::tuple(72, 80, 96), {67, 51, 45}}) {
    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(m);
      const Choice choice = {{"pipe", "wgmma-bf16"}, {"bm", "64"}, {"bn", "64"}, {"share", "none"}};
      Shape shape{.m = m, .n = n, .k = k, .a_transposed = transposed, .b_transposed = transposed};
      EXPECT_EQ(
          packed_of(Product(shape, {}, {}, MathLevel::kReduced).check(*kContract, choice, 3e-2)),
          "ab");
      shape.b_type = ScalarType::kBf16;
      EXPECT_EQ(
          packed_of(Product(shape, {}, {}, MathLevel::kReduced).check(*kContract, choice, 3e-2)),
          m == 72 ? "a" : "ab");
    }
  }
}

/// Rows that copies bring slowly are packed where a schedule says so, and others are not.
TEST(ContractPacking, RowsThatBeginAtNoLineMayBe) {
  const auto packs = [](const Shape& shape, MathLevel math) {
    Product product(shape, {}, {}, math);
    const auto offer = kContract->match(product.goal());
    EXPECT_TRUE(offer) << offer.error().message;
    std::string values;
    for (const Parameter& parameter : offer->parameters)
      for (const ParameterValue& value : parameter.domain)
        if (parameter.name == "pack") values += to_string(value) + " ";
    return values;
  };
  Shape shape{.m = 72, .n = 128, .k = 72, .type = ScalarType::kF16};
  EXPECT_EQ(packs(shape, MathLevel::kReassociate), "none a ");
  shape.n = 136;
  EXPECT_EQ(packs(shape, MathLevel::kReassociate), "none a b ab ");
  for (const char* pack : {"none", "a", "b", "ab"}) {
    const Generated generated = Product(shape).check(
        *kContract,
        {{"pipe", "wgmma-bulk"}, {"bm", "64"}, {"bn", "64"}, {"share", "none"}, {"pack", pack}},
        1e-5);
    EXPECT_EQ(packed_of(generated), pack == std::string("none") ? "" : pack);
  }
  shape.type = ScalarType::kF32;
  EXPECT_EQ(packs(shape, MathLevel::kTf32), "none a b ab ");
  for (const PackedLevel& level : kPackedLevels) {
    Choice choice = packed_at(level);
    choice["pack"] = "ab";
    EXPECT_EQ(
        packed_of(Product(shape, {}, {}, level.math).check(*kContract, choice, level.tolerance)),
        "ab");
  }
  shape = {.m = 128, .n = 128, .k = 128, .type = ScalarType::kBf16};
  EXPECT_EQ(packs(shape, MathLevel::kReassociate), "");
}

/// No two lanes meet in a bank: each of a block's vectors takes its own 16 or 4 bytes of every
/// round.
TEST(ContractPacking, TurnsWithoutBankConflicts) {
  for (const ScalarType type : {ScalarType::kF32, ScalarType::kE4m3}) {
    for (const int more : {0, 1}) {
      if (type == ScalarType::kF32 && more != 0) continue;  // by one element, each to its own bank
      const bool f32 = type == ScalarType::kF32;
      const std::int64_t side = (f32 ? 64 : 128);
      Product product({.m = side, .n = side - more, .k = side, .a_transposed = f32, .type = type},
                      {}, {}, MathLevel::kTf32);
      Choice choice = packed_at(kPackedLevels[1]);
      if (!f32) choice["pipe"] = "wgmma-bulk";
      const auto offer = kContract->match(product.goal());
      ASSERT_TRUE(offer) << offer.error().message;
      auto generated = kContract->generate(product.goal(), Product::step_at(*offer, choice), "g_");
      ASSERT_TRUE(generated) << generated.error().message;
      ASSERT_EQ(generated->launches.size(), 2U);
      generated->launches.pop_back();
      ASSERT_FALSE(product.run(*generated).empty());
      // Elements are written and read once, 128 bytes in a round; the last line is not there.
      EXPECT_EQ(product.last_counters.shared_wavefronts,
                static_cast<std::uint64_t>(side * (2 * side - more)) * size_of(type) / 128);
    }
  }
}

/// The first guess of products in which nothing lies along k packs, where enough is multiplied with
/// what it packs.
TEST(ContractPacking, IsChosenByItsCost) {
  const auto first = [](const Shape& shape) {
    Product product(shape, {}, {}, MathLevel::kTf32);
    const auto offer = kContract->match(product.goal());
    EXPECT_TRUE(offer) << offer.error().message;
    const auto start = std::ranges::find_if(offer->starts, [&](const auto& one) {
      return offer->maths.at(one[0]) == MathLevel::kTf32;
    });
    return to_string(offer->parameters[0].domain.at((*start)[0]));
  };
  EXPECT_EQ(first({.m = 4096, .n = 4096, .k = 4096, .a_transposed = true}), "wgmma-bulk-tf32");
  EXPECT_EQ(first({.m = 2048, .n = 2048, .k = 2047}), "wgmma-bulk-tf32");
  EXPECT_NE(first({.m = 16384, .n = 64, .k = 65}), "wgmma-bulk-tf32");
  EXPECT_EQ(first({.m = 16384, .n = 64, .k = 64}), "wgmma-bulk-tf32") << "which packs nothing";
}

/// Too much is not packed: 2^29 elements are.
TEST(ContractPacking, NoMoreThanADeviceHasToSpare) {
  const auto way = [](std::int64_t rows) {
    Convolution convolution({.images = 1,
                             .channels = 8,
                             .height = 1,
                             .width = rows + 2,
                             .outputs = 16,
                             .rows = 1,
                             .columns = 3},
                            MathLevel::kTf32, false);
    return contract::analyse(convolution.goal())->bulk.as_f32;
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 24;  // 32 of k each
  EXPECT_TRUE(way(1001));
  EXPECT_TRUE(way(kMost - 17));
  EXPECT_FALSE(way(kMost + 1));
}

}  // namespace
}  // namespace hone::schedules
