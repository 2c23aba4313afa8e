// The network goes away without a word, and comes back. Skipped, visibly, where a test may not have
// networks of its own.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/service/daemon.h"
#include "tests/service/jobs.h"
#include "tests/service/network.h"

namespace hone::test {
namespace {

using hone::testing::RedisServer;
using hone::testing::RedisServerOptions;
using hone::testing::TemporaryFolder;
using std::chrono::milliseconds;

RedisServerOptions on_machine(const Network& network, int machine) {
  return {.unix_socket = true,
          .address = Network::address(machine),
          .network = network.machine(machine)};
}

/// A server, two workers and a coordinator, a machine each.
enum Machine { kServer, kWorker, kOtherWorker, kCoordinator, kMachines };

struct Case {
  Machine cut_off;
  int seconds;
};

/// One job is at work and one waits when it happens.
void through_a_cut(const Case& one, const std::vector<TestJob>& jobs,
                   const std::vector<Undisturbed>& wanted) {
  SCOPED_TRACE("machine " + std::to_string(one.cut_off) + " cut off for " +
               std::to_string(one.seconds) + " s");
  std::string why_not;
  const auto network = Network::make(kMachines, why_not);
  ASSERT_TRUE(network) << why_not;
  const RedisServer server(on_machine(*network, kServer));
  const TemporaryFolder folder;
  const auto start = [&](int machine, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--redis", server.url_text()});
    return std::make_unique<Daemon>(arguments, network->machine(machine));
  };
  const std::vector<std::string> worker = {"worker", "--device", "emu:sm_90", "--at-once", "2"};
  auto first = start(kWorker, worker), second = start(kOtherWorker, worker),
       coordinator =
           start(kCoordinator, {"coordinator", "--db", folder.file("hone.db"), "--jobs", "1"});
  std::vector<std::string> ids;
  for (const auto& job : jobs) ids.push_back(submit(job, server.socket_url()));
  ASSERT_TRUE(begun(ids[0], server, 20)) << coordinator->log();

  network->cut(one.cut_off);
  ASSERT_LT(ended(ids, server, 0).size(), ids.size()) << "too late";
  std::this_thread::sleep_for(std::chrono::seconds(one.seconds));
  network->mend(one.cut_off);

  const auto mended = std::chrono::steady_clock::now();
  const auto statuses = ended(ids, server, 60);
  ASSERT_EQ(statuses.size(), ids.size()) << coordinator->log() << "----\n"
                                         << first->log() << "----\n"
                                         << second->log();
  std::printf("  machine %d cut off for %d s: ended %.1f s later\n", one.cut_off, one.seconds,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - mended).count());
  coordinator.reset();
  for (std::size_t i = 0; i < ids.size(); ++i)
    expect_undisturbed(statuses.at(ids[i]), wanted[i], folder.file("hone.db"));
  expect_whole(folder.file("hone.db"));
}

TEST(Cut, EveryJobEndsAsIfNothingHadHappened) {
  std::string why_not;
  if (!Network::make(1, why_not)) GTEST_SKIP() << why_not;
  const std::vector<TestJob> jobs = {{HONE_SOURCE_DIR "/baselines/gelu/gelu.cu"},
                                     {HONE_SOURCE_DIR "/baselines/vector_add/vector_add.cu"}};
  const std::vector<Undisturbed> wanted = {undisturbed(jobs[0]), undisturbed(jobs[1])};
  // Shorter and longer than the leader's lock (5 s) and a worker's silence (10 s); side by side,
  // for it is waiting mostly.
  std::vector<std::jthread> cases;
  for (const Case one : {Case{kServer, 3}, Case{kServer, 7}, Case{kServer, 12}, Case{kWorker, 12}})
    cases.emplace_back([&jobs, &wanted, one] { through_a_cut(one, jobs, wanted); });
}

TEST(Cut, WhatWasGivenUpIsNotCarriedOutLater) {
  std::string why_not;
  const auto network = Network::make(2, why_not);
  if (!network) GTEST_SKIP() << why_not;
  const RedisServer server(on_machine(*network, 0));
  network->on(1, [&] {
    auto connection = server.connect();
    ASSERT_TRUE(connection->command({"SET", "before", "1"}));
    network->cut(0);
    EXPECT_FALSE(connection->command({"SET", "given-up", "1"}, 0.5));
  });
  network->mend(0);
  std::this_thread::sleep_for(milliseconds(1500));  // a kernel would have sent it again by now
  auto url = RedisUrl::parse(server.socket_url(), nullptr);
  ASSERT_TRUE(url);
  auto here = RedisConnection::open(*url, {});
  ASSERT_TRUE(here) << here.error().message;
  EXPECT_FALSE((*here)->command({"GET", "before"})->is_nil());
  EXPECT_TRUE((*here)->command({"GET", "given-up"})->is_nil());
}

TEST(Cut, OneWayToo) {
  std::string why_not;
  const auto network = Network::make(2, why_not);
  if (!network) GTEST_SKIP() << why_not;
  const RedisServer server(on_machine(*network, 0));
  for (const Cut what : {Cut::kBoth, Cut::kSent, Cut::kReceived}) {
    network->on(1, [&] {
      auto connection = server.connect();
      network->cut(0, what);
      EXPECT_FALSE(connection->command({"PING"}, 0.3));
      network->mend(0);
      connection = server.connect();
      EXPECT_TRUE(connection->command({"PING"}, 5));
    });
  }
}

}  // namespace
}  // namespace hone::test
