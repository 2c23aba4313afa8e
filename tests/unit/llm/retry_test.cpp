// Waits, attempts, the breaker, budgets over several attempts.
#include <map>
#include <thread>

#include "client_fixture.h"

namespace hone::llm {
namespace {

using std::chrono::seconds;
using testing::HeardRequest;
using testing::http_reply;
using testing::ServerPeer;
using testing::stream_reply;

Clock::Date at(std::int64_t unix_seconds) {
  return Clock::Date(std::chrono::seconds(unix_seconds));
}

TEST(RetryAfter, SecondsAndDates) {
  const Clock::Date now = at(784'111'777);  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(retry_after("7", now), seconds(7));
  EXPECT_EQ(retry_after(" 0\t", now), seconds(0));
  EXPECT_EQ(retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), seconds(60));
  EXPECT_EQ(retry_after("Sunday, 06-Nov-94 08:50:37 GMT", now), seconds(60));
  EXPECT_EQ(retry_after("Sun Nov  6 08:50:37 1994", now), seconds(60));
  EXPECT_EQ(retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now), seconds(0)) << "past";
  EXPECT_EQ(retry_after("99999999999999999999999999", now), std::chrono::hours(24));
  EXPECT_EQ(retry_after("Fri, 01 Jan 2100 00:00:00 GMT", now), std::chrono::hours(24));
  for (const char* text : {"", "soon", "-5", "1.5e", "7 apples"})
    EXPECT_EQ(retry_after(text, now), std::nullopt) << text;
}

TEST(BackoffTest, DoublesWithJitterUpToHalfAMinute) {
  Backoff backoff(7);
  for (int round = 0; round < 100; ++round) {
    for (int attempt = 1; attempt <= 50; ++attempt) {
      const Milliseconds full =
          std::min<Milliseconds>(seconds(1) * (1 << std::min(attempt - 1, 5)), seconds(30));
      const Milliseconds wait = backoff.wait(attempt);
      EXPECT_GE(wait, full / 2);
      EXPECT_LE(wait, full);
    }
  }
  EXPECT_NE(Backoff(1).wait(3), Backoff(2).wait(3));
  EXPECT_EQ(Backoff(1).wait(3), Backoff(1).wait(3)) << "the seed decides";
}

TEST(BreakerTest, OpensProbesAndCloses) {
  FakeClock clock;
  Breaker breaker(clock, 2, seconds(10), seconds(25));
  EXPECT_TRUE(breaker.enter().admitted);
  breaker.failed(false, "first");
  EXPECT_TRUE(breaker.enter().admitted);
  breaker.failed(false, "second");
  const auto refused = breaker.enter();
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.again, seconds(10));
  EXPECT_EQ(refused.last_error, "second");
  clock.pass(seconds(1));
  breaker.failed(false, "one that was on its way");
  EXPECT_EQ(breaker.enter().again, seconds(9));

  clock.pass(seconds(9));
  EXPECT_TRUE(breaker.enter().probe);
  EXPECT_FALSE(breaker.enter().admitted) << "one probe at a time";
  breaker.abandoned(false);
  EXPECT_FALSE(breaker.enter().admitted) << "somebody else's end";
  breaker.abandoned(true);
  EXPECT_TRUE(breaker.enter().probe);
  breaker.failed(true, "third");
  EXPECT_EQ(breaker.enter().again, seconds(20)) << "twice as long";
  clock.pass(seconds(20));
  EXPECT_TRUE(breaker.enter().probe);
  breaker.failed(true, "fourth");
  EXPECT_EQ(breaker.enter().again, seconds(25)) << "but no longer than this";
  clock.pass(seconds(25));
  EXPECT_TRUE(breaker.enter().probe);
  breaker.succeeded();
  EXPECT_FALSE(breaker.enter().probe);
  breaker.failed(false, "counted from zero");
  EXPECT_TRUE(breaker.enter().admitted);
}

class Retries : public ClientTest {
 protected:
  /// `failures` answers with `bytes`, then a reply.
  void fail_first(int failures, std::string bytes) {
    serve([failures, bytes = std::move(bytes)](const HeardRequest&, int number) {
      return number <= failures ? bytes : stream_reply("at last");
    });
  }
  static std::string status(int number, std::string_view headers = "") {
    return http_reply(number, "application/json", R"({"error": {"message": "no"}})", headers);
  }
};

TEST_F(Retries, RateLimitsWithSeconds) {
  fail_first(2, status(429, "Retry-After: 7\r\n"));
  const Exchange exchange = ask();
  ASSERT_TRUE(exchange.reply) << exchange.reply.error().message;
  EXPECT_EQ(exchange.reply->text, "at last");
  EXPECT_EQ(exchange.attempts, 3);
  EXPECT_EQ(clock_.sleeps(), (std::vector<Milliseconds>{seconds(7), seconds(7)}));
  EXPECT_EQ(exchange.seconds, 14);
  EXPECT_EQ(exchange.charge.input_tokens, 11) << "a rate limit is free";
}

TEST_F(Retries, RateLimitsWithADate) {
  fail_first(1, status(429, "Retry-After: Sun, 06 Nov 1994 08:49:49 GMT\r\n"));
  clock_.set_date(at(784'111'777));
  EXPECT_TRUE(ask().reply);
  EXPECT_EQ(clock_.sleeps(), std::vector<Milliseconds>{seconds(12)});
}

TEST_F(Retries, NoLongerThanThereIsTime) {
  fail_first(1, status(429, "Retry-After: 3600\r\n"));
  expect_failure(ask(), FailureKind::kTrouble, "it asks to wait 3600 s; 20 s are left");
  EXPECT_TRUE(clock_.sleeps().empty()) << "a wait that leads nowhere is not begun";
  expect_failure(ask(), FailureKind::kDown, "the next try is in 600 s");
  EXPECT_EQ(server_->connections(), 1) << "and it is left alone, as it asked";
}

TEST_F(Retries, ServerErrorsBackOff) {
  fail_first(3, status(500));
  const Exchange exchange = ask();
  ASSERT_TRUE(exchange.reply);
  const auto sleeps = clock_.sleeps();
  ASSERT_EQ(sleeps.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_GE(sleeps[i], seconds(1) * (1 << i) / 2);
    EXPECT_LE(sleeps[i], seconds(1) * (1 << i));
  }
  EXPECT_EQ(exchange.charge.output_tokens, 3 * 1000 + 7) << "500: who knows; the worst case";
  EXPECT_EQ(exchange.charge.input_tokens, 3 * bound_of(question()) + 11);
  EXPECT_EQ(exchange.reply->usage.output_tokens, 7);
}

TEST_F(Retries, WhatIsFreeAndWhatIsNot) {
  const std::map<int, bool> is_free = {{500, false}, {502, false}, {503, true}, {504, false},
                                       {408, true},  {429, true},  {418, true}};
  for (const auto& [number, free] : is_free) {
    client_.reset();
    fail_first(9, status(number));
    settings_.retries = 0;
    const Exchange exchange = ask();
    ASSERT_FALSE(exchange.reply);
    if (free) {
      expect_free(exchange);
    } else {
      expect_worst_case(exchange);
    }
  }
}

TEST_F(Retries, AreBounded) {
  fail_first(99, status(503));
  settings_.retries = 2;
  const Exchange exchange = ask();
  expect_failure(exchange, FailureKind::kTrouble, "status 503: \"no\" (after 3 attempts)");
  EXPECT_EQ(exchange.attempts, 3);
  EXPECT_EQ(exchange.http_status, 503);
  EXPECT_EQ(server_->connections(), 3);
}

TEST_F(Retries, NotWhereTheyCannotHelp) {
  const std::map<int, FailureKind> kinds = {
      {400, FailureKind::kRequest},  {401, FailureKind::kSettings}, {403, FailureKind::kSettings},
      {404, FailureKind::kSettings}, {402, FailureKind::kSettings}, {422, FailureKind::kRequest},
      {301, FailureKind::kSettings}, {204, FailureKind::kBadReply}};
  for (const auto& [number, kind] : kinds) {
    client_.reset();
    fail_first(99, status(number));
    const Exchange exchange = ask();
    expect_failure(exchange, kind, std::to_string(number));
    EXPECT_EQ(server_->connections(), 1) << number;
  }
  client_.reset();
  fail_first(99,
             http_reply(429, "application/json", R"({"error": {"code": "insufficient_quota"}})"));
  expect_failure(ask(), FailureKind::kSettings, "no credit");
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(Retries, DroppedBeforeTheFirstByte) {
  serve_script([](ServerPeer& peer) {
    const auto heard = peer.request();
    if (!heard) return;
    if (peer.number() == 1) return;  // closed
    if (peer.number() == 2) return peer.reset();
    peer.send(stream_reply("at last"));
  });
  const Exchange exchange = ask();
  ASSERT_TRUE(exchange.reply) << exchange.reply.error().message;
  EXPECT_EQ(exchange.attempts, 3);
  EXPECT_EQ(exchange.charge.output_tokens, 2 * 1000 + 7) << "it may have been at work";
}

TEST_F(Retries, NobodyThere) {
  serve([](const HeardRequest&, int) { return ""; });
  server_.reset();  // its port is closed now
  const Exchange exchange = ask();
  expect_failure(exchange, FailureKind::kTrouble, "onnect");
  EXPECT_EQ(exchange.attempts, 4);
  EXPECT_EQ(clock_.sleeps().size(), 3U);
  expect_free(exchange);
}

TEST_F(Retries, ABrokenEndpointCountsAsDownAndIsProbed) {
  std::atomic<bool> broken = true;
  serve([&](const HeardRequest&, int) { return broken ? status(503) : stream_reply("back"); });
  settings_.retries = 1;
  for (int i = 0; i < 3; ++i) expect_failure(ask(), FailureKind::kTrouble, "503");
  EXPECT_EQ(server_->connections(), 6);
  const Exchange down = ask();
  EXPECT_EQ(client_->down_for(), seconds(30));
  expect_failure(down, FailureKind::kDown, "counts as down, the next try is in 30 s; last: ");
  EXPECT_EQ(down.attempts, 0);
  EXPECT_EQ(to_error(down.reply.error()).code, ErrorCode::kInfrastructure);
  EXPECT_EQ(server_->connections(), 6);

  clock_.pass(seconds(31));
  EXPECT_EQ(client_->down_for(), seconds(0));
  EXPECT_EQ(ask().attempts, 1) << "a probe is not repeated";
  expect_failure(ask(), FailureKind::kDown, "60 s");
  broken = false;
  clock_.pass(seconds(61));
  EXPECT_EQ(ask().reply.value().text, "back");
  EXPECT_EQ(ask().reply.value().text, "back");
}

TEST_F(Retries, ARefusedKeyCountsAsDownToo) {
  serve([](const HeardRequest&, int) { return status(401); });
  for (int i = 0; i < 3; ++i) expect_failure(ask(), FailureKind::kSettings, "refuses the key");
  expect_failure(ask(), FailureKind::kDown, "refuses the key");
}

TEST_F(Retries, ABadQuestionSaysNothingOfTheEndpoint) {
  serve([](const HeardRequest&, int) { return status(400); });
  for (int i = 0; i < 5; ++i) expect_failure(ask(), FailureKind::kRequest, "400");
}

class Budgets : public Retries {};

TEST_F(Budgets, LowerTheOutputAndThenRefuse) {
  std::vector<std::string> bodies;
  serve([&](const HeardRequest& request, int) {
    bodies.push_back(request.body);
    return stream_reply("text", 50, 200);
  });
  const std::int64_t input = bound_of(question());
  settings_.token_budget = 250 + input + 400;
  connect(settings_);
  EXPECT_EQ(client_->ask(question()).reply.value().notes.size(), 1U);  // 650 of output at first
  EXPECT_TRUE(bodies[0].contains("\"max_tokens\":650"));
  const Exchange second = client_->ask(question());
  ASSERT_TRUE(second.reply);
  EXPECT_TRUE(bodies[1].contains("\"max_tokens\":400")) << bodies[1];
  const Exchange third = client_->ask(question());
  EXPECT_TRUE(third.reply) << "150 are still above the least";
  EXPECT_TRUE(bodies[2].contains("\"max_tokens\":150"));
  const Exchange fourth = client_->ask(question());
  expect_failure(fourth, FailureKind::kBudget, "the token budget of");
  EXPECT_EQ(fourth.attempts, 0);
  EXPECT_EQ(server_->connections(), 3);
  EXPECT_EQ(to_error(fourth.reply.error()).code, ErrorCode::kRefused);
}

TEST_F(Budgets, AShortQuestionMayUseTheLastOfThem) {
  serve([](const HeardRequest&, int) { return stream_reply("text", 50, 20); });
  Request request = question();
  request.max_output_tokens = 60;  // fewer than the settings' least
  settings_.token_budget = bound_of(request) + 60;
  connect(settings_);
  EXPECT_TRUE(client_->ask(request).reply);
}

TEST_F(Budgets, EveryAttemptHasToFit) {
  fail_first(99, status(500));
  const std::int64_t worst = bound_of(question()) + settings_.max_output_tokens;
  settings_.token_budget = 2 * worst + 99;
  settings_.retries = 9;
  const Exchange exchange = ask();
  expect_failure(exchange, FailureKind::kBudget, "before that: status 500");
  EXPECT_EQ(exchange.attempts, 2);
  EXPECT_EQ(meter_->totals().input_tokens + meter_->totals().output_tokens, 2 * worst);
}

TEST_F(Budgets, ExactFromManyThreads) {
  std::atomic<int> served = 0;
  serve([&](const HeardRequest&, int number) {
    if (number % 5 == 0) return status(503);
    if (number % 7 == 0) return status(500);
    ++served;
    return stream_reply("text", 100, 30);
  });
  settings_.token_budget = 40'000;
  settings_.prices = Prices{1'000'000'000, 3'000'000'000};
  settings_.cost_budget = 60'000'000;
  settings_.retries = 1;
  settings_.concurrency = 8;
  connect(settings_);
  std::mutex mutex;
  Charge sum;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (int round = 0; round < 30; ++round) {
          const Exchange exchange = client_->ask(question());
          std::lock_guard lock(mutex);
          sum.input_tokens += exchange.charge.input_tokens;
          sum.output_tokens += exchange.charge.output_tokens;
          sum.nano_dollars += exchange.charge.nano_dollars;
        }
      });
  }
  const Meter::Totals totals = meter_->totals();
  EXPECT_EQ(totals.input_tokens, sum.input_tokens);
  EXPECT_EQ(totals.output_tokens, sum.output_tokens);
  EXPECT_EQ(totals.nano_dollars, sum.nano_dollars);
  EXPECT_EQ(totals.nano_dollars, totals.input_tokens * 1000 + totals.output_tokens * 3000);
  EXPECT_LE(totals.input_tokens + totals.output_tokens, 40'000);
  EXPECT_LE(totals.nano_dollars, 60'000'000);
  EXPECT_GT(served, 10);
}

}  // namespace
}  // namespace hone::llm
