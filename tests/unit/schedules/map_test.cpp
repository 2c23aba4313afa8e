#include "rewriters/schedules/map/map.h"

#include <functional>
#include <iostream>

#include "tests/unit/schedules/harness.h"

namespace hone::schedules {
namespace {

const std::vector<Choice> kPoints = {
    {},
    {{"vector", std::int64_t{1}}, {"items", std::int64_t{1}}, {"threads", std::int64_t{64}}},
    {{"vector", std::int64_t{1}}, {"items", std::int64_t{4}}, {"cache", std::string("stream")}},
    {{"items", std::int64_t{2}},
     {"threads", std::int64_t{64}},
     {"cache", std::string("stream-stores")}},
    {{"items", std::int64_t{1}}, {"threads", std::int64_t{64}}, {"blocks_per_sm", std::int64_t{1}}},
    {{"items", std::int64_t{4}}, {"cache", std::string("stream")}},
};

void at_all_points(const std::function<void(Problem&)>& make, double tolerance = 2e-5) {
  const auto generator = make_map();
  for (const Choice& choice : kPoints) {
    Problem problem;
    make(problem);
    expect_right(*generator, problem, choice, tolerance);
  }
}

void add_row(Problem& p, std::int64_t rows, std::int64_t cols, ScalarType type = ScalarType::kF32) {
  p.in("x", {rows, cols}, type);
  p.in("bias", {cols}, type);
  p.out("y", {rows, cols}, type);
  const SymbolId i = p.symbol("i", rows), j = p.symbol("j", cols);
  const Ref sum = p.f("+", {p.load("x", {p.at(i), p.at(j)}), p.load("bias", {p.at(j)})});
  p.store("y", {i, j}, {p.at(i), p.at(j)}, p.f("max", {sum, p.nodes.number(0, type)}));
}

TEST(Map, AddsABroadcastRow) {
  at_all_points([](Problem& p) { add_row(p, 100, 96); });
  at_all_points([](Problem& p) { add_row(p, 37, 33); });
}
TEST(Map, InHalfAndDouble) {
  at_all_points([](Problem& p) { add_row(p, 20, 64, ScalarType::kF16); }, 2e-3);
  at_all_points([](Problem& p) { add_row(p, 20, 63, ScalarType::kBf16); }, 1e-2);
  at_all_points([](Problem& p) { add_row(p, 20, 62, ScalarType::kF64); });
}
TEST(Map, ManyPointsOnFewBlocks) {
  at_all_points([](Problem& p) { add_row(p, 300, 150); });
}

TEST(Map, OddLengthsHaveATail) {
  at_all_points(
      [](Problem& p) {
        p.in("a", {1003});
        p.in("b", {1003});
        p.out("c", {1003});
        p.out("d", {1003}, ScalarType::kF16);
        const SymbolId i = p.symbol("i", 1003), k = p.symbol("i", 1003);
        const Ref product = p.f("*", {p.load("a", {p.at(i)}), p.load("b", {p.at(i)})});
        p.store("c", {i}, {p.at(i)}, p.f("+", {product, p.f("tanh", {product})}));
        p.store("d", {k}, {p.at(k)}, p.nodes.cast(p.load("a", {p.at(k)}), ScalarType::kF16));
      },
      1e-3);
}

TEST(Map, BroadcastChannelsAndAnotherSize) {
  // y[n, c, hw] = x * gamma[c] + beta[c]; z[n] = -t[n].
  at_all_points([](Problem& p) {
    p.in("x", {3, 5, 16});
    p.in("gamma", {5});
    p.in("t", {7}, ScalarType::kI32, 0, 100);
    p.out("y", {3, 5, 16});
    p.out("z", {7}, ScalarType::kI32);
    const SymbolId n = p.symbol("n", 3), c = p.symbol("c", 5), s = p.symbol("s", 16);
    const SymbolId m = p.symbol("m", 7);
    const Ref g = p.load("gamma", {p.at(c)});
    p.store("y", {n, c, s}, {p.at(n), p.at(c), p.at(s)},
            p.f("+", {p.f("*", {p.load("x", {p.at(n), p.at(c), p.at(s)}), g}), g}));
    p.store("z", {m}, {p.at(m)}, p.nodes.scale(p.load("t", {p.at(m)}), -1));
  });
}

TEST(Map, PadsReversesAndTransposes) {
  at_all_points([](Problem& p) {
    p.in("x", {20, 30});
    p.out("padded", {22, 36});
    p.out("turned", {30, 20});
    const SymbolId i = p.symbol("i", 22), j = p.symbol("j", 36);
    const auto minus = [&](Ref a, std::int64_t b) {
      return p.nodes.subtract(a, p.nodes.integer(b));
    };
    const Ref row = minus(p.at(i), 1), col = minus(p.at(j), 3);
    Ref inside = p.nodes.both(p.nodes.non_negative(row), p.nodes.less(row, p.nodes.integer(20)));
    inside = p.nodes.both(inside, p.nodes.non_negative(col));
    inside = p.nodes.both(inside, p.nodes.less(col, p.nodes.integer(30)));
    p.store("padded", {i, j}, {p.at(i), p.at(j)},
            p.nodes.select(inside, p.load("x", {row, col}), p.number(0.5)));
    const SymbolId a = p.symbol("a", 30), b = p.symbol("b", 20);
    const Ref back = p.nodes.subtract(p.nodes.integer(29), p.at(a));
    p.store("turned", {a, b}, {p.at(a), p.at(b)}, p.load("x", {p.at(b), back}));
  });
}

TEST(Map, GathersUnderAGuardInPlace) {
  at_all_points([](Problem& p) {
    p.in("table", {50});
    p.in("which", {40}, ScalarType::kI32, 0, 49);
    p.inout("y", {40});
    const SymbolId i = p.symbol("i", 40);
    const Ref found = p.load("table", {p.load("which", {p.at(i)})});
    p.store("y", {i}, {p.at(i)}, p.f("-", {found, p.load("y", {p.at(i)})}));
    p.nests().back().guard = p.nodes.less(p.at(i), p.nodes.integer(33));
  });
}

TEST(Map, ATailThatDoesNotWrite) {
  // Found by a random nest: the last point, alone, is under a guard that is false there.
  at_all_points([](Problem& p) {
    p.in("x", {25});
    p.inout("y", {25});
    const SymbolId i = p.symbol("i", 25);
    p.store("y", {i}, {p.at(i)}, p.f("+", {p.load("x", {p.at(i)}), p.number(9)}));
    p.nests().back().guard = p.nodes.less(p.at(i), p.nodes.integer(24));
  });
}

TEST(Map, RefusesReductions) {
  Problem p;
  p.in("x", {8, 16});
  p.out("y", {8});
  const SymbolId i = p.symbol("i", 8), k = p.symbol("k", 16);
  p.store("y", {i}, {p.at(i)}, p.nodes.reduce(Op::kAdd, {k}, p.load("x", {p.at(i), p.at(k)})));
  EXPECT_FALSE(make_map()->match(p.goal()).has_value());
}

TEST(Map, DISABLED_Model) {
  const auto generator = make_map();
  for (const std::int64_t items : {1, 2, 4}) {
    Problem p;
    add_row(p, 8192, 8192);
    std::cout << items << " items: " << modelled_us(*generator, p, {{"items", items}})
              << " us, copy " << 2.0 * 4 * 8192 * 8192 / 4.2e6 << "\n";
  }
}

}  // namespace
}  // namespace hone::schedules
