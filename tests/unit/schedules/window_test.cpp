#include "rewriters/schedules/window/window.h"

#include <functional>
#include <iostream>

#include "tests/unit/schedules/harness.h"

namespace hone::schedules {
namespace {

void at_all_points(const std::function<void(Problem&)>& make, double tolerance = 2e-5) {
  const auto generator = make_window();
  for (const std::int64_t outputs : {1, 2, 4, 8}) {
    for (const std::int64_t threads : {64, 256}) {
      Problem problem;
      make(problem);
      Choice choice = {{"outputs", outputs}, {"threads", threads}};
      choice["along"] = std::int64_t{threads == 64 ? 0 : 1};
      if (threads == 64) choice["cache"] = std::string("stream-stores");
      expect_right(*generator, problem, choice, tolerance);
    }
  }
}

struct Pool {
  std::int64_t planes, height, width, size, stride, pad;
};

/// y = fold over a size x size window of x, where inside; `after` of it.
void pool(Problem& p, Pool s, Op op) {
  const std::int64_t oh = (s.height + 2 * s.pad - s.size) / s.stride + 1;
  const std::int64_t ow = (s.width + 2 * s.pad - s.size) / s.stride + 1;
  p.in("x", {s.planes, s.height, s.width});
  p.out("y", {s.planes, oh, ow});
  const SymbolId n = p.symbol("n", s.planes), h = p.symbol("h", oh), w = p.symbol("w", ow);
  const SymbolId a = p.symbol("a", s.size), b = p.symbol("b", s.size);
  const auto at = [&](SymbolId out, SymbolId in) {
    return p.nodes.subtract(p.nodes.add(p.nodes.scale(p.at(out), s.stride), p.at(in)),
                            p.nodes.integer(s.pad));
  };
  const Ref row = at(h, a), col = at(w, b);
  Ref inside =
      p.nodes.both(p.nodes.non_negative(row), p.nodes.less(row, p.nodes.integer(s.height)));
  inside = p.nodes.both(inside, p.nodes.non_negative(col));
  inside = p.nodes.both(inside, p.nodes.less(col, p.nodes.integer(s.width)));
  const Ref nothing = p.nodes.identity(op, ScalarType::kF32);
  Ref value =
      p.nodes.reduce(op, {a, b}, p.nodes.select(inside, p.load("x", {p.at(n), row, col}), nothing));
  if (op == Op::kAdd) {
    const Ref count =
        p.nodes.reduce(Op::kAdd, {a, b}, p.nodes.select(inside, p.number(1), p.number(0)));
    value = p.f("/", {value, count});
  }
  p.store("y", {n, h, w}, {p.at(n), p.at(h), p.at(w)}, value);
}

TEST(Window, MaxPool) {
  at_all_points([](Problem& p) { pool(p, {3, 17, 32, 3, 2, 1}, Op::kMax); });
  at_all_points([](Problem& p) { pool(p, {2, 9, 21, 3, 2, 1}, Op::kMax); });
  at_all_points([](Problem& p) { pool(p, {2, 16, 16, 2, 2, 0}, Op::kMax); });
}
TEST(Window, AveragePool) {
  at_all_points([](Problem& p) { pool(p, {2, 12, 16, 3, 1, 1}, Op::kAdd); });
  at_all_points([](Problem& p) { pool(p, {1, 11, 13, 5, 3, 2}, Op::kAdd); });
}

TEST(Window, DepthwiseConvolution) {
  const auto make = [](std::int64_t width) {
    return [=](Problem& p) {
      const std::int64_t n = 2, c = 3, height = 6;
      p.in("x", {n, c, height, width});
      p.in("k", {c, 3, 3});
      p.in("bias", {c});
      p.out("y", {n, c, height, width});
      const SymbolId i = p.symbol("n", n), j = p.symbol("c", c), h = p.symbol("h", height),
                     w = p.symbol("w", width), a = p.symbol("a", 3), b = p.symbol("b", 3);
      const Ref row = p.nodes.subtract(p.nodes.add(p.at(h), p.at(a)), p.nodes.integer(1));
      const Ref col = p.nodes.subtract(p.nodes.add(p.at(w), p.at(b)), p.nodes.integer(1));
      Ref inside =
          p.nodes.both(p.nodes.non_negative(row), p.nodes.less(row, p.nodes.integer(height)));
      inside = p.nodes.both(inside, p.nodes.non_negative(col));
      inside = p.nodes.both(inside, p.nodes.less(col, p.nodes.integer(width)));
      const Ref product = p.f("*", {p.load("x", {p.at(i), p.at(j), row, col}),
                                    p.load("k", {p.at(j), p.at(a), p.at(b)})});
      const Ref sum =
          p.nodes.reduce(Op::kAdd, {a, b}, p.nodes.select(inside, product, p.number(0)));
      p.store("y", {i, j, h, w}, {p.at(i), p.at(j), p.at(h), p.at(w)},
              p.f("max", {p.f("+", {sum, p.load("bias", {p.at(j)})}), p.number(0)}));
    };
  };
  at_all_points(make(16));
  at_all_points(make(11));
}

TEST(Window, OneDimensionChannelsLast) {
  // x[n, t, c], windows along t: neighbouring outputs are channels.
  at_all_points([](Problem& p) {
    p.in("x", {2, 20, 24}, ScalarType::kF16);
    p.out("y", {2, 9, 24}, ScalarType::kF16);
    p.out("where", {2, 9, 24}, ScalarType::kI32);
    const SymbolId n = p.symbol("n", 2), t = p.symbol("t", 9), c = p.symbol("c", 24),
                   a = p.symbol("a", 4);
    const SymbolId n2 = p.symbol("n", 2), t2 = p.symbol("t", 9), c2 = p.symbol("c", 24);
    const auto x = [&](SymbolId i, SymbolId s, SymbolId j) {
      return p.load("x", {p.at(i), p.nodes.add(p.nodes.scale(p.at(s), 2), p.at(a)), p.at(j)});
    };
    p.store("y", {n, t, c}, {p.at(n), p.at(t), p.at(c)}, p.nodes.reduce(Op::kMax, {a}, x(n, t, c)));
    p.store("where", {n2, t2, c2}, {p.at(n2), p.at(t2), p.at(c2)},
            p.nodes.reduce(Op::kArgMax, {a}, x(n2, t2, c2)));
  });
}

TEST(Window, RefusesLongReductions) {
  Problem p;
  p.in("x", {8, 1600});
  p.out("y", {8});
  const SymbolId i = p.symbol("i", 8), k = p.symbol("k", 1600);
  p.store("y", {i}, {p.at(i)}, p.nodes.reduce(Op::kAdd, {k}, p.load("x", {p.at(i), p.at(k)})));
  EXPECT_FALSE(make_window()->match(p.goal()).has_value());
}

TEST(Window, DISABLED_Model) {
  const auto generator = make_window();
  for (const std::int64_t outputs : {1, 2, 4, 8}) {
    Problem p;
    pool(p, {64 * 32, 128, 128, 3, 2, 1}, Op::kMax);
    for (const std::int64_t along : {0, 1})
      std::cout << along << ", " << outputs << ": "
                << modelled_us(*generator, p, {{"outputs", outputs}, {"along", along}}) << " us of "
                << 5.0 * 2048 * 128 * 128 / 4.2e6 << "\n";
  }
}

}  // namespace
}  // namespace hone::schedules
