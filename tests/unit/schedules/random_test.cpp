// Random nests through every generator that takes them, at random points of their spaces.
#include <cstdlib>
#include <random>

#include "rewriters/schedules/histogram/histogram.h"
#include "rewriters/schedules/map/map.h"
#include "rewriters/schedules/reduce/reduce.h"
#include "rewriters/schedules/rowwise/rowwise.h"
#include "rewriters/schedules/scan/scan.h"
#include "rewriters/schedules/transpose/transpose.h"
#include "rewriters/schedules/window/window.h"
#include "tests/unit/schedules/harness.h"

namespace hone::schedules {
namespace {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(count));
  }
  std::int64_t extent(std::int64_t most) {
    const std::int64_t any = 1 + below(most);
    return below(2) == 0 ? any : std::max<std::int64_t>(8, any / 8 * 8);
  }
  bool coin() { return below(2) == 0; }

 private:
  std::mt19937_64 engine_;
};

/// A value at (row, col) of a [rows, cols] problem.
class Expression {
 public:
  Expression(Problem& p, Random& random, std::int64_t rows, std::int64_t cols) : p_(p) {
    turned_ = random.below(4) == 0;
    p.in("x", turned_ ? std::vector{cols, rows} : std::vector{rows, cols});
    p.in("bias", {cols});
    p.in("scale", {rows}, ScalarType::kF32, 0.5, 1.5);
    cols_ = cols;
    shape_ = random.below(6);
  }

  Ref at(Ref row, Ref col) {
    const Ref x = turned_ ? p_.load("x", {col, row}) : p_.load("x", {row, col});
    switch (shape_) {
      case 0:
        return p_.f("*", {x, p_.load("scale", {row})});
      case 1:
        return p_.f("max", {p_.f("+", {x, p_.load("bias", {col})}), p_.number(0.1)});
      case 2: {
        // The next in the row, where there is one.
        const Ref next = p_.nodes.add(col, p_.nodes.integer(1));
        const Ref inside = p_.nodes.less(next, p_.nodes.integer(cols_));
        const Ref y = turned_ ? p_.load("x", {next, row}) : p_.load("x", {row, next});
        return p_.f("-", {p_.nodes.select(inside, y, p_.number(0)), x});
      }
      case 3:
        return p_.f("exp", {p_.f("*", {x, p_.load("bias", {col})})});
      default:
        return x;
    }
  }

 private:
  Problem& p_;
  std::int64_t cols_, shape_;
  bool turned_ = false;
};

void make(Problem& p, Random& random) {
  const std::int64_t rows = random.extent(40), cols = random.extent(300);
  Expression expression(p, random, rows, cols);
  const SymbolId i = p.symbol("i", rows), j = p.symbol("j", cols), k = p.symbol("k", cols),
                 l = p.symbol("l", rows);
  const auto each = [&](SymbolId row, SymbolId col) { return expression.at(p.at(row), p.at(col)); };
  switch (random.below(6)) {
    case 0:  // a map
      p.out("y", {rows, cols});
      p.store("y", {i, j}, {p.at(i), p.at(j)}, p.f("+", {each(i, j), p.number(1)}));
      break;
    case 1: {  // rows, normalised
      p.out("y", {rows, cols});
      const Ref peak = p.nodes.reduce(Op::kMax, {k}, each(i, k));
      const Ref away = p.f("-", {each(i, k), peak});
      const Ref sum = p.nodes.reduce(Op::kAdd, {k}, p.f("*", {away, away}));
      const Ref root = p.f("sqrt", {p.f("+", {sum, p.number(1)})});
      p.store("y", {i, j}, {p.at(i), p.at(j)}, p.f("/", {p.f("-", {each(i, j), peak}), root}));
      break;
    }
    case 2:  // columns
      p.out("y", {cols});
      p.store("y", {j}, {p.at(j)},
              p.nodes.reduce(random.coin() ? Op::kAdd : Op::kMin, {l}, each(l, j)));
      break;
    case 3:  // everything
      p.out("y", {1});
      p.store("y", {}, {p.nodes.integer(0)},
              p.f("/", {p.nodes.reduce(Op::kAdd, {l, k}, each(l, k)), p.number(7)}));
      break;
    case 4: {  // running
      p.out("y", {rows, cols});
      const bool reverse = random.coin();
      Ref apart = reverse ? p.nodes.subtract(p.at(k), p.at(j)) : p.nodes.subtract(p.at(j), p.at(k));
      if (random.coin()) apart = p.nodes.subtract(apart, p.nodes.integer(1));
      const Ref body = p.nodes.select(p.nodes.non_negative(apart), each(i, k), p.number(0));
      p.store("y", {i, j}, {p.at(i), p.at(j)}, p.nodes.reduce(Op::kAdd, {k}, body));
      break;
    }
    default: {  // windows along the columns
      const std::int64_t size = std::min<std::int64_t>(1 + random.below(5), cols);
      const std::int64_t stride = 1 + random.below(3);
      const std::int64_t count = (cols - size) / stride + 1;
      p.out("y", {rows, count});
      const SymbolId w = p.symbol("w", count), a = p.symbol("a", size);
      const Ref col = p.nodes.add(p.nodes.scale(p.at(w), stride), p.at(a));
      p.store(
          "y", {i, w}, {p.at(i), p.at(w)},
          p.nodes.reduce(random.coin() ? Op::kMax : Op::kAdd, {a}, expression.at(p.at(i), col)));
    }
  }
}

/// out[…] (op)= value, where what is read chooses a bin, and indices may choose others.
void make_scatter(Problem& p, Random& random) {
  const std::int64_t count = random.extent(600), rows = random.extent(5);
  const std::int64_t bins = 1 + random.extent(90);  // of one alone it would be no scatter

  const ScalarType types[] = {ScalarType::kF32, ScalarType::kF64, ScalarType::kI32,
                              ScalarType::kU32, ScalarType::kI64};
  const ScalarType keys[] = {ScalarType::kI32, ScalarType::kU8, ScalarType::kU32, ScalarType::kI64};
  const ScalarType type = types[random.below(5)];
  const Op ops[] = {Op::kAdd, Op::kMax, Op::kMin, Op::kBitAnd, Op::kBitOr, Op::kBitXor};
  const Op op = is_float(type) ? Op::kAdd : ops[random.below(6)];
  const bool turned = random.coin(), shared_keys = random.coin(), ones = random.coin();
  const std::int64_t low =
      type == ScalarType::kU32 || info(op).is(nest::OpInfo::kIntegers) ? 0 : -99;
  p.in("keys", shared_keys ? std::vector{count} : std::vector{rows, count}, keys[random.below(4)],
       0, random.coin() ? 250 : 2);
  p.in("x", turned ? std::vector{count, rows} : std::vector{rows, count}, type,
       is_float(type) ? -1 : static_cast<double>(low), is_float(type) ? 1 : 99);
  const SymbolId r = p.symbol("r", rows), i = p.symbol("i", count);
  const Ref key = shared_keys ? p.load("keys", {p.at(i)}) : p.load("keys", {p.at(r), p.at(i)});
  const Ref bin = p.nodes.remainder(key, p.nodes.integer(bins));
  const Ref x = turned ? p.load("x", {p.at(i), p.at(r)}) : p.load("x", {p.at(r), p.at(i)});
  const Ref one = is_float(type) ? p.nodes.number(1, type) : p.nodes.integer(3);
  std::vector<std::int64_t> shape = {bins};
  std::vector<Ref> element = {bin};
  const std::int64_t place = random.below(3);
  if (place > 0) {
    shape = place == 1 ? std::vector{rows, bins} : std::vector{bins, rows};
    element = place == 1 ? std::vector{p.at(r), bin} : std::vector{bin, p.at(r)};
  }
  p.in("out", shape, type, 0, is_float(type) ? 1 : 200);
  p.concrete().buffers.back().role = Role::kInOut;
  p.store("out", random.coin() ? std::vector{r, i} : std::vector{i, r}, element, ones ? one : x,
          op);
  if (random.coin()) {
    p.nests().back().guard = p.nodes.less(key, p.nodes.integer(1 + random.below(200)));
  }
}

Choice random_choice(const Offer& offer, Random& random) {
  Choice choice;
  for (const Parameter& parameter : offer.parameters) {
    if (random.below(3) == 0) continue;
    choice[parameter.name] = parameter.domain[static_cast<std::size_t>(
        random.below(static_cast<std::int64_t>(parameter.domain.size())))];
  }
  return choice;
}

unsigned number_from(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : otherwise;
}

TEST(Random, ScattersAtRandomPoints) {
  const auto generator = make_histogram();
  const unsigned first = number_from("HONE_RANDOM_FIRST", 1);
  const unsigned count = number_from("HONE_RANDOM_NESTS", 24);
  for (unsigned seed = first; seed < first + count; ++seed) {
    Random random(seed);
    Problem problem;
    make_scatter(problem, random);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto offer = generator->match(problem.goal());
    ASSERT_TRUE(offer.has_value()) << offer.error().message;
    expect_right(*generator, problem, random_choice(*offer, random), 1e-4);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Random, NestsAtRandomPoints) {
  const unsigned count = number_from("HONE_RANDOM_NESTS", 24);
  std::vector<std::unique_ptr<Generator>> all;
  all.push_back(make_map());
  all.push_back(make_transpose());
  all.push_back(make_rowwise());
  all.push_back(make_reduce());
  all.push_back(make_scan());
  all.push_back(make_window());
  const unsigned first = number_from("HONE_RANDOM_FIRST", 1);
  for (unsigned seed = first; seed < first + count; ++seed) {
    int taken = 0;
    for (const auto& generator : all) {
      Random random(seed);
      Problem problem;
      make(problem, random);
      const auto offer = generator->match(problem.goal());
      if (!offer) continue;
      ++taken;
      const Choice choice = random_choice(*offer, random);
      SCOPED_TRACE("seed " + std::to_string(seed));
      // The same lift gives the same text.
      Random repeated(seed);
      Problem twin;
      make(twin, repeated);
      EXPECT_EQ(generate(*generator, twin, choice).source, [&] {
        Random third(seed);
        Problem other;
        make(other, third);
        return generate(*generator, other, choice).source;
      }());
      expect_right(*generator, problem, choice, 1e-4);
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(taken, 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace hone::schedules
