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
  TestJob job;
};

void through_a_cut(const Case& one, const Undisturbed& want) {
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
       coordinator = start(kCoordinator, {"coordinator", "--db", folder.file("hone.db")});
  const std::string id = submit(one.job, server.socket_url());
  ASSERT_NE(id, "");
  ASSERT_TRUE(searching(id, server, 20)) << coordinator->log();

  network->cut(one.cut_off);
  std::this_thread::sleep_for(std::chrono::seconds(one.seconds));
  ASSERT_TRUE(ended({id}, server, 0).empty() || one.cut_off != kServer) << "too early";
  network->mend(one.cut_off);

  const auto begin = std::chrono::steady_clock::now();
  const auto statuses = ended({id}, server, 30);
  std::printf("  machine %d cut off for %d s: the job ended %.1f s later\n", one.cut_off, one.seconds,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  ASSERT_TRUE(statuses.contains(id)) << coordinator->log() << "----\n"
                                     << first->log() << "----\n"
                                     << second->log();
  const std::string coordinator_log = coordinator->log();
  coordinator.reset();
  expect_undisturbed(statuses.at(id), want, folder.file("hone.db"));
  expect_whole(folder.file("hone.db"));
  if (std::getenv("DBG")) std::printf("%s----\n%s-----\n%s=====\n", coordinator_log.c_str(), first->log().c_str(), second->log().c_str());
}

TEST(Cut, EveryJobEndsAsIfNothingHadHappened) {
  std::string why_not;
  if (!Network::make(1, why_not)) GTEST_SKIP() << why_not;
  const TestJob job{HONE_SOURCE_DIR "/baselines/transpose/transpose.cu", 24, 1};
  const Undisturbed want = undisturbed(job);
  // Shorter and longer than the leader's lock (5 s) and a worker's silence (10 s); side by side,
  // for it is waiting mostly.
  std::vector<std::jthread> cases;
  for (const Case& one : {Case{kServer, 3, job}, Case{kServer, 7, job}, Case{kServer, 12, job},
                          Case{kWorker, 12, job}})
    cases.emplace_back([one, want] { through_a_cut(one, want); });
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
