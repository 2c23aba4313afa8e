#include "rewriters/schedules/transpose/transpose.h"

#include <functional>
#include <iostream>

#include "tests/unit/schedules/harness.h"

namespace hone::schedules {
namespace {

const std::vector<Choice> kPoints = {
    {},
    {{"tile", std::int64_t{32}}, {"threads", std::int64_t{1024}}, {"group", std::int64_t{1}}},
    {{"tile", std::int64_t{32}}, {"group", std::int64_t{2}}},
    {{"tile", std::int64_t{32}}, {"threads", std::int64_t{64}}, {"cache", std::string("stream")}},
    {{"tile", std::int64_t{64}}, {"width", std::int64_t{1}}},
    {{"tile", std::int64_t{32}}, {"width", std::int64_t{2}}, {"group", std::int64_t{3}}},
    {{"tile", std::int64_t{128}}, {"threads", std::int64_t{96}}, {"width", std::int64_t{8}}},
};

void at_all_points(const std::function<void(Problem&)>& make, double tolerance = 2e-5) {
  const auto generator = make_transpose();
  for (const Choice& choice : kPoints) {
    Problem problem;
    make(problem);
    expect_right(*generator, problem, choice, tolerance);
  }
}

void turn(Problem& p, std::int64_t rows, std::int64_t cols, ScalarType type = ScalarType::kF32) {
  p.in("x", {rows, cols}, type);
  p.out("y", {cols, rows}, type);
  const SymbolId i = p.symbol("i", cols), j = p.symbol("j", rows);
  p.store("y", {i, j}, {p.at(i), p.at(j)}, p.load("x", {p.at(j), p.at(i)}));
}

TEST(Transpose, Matrices) {
  at_all_points([](Problem& p) { turn(p, 96, 64); });
  at_all_points([](Problem& p) { turn(p, 45, 71); });
  at_all_points([](Problem& p) { turn(p, 70, 80, ScalarType::kF16); });
  at_all_points([](Problem& p) { turn(p, 136, 200, ScalarType::kF16); });
  at_all_points([](Problem& p) { turn(p, 68, 132); });
  at_all_points([](Problem& p) { turn(p, 33, 40, ScalarType::kF64); });
}

TEST(Transpose, ChannelsLastWithWork) {
  // y[n, h, w, c] = x[n, c, h, w] * scale[c] + z[n, h, w, c]: h and w are one dim.
  at_all_points([](Problem& p) {
    p.in("x", {2, 20, 5, 7});
    p.in("scale", {20});
    p.in("z", {2, 5, 7, 20});
    p.out("y", {2, 5, 7, 20});
    const SymbolId n = p.symbol("n", 2), h = p.symbol("h", 5), w = p.symbol("w", 7),
                   c = p.symbol("c", 20);
    const Ref x = p.load("x", {p.at(n), p.at(c), p.at(h), p.at(w)});
    const Ref scaled = p.f("*", {x, p.load("scale", {p.at(c)})});
    p.store("y", {n, h, w, c}, {p.at(n), p.at(h), p.at(w), p.at(c)},
            p.f("+", {scaled, p.load("z", {p.at(n), p.at(h), p.at(w), p.at(c)})}));
  });
}

TEST(Transpose, BothWaysAndAPlainOne) {
  at_all_points([](Problem& p) {
    p.in("x", {40, 40});
    p.out("y", {40, 40});
    p.out("z", {40, 40});
    const SymbolId i = p.symbol("i", 40), j = p.symbol("j", 40);
    const SymbolId k = p.symbol("k", 40), l = p.symbol("l", 40);
    p.store("y", {i, j}, {p.at(i), p.at(j)},
            p.f("+", {p.load("x", {p.at(i), p.at(j)}), p.load("x", {p.at(j), p.at(i)})}));
    p.store("z", {k, l}, {p.at(k), p.at(l)}, p.f("exp", {p.load("x", {p.at(k), p.at(l)})}));
  });
}

TEST(Transpose, RefusesPlainMaps) {
  Problem p;
  p.in("x", {8, 16});
  p.out("y", {8, 16});
  const SymbolId i = p.symbol("i", 8), j = p.symbol("j", 16);
  p.store("y", {i, j}, {p.at(i), p.at(j)}, p.load("x", {p.at(i), p.at(j)}));
  EXPECT_FALSE(make_transpose()->match(p.goal()).has_value());
}

TEST(Transpose, DISABLED_Model) {
  const auto generator = make_transpose();
  for (const std::int64_t tile : {32, 64}) {
    Problem p;
    turn(p, 8192, 8192);
    std::cout << tile << ": " << modelled_us(*generator, p, {{"tile", tile}}) << " us of "
              << 8.0 * 8192 * 8192 / 4.2e6 << "\n";
  }
}

}  // namespace
}  // namespace hone::schedules
