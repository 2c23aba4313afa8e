#include "rewriters/schedules/rowwise/rowwise.h"

#include <functional>
#include <iostream>

#include "tests/unit/schedules/harness.h"

namespace hone::schedules {
namespace {

/// y[i, j] = exp(x[i, j] - max_i) / sum_i, rows of `cols`.
void softmax(Problem& p, std::int64_t rows, std::int64_t cols, ScalarType type = ScalarType::kF32) {
  p.in("x", {rows, cols}, type, -4, 4);
  p.out("y", {rows, cols}, type);
  const SymbolId i = p.symbol("i", rows), j = p.symbol("j", cols), k = p.symbol("k", cols);
  const auto x = [&](SymbolId col) {
    return p.nodes.cast(p.load("x", {p.at(i), p.at(col)}), ScalarType::kF32);
  };
  const Ref peak = p.nodes.reduce(Op::kMax, {k}, x(k));
  const auto power = [&](SymbolId col) { return p.f("exp", {p.f("-", {x(col), peak})}); };
  const Ref sum = p.nodes.reduce(Op::kAdd, {k}, power(k));
  p.store("y", {i, j}, {p.at(i), p.at(j)}, p.nodes.cast(p.f("/", {power(j), sum}), type));
}

/// y = (x - mean) / sqrt(var + eps) * gamma + beta over the last dim.
void layer_norm(Problem& p, std::int64_t rows, std::int64_t cols) {
  p.in("x", {rows, cols});
  p.in("gamma", {cols});
  p.in("beta", {cols});
  p.out("y", {rows, cols});
  p.out("means", {rows});
  const SymbolId i = p.symbol("i", rows), j = p.symbol("j", cols), k = p.symbol("k", cols);
  const SymbolId i2 = p.symbol("i", rows);
  const Ref n = p.number(static_cast<double>(cols));
  const auto mean = [&](SymbolId row) {
    return p.f("/", {p.nodes.reduce(Op::kAdd, {k}, p.load("x", {p.at(row), p.at(k)})), n});
  };
  const auto away = [&](SymbolId col) {
    return p.f("-", {p.load("x", {p.at(i), p.at(col)}), mean(i)});
  };
  const Ref var = p.f("/", {p.nodes.reduce(Op::kAdd, {k}, p.f("*", {away(k), away(k)})), n});
  const Ref root = p.f("sqrt", {p.f("+", {var, p.number(1e-5)})});
  const Ref scaled = p.f("*", {p.f("/", {away(j), root}), p.load("gamma", {p.at(j)})});
  p.store("y", {i, j}, {p.at(i), p.at(j)}, p.f("+", {scaled, p.load("beta", {p.at(j)})}));
  p.store("means", {i2}, {p.at(i2)}, mean(i2));
}

const std::vector<Choice> kPoints = {
    {},
    {{"threads", std::int64_t{8}}, {"rows", std::int64_t{4}}},
    {{"threads", std::int64_t{32}}, {"rows", std::int64_t{2}}, {"vector", std::int64_t{1}}},
    {{"threads", std::int64_t{64}}, {"rows", std::int64_t{2}}, {"cache", std::string("stream")}},
    {{"threads", std::int64_t{128}}, {"rows", std::int64_t{1}}, {"keep", std::string("shared")}},
    {{"threads", std::int64_t{32}},
     {"rows", std::int64_t{4}},
     {"keep", std::string("shared")},
     {"cache", std::string("stream-stores")}},
    {{"threads", std::int64_t{256}},
     {"keep", std::string("reread")},
     {"divide", std::string("exact")}},
    {{"threads", std::int64_t{64}}, {"rows", std::int64_t{1}}, {"blocks_per_sm", std::int64_t{1}}},
};

const std::vector<Choice> kClusters = {
    {{"cluster", std::int64_t{2}}, {"threads", std::int64_t{32}}, {"rows", std::int64_t{1}}},
    {{"cluster", std::int64_t{2}},
     {"threads", std::int64_t{64}},
     {"rows", std::int64_t{2}},
     {"vector", std::int64_t{1}},
     {"keep", std::string("shared")}},
    {{"cluster", std::int64_t{4}},
     {"threads", std::int64_t{32}},
     {"rows", std::int64_t{4}},
     {"blocks_per_sm", std::int64_t{1}}},
    {{"cluster", std::int64_t{8}},
     {"threads", std::int64_t{256}},
     {"rows", std::int64_t{1}},
     {"keep", std::string("reread")}},
};

void at_all_points(const std::function<void(Problem&)>& make, double tolerance = 2e-5) {
  const auto generator = make_rowwise();
  for (const Choice& choice : kPoints) {
    Problem problem;
    make(problem);
    expect_right(*generator, problem, choice, tolerance);
  }
}

/// At sizes that fill clusters, and with other blocks of them idle.
void in_clusters(const std::function<void(Problem&)>& make, double tolerance = 2e-5) {
  const auto generator = make_rowwise();
  for (const Choice& choice : kClusters) {
    Problem problem;
    make(problem);
    expect_right(*generator, problem, choice, tolerance);
  }
}

TEST(Rowwise, SoftmaxInClusters) {
  in_clusters([](Problem& p) { softmax(p, 9, 2048); });
  in_clusters([](Problem& p) { softmax(p, 5, 1999); });
  in_clusters([](Problem& p) { softmax(p, 3, 300); });
  in_clusters([](Problem& p) { softmax(p, 7, 4104, ScalarType::kF16); }, 2e-3);
}
TEST(Rowwise, LayerNormInClusters) {
  in_clusters([](Problem& p) { layer_norm(p, 6, 2560); });
  in_clusters([](Problem& p) { layer_norm(p, 3, 1027); });
}

TEST(Rowwise, OneFoldInClustersThatWalkOverRows) {
  // Slots take turns: no other fold lies between two of a row's.
  const auto generator = make_rowwise();
  for (const std::int64_t rows : {700, 333}) {
    Problem p;
    p.in("x", {rows, 512});
    p.out("sums", {rows});
    const SymbolId i = p.symbol("i", rows), k = p.symbol("k", 512);
    p.store("sums", {i}, {p.at(i)}, p.nodes.reduce(Op::kAdd, {k}, p.load("x", {p.at(i), p.at(k)})));
    const Choice choice = {{"cluster", std::int64_t{4}},
                           {"threads", std::int64_t{32}},
                           {"rows", std::int64_t{2}},
                           {"blocks_per_sm", std::int64_t{1}}};
    EXPECT_NE(generate(*generator, p, choice).source.find("[turn]"), std::string::npos);
    expect_right(*generator, p, choice);
  }
}

TEST(Rowwise, PositionsInClusters) {
  in_clusters([](Problem& p) {
    p.in("x", {5, 1000}, ScalarType::kI32, 0, 30);
    p.out("best", {5}, ScalarType::kI64);
    p.out("y", {5, 1000}, ScalarType::kF32);
    const SymbolId i = p.symbol("i", 5), k = p.symbol("k", 1000);
    const SymbolId i2 = p.symbol("i", 5), j = p.symbol("j", 1000);
    const Ref best = p.nodes.reduce(Op::kArgMax, {k}, p.load("x", {p.at(i), p.at(k)}));
    p.store("best", {i}, {p.at(i)}, best);
    const Ref most = p.nodes.reduce(Op::kMax, {k}, p.load("x", {p.at(i2), p.at(k)}));
    p.store(
        "y", {i2, j}, {p.at(i2), p.at(j)},
        p.nodes.cast(p.nodes.subtract(p.load("x", {p.at(i2), p.at(j)}), most), ScalarType::kF32));
  });
}

TEST(Rowwise, LongRowsTakeClusters) {
  const auto generator = make_rowwise();
  for (const auto& [rows, cols, cluster] :
       {std::tuple{400, 65536, 8}, {400, 32768, 4}, {400, 16384, 1}, {3, 16384, 4}}) {
    Problem p;
    softmax(p, rows, cols);
    const auto found = step_for(*generator, p, {}).int_param("cluster", 0);
    EXPECT_EQ(found, cluster) << rows << " x " << cols;
  }
  for (const std::int64_t cols : {65536, 60001}) {
    Problem p;
    softmax(p, 2, cols);
    EXPECT_NE(generate(*generator, p, {}).source.find("__cluster_dims__(8, 1, 1)"),
              std::string::npos);
    expect_right(*generator, p);
  }
  Problem old;  // no clusters there
  softmax(old, 2, 65536);
  old.context().target = target_limits("sm_80");
  EXPECT_EQ(generate(*generator, old, {}).source.find("cluster"), std::string::npos);
}

TEST(Rowwise, NextRowLoadedAhead) {
  const auto generator = make_rowwise();
  const Choice choice = {{"threads", std::int64_t{32}},
                         {"rows", std::int64_t{2}},
                         {"keep", std::string("registers")},
                         {"blocks_per_sm", std::int64_t{1}},
                         {"load_ahead", std::string("row")}};
  for (const auto& [rows, cols] : {std::pair{601, 128}, {300, 200}, {267, 99}}) {
    Problem p;
    layer_norm(p, rows, cols);
    EXPECT_NE(generate(*generator, p, choice).source.find("x_next"), std::string::npos);
    expect_right(*generator, p, choice);
    Problem q;
    softmax(q, rows, cols, ScalarType::kF16);
    Choice clusters = choice;
    clusters["cluster"] = std::int64_t{2};
    expect_right(*generator, q, clusters, 2e-3);
  }
}

TEST(Rowwise, Softmax) {
  at_all_points([](Problem& p) { softmax(p, 150, 256); });
  at_all_points([](Problem& p) { softmax(p, 7, 200); });
}
TEST(Rowwise, SoftmaxOfOddRows) {
  at_all_points([](Problem& p) { softmax(p, 13, 333); });
}
TEST(Rowwise, SoftmaxInHalf) {
  at_all_points([](Problem& p) { softmax(p, 9, 512, ScalarType::kF16); }, 2e-3);
  at_all_points([](Problem& p) { softmax(p, 5, 264, ScalarType::kBf16); }, 1e-2);
}
TEST(Rowwise, RowsInRegistersAndShared) {
  const auto generator = make_rowwise();
  const Choice split = {
      {"keep", std::string("split")}, {"threads", std::int64_t{32}}, {"rows", std::int64_t{1}}};
  for (const std::int64_t cols : {65536, 60001}) {
    Problem large;
    softmax(large, 2, cols);
    const Choice alone = {{"keep", std::string("split")},
                          {"threads", std::int64_t{1024}},
                          {"cluster", std::int64_t{1}}};
    EXPECT_NE(generate(*generator, large, alone).source.find("kHeld"), std::string::npos);
    expect_right(*generator, large, alone);
  }
  for (const std::int64_t cols : {4096, 3999, 5000}) {
    Problem p;
    softmax(p, 3, cols);
    expect_right(*generator, p, split);
    Problem q;
    layer_norm(q, 3, cols);
    expect_right(*generator, q, split);
    Problem r;
    layer_norm(r, 3, cols);
    Choice clusters = split;
    clusters["cluster"] = std::int64_t{4};
    EXPECT_NE(generate(*generator, r, clusters).source.find("kHeld"), std::string::npos);
    expect_right(*generator, r, clusters);
  }
}

TEST(Rowwise, WeightsOfWhichOnlySomeFitTheRegisters) {
  // Blocks that walk over rows keep one of two weights.
  const auto generator = make_rowwise();
  Problem p;
  layer_norm(p, 6, 8192);
  const Choice choice = {{"threads", std::int64_t{512}},
                         {"rows", std::int64_t{2}},
                         {"keep", std::string("registers")},
                         {"blocks_per_sm", std::int64_t{1}}};
  EXPECT_NE(generate(*generator, p, choice).source.find("_all["), std::string::npos);
  expect_right(*generator, p, choice, 2e-5);
}

TEST(Rowwise, LayerNorm) {
  at_all_points([](Problem& p) { layer_norm(p, 10, 384); });
  at_all_points([](Problem& p) { layer_norm(p, 3, 129); });
}

TEST(Rowwise, SoftmaxOverTheFirstDim) {
  // Rows lie side by side: softmax over dim 1 of [3, 40, 50].
  const auto make = [](Problem& p) {
    p.in("x", {3, 40, 50}, ScalarType::kF32, -4, 4);
    p.out("y", {3, 40, 50});
    const SymbolId b = p.symbol("b", 3), d = p.symbol("d", 40), s = p.symbol("s", 50);
    const SymbolId k = p.symbol("k", 40);
    const auto x = [&](SymbolId c) { return p.load("x", {p.at(b), p.at(c), p.at(s)}); };
    const Ref peak = p.nodes.reduce(Op::kMax, {k}, x(k));
    const auto power = [&](SymbolId c) { return p.f("exp", {p.f("-", {x(c), peak})}); };
    p.store("y", {b, d, s}, {p.at(b), p.at(d), p.at(s)},
            p.f("/", {power(d), p.nodes.reduce(Op::kAdd, {k}, power(k))}));
  };
  at_all_points(make);
}

TEST(Rowwise, GroupNorm) {
  // x[n, c, h, w] over groups of 4 channels; gamma[c].
  const auto make = [](Problem& p) {
    const std::int64_t n = 2, groups = 3, each = 4, h = 6, w = 8;
    p.in("x", {n, groups, each, h, w});
    p.in("gamma", {groups, each});
    p.out("y", {n, groups, each, h, w});
    const SymbolId i = p.symbol("n", n), g = p.symbol("g", groups), c = p.symbol("c", each),
                   a = p.symbol("h", h), b = p.symbol("w", w);
    const SymbolId c2 = p.symbol("c", each), a2 = p.symbol("h", h), b2 = p.symbol("w", w);
    const Ref count = p.number(static_cast<double>(each * h * w));
    const auto x = [&](SymbolId cc, SymbolId aa, SymbolId bb) {
      return p.load("x", {p.at(i), p.at(g), p.at(cc), p.at(aa), p.at(bb)});
    };
    // The order of the reduced indices is free.
    const Ref mean = p.f("/", {p.nodes.reduce(Op::kAdd, {b2, c2, a2}, x(c2, a2, b2)), count});
    const Ref away2 = p.f("-", {x(c2, a2, b2), mean});
    const Ref var =
        p.f("/", {p.nodes.reduce(Op::kAdd, {c2, a2, b2}, p.f("*", {away2, away2})), count});
    const Ref inverse = p.f("rsqrt", {p.f("+", {var, p.number(1e-5)})});
    p.store("y", {i, g, c, a, b}, {p.at(i), p.at(g), p.at(c), p.at(a), p.at(b)},
            p.f("*", {p.f("*", {p.f("-", {x(c, a, b), mean}), inverse}),
                      p.load("gamma", {p.at(g), p.at(c)})}));
  };
  at_all_points(make);
}

TEST(Rowwise, BatchNormOverTheFirstDim) {
  const auto make = [](Problem& p) {
    p.in("x", {6, 5, 32});
    p.out("y", {6, 5, 32});
    const SymbolId n = p.symbol("n", 6), c = p.symbol("c", 5), s = p.symbol("s", 32);
    const SymbolId n2 = p.symbol("n", 6), s2 = p.symbol("s", 32);
    const Ref mean =
        p.f("/", {p.nodes.reduce(Op::kAdd, {n2, s2}, p.load("x", {p.at(n2), p.at(c), p.at(s2)})),
                  p.number(6 * 32)});
    p.store("y", {n, c, s}, {p.at(n), p.at(c), p.at(s)},
            p.f("-", {p.load("x", {p.at(n), p.at(c), p.at(s)}), mean}));
  };
  at_all_points(make);
}

TEST(Rowwise, ArgMaxAndItsValue) {
  const auto make = [](Problem& p) {
    p.in("x", {20, 100}, ScalarType::kI32, 0, 30);
    p.out("best", {20}, ScalarType::kI64);
    p.out("most", {20}, ScalarType::kI32);
    const SymbolId i = p.symbol("i", 20), k = p.symbol("k", 100), i2 = p.symbol("i", 20);
    p.store("best", {i}, {p.at(i)},
            p.nodes.reduce(Op::kArgMax, {k}, p.load("x", {p.at(i), p.at(k)})));
    p.store("most", {i2}, {p.at(i2)},
            p.nodes.reduce(Op::kMax, {k}, p.load("x", {p.at(i2), p.at(k)})));
  };
  at_all_points(make);
}

TEST(Rowwise, MaskedRowsInDouble) {
  // The mean of what is positive, in f64; a guard keeps the second load inside.
  const auto make = [](Problem& p) {
    p.in("x", {11, 77}, ScalarType::kF64);
    p.out("y", {11}, ScalarType::kF64);
    const SymbolId i = p.symbol("i", 11), k = p.symbol("k", 77);
    const Ref x = p.load("x", {p.at(i), p.at(k)});
    const Ref next = p.nodes.load(
        "x", ScalarType::kF64, p.nodes.add(p.element("x", {p.at(i), p.at(k)}), p.nodes.integer(1)));
    const Ref zero = p.nodes.number(0, ScalarType::kF64);
    const Ref inside = p.nodes.less(p.at(k), p.nodes.integer(76));
    const Ref diff = p.f("-", {p.nodes.select(inside, next, zero), x});
    p.store("y", {i}, {p.at(i)},
            p.f("sqrt", {p.nodes.reduce(Op::kAdd, {k}, p.f("*", {diff, diff}))}));
  };
  at_all_points(make);
}

TEST(Rowwise, AccumulatesIntoWhatIsThere) {
  const auto make = [](Problem& p) {
    p.in("x", {12, 64});
    p.inout("y", {12});
    const SymbolId i = p.symbol("i", 12), k = p.symbol("k", 64);
    p.store("y", {i, k}, {p.at(i)}, p.load("x", {p.at(i), p.at(k)}), Op::kAdd);
  };
  at_all_points(make);
}

TEST(Rowwise, DISABLED_Variant) {
  Problem p;
  softmax(p, 300, 3000);
  std::cout << variant_text(*make_rowwise(), p);
}

/// y = x - log(sum(exp(x - max))) - max.
void log_softmax(Problem& p, std::int64_t rows, std::int64_t cols) {
  p.in("x", {rows, cols}, ScalarType::kF32, -4, 4);
  p.out("y", {rows, cols});
  const SymbolId i = p.symbol("i", rows), j = p.symbol("j", cols), k = p.symbol("k", cols);
  const auto x = [&](SymbolId col) { return p.load("x", {p.at(i), p.at(col)}); };
  const Ref peak = p.nodes.reduce(Op::kMax, {k}, x(k));
  const Ref sum = p.nodes.reduce(Op::kAdd, {k}, p.f("exp", {p.f("-", {x(k), peak})}));
  p.store("y", {i, j}, {p.at(i), p.at(j)}, p.f("-", {x(j), p.f("+", {peak, p.f("log", {sum})})}));
}

/// y = x / sqrt(mean(x^2) + eps) * gain.
void rms_norm(Problem& p, std::int64_t rows, std::int64_t cols) {
  p.in("x", {rows, cols});
  p.in("gain", {cols});
  p.out("y", {rows, cols});
  const SymbolId i = p.symbol("i", rows), j = p.symbol("j", cols), k = p.symbol("k", cols);
  const auto x = [&](SymbolId col) { return p.load("x", {p.at(i), p.at(col)}); };
  const Ref mean = p.f("/", {p.nodes.reduce(Op::kAdd, {k}, p.f("*", {x(k), x(k)})),
                             p.number(static_cast<double>(cols))});
  const Ref scale = p.f("rsqrt", {p.f("+", {mean, p.number(1e-5)})});
  p.store("y", {i, j}, {p.at(i), p.at(j)},
          p.f("*", {p.f("*", {x(j), scale}), p.load("gain", {p.at(j)})}));
}

TEST(Rowwise, DISABLED_Norms) {
  Problem p;
  if (std::getenv("LAYER") != nullptr) {
    layer_norm(p, 16384, 8192);
  } else {
    rms_norm(p, 65536, 4096);
  }
  std::cout << variant_text(*make_rowwise(), p, choice_from(std::getenv("VARIANT")));
}

// By hand: VARIANT="cluster=8,threads=256,keep=registers" prints it for `hone evaluate` or nvcc.
TEST(Rowwise, DISABLED_LongRows) {
  Problem p;
  const char* rows = std::getenv("ROWS");
  log_softmax(p, rows == nullptr ? 4096 : std::atoi(rows), 65536);
  std::cout << variant_text(*make_rowwise(), p, choice_from(std::getenv("VARIANT")));
}

// Run by hand (--gtest_also_run_disabled_tests): what the model says of the first guess.
TEST(Rowwise, DISABLED_Model) {
  const auto generator = make_rowwise();
  for (const std::int64_t cols : {256, 1024, 4096, 16384, 65536}) {
    const std::int64_t rows = (std::int64_t{1} << 26) / cols;
    const double copy = 2.0 * 4 * static_cast<double>(rows * cols) / 4.2e6;
    for (const char* keep : {"registers", "shared", "reread"}) {
      Problem p;
      softmax(p, rows, cols);
      const double us = modelled_us(*generator, p, {{"keep", std::string(keep)}});
      std::cout << rows << " x " << cols << ", " << keep << ": " << us << " us, copy " << copy
                << "\n";
    }
  }
  Problem p;
  layer_norm(p, 16384, 4096);
  std::cout << "layer norm " << modelled_us(*generator, p) << " us\n";
  for (const char* text :
       {"", "cache=stream", "threads=256,rows=1,blocks_per_sm=4",
        "threads=256,rows=1,blocks_per_sm=4,load_ahead=row",
        "threads=1024,rows=1,blocks_per_sm=2,load_ahead=row", "threads=128,rows=1"}) {
    Problem q;
    rms_norm(q, 65536, 4096);
    std::cout << "rms norm, " << text << ": " << modelled_us(*generator, q, choice_from(text))
              << " us\n";
  }
  for (const char* text : {"", "cache=stream", "threads=1024,rows=1,blocks_per_sm=1,load_ahead=row",
                           "threads=512,rows=1,blocks_per_sm=2", "threads=128,rows=1",
                           "threads=512,cluster=2,blocks_per_sm=2,load_ahead=row"}) {
    Problem q;
    layer_norm(q, 16384, 8192);
    std::cout << "layer norm, " << text << ": " << modelled_us(*generator, q, choice_from(text))
              << " us\n";
  }
  for (const char* text :
       {"cluster=1,keep=split,threads=1024", "cluster=4,threads=512", "cluster=8,threads=256",
        "cluster=8,threads=512", "cluster=8,threads=512,keep=shared"}) {
    Problem q;
    log_softmax(q, 4096, 65536);
    std::cout << text << ": " << modelled_us(*generator, q, choice_from(text)) << " us\n";
  }
}

TEST(Rowwise, RefusesScans) {
  Problem p;
  p.in("x", {8, 16});
  p.out("y", {8, 16});
  const SymbolId i = p.symbol("i", 8), j = p.symbol("j", 16), k = p.symbol("k", 16);
  const Ref before = p.nodes.non_negative(p.nodes.subtract(p.at(j), p.at(k)));
  // Depends on the column: no element belongs to one row alone.
  p.store("y", {i, j}, {p.at(i), p.at(j)},
          p.nodes.reduce(Op::kAdd, {k},
                         p.nodes.select(before, p.load("x", {p.at(i), p.at(k)}), p.number(0))));
  const auto offer = make_rowwise()->match(p.goal());
  ASSERT_FALSE(offer.has_value());
  EXPECT_NE(offer.error().message.find("read by many rows"), std::string::npos);

  Problem q;
  q.in("x", {8, 16});
  q.out("y", {8});
  const SymbolId a = q.symbol("a", 8), b = q.symbol("b", 8), c = q.symbol("c", 16);
  const Ref inner = q.nodes.reduce(Op::kMax, {c}, q.load("x", {q.at(b), q.at(c)}));
  q.store("y", {a}, {q.at(a)},  // x[b][a] is of row a alone
          q.nodes.reduce(Op::kAdd, {b}, q.f("*", {inner, q.load("x", {q.at(b), q.at(a)})})));
  const auto none = make_rowwise()->match(q.goal());
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find("depends on its index"), std::string::npos);
}

}  // namespace
}  // namespace hone::schedules
