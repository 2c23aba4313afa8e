// Products whose tiles a thread copies in bulk, run on the emulator with every check on.
#include <cstdlib>
#include <random>

#include "rewriters/schedules/contract/hopper.h"
#include "tests/unit/rewriters/contract_product.h"

namespace hone::schedules {
namespace {

Choice bulk(const char* bm, const char* bn, const char* stages = "3") {
  return {{"pipe", "wgmma-bulk"}, {"bm", bm}, {"bn", bn}, {"stages", stages}};
}

/// What the output's own element was.
nest::Ref own_element(Product& p, const Shape& s) {
  const nest::Ref row = p.nodes.add(p.nodes.scale(p.nodes.index(p.batch), s.m * s.n),
                                    p.nodes.scale(p.nodes.index(p.i), s.n));
  return p.nodes.load("C", s.out, p.nodes.add(row, p.nodes.index(p.j)));
}
void is_read_first(Product& product) {
  for (ConcreteBuffer& one : product.concrete.buffers)
    if (one.name == "C") one.role = Role::kInOut;
}

TEST(ContractBulk, InEveryOrientation) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      for (const ScalarType type : {ScalarType::kF16, ScalarType::kBf16}) {
        SCOPED_TRACE(std::string(a ? "T" : "N") + (b ? "T" : "N"));
        Product({.m = 64, .n = 64, .k = 64, .a_transposed = a, .b_transposed = b, .type = type})
            .check(*kContract, bulk("64", "64"), 1e-5);
        // Ends of every dimension, and of the batch.
        Product({.m = 72,
                 .n = 88,
                 .k = 200,
                 .batch = 2,
                 .a_transposed = a,
                 .b_transposed = b,
                 .type = type})
            .check(*kContract, bulk("64", "64", "2"), 1e-5);
      }
    }
  }
}

TEST(ContractBulk, AtManyPoints) {
  for (const bool transposed : {false, true}) {
    Product halves({.m = 264,
                    .n = 272,
                    .k = 328,
                    .a_transposed = transposed,
                    .b_transposed = transposed,
                    .type = ScalarType::kF16});
    for (const auto& [bm, bn, stages] : {std::tuple("128", "256", "4"),
                                         {"64", "256", "5"},
                                         {"128", "64", "2"},
                                         {"256", "128", "4"}}) {
      SCOPED_TRACE(std::string(bm) + " " + bn + " " + stages);
      halves.check(*kContract, bulk(bm, bn, stages), 1e-5);
    }
  }
}

/// Two blocks copy halves of B for both; an odd row of tiles has nobody to share with.
TEST(ContractBulk, ClustersShareTheirTilesOfB) {
  for (const bool transposed : {false, true}) {
    for (const std::int64_t m : {256, 328}) {
      SCOPED_TRACE(m);
      Product product(
          {.m = m, .n = 264, .k = 328, .b_transposed = transposed, .type = ScalarType::kF16});
      product.context.target.sm_count = 6;
      Choice choice = bulk("64", "128", "3");
      choice["cluster"] = "2";
      product.check(*kContract, choice, 1e-5);
      choice["bm"] = "128";
      choice["bn"] = "256";
      product.check(*kContract, choice, 1e-5);
    }
  }
}

/// Four of 64 columns each; the last cluster has rows of tiles beyond the output.
TEST(ContractBulk, FourBlocksOfACluster) {
  Product product({.m = 328, .n = 272, .k = 200, .type = ScalarType::kBf16});
  product.context.target.sm_count = 32;
  Choice choice = bulk("64", "256", "3");
  choice["cluster"] = "4";
  const std::string text = product.check(*kContract, choice, 1e-5).source;
  EXPECT_NE(text.find("__cluster_dims__(4)"), std::string::npos) << text;
}

/// Tiles that share a sum, of which the last has k beyond the operands; the second kernel finishes.
TEST(ContractBulk, TilesThatShareTheirSums) {
  const auto bias = [](Product& p, nest::Ref sum) {
    return p.f32(Op::kAdd, {sum, p.nodes.load("bias", ScalarType::kF32, p.nodes.index(p.j))});
  };
  for (const char* share : {"all-2", "all-4"}) {
    for (const std::int64_t batch : {1, 2}) {
      SCOPED_TRACE(std::string(share) + ", batch " + std::to_string(batch));
      Product product({.m = 40, .n = 136, .k = 584, .batch = batch, .type = ScalarType::kF16}, {},
                      bias);
      product.context.target.sm_count = 3;
      Choice choice = bulk("64", "64", "3");
      choice["share"] = share;
      const Generated generated = product.check(*kContract, choice, 1e-5);
      EXPECT_EQ(generated.launches.size(), 2U);
    }
  }
}

/// Blocks of a cluster that share a sum, tile after tile; the last has k beyond the operands.
TEST(ContractBulk, BlocksOfAClusterShareTheirSums) {
  const auto bias = [](Product& p, nest::Ref sum) {
    return p.f32(Op::kAdd, {sum, p.nodes.load("bias", ScalarType::kF32, p.nodes.index(p.j))});
  };
  for (const int blocks : {2, 4, 8}) {
    for (const std::int64_t batch : {1, 2}) {
      SCOPED_TRACE(fmt::format("{} blocks, batch {}", blocks, batch));
      Product product({.m = 136, .n = 200, .k = 584, .batch = batch, .type = ScalarType::kF16}, {},
                      bias);
      product.context.target.sm_count = 16;
      Choice choice = bulk(blocks == 4 ? "128" : "64", "64", "3");
      choice["share"] = fmt::format("cluster-{}", blocks);
      const Generated generated = product.check(*kContract, choice, 1e-5);
      EXPECT_EQ(generated.launches.size(), 1U);
      EXPECT_NE(generated.source.find(fmt::format("__cluster_dims__({})", blocks)),
                std::string::npos)
          << generated.source;
    }
  }
}

/// What is added to was there before: a value that reads the output's own element.
TEST(ContractBulk, OutputsThatTheirValuesRead) {
  Product product({.m = 72, .n = 136, .k = 64, .type = ScalarType::kF16, .out = ScalarType::kF16},
                  {}, [](Product& p, nest::Ref sum) {
                    const nest::Ref at =
                        p.nodes.add(p.nodes.scale(p.nodes.index(p.i), 136), p.nodes.index(p.j));
                    const nest::Ref before = p.nodes.load("C", ScalarType::kF16, at);
                    return p.f32(Op::kAdd, {sum, p.nodes.cast(before, ScalarType::kF32)});
                  });
  const auto offer = kContract->match(product.goal());
  ASSERT_TRUE(offer.has_value()) << offer.error().message;
  const auto generated =
      kContract->generate(product.goal(), Product::step_at(*offer, bulk("64", "128")), "g_");
  EXPECT_TRUE(generated.has_value()) << generated.error().message;
}

/// C += A * B in f32: copies add to what is there, and no thread reads it. Where rows begin at no
/// multiple of 16 bytes, or the value does more with what was there, threads do as it says.
TEST(ContractBulk, OutputsAreAddedByCopies) {
  enum class Value { kOwn, kOwnFirst, kScaled };
  const auto source = [](const Shape& shape, Value is, const char* bm, const char* bn) {
    Product product(shape, {}, [&](Product& p, nest::Ref sum) {
      nest::Ref own = own_element(p, shape);
      if (shape.out != ScalarType::kF32) own = p.nodes.cast(own, ScalarType::kF32);
      if (is == Value::kScaled) own = p.f32(Op::kMul, {own, p.nodes.number(0.5, ScalarType::kF32)});
      const nest::Ref more =
          p.f32(Op::kAdd, {sum, p.nodes.load("bias", ScalarType::kF32, p.nodes.index(p.j))});
      return is == Value::kOwnFirst ? p.f32(Op::kAdd, {own, more}) : p.f32(Op::kAdd, {more, own});
    });
    is_read_first(product);
    return product.check(*kContract, bulk(bm, bn), shape.out == ScalarType::kF32 ? 1e-5 : 2e-3)
        .source;
  };
  const auto adds = [](const std::string& text) {
    return text.find("cp.reduce.async.bulk.tensor") != std::string::npos;
  };
  Shape shape{
      .m = 136, .n = 100, .k = 72, .batch = 2, .b_transposed = true, .type = ScalarType::kF16};
  EXPECT_TRUE(adds(source(shape, Value::kOwn, "128", "64")));
  shape.batch = 1;
  EXPECT_TRUE(adds(source(shape, Value::kOwnFirst, "64", "128")));
  EXPECT_FALSE(adds(source(shape, Value::kScaled, "64", "64")));
  shape.n = 102;
  EXPECT_FALSE(adds(source(shape, Value::kOwn, "64", "64")));
  shape.n = 96;
  shape.out = ScalarType::kF16;
  EXPECT_FALSE(adds(source(shape, Value::kOwn, "64", "64")));
}

/// Sums in f64 of terms of 16 bits, as PyTorch's modules are imported: nothing of a run is lost.
TEST(ContractBulk, RunsOfTerms) {
  for (const ScalarType out : {ScalarType::kF16, ScalarType::kF32}) {
    for (const char* share : {"none", "all-2"}) {
      SCOPED_TRACE(share);
      Product product({.m = 72,
                       .n = 136,
                       .k = 840,
                       .b_transposed = true,
                       .type = ScalarType::kF16,
                       .out = out,
                       .sum_in_f64 = true});
      product.context.target.sm_count = 3;
      Choice choice = bulk("64", "128", "3");
      choice["share"] = share;
      const Generated generated =
          product.check(*kContract, choice, out == ScalarType::kF16 ? 1e-3 : 2e-6);
      EXPECT_NE(generated.source.find("add_runs"), std::string::npos) << generated.source;
    }
  }
}

/// One multiprocessor, or an unknown number: a cluster all the same.
TEST(ContractBulk, OneClusterIsTheLeast) {
  Product product({.m = 136, .n = 128, .k = 64, .type = ScalarType::kF16});
  product.context.target.sm_count = 1;
  Choice choice = bulk("64", "128", "2");
  choice["cluster"] = "2";
  product.check(*kContract, choice, 1e-5);
}

/// A buffer may be called as the kernel calls something of its own.
TEST(ContractBulk, BuffersOfAnyName) {
  for (const char* name : {"row", "m", "sums", "map_a"}) {
    SCOPED_TRACE(name);
    Product product(
        {.m = 64, .n = 64, .k = 64, .type = ScalarType::kF16}, {}, [&](Product& p, nest::Ref sum) {
          p.buffer(name, ScalarType::kF16, 64, Role::kIn);
          const nest::Ref of_row = p.nodes.load(name, ScalarType::kF16, p.nodes.index(p.i));
          return p.f32(Op::kAdd, {sum, p.nodes.cast(of_row, ScalarType::kF32)});
        });
    product.check(*kContract, bulk("64", "64"), 1e-5);
  }
}

/// Each block does several tiles, of which not all have as many rows of tiles to go through.
TEST(ContractBulk, TileAfterTile) {
  for (const char* group : {"1", "4", "8"}) {
    Product product({.m = 360, .n = 200, .k = 136, .batch = 2, .type = ScalarType::kBf16});
    product.context.target.sm_count = 5;
    Choice choice = bulk("64", "64", "3");
    choice["group"] = group;
    product.check(*kContract, choice, 1e-5);
  }
}

TEST(ContractBulk, EpiloguesAndNarrowOutputs) {
  const auto bias_and_relu = [](Product& p, nest::Ref sum) {
    const nest::Ref value =
        p.f32(Op::kAdd, {sum, p.nodes.load("bias", ScalarType::kF32, p.nodes.index(p.j))});
    return p.f32(Op::kMax, {value, p.nodes.number(0, ScalarType::kF32)});
  };
  for (const std::int64_t n : {96, 104, 120}) {
    for (const ScalarType out : {ScalarType::kF16, ScalarType::kF32}) {
      SCOPED_TRACE(n);
      Product({.m = 72, .n = n, .k = 64, .type = ScalarType::kF16, .out = out}, {}, bias_and_relu)
          .check(*kContract, bulk("64", "64"), 1e-3);
    }
  }
}

/// A residual and a bias of each column are read as many at once as outputs are written, by threads
/// or by a staging, but where the value may not read them, or neighbours lie elsewhere.
TEST(ContractBulk, EpiloguesReadNeighboursTogether) {
  constexpr std::int64_t kM = 72;
  const auto source = [](std::int64_t n, ScalarType out, bool chosen) {
    const auto residual = [&](Product& p, nest::Ref sum) {
      p.buffer("residual", ScalarType::kF16, kM * n, Role::kIn);
      p.buffer("of_row", ScalarType::kF32, kM, Role::kIn);
      const nest::Ref at = p.nodes.add(p.nodes.scale(p.nodes.index(p.i), n), p.nodes.index(p.j));
      nest::Ref more =
          p.nodes.cast(p.nodes.load("residual", ScalarType::kF16, at), ScalarType::kF32);
      if (chosen) {  // of the rows before the last, by an element that the last row has not
        const nest::Ref next =
            p.nodes.load("residual", ScalarType::kF16, p.nodes.add(at, p.nodes.integer(n)));
        more = p.nodes.select(
            p.nodes.non_negative(p.nodes.subtract(p.nodes.integer(kM - 2), p.nodes.index(p.i))),
            p.nodes.cast(next, ScalarType::kF32), p.nodes.number(1, ScalarType::kF32));
      }
      for (const nest::Ref addend :
           {more, p.nodes.load("bias", ScalarType::kF32, p.nodes.index(p.j)),
            p.nodes.load("of_row", ScalarType::kF32, p.nodes.index(p.i))})
        sum = p.f32(Op::kAdd, {sum, addend});
      return sum;
    };
    return Product({.m = kM,
                    .n = n,
                    .k = 64,
                    .b_transposed = true,
                    .type = ScalarType::kF16,
                    .out = out},
                   {}, residual)
        .check(*kContract, bulk("64", "64"), 2e-3)
        .source;
  };
  const auto reads = [](const std::string& text, const char* of) {
    return text.find(fmt::format(" = *reinterpret_cast<const g_pack<{}", of)) != std::string::npos;
  };
  for (const ScalarType out : {ScalarType::kF16, ScalarType::kF32}) {
    const std::string text = source(136, out, false);
    EXPECT_TRUE(reads(text, "__half, 2>*>(&residual[")) << text;
    EXPECT_TRUE(reads(text, "float, 2>*>(&bias[")) << text;
    const std::string chosen = source(136, out, true);
    EXPECT_FALSE(reads(chosen, "__half")) << chosen;
    EXPECT_TRUE(reads(chosen, "float")) << "the bias all the same\n" << chosen;
    EXPECT_FALSE(reads(source(135, out, false), "")) << "rows that begin anywhere";
  }
}

/// Random products at random points; HONE_RANDOM_TILES says how many.
TEST(ContractBulk, RandomPrograms) {
  const char* asked = std::getenv("HONE_RANDOM_TILES");
  const int count = asked == nullptr ? 25 : std::atoi(asked);
  for (int number = 0; number < count; ++number) {
    std::mt19937 random(static_cast<unsigned>(number));
    const auto below = [&](int end) {
      return static_cast<int>(random() % static_cast<unsigned>(end));
    };
    const auto one_of = [&](std::initializer_list<const char*> words) {
      return std::string(words.begin()[below(static_cast<int>(words.size()))]);
    };
    Shape shape{.m = 8 * (1 + below(30)), .n = 8 * (1 + below(40)), .k = 8 * (1 + below(30))};
    shape.batch = 1 + below(3);
    shape.a_transposed = below(2) == 0;
    shape.b_transposed = below(2) == 0;
    shape.type = below(2) == 0 ? ScalarType::kF16 : ScalarType::kBf16;
    shape.out = below(2) == 0 ? ScalarType::kF32 : shape.type;
    shape.sum_in_f64 = below(4) == 0;
    // Rows that begin anywhere, and are packed.
    for (std::int64_t* extent : {&shape.m, &shape.n, &shape.k})
      if (below(3) == 0) *extent -= below(5);
    const bool own = shape.out == ScalarType::kF32 && !shape.sum_in_f64 && below(2) == 0;
    Product product(shape, {}, [&](Product& p, nest::Ref sum) {
      if (own) sum = p.f32(Op::kAdd, {own_element(p, shape), sum});
      if (own || below(2) == 0) return sum;
      return p.f32(Op::kAdd, {sum, p.nodes.load("bias", ScalarType::kF32, p.nodes.index(p.j))});
    });
    if (own) is_read_first(product);
    product.context.target.sm_count = 1 + below(8);
    Choice choice = {{"pipe", "wgmma-bulk"},
                     {"bm", one_of({"64", "128", "256"})},
                     {"bn", one_of({"64", "128", "256"})},
                     {"stages", one_of({"2", "3", "4"})},
                     {"group", one_of({"1", "4", "8"})},
                     {"cluster", one_of({"1", "2", "4"})}};
    const std::string pack = one_of({"none", "a", "b", "ab"});
    const auto offer = kContract->match(product.goal());
    ASSERT_TRUE(offer) << offer.error().message;
    for (const Parameter& parameter : offer->parameters)
      if (parameter.name == "pack" &&
          std::ranges::find(parameter.domain, ParameterValue(pack)) != parameter.domain.end())
        choice["pack"] = pack;
    if (shape.k >= 128) choice["share"] = one_of({"none", "all-2", "cluster-2"});
    SCOPED_TRACE(number);
    product.check(*kContract, choice, shape.out == ScalarType::kF32 ? 1e-5 : 1e-2);
    if (::testing::Test::HasFailure()) return;
  }
}

/// Where neither bulk copies nor packing can go, the pipe is not offered: f32, an older GPU.
TEST(ContractBulk, IsOfferedWhereCopiesCanGo) {
  const auto offers = [](Product& product) {
    const auto offer = kContract->match(product.goal());
    EXPECT_TRUE(offer.has_value());
    return std::ranges::any_of(offer->parameters[0].domain, [](const ParameterValue& value) {
      return to_string(value) == "wgmma-bulk";
    });
  };
  Product fits({.m = 64, .n = 64, .k = 64, .type = ScalarType::kF16});
  EXPECT_TRUE(offers(fits));
  Product odd({.m = 64, .n = 64, .k = 60, .type = ScalarType::kF16});
  EXPECT_TRUE(offers(odd)) << "rows that begin at no multiple of 16 bytes are packed";
  Product floats({.m = 64, .n = 64, .k = 64});
  EXPECT_FALSE(offers(floats));
  Product masked(
      {.m = 64, .n = 64, .k = 64, .type = ScalarType::kF16}, [](Product& p, nest::Ref term) {
        return p.nodes.select(
            p.nodes.non_negative(p.nodes.subtract(p.nodes.index(p.i), p.nodes.index(p.k))), term,
            p.nodes.number(0, ScalarType::kF32));
      });
  EXPECT_TRUE(offers(masked)) << "packed, too";
  Product older({.m = 64, .n = 64, .k = 64, .type = ScalarType::kF16});
  older.context.target.compute_capability = 80;
  EXPECT_FALSE(offers(older));
}

}  // namespace
}  // namespace hone::schedules
