// The end of a search ends requests, whatever they wait for.
#include <netdb.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "client_fixture.h"

/// libcurl's look-ups come here first: a name server that does not answer.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** out) {
  if (node != nullptr && std::strcmp(node, "slow.example") == 0) {
    std::this_thread::sleep_for(std::chrono::seconds(5));
    return EAI_AGAIN;
  }
  (void)service, (void)hints;
  *out = nullptr;
  return EAI_NONAME;
}

namespace hone::llm {
namespace {

using Steady = std::chrono::steady_clock;
using testing::HeardRequest;
using testing::http_reply;
using testing::ServerPeer;
using testing::stream_head;
using testing::stream_piece;

constexpr Milliseconds kSoon{2000};  // generous: what it waits for would take far longer

class Cancelling : public ClientTest {
 protected:
  /// Asks, and stops once libcurl's own timers of a beginning are over: nothing else wakes it.
  Exchange stopped() {
    std::stop_source source;
    const std::jthread stopper([&] {
      std::this_thread::sleep_for(Milliseconds(400));
      stopped_at_ = Steady::now();
      source.request_stop();
    });
    Exchange exchange = client_->ask(question(), source.get_token());
    EXPECT_LT(Steady::now() - stopped_at_, kSoon);
    return exchange;
  }
  void connect_with_real_clock(ClientOptions options = {}) {
    meter_ = std::make_unique<Meter>(settings_);
    client_ = Client::make(settings_, Key(), *meter_, options).value();
  }
  Steady::time_point stopped_at_;
};

TEST_F(Cancelling, WhileItStreams) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request()) return;
    peer.send(stream_head() + stream_piece("a"));
    peer.wait_until_closed();
  });
  connect_with_real_clock();
  const Exchange exchange = stopped();
  expect_failure(exchange, FailureKind::kCancelled, "cancelled");
  expect_worst_case(exchange);
  EXPECT_EQ(to_error(exchange.reply.error()).code, ErrorCode::kRefused);
}

TEST_F(Cancelling, BeforeTheFirstByte) {
  serve_script([](ServerPeer& peer) {
    if (peer.request()) peer.wait_until_closed();
  });
  connect_with_real_clock();
  const Exchange exchange = stopped();
  expect_failure(exchange, FailureKind::kCancelled, "cancelled");
  EXPECT_EQ(exchange.attempts, 1);
}

TEST_F(Cancelling, BetweenAttempts) {
  serve([](const HeardRequest&, int) {
    return http_reply(429, "text/plain", "", "Retry-After: 15\r\n");
  });
  connect_with_real_clock();
  const Exchange exchange = stopped();
  expect_failure(exchange, FailureKind::kCancelled, "cancelled");
  expect_free(exchange);
}

TEST_F(Cancelling, WaitingForATurn) {
  serve_script([](ServerPeer& peer) {
    if (peer.request()) peer.wait_until_closed();
  });
  settings_.concurrency = 1;
  connect_with_real_clock();
  std::stop_source first;
  std::jthread other([&] { (void)client_->ask(question(), first.get_token()); });
  while (server_->connections() == 0) std::this_thread::sleep_for(Milliseconds(5));
  const Exchange exchange = stopped();
  expect_failure(exchange, FailureKind::kCancelled, "cancelled");
  EXPECT_EQ(exchange.attempts, 0);
  first.request_stop();
  other.join();
  EXPECT_EQ(server_->connections(), 1);
}

// Each waits for its turn as long as a reply may take, and no longer.
TEST_F(Cancelling, NobodyWaitsForATurnWithoutEnd) {
  serve_script([](ServerPeer& peer) {
    if (peer.request()) peer.wait_until_closed();
  });
  settings_.concurrency = 1;
  settings_.retries = 0;
  settings_.total_timeout = Milliseconds(500);
  connect_with_real_clock();
  std::atomic<int> without_turn = 0;
  std::vector<std::jthread> others;
  for (int i = 0; i < 4; ++i)
    others.emplace_back([&] {
      const Exchange exchange = client_->ask(question());
      if (exchange.attempts > 0) return;
      expect_failure(exchange, FailureKind::kTrouble, "no turn in 500 ms");
      expect_free(exchange);
      ++without_turn;
    });
  others.clear();
  EXPECT_GE(without_turn, 1);
  EXPECT_EQ(client_->down_for(), Milliseconds(0));
}

TEST_F(Cancelling, BeforeItBegan) {
  serve([](const HeardRequest&, int) { return ""; });
  connect_with_real_clock();
  std::stop_source source;
  source.request_stop();
  expect_failure(client_->ask(question(), source.get_token()), FailureKind::kCancelled, "");
  EXPECT_EQ(server_->connections(), 0);
}

TEST_F(Cancelling, WhileANameIsLookedUp) {
  settings_.url = "https://slow.example/v1";
  settings_.model = "m";
  settings_.proxy = "none";
  connect_with_real_clock();
  const Exchange exchange = stopped();
  expect_failure(exchange, FailureKind::kCancelled, "cancelled");
  expect_free(exchange);
}

TEST_F(Cancelling, AnUnknownNameIsFree) {
  settings_.url = "https://nowhere.example/v1";
  settings_.model = "m";
  settings_.proxy = "none";
  settings_.retries = 1;
  connect(settings_);
  const Exchange exchange = ask();
  expect_failure(exchange, FailureKind::kTrouble, "resolve host");
  EXPECT_EQ(exchange.attempts, 2);
  expect_free(exchange);
}

TEST_F(Cancelling, SaysNothingOfTheEndpoint) {
  serve_script([](ServerPeer& peer) {
    if (peer.request()) peer.wait_until_closed();
  });
  connect_with_real_clock({.failures_until_down = 1});
  for (int i = 0; i < 2; ++i) expect_failure(stopped(), FailureKind::kCancelled, "cancelled");
}

}  // namespace
}  // namespace hone::llm
