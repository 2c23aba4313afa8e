#include "rewriters/llm/client/meter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace hone::llm {
namespace {

constexpr Prices kPrices{.input_per_million = 150'000'000, .output_per_million = 600'000'000};

TEST(Meter, CostsAreExactAndRoundedUp) {
  const Meter meter(kPrices, std::nullopt, std::nullopt);
  EXPECT_EQ(meter.cost(1'000'000, 1'000'000), 750'000'000);
  EXPECT_EQ(meter.cost(1, 0), 150);
  const Meter odd(Prices{37'500'001, 1}, std::nullopt, std::nullopt);
  EXPECT_EQ(odd.cost(1, 0), 38);  // 37.500001
  EXPECT_EQ(odd.cost(2, 0), 76);  // 75.000002
  EXPECT_EQ(odd.cost(1'000'000, 1), 37'500'002);
  EXPECT_EQ(odd.cost(0, 0), 0);
  EXPECT_EQ(meter.cost(INT64_MAX, INT64_MAX), INT64_MAX);
  EXPECT_EQ(Meter(std::nullopt, std::nullopt, std::nullopt).cost(1000, 1000), 0);
}

TEST(Meter, TokenBudgetToTheLastToken) {
  Meter meter(std::nullopt, 1000, std::nullopt);
  {
    auto first = meter.reserve({600, 400, 400});
    ASSERT_TRUE(first);
    EXPECT_EQ(first->output_tokens(), 400);
    EXPECT_FALSE(meter.reserve({0, 1, 1})) << "all is set aside";
    first->settle({.input_tokens = 300, .output_tokens = 100});
  }
  EXPECT_EQ(meter.totals().reserved_tokens, 0);
  auto lowered = meter.reserve({500, 400, 100});
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->output_tokens(), 100) << "what is left of 1000 - 400 - 500";
  lowered->release();
  const auto refused = meter.reserve({500, 400, 101});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
  EXPECT_EQ(refused.error().message,
            "the token budget of 1000 has 600 left; the request may need 500 input tokens and at "
            "least 101 of output");
}

TEST(Meter, CostBudgetToTheLastNanoDollar) {
  // 100 input at 150 n$ and 50 output at 600 n$ are 45'000 n$.
  Meter meter(kPrices, std::nullopt, 45'000);
  {
    auto all = meter.reserve({100, 500, 50});
    ASSERT_TRUE(all);
    EXPECT_EQ(all->output_tokens(), 50);
    EXPECT_EQ(meter.totals().reserved_nano_dollars, 45'000);
  }
  EXPECT_EQ(meter.totals().nano_dollars, 45'000) << "not settled: the worst case";
  EXPECT_FALSE(meter.reserve({1, 1, 1}));
  Meter smaller(kPrices, std::nullopt, 44'999);
  EXPECT_FALSE(smaller.reserve({100, 500, 50}));
  EXPECT_TRUE(smaller.reserve({100, 500, 49}));
}

TEST(Meter, FreeOutputIsNotLowered) {
  Meter meter(Prices{1'000'000'000, 0}, std::nullopt, 1000);
  EXPECT_EQ(meter.reserve({1, 500, 50})->output_tokens(), 500);
  EXPECT_FALSE(meter.reserve({1, 500, 50})) << "1000 n$ are spent";
}

TEST(Meter, WhatIsStatedIsNotBelievedBelowZero) {
  Meter meter(std::nullopt, std::nullopt, std::nullopt);
  auto reservation = meter.reserve({100, 50, 50});
  const auto settled = reservation->settle({.input_tokens = -5, .output_tokens = 7});
  EXPECT_EQ(settled.charge.input_tokens, 100);
  EXPECT_EQ(settled.charge.output_tokens, 7);
  EXPECT_FALSE(settled.exact);
  EXPECT_EQ(meter.totals().estimated, 1);
}

TEST(Meter, ClaimsAboveTheReservationAreCountedAndSaid) {
  Meter meter(std::nullopt, 1000, std::nullopt);
  auto reservation = meter.reserve({100, 50, 50});
  const auto settled = reservation->settle({.input_tokens = 100, .output_tokens = 5000});
  EXPECT_TRUE(settled.overrun);
  EXPECT_EQ(meter.totals().output_tokens, 5000);
  EXPECT_EQ(meter.totals().overruns, 1);
  EXPECT_FALSE(meter.reserve({1, 1, 1}));
  Meter huge(kPrices, 1000, 1000);
  for (int i = 0; i < 2; ++i) {
    Meter& m = i == 0 ? huge : meter;
    if (auto r = m.reserve({1, 1, 1}))
      r->settle({.input_tokens = INT64_MAX, .output_tokens = INT64_MAX});
  }
  EXPECT_EQ(huge.totals().nano_dollars, INT64_MAX);
  EXPECT_FALSE(huge.reserve({1, 1, 1})) << "no overflow to something small";
}

// Before a request its worst case stands in the ledger, afterwards what it was.
TEST(Meter, TheLedgerKnowsTheMostAtAnyTime) {
  std::vector<std::pair<std::int64_t, std::int64_t>> written;
  bool works = true;
  Ledger ledger;
  ledger.earlier = {300, 5'000};
  ledger.write = [&](const Spent& most) -> Result<void> {
    if (!works) return fail(ErrorCode::kEnvironment, "another process writes");
    written.emplace_back(most.tokens, most.nano_dollars);
    return {};
  };
  Meter meter(Prices{1'000'000, 2'000'000}, 1000, std::nullopt, ledger);
  using Written = decltype(written);
  {
    auto first = meter.reserve({100, 50, 50});
    ASSERT_TRUE(first);
    ASSERT_EQ(written, (Written{{450, 5'200}}));
    auto second = meter.reserve({100, 60, 60});
    ASSERT_TRUE(second);
    EXPECT_EQ(written.back(), (std::pair<std::int64_t, std::int64_t>{610, 5'420}));
    first->settle({.input_tokens = 80, .output_tokens = 10});
    EXPECT_EQ(written.back(), (std::pair<std::int64_t, std::int64_t>{550, 5'320}));
    second->release();
  }
  EXPECT_EQ(written.back(), (std::pair<std::int64_t, std::int64_t>{390, 5'100}));
  EXPECT_DOUBLE_EQ(meter.share_spent(), 0.39);
  EXPECT_EQ(meter.totals().input_tokens, 80) << "without what was before";
  auto lowered = meter.reserve({100, 600, 100});
  EXPECT_EQ(lowered->output_tokens(), 510) << "610 are left";
  lowered->release();
  works = false;
  const auto refused = meter.reserve({1, 1, 1});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("another process writes"), std::string::npos);
  EXPECT_EQ(meter.totals().reserved_tokens, 0);
}

TEST(Meter, SettlingTwiceCountsOnce) {
  Meter meter(std::nullopt, std::nullopt, std::nullopt);
  {
    auto reservation = meter.reserve({100, 50, 50});
    auto moved = std::move(*reservation);
    moved.settle({.input_tokens = 1, .output_tokens = 2});
    moved.settle({.input_tokens = 1, .output_tokens = 2});
    moved.release();
  }
  EXPECT_EQ(meter.totals().input_tokens, 1);
  EXPECT_EQ(meter.totals().requests, 1);
}

TEST(Meter, NeverAboveTheBudgetsFromManyThreads) {
  constexpr std::int64_t tokens = 200'000, cost = 50'000'000;
  Meter meter(kPrices, tokens, cost);
  std::atomic<bool> over = false, ending = false;
  {
    std::jthread watcher([&] {
      while (!ending) {
        const Meter::Totals t = meter.totals();
        if (t.input_tokens + t.output_tokens + t.reserved_tokens > tokens ||
            t.nano_dollars + t.reserved_nano_dollars > cost)
          over = true;
      }
    });
    std::vector<std::jthread> threads;
    for (unsigned seed = 0; seed < 4; ++seed)
      threads.emplace_back([&, seed] {
        std::mt19937 random(seed);
        for (int i = 0; i < 3000; ++i) {
          auto r = meter.reserve({static_cast<std::int64_t>(random() % 500), 300, 1});
          if (!r) continue;
          const auto kind = random() % 3;
          if (kind == 0) r->release();
          if (kind == 1)
            r->settle({.input_tokens = 0,
                       .output_tokens = static_cast<std::int64_t>(random()) % r->output_tokens()});
        }
      });
    threads.clear();
    ending = true;
  }
  EXPECT_FALSE(over);
  EXPECT_EQ(meter.totals().reserved_tokens, 0);
  EXPECT_GT(meter.totals().requests, 100);
}

TEST(Meter, NoPromptHasMoreTokensThanBytes) {
  Request request{.messages = {{Role::kUser, "12345"}, {Role::kUser, "\xF0\x9F\x98\x80"}}};
  EXPECT_EQ(input_token_bound(request), 256 + 2 * 16 + 5 + 4);
  request.response_format = "{}";
  EXPECT_EQ(input_token_bound(request), 256 + 2 * 16 + 5 + 4 + 2);
}

}  // namespace
}  // namespace hone::llm
