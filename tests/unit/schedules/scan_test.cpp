#include "rewriters/schedules/scan/scan.h"

#include <functional>
#include <iostream>

#include "tests/unit/schedules/harness.h"

namespace hone::schedules {
namespace {

const std::vector<Choice> kPoints = {
    {},
    {{"threads", std::int64_t{4}}, {"items", std::int64_t{2}}},
    {{"threads", std::int64_t{32}}, {"items", std::int64_t{1}}, {"vector", std::int64_t{1}}},
    {{"threads", std::int64_t{16}}, {"items", std::int64_t{4}}, {"cache", std::string("stream")}},
};
const std::vector<Choice> kWide = {
    {{"threads", std::int64_t{64}}, {"rows", std::int64_t{2}}, {"items", std::int64_t{2}}},
    {{"threads", std::int64_t{128}}, {"rows", std::int64_t{1}}, {"items", std::int64_t{1}}},
};

void at_all_points(const std::function<void(Problem&)>& make, bool wide, double tolerance = 2e-5) {
  const auto generator = make_scan();
  std::vector<Choice> all = kPoints;
  if (wide) all.insert(all.end(), kWide.begin(), kWide.end());
  for (const Choice& choice : all) {
    Problem problem;
    make(problem);
    expect_right(*generator, problem, choice, tolerance);
  }
}

struct Kind {
  bool reverse = false, exclusive = false;
  Op op = Op::kAdd;
};

void running(Problem& p, std::int64_t rows, std::int64_t cols, Kind kind,
             ScalarType type = ScalarType::kF32) {
  p.in("x", {rows, cols}, type, is_float(type) ? -1 : -9, is_float(type) ? 1 : 9);
  p.out("y", {rows, cols}, type);
  const SymbolId i = p.symbol("i", rows), j = p.symbol("j", cols), r = p.symbol("r", cols);
  Ref apart =
      kind.reverse ? p.nodes.subtract(p.at(r), p.at(j)) : p.nodes.subtract(p.at(j), p.at(r));
  if (kind.exclusive) apart = p.nodes.subtract(apart, p.nodes.integer(1));
  const Ref x = p.load("x", {p.at(i), p.at(r)});
  const Ref body =
      p.nodes.select(p.nodes.non_negative(apart), x, p.nodes.identity(kind.op, x->type));
  p.store("y", {i, j}, {p.at(i), p.at(j)}, p.nodes.reduce(kind.op, {r}, body));
}

// Rows beyond the guard would read behind x: they are as many as a grid of whole blocks has.
TEST(Scan, LoadsThatAGuardKeepsInsideAreRefused) {
  Problem p;
  p.in("x", {42, 5});
  p.out("y", {42, 5});
  const SymbolId i = p.symbol("i", 64), j = p.symbol("j", 5), r = p.symbol("r", 5);
  const Ref each = p.load("x", {p.at(i), p.at(r)});
  const Ref until = p.nodes.select(p.nodes.non_negative(p.nodes.subtract(p.at(j), p.at(r))), each,
                                   p.nodes.number(0, ScalarType::kF32));
  p.store("y", {i, j}, {p.at(i), p.at(j)}, p.nodes.reduce(Op::kAdd, {r}, until));
  p.nests().back().guard = p.nodes.less(p.at(i), p.nodes.integer(42));
  const auto offer = make_scan()->match(p.goal());
  ASSERT_FALSE(offer.has_value());
  EXPECT_NE(offer.error().message.find("a guard keeps loads inside"), std::string::npos);
}

TEST(Scan, CumulativeSum) {
  at_all_points([](Problem& p) { running(p, 9, 256, {}); }, true);
  at_all_points([](Problem& p) { running(p, 3, 1000, {}); }, true);
  at_all_points([](Problem& p) { running(p, 5, 333, {}); }, true);
}
TEST(Scan, Reverse) {
  at_all_points([](Problem& p) { running(p, 6, 300, {true}); }, true);
  at_all_points([](Problem& p) { running(p, 6, 77, {true}); }, true);
}
TEST(Scan, Exclusive) {
  at_all_points([](Problem& p) { running(p, 6, 300, {false, true}); }, true);
  at_all_points([](Problem& p) { running(p, 6, 129, {true, true}); }, true);
}
TEST(Scan, MaximaAndIntegers) {
  at_all_points([](Problem& p) { running(p, 5, 200, {true, false, Op::kMax}); }, true);
  at_all_points([](Problem& p) { running(p, 5, 200, {}, ScalarType::kI32); }, true);
  at_all_points([](Problem& p) { running(p, 5, 264, {}, ScalarType::kF16); }, true, 4e-3);
}

TEST(Scan, AlongTheFirstDim) {
  for (const Kind kind : {Kind{}, Kind{true}, Kind{false, true}}) {
    at_all_points(
        [&](Problem& p) {
          p.in("x", {70, 45});
          p.out("y", {70, 45});
          const SymbolId j = p.symbol("j", 70), c = p.symbol("c", 45), r = p.symbol("r", 70);
          Ref apart = kind.reverse ? p.nodes.subtract(p.at(r), p.at(j))
                                   : p.nodes.subtract(p.at(j), p.at(r));
          if (kind.exclusive) apart = p.nodes.subtract(apart, p.nodes.integer(1));
          p.store("y", {j, c}, {p.at(j), p.at(c)},
                  p.nodes.reduce(Op::kAdd, {r},
                                 p.nodes.select(p.nodes.non_negative(apart),
                                                p.load("x", {p.at(r), p.at(c)}), p.number(0))));
        },
        false);
  }
}

TEST(Scan, MaskedWithWorkBeforeAndAfter) {
  at_all_points(
      [](Problem& p) {
        p.in("x", {4, 150});
        p.in("mask", {4, 150}, ScalarType::kU8, 0, 1);
        p.out("y", {4, 150});
        const SymbolId i = p.symbol("i", 4), j = p.symbol("j", 150), r = p.symbol("r", 150);
        const Ref x = p.load("x", {p.at(i), p.at(r)});
        Ref inside = p.nodes.non_negative(p.nodes.subtract(p.at(j), p.at(r)));
        inside =
            p.nodes.both(inside, p.nodes.negate(p.nodes.is_zero(p.nodes.add(
                                     p.load("mask", {p.at(i), p.at(r)}), p.nodes.integer(0)))));
        const Ref sum =
            p.nodes.reduce(Op::kAdd, {r}, p.nodes.select(inside, p.f("*", {x, x}), p.number(0)));
        p.store("y", {i, j}, {p.at(i), p.at(j)},
                p.f("-", {p.f("sqrt", {sum}), p.load("x", {p.at(i), p.at(j)})}));
      },
      true);
}

TEST(Scan, CutRows) {
  const auto generator = make_scan();
  const auto check = [&](Problem& p, Choice choice) {
    choice["long_rows"] = std::string("parts-4");
    EXPECT_NE(generate(*generator, p, choice).source.find("own_part"), std::string::npos);
    expect_right(*generator, p, choice, 1e-4);
  };
  for (const Kind kind : {Kind{}, Kind{true}, Kind{false, true}, Kind{false, false, Op::kMax}}) {
    for (const std::int64_t threads : {16, 64, 256}) {
      Problem p;
      running(p, 3, 768, kind);
      check(p, {{"threads", threads}, {"items", std::int64_t{1}}});
    }
    // Along the first of two dims.
    Problem p;
    p.in("x", {400, 6});
    p.out("y", {400, 6});
    const SymbolId j = p.symbol("j", 400), c = p.symbol("c", 6), r = p.symbol("r", 400);
    const Ref before = p.nodes.non_negative(kind.reverse ? p.nodes.subtract(p.at(r), p.at(j))
                                                         : p.nodes.subtract(p.at(j), p.at(r)));
    p.store("y", {j, c}, {p.at(j), p.at(c)},
            p.nodes.reduce(Op::kAdd, {r},
                           p.nodes.select(before, p.load("x", {p.at(r), p.at(c)}), p.number(0))));
    check(p, {{"items", std::int64_t{2}}});
  }
}

TEST(Scan, OneMoreColumnThanThereIsToAdd) {
  const auto make = [](Problem& p, std::int64_t rows, std::int64_t cols) {
    p.in("x", {rows, cols});
    p.out("y", {rows, cols + 1});
    const SymbolId i = p.symbol("i", rows), j = p.symbol("j", cols), r = p.symbol("r", cols);
    const Ref before = p.nodes.non_negative(p.nodes.subtract(p.at(j), p.at(r)));
    const Ref x = p.load("x", {p.at(i), p.at(r)});
    p.store("y", {i}, {p.at(i), p.nodes.integer(0)}, p.number(0));
    p.store("y", {i, j}, {p.at(i), p.nodes.add(p.at(j), p.nodes.integer(1))},
            p.nodes.reduce(Op::kAdd, {r}, p.nodes.select(before, x, p.number(0))));
  };
  at_all_points([&](Problem& p) { make(p, 5, 333); }, true);
  const auto generator = make_scan();
  Problem cut;
  make(cut, 3, 768);
  expect_right(*generator, cut,
               {{"long_rows", std::string("parts-4")}, {"threads", std::int64_t{64}}}, 1e-4);
  Problem once;
  make(once, 3, 1600);
  expect_right(*generator, once,
               {{"long_rows", std::string("single-pass")},
                {"threads", std::int64_t{128}},
                {"items", std::int64_t{1}}},
               1e-4);
}

TEST(Scan, SinglePass) {
  const auto generator = make_scan();
  const auto check = [&](Problem& p, std::int64_t threads, std::int64_t items, double tolerance) {
    const Choice choice = {
        {"long_rows", std::string("single-pass")}, {"threads", threads}, {"items", items}};
    EXPECT_NE(generate(*generator, p, choice).source.find("look_back"), std::string::npos);
    expect_right(*generator, p, choice, tolerance);
  };
  for (const Kind kind :
       {Kind{}, Kind{true}, Kind{false, true}, Kind{true, true}, Kind{false, false, Op::kMax}}) {
    Problem odd;  // more than 32 tiles
    running(odd, 1, 2221, kind);
    check(odd, 64, 1, 1e-4);
    Problem rows;
    running(rows, 3, 1600, kind);
    check(rows, 128, 1, 1e-4);
  }
  // 8 bytes each.
  for (const ScalarType type : {ScalarType::kI32, ScalarType::kF64}) {
    Problem p;
    running(p, 2, 2113, {}, type);
    check(p, 64, 1, 1e-9);
  }
}

TEST(Scan, SinglePassOfSeveralKinds) {
  const auto generator = make_scan();
  Problem p;
  p.in("x", {2, 1280});
  p.out("y", {2, 1280});
  const SymbolId i = p.symbol("i", 2), j = p.symbol("j", 1280), r = p.symbol("r", 1280);
  const Ref inside = p.nodes.non_negative(p.nodes.subtract(p.at(j), p.at(r)));
  const Ref x = p.load("x", {p.at(i), p.at(r)});
  const auto folded = [&](Op op) {
    return p.nodes.reduce(op, {r}, p.nodes.select(inside, x, p.nodes.identity(op, x->type)));
  };
  p.store("y", {i, j}, {p.at(i), p.at(j)}, p.f("*", {folded(Op::kAdd), folded(Op::kMax)}));
  expect_right(*generator, p,
               {{"long_rows", std::string("single-pass")},
                {"threads", std::int64_t{64}},
                {"items", std::int64_t{1}}},
               1e-4);
}

TEST(Scan, SinglePassOfGroupsOfGroups) {
  // More than 1024 tiles: ones are summed, so that the result is known without summing.
  const auto generator = make_scan();
  const std::int64_t length = 64 * 1100 + 7;
  Problem p;
  running(p, 1, length, {});
  p.concrete().buffers[0].fill.a = 1;
  p.concrete().buffers[0].fill.b = 1;
  const Choice choice = {{"long_rows", std::string("single-pass")},
                         {"threads", std::int64_t{64}},
                         {"items", std::int64_t{1}},
                         {"vector", std::int64_t{1}}};
  EXPECT_NE(generate(*generator, p, choice).source.find("kLevels = 3"), std::string::npos);
  Problem known;
  known.out("y", {1, length});
  const SymbolId j = known.symbol("j", length);
  known.store(
      "y", {j}, {known.nodes.integer(0), known.at(j)},
      known.nodes.cast(known.nodes.add(known.at(j), known.nodes.integer(1)), ScalarType::kF32));
  expect_right(*generator, p, choice, 0, &known);
}

/// y = op(x[j], the fold of those before), as a loop lifts to.
struct Own {
  ScalarType type = ScalarType::kF32;
  Op op = Op::kAdd;
  bool reverse = false;
  bool masked = false;     ///< the fold leaves out what the kernel says
  bool alone_too = false;  ///< the fold is stored by itself, too
};

void with_own_element(Problem& p, std::int64_t rows, std::int64_t cols, const Own& own) {
  const bool real = is_float(own.type);
  p.in("x", {rows, cols}, own.type, real ? -1 : -9, real ? 1 : 9);
  p.out("y", {rows, cols}, own.type);
  const SymbolId i = p.symbol("i", rows), j = p.symbol("j", cols), r = p.symbol("r", cols);
  const Ref apart =
      own.reverse ? p.nodes.subtract(p.at(r), p.at(j)) : p.nodes.subtract(p.at(j), p.at(r));
  const auto folded = [&](SymbolId at) {
    const Ref x = p.load("x", {p.at(i), p.at(at)});
    if (!own.masked) return x;
    const Ref kept =
        real ? p.nodes.op(Op::kLess, ScalarType::kBool, {x, p.nodes.number(0.25, x->type)})
             : p.nodes.less(x, p.nodes.integer(3));
    return p.nodes.select(kept, x, p.nodes.identity(own.op, x->type));
  };
  const Ref before = p.nodes.reduce(
      own.op, {r},
      p.nodes.select(p.nodes.non_negative(p.nodes.subtract(apart, p.nodes.integer(1))), folded(r),
                     p.nodes.identity(own.op, folded(r)->type)));
  const Ref x = p.load("x", {p.at(i), p.at(j)});
  const Ref whole = !real && own.op == Op::kAdd ? p.nodes.add(x, before)
                                                : p.nodes.op(own.op, before->type, {x, before});
  p.store("y", {i, j}, {p.at(i), p.at(j)}, whole);
  if (!own.alone_too) return;
  p.out("z", {rows, cols}, own.type);
  p.store("z", {i, j}, {p.at(i), p.at(j)}, before);
}

// x is read once; not where the kernel's fold is another, or is asked for by itself.
TEST(Scan, OwnElementIsTakenIn) {
  std::vector<Own> all = {{},
                          {.reverse = true},
                          {.masked = true},
                          {.reverse = true, .masked = true},
                          {.alone_too = true},
                          {.op = Op::kMax},
                          {.op = Op::kMax, .masked = true},
                          {.type = ScalarType::kI32},
                          {.type = ScalarType::kI32, .masked = true},
                          {.type = ScalarType::kI32, .op = Op::kMin, .reverse = true}};
  for (const Own& own : all) {
    for (const char* way : {"whole", "parts-4", "single-pass"}) {
      Problem p;
      with_own_element(p, 2, 600, own);
      expect_right(*make_scan(), p,
                   {{"long_rows", std::string(way)}, {"threads", std::int64_t{64}}}, 1e-4);
    }
    Problem problem;
    with_own_element(problem, 2, 600, own);
    const std::string source = generate(*make_scan(), problem, {}).source;
    std::size_t reads = 0;
    for (std::size_t at = source.find("(x + "); at != std::string::npos;
         at = source.find("(x + ", at + 1))
      ++reads;
    EXPECT_EQ(reads, own.masked || own.alone_too ? 2U : 1U) << source;
  }
}

// Four sums of doubles beside each other: tiles' sums would be 64 KiB of static shared memory.
TEST(Scan, SumsFitStaticSharedMemory) {
  Problem p;
  p.in("x", {100, 64}, ScalarType::kF64);
  for (const char* name : {"a", "b", "c", "d"}) {
    p.out(name, {100, 64}, ScalarType::kF64);
    const SymbolId j = p.symbol("j", 64), i = p.symbol("i", 100), r = p.symbol("r", 100);
    const Ref x = p.load("x", {p.at(r), p.at(j)});
    const Ref scaled = p.nodes.op(Op::kMul, x->type, {x, p.nodes.number(name[0], x->type)});
    const Ref body = p.nodes.select(p.nodes.non_negative(p.nodes.subtract(p.at(i), p.at(r))),
                                    scaled, p.nodes.identity(Op::kAdd, x->type));
    p.store(name, {i, j}, {p.at(i), p.at(j)}, p.nodes.reduce(Op::kAdd, {r}, body));
  }
  expect_right(*make_scan(), p, {{"threads", std::int64_t{32}}, {"items", std::int64_t{1}}});
}

TEST(Scan, RefusesPlainReductions) {
  Problem p;
  p.in("x", {8, 16});
  p.out("y", {8});
  const SymbolId i = p.symbol("i", 8), k = p.symbol("k", 16);
  p.store("y", {i}, {p.at(i)}, p.nodes.reduce(Op::kAdd, {k}, p.load("x", {p.at(i), p.at(k)})));
  EXPECT_FALSE(make_scan()->match(p.goal()).has_value());
}

TEST(Scan, DISABLED_Variant) {
  Problem p;
  const char* length = std::getenv("LENGTH");
  running(p, 1, length == nullptr ? 1 << 26 : std::atoi(length), {});
  std::cout << variant_text(*make_scan(), p, choice_from(std::getenv("VARIANT")));
}

TEST(Scan, DISABLED_Model) {
  const auto generator = make_scan();
  for (const std::int64_t cols : {512, 4096, 65536, 1 << 24}) {
    Problem p;
    running(p, (std::int64_t{1} << 26) / cols, cols, {});
    std::cout << cols << ": " << modelled_us(*generator, p) << " us of " << 8.0 * (1 << 26) / 4.2e6
              << "\n";
  }
}

}  // namespace
}  // namespace hone::schedules
