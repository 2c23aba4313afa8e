// Histograms of several dims: rows with tables of their own, rows that are scattered.
#include <iostream>

#include "tests/unit/schedules/histogram_points.h"

namespace hone::schedules {
namespace {

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
                p.nodes.integer(1), Op::kAdd);
      });
      at({choice}, [](Problem& p) {
        p.in("x", {333, 3}, ScalarType::kU8, 0, 255);
        p.inout("counts", {3, 256}, ScalarType::kI32);
        const SymbolId c = p.symbol("c", 3), i = p.symbol("i", 333);
        p.store("counts", {c, i}, {p.at(c), p.load("x", {p.at(i), p.at(c)})}, p.nodes.integer(1),
                Op::kAdd);
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
          Op::kAdd);
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
  p.store("out", {i, j}, {group, p.at(j)}, p.load("x", {p.at(i), p.at(j)}), Op::kAdd);
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
                p.load("x", {p.at(b), p.at(i), p.at(j)}), Op::kAdd);
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
              Op::kAdd);
    });
  }
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
}  // namespace hone::schedules
