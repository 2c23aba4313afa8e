// Matrix products and their kin from generate-contract, run on the emulator.
#include "tests/unit/rewriters/contract_product.h"

namespace hone::schedules {
namespace {

using nest::Ref;
using nest::SymbolId;

const Choice kSmall = {{"pipe", "fma"}, {"bm", "32"}, {"bn", "32"},     {"bk", "8"},
                       {"tm", "4"},     {"tn", "4"},  {"share", "none"}};

Ref bias_and_relu(Product& p, Ref sum) {
  Ref value = p.f32(Op::kAdd, {sum, p.nodes.load("bias", ScalarType::kF32, p.nodes.index(p.j))});
  return p.f32(Op::kMax, {value, p.nodes.number(0, ScalarType::kF32)});
}

Ref below_diagonal(Product& p, Ref term) {
  // A[i][k] is zero above its diagonal.
  return p.nodes.select(
      p.nodes.non_negative(p.nodes.subtract(p.nodes.index(p.i), p.nodes.index(p.k))), term,
      p.nodes.number(0, ScalarType::kF32));
}

TEST(Contract, FmaInEveryOrientation) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      SCOPED_TRACE(std::string(a ? "T" : "N") + (b ? "T" : "N"));
      Product({.m = 64, .n = 64, .k = 32, .a_transposed = a, .b_transposed = b})
          .check(*kContract, kSmall, 1e-5);
      Product({.m = 50, .n = 35, .k = 27, .batch = 2, .a_transposed = a, .b_transposed = b})
          .check(*kContract, kSmall, 1e-5);
    }
  }
}

TEST(Contract, FmaAtManyPoints) {
  const Shape shape{.m = 136, .n = 132, .k = 68};
  Product product(shape);
  for (const char* stages : {"2", "4"}) {
    for (const char* transpose : {"async", "registers"}) {
      for (const auto& [bm, bn, bk, tm, tn] : {std::tuple("64", "64", "16", "8", "4"),
                                               {"128", "128", "16", "8", "8"},
                                               {"32", "128", "8", "4", "8"},
                                               {"256", "128", "8", "16", "8"},
                                               {"16", "64", "32", "16", "16"}}) {
        SCOPED_TRACE(std::string(bm) + " " + bn + " " + bk + " " + stages);
        product.check(*kContract,
                      {{"pipe", "fma"},
                       {"bm", bm},
                       {"bn", bn},
                       {"bk", bk},
                       {"tm", tm},
                       {"tn", tn},
                       {"stages", stages},
                       {"transpose", transpose}},
                      1e-5);
      }
    }
  }
}

TEST(Contract, Epilogue) {
  Product({.m = 40, .n = 48, .k = 24}, {}, bias_and_relu).check(*kContract, kSmall, 1e-5);
}

TEST(Contract, SplitSum) {
  Choice choice = kSmall;
  choice["share"] = "all-4";
  Product({.m = 40, .n = 48, .k = 300}, {}, bias_and_relu).check(*kContract, choice, 1e-5);
  Product({.m = 33, .n = 31, .k = 259, .batch = 3}).check(*kContract, choice, 1e-5);
}

TEST(Contract, BlocksShareTheTilesOfTheLastWave) {
  const auto check = [](Product product, const Choice& choice, double tolerance) {
    product.context.target.sm_count = 1;
    product.check(*kContract, choice, tolerance);
  };
  Choice choice = kSmall;
  choice["share"] = "tail-4";
  // Of 15 tiles, 3 * 4, and of 4 more than one SM holds: all but the first eight are shared.
  check(Product({.m = 150, .n = 69, .k = 270}, {}, bias_and_relu), choice, 1e-5);
  check(Product({.m = 64, .n = 60, .k = 259, .batch = 3}), choice, 1e-5);
  choice["share"] = "tail-2";
  check(Product({.m = 160, .n = 64, .k = 256}, below_diagonal), choice, 1e-5);
  check(Product({.m = 33, .n = 30, .k = 259}), choice, 1e-5);  // every tile is
  check(Product({.m = 190, .n = 64, .k = 260}, {}, bias_and_relu, MathLevel::kTf32x3),
        {{"pipe", "tf32x3"}, {"bm", "64"}, {"bn", "32"}, {"bk", "32"}, {"share", "tail-2"}}, 1e-5);
  check(Product({.m = 192, .n = 72, .k = 256, .type = ScalarType::kBf16, .out = ScalarType::kBf16}),
        {{"pipe", "mma"}, {"bm", "64"}, {"bn", "64"}, {"share", "tail-4"}}, 1e-2);
}

// One parameter says who shares a tile's sum, so that no two points are one kernel.
TEST(Contract, PointsOfSharedSumsDiffer) {
  Product product({.m = 150, .n = 69, .k = 270});
  product.context.target.sm_count = 1;
  const auto offer = kContract->match(product.goal());
  ASSERT_TRUE(offer) << offer.error().message;
  const auto source_of = [&](const Step& step) {
    const auto made = kContract->generate(product.goal(), step, "g_");
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->source : "";
  };
  std::map<std::string, std::string> sources;
  std::set<std::string> different;
  for (const Parameter& parameter : offer->parameters) {
    EXPECT_TRUE(parameter.name != "split_k" && parameter.name != "tail");
    if (parameter.name != "share") continue;
    for (const ParameterValue& value : parameter.domain) {
      Choice choice = kSmall;
      choice["share"] = to_string(value);
      different.insert(sources[to_string(value)] = source_of(Product::step_at(*offer, choice)));
    }
  }
  EXPECT_EQ(sources.size(), 6);
  EXPECT_EQ(different.size(), 6);

  // Recipes from before.
  Step step = Product::step_at(*offer, kSmall);
  step.params.erase("share");
  EXPECT_EQ(source_of(step), sources["none"]);
  step.params["tail"] = std::int64_t{4};
  EXPECT_EQ(source_of(step), sources["tail-4"]);
  step.params["split_k"] = std::int64_t{2};
  EXPECT_EQ(source_of(step), sources["all-2"]);
}

TEST(Contract, TriangleSkipsWhatIsZero) {
  Product half({.m = 128, .n = 32, .k = 128}, below_diagonal);
  half.check(*kContract, kSmall, 1e-5);
  const auto masked = half.last_counters.fp32;
  Product whole({.m = 128, .n = 32, .k = 128});
  whole.check(*kContract, kSmall, 1e-5);
  EXPECT_LT(masked, whole.last_counters.fp32 * 3 / 4);
  Choice choice = kSmall;
  choice["share"] = "all-2";
  Product({.m = 130, .n = 33, .k = 130}, below_diagonal).check(*kContract, choice, 1e-5);
}

TEST(Contract, OperandsWithWorkOfTheirOwn) {
  // exp(A) * (B + 1), with a residual added: nothing can be copied straight.
  const auto body = [](Product& p, Ref term) {
    const ScalarType f32 = ScalarType::kF32;
    Ref a = term->args[0], b = term->args[1];
    if (a->name != "A") std::swap(a, b);
    return p.nodes.op(
        Op::kMul, f32,
        {p.nodes.call("exp", f32, {a}), p.nodes.op(Op::kAdd, f32, {b, p.nodes.number(1, f32)})});
  };
  const auto residual = [](Product& p, Ref sum) {
    const Ref place = p.nodes.add(p.nodes.scale(p.nodes.index(p.i), 3), p.nodes.index(p.j));
    return p.f32(Op::kAdd, {p.f32(Op::kMul, {sum, p.nodes.number(0.5, ScalarType::kF32)}),
                            p.nodes.load("A", ScalarType::kF32, place)});
  };
  Choice choice = kSmall;
  choice["bk"] = "32";
  Product({.m = 40, .n = 36, .k = 75}, body, residual).check(*kContract, choice, 1e-5);
  choice["share"] = "none";
  for (const char* bk : {"8", "16"}) {
    choice["bk"] = bk;
    Product({.m = 40, .n = 36, .k = 72, .a_transposed = true}, body, residual)
        .check(*kContract, choice, 1e-5);
  }
}

/// An einsum over several indices: out[i0 j b i1] = sum over k0, k1 of A[b i0 k1 i1 k0] B[k0 j k1
/// b].
TEST(Contract, SeveralIndicesOfEachKind) {
  for (const char* pipe : {"fma", "wgmma-bulk-tf32x3"}) {
    NestCase p;
    p.task.math = MathLevel::kTf32x3;
    auto& nodes = p.nodes;
    const std::int64_t sizes[] = {3, 12, 8, 20, 6, 16};  // b, i0, i1, j, k0, k1
    std::vector<SymbolId> x;
    for (int i = 0; i < 6; ++i)
      x.push_back(nodes.new_symbol(std::string(1, "bcdjkl"[i]), sizes[i]));
    const auto at = [&](std::initializer_list<int> order) {
      Ref element = nodes.integer(0);
      for (const int i : order) {
        element =
            nodes.add(nodes.scale(element, sizes[i]), nodes.index(x[static_cast<std::size_t>(i)]));
      }
      return element;
    };
    p.buffer("A", ScalarType::kF32, 3 * 12 * 16 * 8 * 6, Role::kIn);
    p.buffer("B", ScalarType::kF32, 6 * 20 * 16 * 3, Role::kIn);
    p.buffer("out", ScalarType::kF32, 12 * 20 * 3 * 8, Role::kOut);
    const Ref a = nodes.load("A", ScalarType::kF32, at({0, 1, 5, 2, 4}));
    const Ref b = nodes.load("B", ScalarType::kF32, at({4, 3, 5, 0}));
    p.nest.buffer = "out";
    p.nest.dims = {x[1], x[3], x[0], x[2]};
    p.nest.element = at({1, 3, 0, 2});
    p.nest.value =
        nodes.reduce(Op::kAdd, {x[4], x[5]}, nodes.op(Op::kMul, ScalarType::kF32, {a, b}));
    p.check(*kContract, {{"pipe", pipe}, {"bm", "64"}, {"bn", "32"}, {"share", "none"}}, 1e-5);
  }
}

// A convolution is one too: out[b][o][y][x] = sum over c, r, s of in[b][c][y + r - 1][x + s - 1] *
// w[o][c][r][s], in zeros where that is outside.
TEST(Contract, Convolution) {
  for (const char* pipe : {"fma", "tf32x3", "wgmma-bulk-tf32x3"}) {
    NestCase p;
    p.task.math = MathLevel::kTf32x3;
    auto& nodes = p.nodes;
    const std::int64_t batch = 2, from = 5, to = 20, height = 9, width = 12;
    const auto symbol = [&](const char* name, std::int64_t extent) {
      return nodes.new_symbol(name, extent);
    };
    const SymbolId b = symbol("b", batch), o = symbol("o", to), y = symbol("y", height),
                   x = symbol("x", width), c = symbol("c", from), r = symbol("r", 3),
                   s = symbol("s", 3);
    p.buffer("in", ScalarType::kF32, batch * from * height * width, Role::kIn);
    p.buffer("w", ScalarType::kF32, to * from * 9, Role::kIn);
    p.buffer("out", ScalarType::kF32, batch * to * height * width, Role::kOut);
    const auto at = [&](std::initializer_list<std::pair<Ref, std::int64_t>> digits) {
      Ref element = nodes.integer(0);
      for (const auto& [digit, size] : digits)
        element = nodes.add(nodes.scale(element, size), digit);
      return element;
    };
    const auto index = [&](SymbolId id) { return nodes.index(id); };
    const Ref row = nodes.add(nodes.add(index(y), index(r)), nodes.integer(-1));
    const Ref column = nodes.add(nodes.add(index(x), index(s)), nodes.integer(-1));
    Ref inside = nodes.boolean(true);
    for (const auto& [place, size] : {std::pair(row, height), {column, width}}) {
      inside = nodes.both(inside, nodes.non_negative(place));
      inside = nodes.both(inside, nodes.less(place, nodes.integer(size)));
    }
    const Ref image =
        nodes.load("in", ScalarType::kF32,
                   at({{index(b), 1}, {index(c), from}, {row, height}, {column, width}}));
    const Ref weight = nodes.load(
        "w", ScalarType::kF32, at({{index(o), 1}, {index(c), from}, {index(r), 3}, {index(s), 3}}));
    p.nest.buffer = "out";
    p.nest.dims = {b, o, y, x};
    p.nest.element = at({{index(b), 1}, {index(o), to}, {index(y), height}, {index(x), width}});
    p.nest.value =
        nodes.reduce(Op::kAdd, {c, r, s},
                     nodes.select(inside, nodes.op(Op::kMul, ScalarType::kF32, {image, weight}),
                                  nodes.number(0, ScalarType::kF32)));
    for (const char* bk : {"16", "32"}) {
      p.check(*kContract,
              {{"pipe", pipe}, {"bm", "32"}, {"bn", "64"}, {"bk", bk}, {"share", "none"}}, 1e-5);
    }
  }
}

TEST(Contract, OnlyPartOfTheOutput) {
  // Below the diagonal: other tiles need no sum, other points write nothing.
  Product p({.m = 96, .n = 96, .k = 64});
  p.nest.guard = p.nodes.non_negative(p.nodes.subtract(p.nodes.index(p.i), p.nodes.index(p.j)));
  p.concrete.buffers[3].role = Role::kInOut;
  p.check(*kContract, kSmall, 1e-5);
  const auto part = p.last_counters.fp32;
  // select(i >= j, sum, 0) writes zeros there.
  Product zeros({.m = 96, .n = 96, .k = 64}, {}, [](Product& q, Ref sum) {
    return q.nodes.select(
        q.nodes.non_negative(q.nodes.subtract(q.nodes.index(q.i), q.nodes.index(q.j))), sum,
        q.nodes.number(0, ScalarType::kF32));
  });
  zeros.check(*kContract, kSmall, 1e-5);
  Product whole({.m = 96, .n = 96, .k = 64});
  whole.check(*kContract, kSmall, 1e-5);
  EXPECT_LT(part, whole.last_counters.fp32 * 4 / 5);
  EXPECT_LT(zeros.last_counters.fp32, whole.last_counters.fp32 * 4 / 5);
}

// Whatever a search asks for is brought to something right: shapes and points by chance.
TEST(Contract, RandomPoints) {
  std::uint32_t state = 12345;
  const auto below = [&](std::uint32_t bound) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % bound;
  };
  for (int round = 0; round < 40; ++round) {
    Shape shape{.m = 2 + below(150), .n = 2 + below(150), .k = 4 + below(200)};
    const std::int64_t multiple = std::int64_t{1} << below(5);
    for (std::int64_t* size : {&shape.m, &shape.n, &shape.k})
      *size = std::max<std::int64_t>(*size / multiple, 1) * multiple;
    if (std::min({shape.m, shape.n}) < 2 || shape.k < 4) continue;
    shape.batch = below(4) == 0 ? 2 : 1;
    shape.a_transposed = below(2) != 0;
    shape.b_transposed = below(2) != 0;
    if (below(2) != 0) shape.type = below(2) != 0 ? ScalarType::kF16 : ScalarType::kBf16;
    if (shape.type != ScalarType::kF32 && below(2) != 0) shape.out = shape.type;
    Product product(shape, below(4) == 0 ? below_diagonal : Product::Change(),
                    below(4) == 0 ? bias_and_relu : Product::Change(), MathLevel::kTf32x3);
    const auto offer = kContract->match(product.goal());
    ASSERT_TRUE(offer) << offer.error().message;
    Choice choice;
    std::string at;
    for (const Parameter& parameter : offer->parameters) {
      choice[parameter.name] =
          to_string(parameter.domain[below(static_cast<std::uint32_t>(parameter.domain.size()))]);
      at += " " + parameter.name + "=" + choice[parameter.name];
    }
    SCOPED_TRACE(std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" +
                 std::to_string(shape.k) + " " + std::string(to_string(shape.type)) + at);
    product.check(*kContract, choice, shape.out == ScalarType::kF32 ? 3e-6 : 1e-2);
    if (HasFailure()) break;
  }
}

TEST(Contract, BuffersNamedAsAKernelsOwnThings) {
  for (const auto& [x, y] : {std::pair("stage", "k"),
                             {"frag_a", "kM"},
                             {"sums", "tile"},
                             {"row", "from"},
                             {"fill", "tile_a"},
                             {"copy_tile_a", "tile_b_from"}}) {
    NestCase p;
    auto& nodes = p.nodes;
    p.task.math = MathLevel::kTf32x3;
    const SymbolId i = nodes.new_symbol("i", 40), j = nodes.new_symbol("j", 32),
                   l = nodes.new_symbol("l", 36);
    p.buffer(x, ScalarType::kF32, std::int64_t{40} * 36, Role::kIn);
    p.buffer(y, ScalarType::kF32, std::int64_t{36} * 32, Role::kIn);
    p.buffer("made", ScalarType::kF32, std::int64_t{40} * 32, Role::kOut);
    const auto at = [&](SymbolId row, SymbolId column) {
      return nodes.add(nodes.scale(nodes.index(row), nodes.extent(column)), nodes.index(column));
    };
    p.nest.buffer = "made";
    p.nest.dims = {i, j};
    p.nest.element = at(i, j);
    p.nest.value = nodes.reduce(Op::kAdd, {l},
                                nodes.op(Op::kMul, ScalarType::kF32,
                                         {nodes.load(x, ScalarType::kF32, at(i, l)),
                                          nodes.load(y, ScalarType::kF32, at(l, j))}));
    for (const char* pipe : {"fma", "tf32x3", "wgmma-bulk-tf32x3"})
      p.check(*kContract, {{"pipe", pipe}, {"share", "none"}}, 1e-5);
  }
}

/// A mask that is loaded has an element for each of A: none is asked for beyond the last row, and a
/// buffer may be called as a kernel's own things are.
TEST(Contract, MasksThatAreLoaded) {
  for (const char* name : {"keep", "m", "k", "row", "stage", "left", "first"}) {
    const Shape shape{.m = 100, .n = 64, .k = 64};
    Product p(
        shape,
        [&](Product& q, Ref term) {
          const Ref at =
              q.nodes.add(q.nodes.scale(q.nodes.index(q.i), shape.k), q.nodes.index(q.k));
          const Ref loaded = q.nodes.load(name, ScalarType::kF32, at);
          const Ref zero = q.nodes.number(0, ScalarType::kF32);
          return q.nodes.select(q.nodes.op(Op::kLess, ScalarType::kBool, {zero, loaded}), term,
                                zero);
        },
        {}, MathLevel::kTf32x3);
    p.buffer(name, ScalarType::kF32, shape.m * shape.k, Role::kIn);
    for (const char* pipe : {"fma", "tf32x3"})
      for (const char* transpose : {"async", "registers"})
        p.check(*kContract,
                {{"pipe", pipe},
                 {"bm", "64"},
                 {"bn", "64"},
                 {"share", "none"},
                 {"transpose", transpose}},
                1e-5);
  }
}

TEST(Contract, Refusals) {
  const auto reason = [](const Product& p) {
    Goal goal{const_cast<nest::Nodes*>(&p.nodes), {p.nest}, &p.concrete, &p.context};
    const auto offer = kContract->match(goal);
    return offer ? std::string() : offer.error().message;
  };
  Product vector({.m = 64, .n = 1, .k = 64});
  EXPECT_NE(reason(vector).find("vector"), std::string::npos) << reason(vector);
  Product sum_of_one({.m = 64, .n = 64, .k = 64});
  sum_of_one.nest.value = sum_of_one.nodes.reduce(
      Op::kAdd, {sum_of_one.k},
      sum_of_one.nodes.load("A", ScalarType::kF32, sum_of_one.nodes.index(sum_of_one.k)));
  EXPECT_NE(reason(sum_of_one).find("not of products"), std::string::npos) << reason(sum_of_one);
  Product largest({.m = 64, .n = 64, .k = 64});
  largest.nest.combine = Op::kAdd;
  EXPECT_NE(reason(largest).find("combines"), std::string::npos) << reason(largest);
}

TEST(Contract, Doubles) {
  Product({.m = 40, .n = 48, .k = 24, .type = ScalarType::kF64, .out = ScalarType::kF64})
      .check(*kContract, kSmall, 1e-12);
}

void every_orientation(const Choice& choice, ScalarType type, MathLevel math, double tolerance) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      SCOPED_TRACE(std::string(a ? "T" : "N") + (b ? "T" : "N"));
      Product({.m = 96, .n = 64, .k = 96, .a_transposed = a, .b_transposed = b, .type = type}, {},
              {}, math)
          .check(*kContract, choice, tolerance);
      Product({.m = 50,
               .n = 35,
               .k = 71,
               .batch = 2,
               .a_transposed = a,
               .b_transposed = b,
               .type = type,
               .out = type},
              {}, {}, math)
          .check(*kContract, choice, type == ScalarType::kF32 ? tolerance : 1e-2);
    }
  }
}

TEST(Contract, MmaInEveryOrientation) {
  const Choice choice = {{"pipe", "mma"}, {"bm", "32"}, {"bn", "64"},     {"bk", "32"},
                         {"wm", "16"},    {"wn", "32"}, {"share", "none"}};
  every_orientation(choice, ScalarType::kF16, MathLevel::kReassociate, 1e-5);
  every_orientation(choice, ScalarType::kBf16, MathLevel::kReassociate, 1e-5);
}

TEST(Contract, Tf32ThreeTimesInEveryOrientation) {
  every_orientation({{"pipe", "tf32x3"},
                     {"bm", "32"},
                     {"bn", "64"},
                     {"bk", "32"},
                     {"wm", "16"},
                     {"wn", "32"},
                     {"share", "none"}},
                    ScalarType::kF32, MathLevel::kTf32x3, 2e-6);
}

TEST(Contract, ReducedPipes) {
  for (const auto& [pipe, level] : {std::pair{"tf32", MathLevel::kTf32},
                                    {"bf16", MathLevel::kReduced},
                                    {"wgmma-bf16", MathLevel::kReduced}}) {
    every_orientation({{"pipe", pipe},
                       {"bm", "64"},
                       {"bn", "32"},
                       {"bk", "32"},
                       {"wm", "32"},
                       {"wn", "16"},
                       {"share", "none"}},
                      ScalarType::kF32, level, level == MathLevel::kTf32 ? 3e-3 : 3e-2);
  }
}

TEST(Contract, WgmmaInEveryOrientation) {
  const Choice choice = {{"pipe", "wgmma-bulk"}, {"bm", "64"}, {"bn", "64"}, {"share", "none"}};
  every_orientation(choice, ScalarType::kF16, MathLevel::kReassociate, 1e-5);
  every_orientation(choice, ScalarType::kBf16, MathLevel::kReassociate, 1e-5);
}

TEST(Contract, NarrowOutputs) {
  for (const char* pipe : {"mma", "wgmma-bulk"}) {
    for (const std::int64_t n : {96, 100, 98}) {
      SCOPED_TRACE(std::string(pipe) + std::to_string(n));
      Product({.m = 72, .n = n, .k = 64, .type = ScalarType::kF16, .out = ScalarType::kF16}, {},
              bias_and_relu)
          .check(*kContract, {{"pipe", pipe}, {"bm", "64"}, {"bn", "64"}, {"share", "none"}}, 1e-3);
    }
  }
}

TEST(Contract, MmaAtManyPoints) {
  Product halves({.m = 136, .n = 144, .k = 200, .type = ScalarType::kF16});
  Product floats({.m = 136, .n = 144, .k = 200}, {}, {}, MathLevel::kTf32x3);
  for (const char* stages : {"2", "4"}) {
    for (const auto& [bm, bn, bk, wm, wn] : {std::tuple("128", "128", "64", "64", "32"),
                                             {"128", "256", "32", "64", "64"},
                                             {"64", "64", "16", "32", "32"},
                                             {"16", "128", "64", "16", "16"}}) {
      SCOPED_TRACE(std::string(bm) + " " + bn + " " + bk + " " + stages);
      Choice choice = {{"pipe", "mma"}, {"bm", bm}, {"bn", bn},        {"bk", bk},
                       {"wm", wm},      {"wn", wn}, {"stages", stages}};
      halves.check(*kContract, choice, 1e-5);
      choice["pipe"] = "tf32x3";
      floats.check(*kContract, choice, 2e-6);
    }
  }
}

/// Of every level eight that differ and can be made, those that suit the shape first.
TEST(Contract, KnowsWhereToBegin) {
  const auto starts_of = [](const Shape& shape, MathLevel math) {
    Product product(shape, {}, {}, math);
    const auto offer = kContract->match(product.goal());
    EXPECT_TRUE(offer);
    std::map<MathLevel, std::vector<Step>> steps;
    std::set<std::vector<std::size_t>> seen;
    for (const auto& start : offer->starts) {
      EXPECT_TRUE(seen.insert(start).second);
      Step step;
      for (std::size_t i = 0; i < start.size(); ++i)
        step.params[offer->parameters[i].name] = offer->parameters[i].domain.at(start[i]);
      EXPECT_TRUE(kContract->generate(product.goal(), step, "g_"));
      steps[offer->maths.at(start[0])].push_back(step);
    }
    for (const auto& [level, of_level] : steps) EXPECT_EQ(of_level.size(), 8U);
    return steps;
  };
  const auto square = starts_of({.m = 4096, .n = 4096, .k = 4096}, MathLevel::kTf32x3);
  ASSERT_EQ(square.size(), 2U);
  const Step& first = square.at(MathLevel::kReassociate).front();
  EXPECT_EQ(first.string_param("pipe", ""), "fma");
  EXPECT_GE(first.int_param("tm", 0) * first.int_param("tn", 0), 64) << "of a thread";
  const auto pipes = [](const std::vector<Step>& steps) {
    std::set<std::string> names;
    for (const Step& step : steps) names.insert(step.string_param("pipe", ""));
    return names;
  };
  using Pipes = std::set<std::string>;
  EXPECT_EQ(pipes(square.at(MathLevel::kTf32x3)), (Pipes{"wgmma-bulk-tf32x3"}));
  // One pass where the level is TF32, and no half types.
  const auto once = starts_of({.m = 4096, .n = 4096, .k = 4096}, MathLevel::kTf32);
  ASSERT_EQ(once.size(), 3U);
  EXPECT_EQ(pipes(once.at(MathLevel::kTf32)), (Pipes{"wgmma-bulk-tf32"}));
  // Few outputs, long sums: they are cut. Few columns: no tile is wider.
  const auto deep = starts_of({.m = 256, .n = 256, .k = 131072}, MathLevel::kReassociate);
  for (const Step& step : deep.at(MathLevel::kReassociate))
    EXPECT_TRUE(step.string_param("share", "").starts_with("all-")) << to_string(step);
  const auto thin = starts_of({.m = 32768, .n = 32, .k = 4096}, MathLevel::kReassociate);
  EXPECT_EQ(thin.at(MathLevel::kReassociate).front().int_param("bn", 0), 32);
  // Sums in f64 of f32: in runs first, but as they are written, too.
  const auto runs =
      starts_of({.m = 256, .n = 256, .k = 131072, .sum_in_f64 = true}, MathLevel::kTf32x3);
  EXPECT_EQ(runs.at(MathLevel::kReassociate).front().string_param("pipe", ""), "fma-runs");
  EXPECT_EQ(runs.at(MathLevel::kReassociate).back().string_param("pipe", ""), "fma");
  EXPECT_EQ(pipes(runs.at(MathLevel::kTf32x3)), (Pipes{"wgmma-bulk-tf32x3"}));
}

/// Products of few rows: a tile for each block would leave most multiprocessors idle, so sums are
/// shared, or tiles small.
TEST(Contract, FewRowsBeginOnAllMultiprocessors) {
  for (const ScalarType type : {ScalarType::kF16, ScalarType::kBf16}) {
    for (const std::int64_t rows : {16, 64, 128, 256}) {
      Product product({.m = rows, .n = 4096, .k = 4096, .type = type, .out = type});
      const auto offer = kContract->match(product.goal());
      ASSERT_TRUE(offer);
      const Step first = NestCase::step_at(*offer, {});
      const std::string share = first.string_param("share", "none");
      const std::size_t count = share.find('-') + 1;  // "all-4", "cluster-4"
      const std::int64_t parts = count > 0 ? std::stoi(share.substr(count)) : 1;
      const std::int64_t bm = first.int_param("bm", 0), bn = first.int_param("bn", 0);
      EXPECT_GE((rows + bm - 1) / bm * (4096 / bn) * parts, 120) << rows << " " << to_string(first);
    }
  }
}

}  // namespace
}  // namespace hone::schedules
