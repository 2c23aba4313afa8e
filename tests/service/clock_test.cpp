// Machines whose clocks are hours apart: what others compare or show is by the server's clock.
#ifndef CPPHTTPLIB_OPENSSL_SUPPORT  // as Debian's library was made
#define CPPHTTPLIB_OPENSSL_SUPPORT
#endif
#include <gtest/gtest.h>
#include <httplib.h>

#include <cstdlib>

#include "engine/queue/lead.h"
#include "engine/queue/messages_worker.h"
#include "engine/web/server.h"
#include "tests/e2e/process.h"
#include "tests/service/coordinator_fixture.h"

namespace hone::test {
namespace {

constexpr std::int64_t kAhead_ms = -5LL * 3600 * 1000;

/// What is started while it exists has another clock.
class OtherClock {
 public:
  OtherClock() {
    setenv("LD_PRELOAD", HONE_BIN_DIR "/../fakes/libother_clock.so", 1);
    setenv("HONE_TEST_CLOCK_AHEAD_S", std::to_string(kAhead_ms / 1000).c_str(), 1);
  }
  void end() {
    unsetenv("LD_PRELOAD");
    unsetenv("HONE_TEST_CLOCK_AHEAD_S");
  }
};

/// The server is five hours behind all others.
class Clocks : private OtherClock, public CoordinatorTest {
 protected:
  Clocks() { OtherClock::end(); }
  static void expect_servers(std::int64_t time_ms) {
    EXPECT_NEAR(static_cast<double>(time_ms - queue::unix_ms()), kAhead_ms, 120e3);
  }
};

TEST_F(Clocks, AJobsTimesAreTheServersFromItsSubmissionToItsEnd) {
  queue::JobMessage message = job("a");
  message.submitted_at = broker_->now_ms();
  ASSERT_TRUE(broker_->submit(message));
  expect_servers(broker_->row("a")->submitted_at);
  expect_servers(broker_->status("a")->updated_at);
  const Worker worker(*this, "one");
  const Coordinator coordinator(*this, *store_);
  const auto ended = wait_for("a");
  EXPECT_EQ(ended.state, queue::JobState::kDone);
  expect_servers(ended.updated_at);
  ASSERT_TRUE(broker_->submit(job("b", 4)));
  ASSERT_TRUE(broker_->cancel("b"));
  expect_servers(wait_for("b").updated_at);
  const auto workers = broker_->workers();
  ASSERT_TRUE(workers && workers->size() == 1U);
  expect_servers(workers->front().started_at);
  auto reply = broker_->redis().call({"ZSCORE", broker_->keys().workers(), "one"});
  ASSERT_TRUE(reply);
  expect_servers(std::atoll(std::string(*reply->as_string()).c_str()));
}

TEST_F(Clocks, PagesSayHowLongAgoByTheServersClock) {
  ASSERT_TRUE(broker_->submit(job("a")));
  const Worker worker(*this, "one");
  web::ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.database = path_;
  options.broker = broker_.get();
  options.rewriting = &rewriting_;
  const auto server = web::Server::open(options);
  ASSERT_TRUE(server) << server.error().message;
  std::string url = (*server)->url();
  url.pop_back();  // its slash
  httplib::Client client(url);
  for (const char* page : {"/jobs", "/jobs/a", "/workers"}) {
    auto shown = client.Get(page);
    // The worker says that it is there in a thread of its own.
    for (int i = 0; i < 200 && shown && !shown->body.contains(" s ago</time>"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      shown = client.Get(page);
    }
    ASSERT_TRUE(shown) << page;
    EXPECT_NE(shown->body.find(" s ago</time>"), std::string::npos) << page << "\n" << shown->body;
  }
}

TEST_F(Clocks, ADeadLettersTimeIsTheServers) {
  queue::Lead lead(*broker_);
  ASSERT_TRUE(*lead.take(0));
  queue::DeadLetter letter;
  ASSERT_TRUE(lead.give("emu:sm_90", {{"a.1.1.1", "no work message"}}));
  const Worker worker(*this, "one");
  for (int i = 0; i < 200; ++i) {
    const auto letters = broker_->dead(10);
    if (letters && !letters->empty()) {
      letter = letters->front();
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(letter.id, "a.1.1.1");
  expect_servers(letter.at);
}

}  // namespace
}  // namespace hone::test
