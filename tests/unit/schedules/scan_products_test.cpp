// Running products against the kernel's own order, where they leave the range of their type.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "rewriters/schedules/scan/scan.h"
#include "tests/unit/schedules/harness.h"

namespace hone::schedules {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Of the elements, and of what multiplies them.
struct Types {
  ScalarType element = ScalarType::kF32, product = ScalarType::kF32;
};
constexpr Types kAllTypes[] = {{ScalarType::kF32, ScalarType::kF32},
                               {ScalarType::kF32, ScalarType::kF64},
                               {ScalarType::kF64, ScalarType::kF64}};

struct Shape {
  std::int64_t rows = 1, cols = 1;
  bool reverse = false, exclusive = false;
  bool across = false;  ///< rows side by side in memory
};

void running_product(Problem& p, const Shape& shape, const Types& types) {
  const auto [rows, cols] = std::pair(shape.rows, shape.cols);
  const std::vector<std::int64_t> extents =
      shape.across ? std::vector{cols, rows} : std::vector{rows, cols};
  p.in("x", extents, types.element);
  p.out("y", extents, types.product);
  const SymbolId i = p.symbol("i", rows), j = p.symbol("j", cols), r = p.symbol("r", cols);
  const auto at = [&](SymbolId column) {
    return shape.across ? std::vector{p.at(column), p.at(i)} : std::vector{p.at(i), p.at(column)};
  };
  Ref apart =
      shape.reverse ? p.nodes.subtract(p.at(r), p.at(j)) : p.nodes.subtract(p.at(j), p.at(r));
  if (shape.exclusive) apart = p.nodes.subtract(apart, p.nodes.integer(1));
  const Ref x = p.nodes.cast(p.load("x", at(r)), types.product);
  const Ref body =
      p.nodes.select(p.nodes.non_negative(apart), x, p.nodes.identity(Op::kMul, x->type));
  p.store("y", shape.across ? std::vector{j, i} : std::vector{i, j}, at(j),
          p.nodes.reduce(Op::kMul, {r}, body));
}

/// What the kernel of a thread for each row gives.
template <typename T>
std::vector<double> in_order(const std::vector<double>& x, const Shape& shape) {
  std::vector<double> y(x.size());
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    T product = 1;
    for (std::int64_t k = 0; k < shape.cols; ++k) {
      const std::int64_t column = shape.reverse ? shape.cols - 1 - k : k;
      const auto at = static_cast<std::size_t>(shape.across ? column * shape.rows + row
                                                            : row * shape.cols + column);
      if (shape.exclusive) y[at] = product;
      product *= static_cast<T>(x[at]);
      if (!shape.exclusive) y[at] = product;
    }
  }
  return y;
}

const ParameterValue kSinglePass = std::string("single-pass");

/// A single pass, where the choice asks for one: else the scan may take whole rows.
void expect_way(Problem& p, const Choice& choice) {
  const auto way = choice.find("long_rows");
  if (way == choice.end() || way->second != kSinglePass) return;
  const std::string source = generate(*make_scan(), p, choice).source;
  EXPECT_TRUE(source.contains("look_back_for_range")) << source;
}

/// How far values may be from the kernel's: of their size, and beside it.
struct Tolerance {
  double relative = 0, absolute = 0;
};

void expect_in_order(const Shape& shape, const Types& types, const Choice& choice,
                     const std::vector<double>& x, const Tolerance& tolerance = {}) {
  Problem p;
  running_product(p, shape, types);
  expect_way(p, choice);
  const std::vector<double> got = outputs_of(*make_scan(), p, choice, x);
  const std::vector<double> want =
      types.product == ScalarType::kF64 ? in_order<double>(x, shape) : in_order<float>(x, shape);
  ASSERT_EQ(got.size(), want.size());
  int wrong = 0;
  for (std::size_t k = 0; k < want.size() && wrong < 3; ++k) {
    if (std::isnan(want[k]) ? std::isnan(got[k]) : want[k] == got[k]) continue;
    const double bound = tolerance.relative * std::fabs(want[k]) + tolerance.absolute;
    if (std::isfinite(want[k]) && std::fabs(got[k] - want[k]) <= bound) continue;
    ++wrong;
    ADD_FAILURE() << "y[" << k << "]: " << got[k] << ", not " << want[k] << ", cols " << shape.cols
                  << (shape.reverse ? ", reverse" : "") << (shape.exclusive ? ", exclusive" : "")
                  << ", " << to_string(types.product) << " of " << to_string(types.element);
  }
  if (wrong > 0) {
    Problem again;
    running_product(again, shape, types);
    ADD_FAILURE() << generate(*make_scan(), again, choice).source;
  }
}

const std::vector<Choice> kAlong = {
    {},
    {{"threads", std::int64_t{4}}, {"items", std::int64_t{2}}},
    {{"threads", std::int64_t{32}}, {"items", std::int64_t{1}}, {"vector", std::int64_t{1}}},
    {{"threads", std::int64_t{64}}, {"rows", std::int64_t{2}}, {"items", std::int64_t{2}}},
    {{"threads", std::int64_t{128}}, {"rows", std::int64_t{1}}, {"items", std::int64_t{4}}},
    {{"threads", std::int64_t{64}}, {"items", std::int64_t{1}}, {"long_rows", kSinglePass}},
    {{"threads", std::int64_t{128}},
     {"items", std::int64_t{2}},
     {"vector", std::int64_t{1}},
     {"long_rows", kSinglePass}},
};
const std::vector<Choice> kAcross = {
    {},
    {{"threads", std::int64_t{2}}, {"items", std::int64_t{16}}},
    {{"threads", std::int64_t{8}}, {"items", std::int64_t{4}}},
};

void at_all_points(Shape shape, const Types& types, const std::vector<double>& x,
                   const Tolerance& tolerance = {}) {
  for (const Choice& choice : shape.across ? kAcross : kAlong)
    expect_in_order(shape, types, choice, x, tolerance);
}

/// Powers of two, of which every product is exact, or out of range.
class Powers {
 public:
  Powers(unsigned seed, ScalarType element)
      : random_(seed),
        low_(element == ScalarType::kF64 ? -1074 : -149),
        high_(element == ScalarType::kF64 ? 1023 : 127) {}

  /// Most within 2^-spread to 2^spread, some anywhere; `rare`: one of so many is no number, or 0.
  std::vector<double> of(const Shape& shape, int spread, int rare) {
    std::vector<double> x(static_cast<std::size_t>(shape.rows * shape.cols));
    for (double& value : x) {
      const bool anywhere = below(40) == 0;
      const int exponent =
          anywhere ? low_ + below(high_ - low_ + 1) : below(2 * spread + 1) - spread;
      value = std::ldexp(below(2) == 0 ? 1.0 : -1.0, exponent);
      if (rare > 0 && below(rare) == 0) {
        const double kinds[] = {0, -0.0, kInfinity, -kInfinity, std::nan("")};
        value = kinds[below(5)];
      }
    }
    return x;
  }

 private:
  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }
  std::mt19937 random_;
  int low_, high_;
};

TEST(ScanProducts, LeaveTheRangeWhereTheKernelDoes) {
  for (const Types& types : kAllTypes) {
    unsigned seed = 1;
    for (const bool reverse : {false, true}) {
      for (const bool exclusive : {false, true}) {
        const Shape half{2, 1100}, shape{4, 1100, reverse, exclusive};
        std::vector<double> x = Powers(++seed, types.element).of(half, 3, 0);
        const std::vector<double> rest = Powers(++seed, types.element).of(half, 3, 700);
        x.insert(x.end(), rest.begin(), rest.end());
        at_all_points(shape, types, x);
        if (reverse == exclusive) {
          const Shape ragged{2, 777, reverse, exclusive};
          at_all_points(ragged, types, Powers(++seed, types.element).of(ragged, 1, 2000));
        }
        const Shape across{35, 200, reverse, exclusive, true};
        at_all_points(across, types, Powers(++seed, types.element).of(across, 3, 400));
      }
    }
  }
}

// Each row by itself: what parts of it come to leaves the range one way, what is before the other.
TEST(ScanProducts, PartsLeaveTheRangeTheOtherWay) {
  using Row = std::function<double(std::int64_t)>;
  const std::vector<Row> rows = {
      [](auto j) { return std::ldexp(1, j < 200 ? -100 : 100); },
      [](auto j) { return std::ldexp(1, j < 200 ? 100 : -100); },
      [](auto j) { return j == 900 ? 0 : std::ldexp(-1, 7); },
      [](auto j) { return j == 900 ? kInfinity : std::ldexp(-1, -7); },
      [](auto j) { return j == 3 ? 0 : std::ldexp(1, 50); },
      [](auto j) { return j == 700 ? std::nan("") : -1; },
      [](auto j) { return j == 200    ? kInfinity
                          : j == 1100 ? 0
                                      : 1; },
      [](auto j) { return std::ldexp(1, j % 2 == 0 ? 120 : -120); },
      [](auto j) {
        return std::ldexp(1, j < 2 ? 60 : j < 4 ? -60 : j < 8 ? 60 : j < 20 ? -60 : 0);
      },
      [](auto j) {
        return std::ldexp(j % 2 == 0 ? -1 : 1, j % 3 == 0 ? -149 : j % 3 == 1 ? 75 : 74);
      },
      [](auto j) {
        return std::ldexp(1, j < 1 ? -149 : j < 2 ? 120 : 0);
      },
      [](auto j) { return j < 1000 ? 1 : std::ldexp(1, -1 * (j % 2)); },
  };
  const Shape shape{static_cast<std::int64_t>(rows.size()), 1600};
  std::vector<double> x, turned;
  for (const Row& row : rows) {
    for (std::int64_t j = 0; j < shape.cols; ++j) x.push_back(row(j));
  }
  for (std::int64_t j = 0; j < shape.cols; ++j) {
    for (const Row& row : rows) turned.push_back(row(j));
  }
  for (const Types& types : kAllTypes) {
    at_all_points(shape, types, x);
    at_all_points({shape.rows, shape.cols, false, false, true}, types, turned);
  }
}

// Where it stays in the range it is as near as any order.
TEST(ScanProducts, AreNear) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> values(0.8, 1.23);
  for (const Types& types : kAllTypes) {
    const Shape shape{3, 1600};
    std::vector<double> x(static_cast<std::size_t>(shape.rows * shape.cols));
    for (double& value : x) value = static_cast<float>(values(random));
    at_all_points(shape, types, x, {types.product == ScalarType::kF64 ? 1e-12 : 2e-4});
  }
}

// Each row falls to a denormal number and stays there, or at 0. The kernel rounds at each element,
// a single pass only at those of a thread. Factors are below 1/2, so that either is less than one
// step between denormal numbers away from the exact product: the two are at most one step apart.
TEST(ScanProducts, StayDenormalWithinAStep) {
  const Shape shape{8, 1600};
  const auto is_denormal = [](double value, const Types& types) {
    return types.product == ScalarType::kF64
               ? std::fpclassify(value) == FP_SUBNORMAL
               : std::fpclassify(static_cast<float>(value)) == FP_SUBNORMAL;
  };
  for (const Types& types : kAllTypes) {
    const bool in_double = types.product == ScalarType::kF64;
    std::mt19937 random(6);
    std::uniform_real_distribution<double> values(0.3, 0.49);
    std::vector<double> x;
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      // The steps are 2^-149 and 2^-1074.
      const double last = std::ldexp(1, (in_double ? -1077 : -152) + 3 * static_cast<int>(row));
      double product = 1;
      for (std::int64_t j = 0; j < shape.cols; ++j) {
        const double factor = product > last ? values(random) : 1;
        x.push_back((j % 3 == 0 ? -1 : 1) * static_cast<float>(factor));
        product *= factor;
      }
    }
    const std::vector<double> want =
        in_double ? in_order<double>(x, shape) : in_order<float>(x, shape);
    int denormal = 0;
    for (std::size_t end = shape.cols; end <= want.size(); end += shape.cols)
      denormal += is_denormal(want[end - 1], types) ? 1 : 0;
    ASSERT_GE(denormal, 5);
    at_all_points(shape, types, x,
                  {in_double ? 1e-12 : 2e-4, std::ldexp(1, in_double ? -1074 : -149)});
  }
}

/// A row in the scan's order, of which `T` accumulates the product.
template <typename T>
class Dips {
 public:
  Dips(unsigned seed, std::int64_t cols) : random_(seed), cols_(cols) {}

  void stay(int count) {
    for (int i = 0; i < count; ++i) take(1);
  }
  /// Through powers of two, which round nothing.
  void fall_to_normal_numbers() {
    while (std::fabs(product_) > 0x1p16 * kLeast) take(0x1p-10);
  }
  /// Each factor rounds. At the lowest place `bits` are left; then back to normal numbers.
  void dip(int bits) {
    while (product_ != 0 && std::fabs(product_) >= std::ldexp(kLeast, bits - kBits)) fall();
    while (product_ != 0 && std::fabs(product_) < 0x1p3 * kLeast) take(1 / factor());
  }
  void rise_by_powers(int to) {
    while (std::fabs(product_) < std::ldexp(1.0, to)) take(0x1p7);
  }
  void fall() { take(x.size() % 3 == 0 ? -factor() : factor()); }
  void take(double value) {
    x.push_back(static_cast<float>(value));
    product_ *= static_cast<T>(x.back());
  }
  [[nodiscard]] bool has_space(std::int64_t left) const {
    return static_cast<std::int64_t>(x.size()) + left < cols_;
  }

  std::vector<double> x;

 private:
  static constexpr int kBits = std::numeric_limits<T>::digits;
  static constexpr double kLeast = std::numeric_limits<T>::min();
  double factor() { return std::uniform_real_distribution<double>(0.4, 0.8)(random_); }
  std::mt19937 random_;
  std::int64_t cols_;
  T product_ = 1;
};

/// Rows that become denormal and come back, some for good.
template <typename T>
std::vector<double> rows_of_dips(const Shape& shape) {
  constexpr bool in_double = sizeof(T) == 8;
  std::vector<double> x;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const auto seed = static_cast<unsigned>(row);
    Dips<T> dips(seed, shape.cols);
    dips.stay(static_cast<int>(row * 37 % 300));
    dips.fall_to_normal_numbers();
    // Within one vector and back: only its products on the way are denormal.
    if (row % 3 == 0) {
      while (dips.x.size() % 4 != 0) dips.take(1);
      const double down = in_double ? 0x1.3p-55 : 0x1.3p-33;
      for (const double factor : {0.7, down, 0.6, (in_double ? 0x1.7p56 : 0x1.7p34)})
        dips.take(factor);
    }
    while (dips.has_space(400)) {
      dips.dip(row % 2 == 0 ? 8 : 3);
      if (row % 4 == 1) dips.rise_by_powers(-30);
      dips.fall_to_normal_numbers();
      dips.stay(11);
    }
    if (row % 4 == 2)  // to 0, and beyond
      while (dips.has_space(200)) dips.fall();
    if (row % 8 == 6) dips.take(kInfinity);
    if (row % 4 == 3) dips.rise_by_powers(9);
    while (dips.has_space(0)) dips.take(1);
    dips.x.resize(static_cast<std::size_t>(shape.cols), 1);
    if (shape.reverse) std::ranges::reverse(dips.x);
    x.insert(x.end(), dips.x.begin(), dips.x.end());
  }
  return x;
}

// The digits that the kernel's product loses among denormal numbers are lost here, too, across
// borders of vectors, warps and tiles. In f32 what comes before a walk is off in its last bits, of
// which one may change the rounding of the few bits that are left.
TEST(ScanProducts, ComeBackFromDenormalNumbersAsTheKernelDoes) {
  std::vector<Choice> choices = {
      {{"threads", std::int64_t{256}}, {"rows", std::int64_t{2}}, {"items", std::int64_t{1}}},
      {{"threads", std::int64_t{8}}, {"items", std::int64_t{4}}},
      {{"threads", std::int64_t{1024}}, {"items", std::int64_t{1}}, {"vector", std::int64_t{1}}}};
  for (const Choice& choice : kAlong)
    if (!choice.contains("long_rows")) choices.push_back(choice);
  for (const Types& types : kAllTypes) {
    for (const std::int64_t cols : {1600, 1599, 1596}) {  // 1599: vectors of one
      const bool turned = cols != 1600;
      const Shape shape{9, cols, turned, turned};
      const bool in_double = types.product == ScalarType::kF64;
      const std::vector<double> x =
          in_double ? rows_of_dips<double>(shape) : rows_of_dips<float>(shape);
      for (const Choice& choice : choices)
        expect_in_order(shape, types, choice, x, {in_double ? 1e-12 : 1e-3});
    }
  }
}

TEST(ScanProducts, GroupsOfTiles) {
  const Shape shape{2, 64 * 70 + 3};
  for (const Types& types : kAllTypes) {
    const Choice choice = {{"threads", std::int64_t{64}},
                           {"items", std::int64_t{1}},
                           {"vector", std::int64_t{1}},
                           {"long_rows", kSinglePass}};
    expect_in_order(shape, types, choice, Powers(77, types.element).of(shape, 1, 0));
    expect_in_order(shape, types, choice, Powers(78, types.element).of(shape, 1, 2500));
  }
}

// Beside a sum: each is carried in its own way.
TEST(ScanProducts, BesideSums) {
  for (const char* way : {"whole", "single-pass"}) {
    Problem p;
    p.in("x", {2, 1280}, ScalarType::kF32, 0.5, 1.6);
    p.out("y", {2, 1280});
    const SymbolId i = p.symbol("i", 2), j = p.symbol("j", 1280), r = p.symbol("r", 1280);
    const Ref inside = p.nodes.non_negative(p.nodes.subtract(p.at(j), p.at(r)));
    const Ref x = p.load("x", {p.at(i), p.at(r)});
    const auto folded = [&](Op op) {
      return p.nodes.reduce(op, {r}, p.nodes.select(inside, x, p.nodes.identity(op, x->type)));
    };
    p.store("y", {i, j}, {p.at(i), p.at(j)}, p.f("*", {folded(Op::kAdd), folded(Op::kMul)}));
    const Choice choice = {
        {"long_rows", std::string(way)}, {"threads", std::int64_t{64}}, {"items", std::int64_t{1}}};
    expect_way(p, choice);
    expect_right(*make_scan(), p, choice, 1e-3);
  }
}

// Whole rows are the guess, as tiles with a block each do not lose the digits that the kernel
// loses. Nobody carries exponents from the kernel that folds parts.
TEST(ScanProducts, RowsAreNotCut) {
  Problem p;
  running_product(p, {1, 1 << 20}, {});
  const auto offer = make_scan()->match(p.goal());
  ASSERT_TRUE(offer.has_value());
  const auto long_rows = std::ranges::find(offer->parameters, "long_rows", &Parameter::name);
  ASSERT_NE(long_rows, offer->parameters.end());
  EXPECT_EQ(long_rows->domain, (std::vector<ParameterValue>{std::string("whole"), kSinglePass}));
  EXPECT_EQ(offer->starts.at(0)[static_cast<std::size_t>(long_rows - offer->parameters.begin())],
            0u);
  Problem prime;
  running_product(prime, {1, 1'000'003}, {});
  const auto of_prime = make_scan()->match(prime.goal());
  ASSERT_TRUE(of_prime.has_value());
  const auto of_one = std::ranges::find(of_prime->parameters, "long_rows", &Parameter::name);
  ASSERT_NE(of_one, of_prime->parameters.end());
  EXPECT_EQ(of_one->domain, long_rows->domain) << "no equal parts are needed";
  Problem many;
  running_product(many, {4096, 32768}, {});
  const auto of_many = make_scan()->match(many.goal());
  ASSERT_TRUE(of_many.has_value());
  const auto ways = std::ranges::find(of_many->parameters, "long_rows", &Parameter::name);
  ASSERT_NE(ways, of_many->parameters.end());
  EXPECT_EQ(ways->domain, std::vector<ParameterValue>{std::string("whole")});
  Problem whole;
  running_product(whole, {3, 768}, {});
  const std::string source =
      generate(*make_scan(), whole, {{"long_rows", std::string("parts-4")}}).source;
  ASSERT_FALSE(source.empty());
  EXPECT_FALSE(source.contains("own_part")) << source;
}

}  // namespace
}  // namespace hone::schedules
