// Conditions are simplified as they are made: they hold where they are said to.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

#include "rewriters/affine/node.h"

namespace hone::nest {
namespace {

class Conditions : public ::testing::Test {
 protected:
  Nodes nodes;
  SymbolId i = nodes.new_symbol("i", 6), j = nodes.new_symbol("j", 6), k = nodes.new_symbol("k", 6);

  Ref at_least(SymbolId symbol, std::int64_t least) {
    return nodes.non_negative(nodes.subtract(nodes.index(symbol), nodes.integer(least)));
  }
  Ref is_even(SymbolId symbol) {
    return nodes.is_zero(nodes.remainder(nodes.index(symbol), nodes.integer(2)));
  }
};

TEST_F(Conditions, WhatHoldsIsLeftOutOfWhatIsDenied) {
  const Ref a = is_even(k), c = at_least(i, 3);
  EXPECT_EQ(nodes.both(a, nodes.negate(nodes.both(a, c))), nodes.both(a, nodes.negate(c)));
  const Ref both = nodes.both(a, nodes.negate(c));
  EXPECT_EQ(nodes.both(both, nodes.negate(nodes.both(a, c))), both) << "no part twice";
}

TEST_F(Conditions, WhatIsNeverDeniesNothing) {
  const Ref x = at_least(i, 3), y = at_least(j, 3), a = is_even(k);
  const Ref never = nodes.both(nodes.both(x, a), nodes.negate(nodes.both(a, nodes.either(x, y))));
  const Ref z = at_least(k, 3);
  EXPECT_EQ(nodes.both(z, nodes.negate(never)), z);
}

/// Any of them, at every point.
TEST_F(Conditions, HoldWhereTheyAreSaidTo) {
  struct Known {
    Ref condition;
    std::function<bool(const std::vector<std::int64_t>&)> holds;
  };
  std::vector<Known> all = {
      {at_least(i, 3), [](const auto& at) { return at[0] >= 3; }},
      {at_least(j, 2), [](const auto& at) { return at[1] >= 2; }},
      {is_even(k), [](const auto& at) { return at[2] % 2 == 0; }},
      {nodes.less(nodes.index(i), nodes.index(j)), [](const auto& at) { return at[0] < at[1]; }},
      {at_least(i, 1), [](const auto& at) { return at[0] >= 1; }},
  };
  std::mt19937 random(7);
  const auto any = [&] { return all[random() % all.size()]; };
  for (int made = 0; made < 300; ++made) {
    const Known a = any(), b = any();
    Known next;
    switch (random() % 3) {
      case 0:
        next = {nodes.both(a.condition, b.condition),
                [a, b](const auto& at) { return a.holds(at) && b.holds(at); }};
        break;
      case 1:
        next = {nodes.either(a.condition, b.condition),
                [a, b](const auto& at) { return a.holds(at) || b.holds(at); }};
        break;
      default:
        next = {nodes.negate(a.condition), [a](const auto& at) { return !a.holds(at); }};
    }
    for (std::int64_t point = 0; point < 216; ++point) {
      const std::vector<std::int64_t> at = {point / 36, point / 6 % 6, point % 6};
      const Ref there = nodes.substitute(
          next.condition,
          {{i, nodes.integer(at[0])}, {j, nodes.integer(at[1])}, {k, nodes.integer(at[2])}});
      ASSERT_TRUE(there->is_constant()) << to_string(nodes, next.condition);
      ASSERT_EQ(there->constant != 0, next.holds(at)) << to_string(nodes, next.condition);
    }
    if (made % 60 == 0) all.resize(5);  // else they grow without end
    all.push_back(next);
  }
}

}  // namespace
}  // namespace hone::nest
