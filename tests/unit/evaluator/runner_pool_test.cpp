// Processes that answer nothing: how long they may take, and how a request is ended.
#include "evaluator/pool/runner_pool.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>

#include "evaluator/protocol/channel.h"

namespace hone::pool {
namespace {

using Clock = std::chrono::steady_clock;
using Status = Outcome::Status;

class SilentRunners : public testing::Test {
 protected:
  void SetUp() override {
    options_.runner_path = testing::TempDir() + "/silent_runner_" + std::to_string(getpid());
    options_.sandbox = sandbox::Mode::kOff;  // there is no shell inside
    static_assert(protocol::kVersion < 24);  // one byte
    std::ofstream(options_.runner_path) << fmt::format(
        "#!/bin/bash\nprintf 'HON2\\x08\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\xa1\\x65hello\\x{:02x}' "
        ">&3\nexec sleep 600\n",
        protocol::kVersion);
    chmod(options_.runner_path.c_str(), 0755);
  }
  void TearDown() override { unlink(options_.runner_path.c_str()); }

  static void wait_for_processes(const RunnerPool& pool, std::size_t count) {
    while (pool.pids().size() < count) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  EvaluatorOptions options_;
};

TEST_F(SilentRunners, WaitingForAProcessIsNoPartOfTheTimeOfARequest) {
  RunnerPool pool("emulate", 1, options_);
  Outcome first;
  Clock::time_point first_has_one, second_has_one;
  std::jthread asking([&] {
    first = pool.call({{"op", "first"}}, [&] {
      first_has_one = Clock::now();
      return 1.0;
    });
  });
  wait_for_processes(pool, 1);
  const Outcome second = pool.call({{"op", "second"}}, [&] {
    second_has_one = Clock::now();
    return 0.1;
  });
  asking.join();
  EXPECT_EQ(first.status, Status::kTimeout);
  EXPECT_EQ(second.status, Status::kTimeout);
  EXPECT_GE(second_has_one - first_has_one, std::chrono::milliseconds(900));
  EXPECT_GE(first.worked_s, 0.9);
  EXPECT_GE(second.worked_s, 0.09);
  EXPECT_LT(second.worked_s, first.worked_s);
}

TEST_F(SilentRunners, ARequestThatIsToStopEndsAlone) {
  RunnerPool pool("emulate", 2, options_);
  Outcome stopped, waiting, other;
  std::stop_source stop, stop_waiting;
  const auto ask = [&](Outcome& outcome, double limit_s, const std::stop_token& stopping = {}) {
    return std::jthread([&pool, &outcome, limit_s, stopping] {
      outcome = pool.call({{"op", "none"}}, limit_s, kUsualTurn, stopping);
    });
  };
  auto first = ask(stopped, 300, stop.get_token());
  auto second = ask(other, 300);
  wait_for_processes(pool, 2);
  auto third = ask(waiting, 300, stop_waiting.get_token());
  const auto begin = Clock::now();
  stop_waiting.request_stop();
  third.join();
  EXPECT_EQ(waiting.status, Status::kCancelled);
  EXPECT_EQ(pool.pids().size(), 2U);
  stop.request_stop();
  first.join();
  EXPECT_EQ(stopped.status, Status::kCancelled);
  EXPECT_EQ(pool.pids().size(), 1U);
  // Its place is free again.
  EXPECT_EQ(pool.call({{"op", "none"}}, 0.1).status, Status::kTimeout);
  EXPECT_EQ(pool.call({{"op", "none"}}, 300, kUsualTurn, stop.get_token()).status,
            Status::kCancelled);
  EXPECT_EQ(pool.pids().size(), 1U) << "the other request's process";
  pool.cancel();
  second.join();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(60));
}

}  // namespace
}  // namespace hone::pool
