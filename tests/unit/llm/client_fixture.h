// A client before a scripted server, with a clock that only sleeps where the test says so.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rewriters/llm/client/client.h"
#include "scripted_server.h"

namespace hone::llm {

/// Its waits take no time, but it is later afterwards.
class FakeClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override {
    std::lock_guard lock(mutex_);
    return now_;
  }
  [[nodiscard]] Date date() const override { return date_; }
  bool sleep(Milliseconds time, const std::stop_token& stopping) override {
    std::lock_guard lock(mutex_);
    now_ += time;
    sleeps_.push_back(time);
    return !stopping.stop_requested();
  }
  void pass(Milliseconds time) {
    std::lock_guard lock(mutex_);
    now_ += time;
  }
  void set_date(Date date) { date_ = date; }
  [[nodiscard]] std::vector<Milliseconds> sleeps() const {
    std::lock_guard lock(mutex_);
    return sleeps_;
  }

 private:
  mutable std::mutex mutex_;
  Time now_{};
  Date date_{};
  std::vector<Milliseconds> sleeps_;
};

inline constexpr std::string_view kTestKey = "sk-test-0123456789abcdef";

inline Settings settings_for(const testing::ScriptedServer& server) {
  Settings settings;
  settings.url = server.url();
  settings.model = "scripted";
  settings.connect_timeout = settings.idle_timeout = settings.total_timeout = Milliseconds(20'000);
  settings.max_output_tokens = 1000;
  settings.least_output_tokens = 100;
  return settings;
}

inline Request question(std::string text = "why is it fast?") {
  return {.messages = {{Role::kSystem, "be brief"}, {Role::kUser, std::move(text)}}};
}

/// What question() is reserved with: 256, 16 for each message, and the bytes.
inline std::int64_t bound_of(const Request& request) { return input_token_bound(request); }

class ClientTest : public ::testing::Test {
 protected:
  /// With kTestKey, this->clock_ and this->meter_.
  void connect(const Settings& settings, Recorder* recorder = nullptr) {
    meter_ = std::make_unique<Meter>(settings);
    ClientOptions options;
    options.clock = &clock_;
    options.recorder = recorder;
    auto key = Key::from_text(kTestKey, "the test");
    ASSERT_TRUE(key);
    auto made = Client::make(settings, std::move(*key), *meter_, options);
    ASSERT_TRUE(made) << made.error().message;
    client_ = std::move(*made);
  }

  /// Against a server that reads one request on each connection and sends what `answer` says.
  void serve(testing::ScriptedServer::Answer answer) {
    serve_script(testing::ScriptedServer::answering(std::move(answer)));
  }
  void serve_script(testing::ScriptedServer::Script script) {
    server_ = std::make_unique<testing::ScriptedServer>(std::move(script));
    settings_ = settings_for(*server_);
  }

  Exchange ask() {
    if (!client_) connect(settings_);
    return client_->ask(question());
  }

  /// That the exchange failed so, with these words, and without the key.
  static void expect_failure(const Exchange& exchange, FailureKind kind, std::string_view words) {
    ASSERT_FALSE(exchange.reply.has_value()) << exchange.reply->text;
    const Failure& failure = exchange.reply.error();
    EXPECT_STREQ(kind_name(failure.kind), kind_name(kind)) << failure.message;
    EXPECT_TRUE(failure.message.contains(words)) << failure.message;
    EXPECT_FALSE(failure.message.contains(kTestKey)) << failure.message;
    EXPECT_FALSE(failure.message.contains('\n')) << failure.message;
  }
  /// What a failed attempt of unknown price counts.
  void expect_worst_case(const Exchange& exchange, int attempts = 1) const {
    EXPECT_EQ(exchange.charge.input_tokens, attempts * bound_of(question()));
    EXPECT_EQ(exchange.charge.output_tokens, attempts * settings_.max_output_tokens);
  }
  static void expect_free(const Exchange& exchange) {
    EXPECT_EQ(exchange.charge.input_tokens, 0);
    EXPECT_EQ(exchange.charge.output_tokens, 0);
  }

  void TearDown() override {
    server_.reset();  // before what a derived fixture's script uses
    if (!meter_) return;
    EXPECT_EQ(meter_->totals().reserved_tokens, 0);
    EXPECT_EQ(meter_->totals().reserved_nano_dollars, 0);
  }

  FakeClock clock_;
  Settings settings_;
  std::unique_ptr<testing::ScriptedServer> server_;
  std::unique_ptr<Meter> meter_;
  std::unique_ptr<Client> client_;
};

}  // namespace hone::llm
