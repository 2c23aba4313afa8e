#include "rewriters/schedules/reduce/reduce.h"

#include <functional>
#include <iostream>

#include "tests/unit/schedules/harness.h"

namespace hone::schedules {
namespace {

const std::vector<Choice> kPoints = {
    {},
    {{"parts", std::int64_t{1}}},
    {{"parts", std::int64_t{8}}, {"threads", std::int64_t{32}}, {"unroll", std::int64_t{1}}},
    {{"parts", std::int64_t{16}}, {"keep", std::string("registers")}},
    {{"parts", std::int64_t{4}}, {"keep", std::string("reread")}, {"cache", std::string("stream")}},
    {{"parts", std::int64_t{32}}, {"vector", std::int64_t{1}}},
};

void at_all_points(const std::function<void(Problem&)>& make, double tolerance = 2e-5) {
  const auto generator = make_reduce();
  for (const Choice& choice : kPoints) {
    Problem problem;
    make(problem);
    expect_right(*generator, problem, choice, tolerance);
  }
}

TEST(Reduce, ColumnSums) {
  const auto make = [](std::int64_t rows, std::int64_t cols) {
    return [=](Problem& p) {
      p.in("x", {rows, cols});
      p.out("y", {cols});
      const SymbolId j = p.symbol("j", cols), k = p.symbol("k", rows);
      p.store("y", {j}, {p.at(j)}, p.nodes.reduce(Op::kAdd, {k}, p.load("x", {p.at(k), p.at(j)})));
    };
  };
  at_all_points(make(512, 70));
  at_all_points(make(203, 45));
}

TEST(Reduce, GlobalSumAndNorm) {
  const auto make = [](std::int64_t size) {
    return [=](Problem& p) {
      p.in("x", {size});
      p.in("w", {size});
      p.out("dot", {1});
      p.out("norm", {1});
      const SymbolId k = p.symbol("k", size);
      const Ref x = p.load("x", {p.at(k)});
      p.store("dot", {}, {p.nodes.integer(0)},
              p.nodes.reduce(Op::kAdd, {k}, p.f("*", {x, p.load("w", {p.at(k)})})));
      p.store("norm", {}, {p.nodes.integer(0)},
              p.f("sqrt", {p.f("/", {p.nodes.reduce(Op::kAdd, {k}, p.f("*", {x, x})),
                                     p.number(static_cast<double>(size))})}));
    };
  };
  at_all_points(make(8192), 5e-4);
  at_all_points(make(10007), 5e-4);
}

TEST(Reduce, ArgMaxOverAll) {
  at_all_points([](Problem& p) {
    p.in("x", {60, 50});
    p.out("best", {1}, ScalarType::kI32);
    const SymbolId a = p.symbol("a", 60), b = p.symbol("b", 50);
    p.store("best", {}, {p.nodes.integer(0)},
            p.nodes.reduce(Op::kArgMax, {a, b}, p.load("x", {p.at(a), p.at(b)})));
  });
}

TEST(Reduce, ReductionsOfOneLengthInsideEachOther) {
  // The largest of 40 sums of 40 products; both indices have the same extent.
  at_all_points([](Problem& p) {
    p.in("a", {2, 40, 40});
    p.in("b", {40});
    p.out("y", {2});
    const SymbolId i = p.symbol("i", 2), j = p.symbol("j", 40), k = p.symbol("k", 40);
    const Ref product =
        p.f("*", {p.load("a", {p.at(i), p.at(j), p.at(k)}), p.load("b", {p.at(k)})});
    p.store("y", {i}, {p.at(i)},
            p.nodes.reduce(Op::kMax, {j}, p.nodes.reduce(Op::kAdd, {k}, product)));
  });
}

TEST(Reduce, AFactorThatIsASumIsComputedOnceForAllRows) {
  const auto make = [](Problem& p) {
    p.in("a", {9, 64});
    p.in("b", {80, 64});
    p.out("y", {9});
    const SymbolId r = p.symbol("r", 9), k = p.symbol("k", 64), l = p.symbol("l", 80);
    const Ref columns = p.nodes.reduce(Op::kAdd, {l}, p.load("b", {p.at(l), p.at(k)}));
    p.store("y", {r}, {p.at(r)},
            p.nodes.reduce(Op::kAdd, {k}, p.f("*", {p.load("a", {p.at(r), p.at(k)}), columns})));
  };
  at_all_points(make, 1e-3);
  Problem p;
  make(p);
  const auto generator = make_reduce();
  for (const Buffer& buffer : generate(*generator, p, {{"parts", std::int64_t{1}}}).scratch) {
    EXPECT_EQ(buffer.shape.at(0).text(), "64") << buffer.name;
  }
}

TEST(Reduce, NormalisesByTheWhole) {
  at_all_points([](Problem& p) {
    p.in("x", {50, 40});
    p.out("y", {50, 40});
    const SymbolId i = p.symbol("i", 50), j = p.symbol("j", 40);
    const SymbolId a = p.symbol("a", 50), b = p.symbol("b", 40);
    const Ref x = p.load("x", {p.at(a), p.at(b)});
    const Ref norm = p.f("sqrt", {p.nodes.reduce(Op::kAdd, {a, b}, p.f("*", {x, x}))});
    p.store("y", {i, j}, {p.at(i), p.at(j)}, p.f("/", {p.load("x", {p.at(i), p.at(j)}), norm}));
  });
}

/// Over all but the channels: mean, variance, normalised.
void batch_norm(Problem& p, std::int64_t n, std::int64_t c, std::int64_t s) {
  p.in("x", {n, c, s}, ScalarType::kF32, 2, 4);
  p.in("gamma", {c});
  p.out("y", {n, c, s});
  const SymbolId i = p.symbol("n", n), j = p.symbol("c", c), k = p.symbol("s", s);
  const SymbolId a = p.symbol("a", n), b = p.symbol("b", s);
  const Ref count = p.number(static_cast<double>(n * s));
  const auto x = [&](SymbolId nn, SymbolId ss) {
    return p.load("x", {p.at(nn), p.at(j), p.at(ss)});
  };
  const Ref mean = p.f("/", {p.nodes.reduce(Op::kAdd, {a, b}, x(a, b)), count});
  const Ref away = p.f("-", {x(a, b), mean});
  const Ref var = p.f("/", {p.nodes.reduce(Op::kAdd, {a, b}, p.f("*", {away, away})), count});
  const Ref root = p.f("sqrt", {p.f("+", {var, p.number(1e-5)})});
  p.store("y", {i, j, k}, {p.at(i), p.at(j), p.at(k)},
          p.f("*", {p.f("/", {p.f("-", {x(i, k), mean}), root}), p.load("gamma", {p.at(j)})}));
}

TEST(Reduce, BatchNorm) {
  at_all_points([](Problem& p) { batch_norm(p, 8, 5, 64); });
  at_all_points([](Problem& p) { batch_norm(p, 7, 3, 33); });
}

TEST(Reduce, SoftmaxOfOneLongRow) {
  at_all_points([](Problem& p) {
    p.in("x", {2, 3001}, ScalarType::kF32, -6, 6);
    p.out("y", {2, 3001});
    const SymbolId i = p.symbol("i", 2), j = p.symbol("j", 3001), k = p.symbol("k", 3001);
    const auto x = [&](SymbolId col) { return p.load("x", {p.at(i), p.at(col)}); };
    const Ref peak = p.nodes.reduce(Op::kMax, {k}, x(k));
    const auto power = [&](SymbolId col) { return p.f("exp", {p.f("-", {x(col), peak})}); };
    p.store("y", {i, j}, {p.at(i), p.at(j)},
            p.f("/", {power(j), p.nodes.reduce(Op::kAdd, {k}, power(k))}));
  });
}

TEST(Reduce, CrossEntropyIsOneNumber) {
  // mean over rows of log sum exp x - x[label].
  at_all_points([](Problem& p) {
    p.in("x", {70, 100}, ScalarType::kF32, -3, 3);
    p.in("label", {70}, ScalarType::kI64, 0, 99);
    p.out("loss", {1});
    const SymbolId i = p.symbol("i", 70), k = p.symbol("k", 100);
    const Ref x = p.load("x", {p.at(i), p.at(k)});
    const Ref peak = p.nodes.reduce(Op::kMax, {k}, x);
    const Ref sum = p.nodes.reduce(Op::kAdd, {k}, p.f("exp", {p.f("-", {x, peak})}));
    const Ref right = p.load("x", {p.at(i), p.load("label", {p.at(i)})});
    const Ref loss = p.f("-", {p.f("+", {p.f("log", {sum}), peak}), right});
    p.store("loss", {}, {p.nodes.integer(0)},
            p.f("/", {p.nodes.reduce(Op::kAdd, {i}, loss), p.number(70)}));
  });
}

TEST(Reduce, AtomicSumsOfColumns) {
  at_all_points([](Problem& p) {
    p.in("x", {300, 20}, ScalarType::kI32, -50, 50);
    p.inout("y", {20}, ScalarType::kI32);
    const SymbolId i = p.symbol("i", 300), j = p.symbol("j", 20);
    p.store("y", {i, j}, {p.at(j)}, p.load("x", {p.at(i), p.at(j)}), Op::kAdd);
  });
}

TEST(Reduce, RefusesManyRows) {
  Problem p;
  p.in("x", {8192, 16});
  p.out("y", {8192});
  const SymbolId i = p.symbol("i", 8192), k = p.symbol("k", 16);
  p.store("y", {i}, {p.at(i)}, p.nodes.reduce(Op::kAdd, {k}, p.load("x", {p.at(i), p.at(k)})));
  EXPECT_FALSE(make_reduce()->match(p.goal()).has_value());
}

TEST(Reduce, DISABLED_Model) {
  const auto generator = make_reduce();
  {
    Problem p;
    p.in("x", {1 << 26});
    p.out("y", {1});
    const SymbolId k = p.symbol("k", 1 << 26);
    p.store("y", {}, {p.nodes.integer(0)}, p.nodes.reduce(Op::kAdd, {k}, p.load("x", {p.at(k)})));
    std::cout << "sum " << modelled_us(*generator, p) << " us of " << 4.0 * (1 << 26) / 4.2e6
              << "\n";
  }
  {
    Problem p;
    p.in("x", {16384, 4096});
    p.out("y", {4096});
    const SymbolId j = p.symbol("j", 4096), k = p.symbol("k", 16384);
    p.store("y", {j}, {p.at(j)}, p.nodes.reduce(Op::kAdd, {k}, p.load("x", {p.at(k), p.at(j)})));
    std::cout << "columns " << modelled_us(*generator, p) << " us of " << 4.0 * (1 << 26) / 4.2e6
              << "\n";
  }
  {
    Problem p;
    batch_norm(p, 64, 64, 128 * 128);
    std::cout << "batch norm " << modelled_us(*generator, p) << " us of "
              << 12.0 * (1 << 26) / 4.2e6 << "\n";
  }
}

}  // namespace
}  // namespace hone::schedules
