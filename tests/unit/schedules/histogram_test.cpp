#include "tests/unit/schedules/histogram_points.h"

namespace hone::schedules {
namespace {

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
      p.store("sums", {i}, {p.load("keys", {p.at(i)})}, p.load("weights", {p.at(i)}), Op::kAdd);
    });
  }
}

TEST(Histogram, OtherOperators) {
  for (const ScalarType type : {ScalarType::kI32, ScalarType::kU32, ScalarType::kI64}) {
    for (const Op op : {Op::kAdd, Op::kMax, Op::kMin, Op::kBitAnd, Op::kBitOr, Op::kBitXor}) {
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
  for (const Op op : {Op::kMax, Op::kMin}) {
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
    p.store("counts", {i}, {key}, p.nodes.integer(1), Op::kAdd);
    p.nests().back().guard =
        p.nodes.both(p.nodes.non_negative(key), p.nodes.less(key, p.nodes.integer(100)));
  };
  const Make masks = [](Problem& p) {
    p.in("keys", {2500}, ScalarType::kI32, 0, 99);
    p.in("mask", {2500}, ScalarType::kI32, 0, 1);
    p.in("x", {2500});
    p.inout("sums", {100});
    const SymbolId i = p.symbol("i", 2500);
    p.store("sums", {i}, {p.load("keys", {p.at(i)})}, p.load("x", {p.at(i)}), Op::kAdd);
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
    p.store("sums", {i, r}, {p.load("keys", {p.at(r), p.at(i)}), p.at(r)}, p.number(1), Op::kAdd);
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
    p.store("sums", {i}, {p.load("keys", {p.at(i)})}, p.load("x", {p.at(i)}), Op::kAdd);
    p.store("counts", {k}, {p.load("keys", {p.at(k)})}, p.nodes.integer(2), Op::kAdd);
    p.store("all", {l}, {modulo(p, p.load("keys", {p.at(l)}), 1)}, p.nodes.integer(1), Op::kAdd);
  });
}

TEST(Histogram, TwoKernelsForTwoSizes) {
  at(kPoints, [](Problem& p) {
    p.in("keys", {1000}, ScalarType::kI32, 0, 30);
    p.in("others", {77}, ScalarType::kU8, 0, 30);
    p.inout("counts", {31}, ScalarType::kI32);
    p.inout("more", {31}, ScalarType::kI32);
    const SymbolId i = p.symbol("i", 1000), k = p.symbol("k", 77);
    p.store("counts", {i}, {p.load("keys", {p.at(i)})}, p.nodes.integer(1), Op::kAdd);
    p.store("more", {k}, {p.load("others", {p.at(k)})}, p.nodes.integer(1), Op::kAdd);
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
            p.nodes.reduce(Op::kAdd, {j}, p.load("x", {p.at(i), p.at(j)})), Op::kAdd);
    const Ref most = p.nodes.reduce(Op::kMax, {l}, p.load("y", {p.at(k), p.at(c), p.at(l)}));
    p.store("most", {k, c}, {p.load("group", {p.at(k)}), p.at(c)}, most, Op::kMax);
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
                                     p.nodes.identity(Op::kMax, ScalarType::kI32));
    p.store("most", {i}, {p.load("group", {p.at(i)})}, p.nodes.reduce(Op::kMax, {j}, value),
            Op::kMax);
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
            Op::kAdd);
  });
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
        p.store("counts", {i}, {p.load("keys", {p.at(i)})}, p.nodes.integer(1), Op::kAdd);
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
  plain.store("y", {i}, {plain.at(i)}, plain.load("x", {plain.at(i)}), Op::kAdd);
  EXPECT_NE(refusal(plain).find("plain function"), std::string::npos) << refusal(plain);
  plain.nests().back().combine.reset();
  EXPECT_NE(refusal(plain).find("no accumulation"), std::string::npos) << refusal(plain);

  Problem half;
  half.in("keys", {8}, ScalarType::kI32, 0, 3);
  half.inout("y", {4}, ScalarType::kF16);
  const SymbolId j = half.symbol("j", 8);
  half.store("y", {j}, {half.load("keys", {half.at(j)})}, half.nodes.number(1, ScalarType::kF16),
             Op::kAdd);
  EXPECT_NE(refusal(half).find("no atomic"), std::string::npos) << refusal(half);

  Problem reads;
  reads.in("keys", {8}, ScalarType::kI32, 0, 3);
  reads.inout("y", {4}, ScalarType::kI32);
  const SymbolId k = reads.symbol("k", 8);
  const Ref key = reads.load("keys", {reads.at(k)});
  reads.store("y", {k}, {key}, reads.load("y", {key}), Op::kAdd);
  EXPECT_NE(refusal(reads).find("reads what"), std::string::npos) << refusal(reads);

  Problem mixed;
  count_keys(mixed, 16, 4);
  count_keys(mixed, 16, 4);
  mixed.nests().back().combine = Op::kMax;
  EXPECT_NE(refusal(mixed).find("two kinds"), std::string::npos) << refusal(mixed);

  Problem reduced;  // in the element
  reduced.in("keys", {8, 5}, ScalarType::kI32, 0, 3);
  reduced.inout("y", {4}, ScalarType::kI32);
  const SymbolId r = reduced.symbol("r", 8), c = reduced.symbol("c", 5);
  const Ref largest =
      reduced.nodes.reduce(Op::kMax, {c}, reduced.load("keys", {reduced.at(r), reduced.at(c)}));
  reduced.store("y", {r}, {reduced.nodes.add(largest, reduced.nodes.integer(0))},
                reduced.nodes.integer(1), Op::kAdd);
  EXPECT_NE(refusal(reduced).find("a reduction"), std::string::npos) << refusal(reduced);
}

}  // namespace
}  // namespace hone::schedules
