#include "rewriters/generators/histogram/histogram.h"

#include <functional>
#include <iostream>

#include "tests/unit/generators/harness.h"

namespace hone::generators {
namespace {

ParameterValue number(std::int64_t value) { return value; }
ParameterValue word(const char* text) { return std::string(text); }

const std::vector<Choice> kPoints = {
    {},
    {{"tables", word("shared")},
     {"copies", number(1)},
     {"vector", number(1)},
     {"items", number(1)},
     {"threads", number(64)}},
    {{"tables", word("shared")}, {"copies", number(4)}, {"items", number(2)}},
    {{"tables", word("shared")},
     {"copies", number(2)},
     {"copy_of", word("warp")},
     {"threads", number(128)},
     {"merge", word("runs")}},
    {{"tables", word("shared")},
     {"parts", number(2)},
     {"copies", number(2)},
     {"threads", number(64)},
     {"cache", word("stream")}},
    {{"tables", word("none")}, {"threads", number(64)}, {"items", number(2)}},
    {{"tables", word("none")}, {"merge", word("runs")}, {"packed_atomics", number(0)}},
};
/// For counts alone.
const std::vector<Choice> kMatches = {
    {{"tables", word("shared")}, {"merge", word("match")}, {"threads", number(64)}},
    {{"tables", word("none")}, {"merge", word("match")}, {"items", number(2)}},
    {{"tables", word("shared")},
     {"merge", word("match")},
     {"parts", number(2)},
     {"vector", number(1)}},
};

using Make = std::function<void(Problem&)>;

void at(const std::vector<Choice>& points, const Make& make, double tolerance = 2e-5) {
  const auto generator = make_histogram();
  for (const Choice& choice : points) {
    Problem problem;
    make(problem);
    expect_right(*generator, problem, choice, tolerance);
  }
}

Ref modulo(Problem& p, Ref key, std::int64_t bins) {
  return p.nodes.remainder(key, p.nodes.integer(bins));
}

/// counts[keys[i] % bins] += 1, as baselines/histogram.
void count_keys(Problem& p, std::int64_t keys, std::int64_t bins,
                ScalarType type = ScalarType::kI32, double most = 1000000) {
  p.in("keys", {keys}, type, 0, most);
  p.inout("counts", {bins}, ScalarType::kI32);
  const SymbolId i = p.symbol("i", keys);
  p.store("counts", {i}, {modulo(p, p.load("keys", {p.at(i)}), bins)}, p.nodes.integer(1), "+");
}

TEST(Histogram, Counts) {
  for (const auto* points : {&kPoints, &kMatches}) {
    at(*points, [](Problem& p) { count_keys(p, 4096, 64); });
    at(*points, [](Problem& p) { count_keys(p, 3001, 37); });
    at(*points, [](Problem& p) { count_keys(p, 5, 7); });
  }
}

TEST(Histogram, CountsBytesAndUnsigned) {
  at(kPoints, [](Problem& p) { count_keys(p, 5003, 256, ScalarType::kU8, 255); });
  at(kPoints, [](Problem& p) { count_keys(p, 2048, 100, ScalarType::kU32, 4e6); });
  at(kMatches, [](Problem& p) { count_keys(p, 2048, 100, ScalarType::kI64, 4e6); });
}

TEST(Histogram, SkewedKeys) {
  for (const auto* points : {&kPoints, &kMatches}) {
    at(*points, [](Problem& p) { count_keys(p, 3000, 64, ScalarType::kI32, 1); });
    at(*points, [](Problem& p) { count_keys(p, 1000, 2); });
  }
}

TEST(Histogram, MoreBinsThanSharedMemory) {
  for (const auto* points : {&kPoints, &kMatches}) {
    at(*points, [](Problem& p) { count_keys(p, 3000, 70000); });
  }
}

TEST(Histogram, Weights) {
  for (const ScalarType type : {ScalarType::kF32, ScalarType::kF64}) {
    at(kPoints, [type](Problem& p) {
      p.in("keys", {3000}, ScalarType::kI32, 0, 49);
      p.in("weights", {3000}, type);
      p.inout("sums", {50}, type);
      const SymbolId i = p.symbol("i", 3000);
      p.store("sums", {i}, {p.load("keys", {p.at(i)})}, p.load("weights", {p.at(i)}), "+");
    });
  }
}

TEST(Histogram, OtherOperators) {
  for (const ScalarType type : {ScalarType::kI32, ScalarType::kU32, ScalarType::kI64}) {
    for (const char* op : {"+", "max", "min", "&", "|", "^"}) {
      at({kPoints[0], kPoints[2], kPoints[3], kPoints[6]}, [&](Problem& p) {
        p.in("keys", {500}, ScalarType::kI32, 0, 19);
        p.in("x", {500}, type, 0, 1000);
        p.in("best", {20}, type, 0, 1023);
        p.concrete().buffers.back().role = Role::kInOut;
        const SymbolId i = p.symbol("i", 500);
        p.store("best", {i}, {p.load("keys", {p.at(i)})}, p.load("x", {p.at(i)}), op);
      });
    }
  }
}

TEST(Histogram, NegativeValuesAndTheirExtremes) {
  for (const char* op : {"max", "min"}) {
    at(kPoints, [&](Problem& p) {
      p.in("keys", {777}, ScalarType::kI32, 0, 9);
      p.in("x", {777}, ScalarType::kI64, -1000, 1000);
      p.in("best", {10}, ScalarType::kI64, -900, 900);
      p.concrete().buffers.back().role = Role::kInOut;
      const SymbolId i = p.symbol("i", 777);
      p.store("best", {i}, {p.load("keys", {p.at(i)})}, p.load("x", {p.at(i)}), op);
    });
  }
}

TEST(Histogram, UnderGuards) {
  // Keys outside of the bins do not take part; nor those whose mask is 0.
  const Make ranges = [](Problem& p) {
    p.in("keys", {2500}, ScalarType::kI32, -20, 120);
    p.inout("counts", {100}, ScalarType::kI32);
    const SymbolId i = p.symbol("i", 2500);
    const Ref key = p.load("keys", {p.at(i)});
    p.store("counts", {i}, {key}, p.nodes.integer(1), "+");
    p.nests().back().guard =
        p.nodes.both(p.nodes.non_negative(key), p.nodes.less(key, p.nodes.integer(100)));
  };
  const Make masks = [](Problem& p) {
    p.in("keys", {2500}, ScalarType::kI32, 0, 99);
    p.in("mask", {2500}, ScalarType::kI32, 0, 1);
    p.in("x", {2500});
    p.inout("sums", {100});
    const SymbolId i = p.symbol("i", 2500);
    p.store("sums", {i}, {p.load("keys", {p.at(i)})}, p.load("x", {p.at(i)}), "+");
    p.nests().back().guard = p.nodes.negate(p.nodes.is_zero(p.load("mask", {p.at(i)})));
  };
  at(kPoints, ranges);
  at(kMatches, ranges);
  at(kPoints, masks);
}

TEST(Histogram, ATailThatDoesNotTakePart) {
  // Found by a random nest: 465 points, of which the last is a tail whose guard is false.
  at(kPoints, [](Problem& p) {
    p.in("keys", {3, 155}, ScalarType::kI32, 0, 1);
    p.inout("sums", {16, 3});
    const SymbolId r = p.symbol("r", 3), i = p.symbol("i", 155);
    p.store("sums", {i, r}, {p.load("keys", {p.at(r), p.at(i)}), p.at(r)}, p.number(1), "+");
    const Ref digit = modulo(p, p.at(i), 3);
    p.nests().back().guard =
        p.nodes.negate(p.nodes.is_zero(p.nodes.subtract(digit, p.nodes.integer(1))));
  });
}

TEST(Histogram, TwoTablesAtOnce) {
  at(kPoints, [](Problem& p) {
    p.in("keys", {3003}, ScalarType::kI32, 0, 30);
    p.in("x", {3003});
    p.inout("sums", {31});
    p.inout("counts", {31}, ScalarType::kI32);
    p.inout("all", {1}, ScalarType::kI32);
    const SymbolId i = p.symbol("i", 3003), k = p.symbol("i", 3003), l = p.symbol("i", 3003);
    p.store("sums", {i}, {p.load("keys", {p.at(i)})}, p.load("x", {p.at(i)}), "+");
    p.store("counts", {k}, {p.load("keys", {p.at(k)})}, p.nodes.integer(2), "+");
    p.store("all", {l}, {modulo(p, p.load("keys", {p.at(l)}), 1)}, p.nodes.integer(1), "+");
  });
}

TEST(Histogram, TwoKernelsForTwoSizes) {
  at(kPoints, [](Problem& p) {
    p.in("keys", {1000}, ScalarType::kI32, 0, 30);
    p.in("others", {77}, ScalarType::kU8, 0, 30);
    p.inout("counts", {31}, ScalarType::kI32);
    p.inout("more", {31}, ScalarType::kI32);
    const SymbolId i = p.symbol("i", 1000), k = p.symbol("k", 77);
    p.store("counts", {i}, {p.load("keys", {p.at(i)})}, p.nodes.integer(1), "+");
    p.store("more", {k}, {p.load("others", {p.at(k)})}, p.nodes.integer(1), "+");
  });
}

TEST(Histogram, ValuesThatAreReductions) {
  // out[group[i]] += sum over j of x[i, j]; most[group[i], c] = its largest y[i, c, j].
  at(kPoints, [](Problem& p) {
    p.in("x", {90, 70});
    p.in("y", {90, 3, 20}, ScalarType::kI32, -50, 50);
    p.in("group", {90}, ScalarType::kI32, 0, 6);
    p.inout("out", {7});
    p.inout("most", {7, 3}, ScalarType::kI32);
    const SymbolId i = p.symbol("i", 90), j = p.symbol("j", 70);
    const SymbolId k = p.symbol("i", 90), c = p.symbol("c", 3), l = p.symbol("l", 20);
    p.store("out", {i}, {p.load("group", {p.at(i)})},
            p.nodes.reduce("+", {j}, p.load("x", {p.at(i), p.at(j)})), "+");
    const Ref most = p.nodes.reduce("max", {l}, p.load("y", {p.at(k), p.at(c), p.at(l)}));
    p.store("most", {k, c}, {p.load("group", {p.at(k)}), p.at(c)}, most, "max");
  });
}

TEST(Histogram, ValuesUnderAConditionOfTheirOwn) {
  // Found by a random nest: the least int is no int when it is written as -2147483648.
  at({kPoints[0], kPoints[2]}, [](Problem& p) {
    p.in("y", {40, 30}, ScalarType::kI32, -50, 50);
    p.in("group", {40}, ScalarType::kI32, 0, 6);
    p.inout("most", {7}, ScalarType::kI32);
    const SymbolId i = p.symbol("i", 40), j = p.symbol("j", 30);
    const Ref takes = p.nodes.less(p.at(j), p.at(i));
    const Ref value = p.nodes.select(takes, p.load("y", {p.at(i), p.at(j)}),
                                     p.nodes.identity("max", ScalarType::kI32));
    p.store("most", {i}, {p.load("group", {p.at(i)})}, p.nodes.reduce("max", {j}, value), "max");
  });
}

TEST(Histogram, OfPairs) {
  // counts[a[i], b[i]] += 1
  at(kPoints, [](Problem& p) {
    p.in("a", {4000}, ScalarType::kI32, 0, 11);
    p.in("b", {4000}, ScalarType::kI32, 0, 16);
    p.inout("counts", {12, 17}, ScalarType::kI32);
    const SymbolId i = p.symbol("i", 4000);
    p.store("counts", {i}, {p.load("a", {p.at(i)}), p.load("b", {p.at(i)})}, p.nodes.integer(1),
            "+");
  });
}

TEST(Histogram, RowsWithTablesOfTheirOwn) {
  // counts[c, x[c, i]] += 1, and with channels last.
  for (const std::int64_t dims : {0, 1}) {
    for (Choice choice : kPoints) {
      choice["row_dims"] = number(dims);
      at({choice}, [](Problem& p) {
        p.in("x", {5, 900}, ScalarType::kI32, 0, 1000);
        p.inout("counts", {5, 40}, ScalarType::kI32);
        const SymbolId c = p.symbol("c", 5), i = p.symbol("i", 900);
        p.store("counts", {i, c}, {p.at(c), modulo(p, p.load("x", {p.at(c), p.at(i)}), 40)},
                p.nodes.integer(1), "+");
      });
      at({choice}, [](Problem& p) {
        p.in("x", {333, 3}, ScalarType::kU8, 0, 255);
        p.inout("counts", {3, 256}, ScalarType::kI32);
        const SymbolId c = p.symbol("c", 3), i = p.symbol("i", 333);
        p.store("counts", {c, i}, {p.at(c), p.load("x", {p.at(i), p.at(c)})}, p.nodes.integer(1),
                "+");
      });
    }
  }
}

/// out[index[i], j] += x[i, j]
void scatter_rows(Problem& p, std::int64_t rows, std::int64_t cols, std::int64_t into) {
  p.in("x", {rows, cols});
  p.in("index", {rows}, ScalarType::kI32, 0, static_cast<double>(into - 1));
  p.inout("out", {into, cols});
  const SymbolId i = p.symbol("i", rows), j = p.symbol("j", cols);
  p.store("out", {j, i}, {p.load("index", {p.at(i)}), p.at(j)}, p.load("x", {p.at(i), p.at(j)}),
          "+");
}

TEST(Histogram, ScattersRows) {
  at(kPoints, [](Problem& p) { scatter_rows(p, 100, 64, 30); });
  at(kPoints, [](Problem& p) { scatter_rows(p, 33, 7, 5); });
  at(kPoints, [](Problem& p) { scatter_rows(p, 40, 6, 3000); });
}

TEST(Histogram, RowsBySeveralFloatsAtOnce) {
  Problem p;
  scatter_rows(p, 100, 64, 30);
  const Choice direct = {{"tables", word("none")}};
  EXPECT_NE(generate(*make_histogram(), p, direct).source.find("float4*"), std::string::npos);
}

/// Every `each` rows go to one, which is read all the same.
void sorted_rows(Problem& p, std::int64_t rows, std::int64_t cols, std::int64_t each) {
  p.in("x", {rows, cols});
  p.inout("out", {rows / each + 1, cols});
  p.in("none", {1}, ScalarType::kI32, 0, 0);
  const SymbolId i = p.symbol("i", rows), j = p.symbol("j", cols);
  const Ref group = p.nodes.add(p.nodes.divide(p.at(i), p.nodes.integer(each)),
                                p.load("none", {p.nodes.integer(0)}));
  p.store("out", {i, j}, {group, p.at(j)}, p.load("x", {p.at(i), p.at(j)}), "+");
}

TEST(Histogram, RowsInRuns) {
  // All the same, few, and by chance; rows that walks do not divide.
  for (const std::int64_t rows : {128, 33}) {
    for (const std::int64_t into : {1, 3, 30}) {
      for (const std::int64_t walk : {2, 16}) {
        for (const std::int64_t width : {4, 2, 1}) {
          at({{{"tables", word("none")},
               {"walk", number(walk)},
               {"vector", number(width)},
               {"threads", number(64)}}},
             [&](Problem& p) { scatter_rows(p, rows, 20, into); });
        }
      }
    }
  }
  // Sorted.
  at({{{"tables", word("none")}, {"walk", number(8)}}},
     [](Problem& p) { sorted_rows(p, 64, 24, 5); });
}

TEST(Histogram, RowsInRunsNeedFewerAtomics) {
  Problem p;
  scatter_rows(p, 128, 64, 3);
  const Choice walk = {{"tables", word("none")}, {"walk", number(8)}};
  const std::string source = generate(*make_histogram(), p, walk).source;
  EXPECT_NE(source.find("kSteps = 8"), std::string::npos);
  EXPECT_NE(source.find("run_any"), std::string::npos) << source;
}

TEST(Histogram, PackedAtomicsAreOfHopper) {
  Problem p;
  scatter_rows(p, 100, 64, 30);
  Goal goal = p.goal();
  RewriteContext older = *goal.context;
  older.target = target_limits("sm_80");
  goal.context = &older;
  Step step;
  step.params["tables"] = word("none");
  const auto generated = make_histogram()->generate(goal, step, "g0_");
  ASSERT_TRUE(generated.has_value()) << generated.error().message;
  EXPECT_EQ(generated->source.find("float4*"), std::string::npos);
}

TEST(Histogram, AlongTheMinorDim) {
  // out[b, j, index[b, i]] += x[b, i, j]: tables of a row, whose loads are strided.
  for (const std::int64_t dims : {0, 1, 2}) {
    for (Choice choice : kPoints) {
      choice["row_dims"] = number(dims);
      at({choice}, [](Problem& p) {
        p.in("x", {3, 50, 8});
        p.in("index", {3, 50}, ScalarType::kI32, 0, 19);
        p.inout("out", {3, 8, 20});
        const SymbolId b = p.symbol("b", 3), i = p.symbol("i", 50), j = p.symbol("j", 8);
        p.store("out", {b, i, j}, {p.at(b), p.at(j), p.load("index", {p.at(b), p.at(i)})},
                p.load("x", {p.at(b), p.at(i), p.at(j)}), "+");
      });
    }
  }
}

TEST(Histogram, ElementsOutsideOfATableReachTheBuffer) {
  // Rows of 10, but keys of up to 19: into the next row, as the reference does.
  for (Choice choice : kPoints) {
    choice["row_dims"] = number(1);
    at({choice}, [](Problem& p) {
      p.in("keys", {6, 200}, ScalarType::kI32, 0, 19);
      p.inout("counts", {7, 10}, ScalarType::kI32);
      const SymbolId r = p.symbol("r", 6), i = p.symbol("i", 200);
      p.store("counts", {r, i}, {p.at(r), p.load("keys", {p.at(r), p.at(i)})}, p.nodes.integer(1),
              "+");
    });
  }
}

TEST(Histogram, ElementsOutsideOfTheBufferAreSeen) {
  // Where the reference would write outside of its buffer, so do these: nothing is lost in silence.
  for (const bool below : {true, false}) {
    for (const auto* points : {&kPoints, &kMatches}) {
      for (const Choice& choice : *points) {
        Problem p;
        p.in("keys", {600}, ScalarType::kI32, below ? -40'000'000 : 40'000'000, 50'000'000);
        p.inout("counts", {40}, ScalarType::kI32);
        const SymbolId i = p.symbol("i", 600);
        p.store("counts", {i}, {p.load("keys", {p.at(i)})}, p.nodes.integer(1), "+");
        EXPECT_EQ(verdict_of(*make_histogram(), p, choice), Verdict::kFault)
            << generate(*make_histogram(), p, choice).source;
      }
    }
  }
}

TEST(Histogram, SureElementsHaveNoOtherWay) {
  Problem sure, unsure;
  count_keys(sure, 1000, 64, ScalarType::kU8, 255);
  count_keys(unsure, 1000, 64);  // an int's remainder may be negative
  const auto generator = make_histogram();
  const Choice shared = {{"tables", word("shared")}};
  EXPECT_EQ(generate(*generator, sure, shared).source.find("else"), std::string::npos);
  EXPECT_NE(generate(*generator, unsure, shared).source.find("else"), std::string::npos);
}

TEST(Histogram, ElementsBeyond31Bits) {
  const auto generator = make_histogram();
  const Choice direct = {{"tables", word("none")}};
  Problem small, huge;
  scatter_rows(small, 100, 64, 1 << 20);
  scatter_rows(huge, 100, 64, std::int64_t{1} << 26);
  EXPECT_EQ(generate(*generator, small, direct).source.find("long long"), std::string::npos);
  EXPECT_NE(generate(*generator, huge, direct).source.find("(long long)index"), std::string::npos)
      << generate(*generator, huge, direct).source;
}

TEST(Histogram, PointsBeyond31Bits) {
  // The last blocks' addresses need 64 bits. Sampled, so that few pages are made.
  Problem p;
  count_keys(p, 3'000'000'000, 256, ScalarType::kU8, 255);
  EXPECT_NE(generate(*make_histogram(), p, {}).source.find("long long point"), std::string::npos);
  EXPECT_GT(modelled_us(*make_histogram(), p), 0);
}

std::string refusal(Problem& p) {
  const auto offer = make_histogram()->match(p.goal());
  return offer ? "" : offer.error().message;
}

TEST(Histogram, RefusesWithItsReason) {
  Problem plain;
  plain.in("x", {8});
  plain.inout("y", {8});
  const SymbolId i = plain.symbol("i", 8);
  plain.store("y", {i}, {plain.at(i)}, plain.load("x", {plain.at(i)}), "+");
  EXPECT_NE(refusal(plain).find("plain function"), std::string::npos) << refusal(plain);
  plain.nests().back().combine.clear();
  EXPECT_NE(refusal(plain).find("no accumulation"), std::string::npos) << refusal(plain);

  Problem half;
  half.in("keys", {8}, ScalarType::kI32, 0, 3);
  half.inout("y", {4}, ScalarType::kF16);
  const SymbolId j = half.symbol("j", 8);
  half.store("y", {j}, {half.load("keys", {half.at(j)})}, half.nodes.number(1, ScalarType::kF16),
             "+");
  EXPECT_NE(refusal(half).find("no atomic"), std::string::npos) << refusal(half);

  Problem reads;
  reads.in("keys", {8}, ScalarType::kI32, 0, 3);
  reads.inout("y", {4}, ScalarType::kI32);
  const SymbolId k = reads.symbol("k", 8);
  const Ref key = reads.load("keys", {reads.at(k)});
  reads.store("y", {k}, {key}, reads.load("y", {key}), "+");
  EXPECT_NE(refusal(reads).find("reads what"), std::string::npos) << refusal(reads);

  Problem mixed;
  count_keys(mixed, 16, 4);
  count_keys(mixed, 16, 4);
  mixed.nests().back().combine = "max";
  EXPECT_NE(refusal(mixed).find("two kinds"), std::string::npos) << refusal(mixed);

  Problem reduced;  // in the element
  reduced.in("keys", {8, 5}, ScalarType::kI32, 0, 3);
  reduced.inout("y", {4}, ScalarType::kI32);
  const SymbolId r = reduced.symbol("r", 8), c = reduced.symbol("c", 5);
  const Ref largest =
      reduced.nodes.reduce("max", {c}, reduced.load("keys", {reduced.at(r), reduced.at(c)}));
  reduced.store("y", {r}, {reduced.nodes.add(largest, reduced.nodes.integer(0))},
                reduced.nodes.integer(1), "+");
  EXPECT_NE(refusal(reduced).find("a reduction"), std::string::npos) << refusal(reduced);
}

void model(const std::string& what, const Make& make, const Choice& choice) {
  Problem p;
  make(p);
  std::cout << what << ": " << modelled_us(*make_histogram(), p, choice) << " us\n";
}

TEST(Histogram, DISABLED_Model) {
  const Make small = [](Problem& p) { count_keys(p, 1 << 24, 256); };
  const Make bytes = [](Problem& p) { count_keys(p, 1 << 26, 256, ScalarType::kU8, 255); };
  const Make large = [](Problem& p) { count_keys(p, 1 << 24, 300000); };
  const Make rows = [](Problem& p) { scatter_rows(p, 1 << 16, 256, 1 << 14); };
  for (const std::int64_t copies : {1, 8, 32}) {
    for (const char* of : {"lane", "warp"}) {
      const std::string what = std::to_string(copies) + " copies for each " + of;
      const Choice choice = {{"copies", number(copies)}, {"copy_of", word(of)}};
      model("256 bins, " + what, small, choice);
      model("256 bins of bytes, " + what, bytes, choice);
    }
  }
  for (const std::int64_t width : {4, 8, 16}) {
    model("bytes, vectors of " + std::to_string(width), bytes, {{"vector", number(width)}});
  }
  model("300000 bins, as guessed", large, {});
  model("300000 bins, no tables", large, {{"tables", word("none")}});
  for (const std::int64_t packed : {0, 1}) {
    model("rows, packed " + std::to_string(packed), rows, {{"packed_atomics", number(packed)}});
  }
  const Make sorted = [](Problem& p) { sorted_rows(p, 1 << 16, 256, 20); };
  for (const std::int64_t walk : {1, 4, 16}) {
    const std::string what = "rows, walks of " + std::to_string(walk);
    model(what, rows, {{"walk", number(walk)}});
    model("sorted " + what, sorted, {{"walk", number(walk)}});
  }
}

}  // namespace
}  // namespace hone::generators
