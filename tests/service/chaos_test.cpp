// Workers, coordinators and the server killed, paused and cut off at random while jobs run, the
// server started again without what it held, and the database's disk filled: every job ends, with
// the best that it finds undisturbed, and the database is whole.
// HONE_CHAOS_ROUNDS disturbances (default 6) over HONE_CHAOS_JOBS jobs (default 4) of
// HONE_CHAOS_BUDGET evaluations (default 12). Where the network cannot be cut, or there can be no
// small disk, it says so.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/service/daemon.h"
#include "tests/service/jobs.h"
#include "tests/service/network.h"
#include "tests/service/small_disk.h"

namespace hone::test {
namespace {

using hone::testing::RedisServer;
using hone::testing::RedisServerOptions;
using hone::testing::TemporaryFolder;
using std::chrono::milliseconds;

constexpr int kWorkers = 4, kCoordinators = 2;

int number(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : std::atoi(value);
}

/// One machine each: the server's is 0, then the workers', then the coordinators'.
class Chaos : public ::testing::TestWithParam<RedisServerOptions::Persistence> {
 protected:
  Chaos()
      : disk_(SmallDisk::make(64 << 20, why_no_disk_)),
        network_(Network::make(1 + kWorkers + kCoordinators, why_not_)),
        server_(server_options()) {
    if (!network_) std::printf("NO CUTS OF THE NETWORK HERE: %s\n", why_not_.c_str());
    if (!disk_) std::printf("NO FULL DISKS HERE: %s\n", why_no_disk_.c_str());
    for (int i = 0; i < kWorkers; ++i) workers_.push_back(worker(i));
    for (int i = 0; i < kCoordinators; ++i) coordinators_.push_back(coordinator(i));
  }

  [[nodiscard]] RedisServerOptions server_options() const {
    RedisServerOptions options{.persistence = GetParam(), .unix_socket = true};
    if (network_) {
      options.address = Network::address(0);
      options.network = network_->machine(0);
    }
    return options;
  }
  std::unique_ptr<Daemon> start(int machine, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--redis", server_.url_text()});
    return std::make_unique<Daemon>(arguments, network_ ? network_->machine(machine) : -1);
  }
  std::unique_ptr<Daemon> worker(int i) {
    return start(1 + i, {"worker", "--device", "emu:sm_90", "--at-once", "2"});
  }
  std::unique_ptr<Daemon> coordinator(int i) {
    return start(1 + kWorkers + i, {"coordinator", "--db", database(), "--jobs", "3"});
  }
  [[nodiscard]] std::string database() const {
    return disk_ ? (disk_->path() / "hone.db").string() : folder_.file("hone.db");
  }
  [[nodiscard]] std::string everything() const {
    std::string text;
    for (const auto* all : {&coordinators_, &workers_})
      for (const auto& daemon : *all) text += daemon->log() + "----\n";
    return text;
  }

  std::string disturb(std::mt19937& random);
  void cut(int machine, std::mt19937& random);
  void forget();

  std::vector<std::string> ids_;
  std::map<std::string, queue::JobStatus> ended_;  ///< of which the server may have forgotten
  std::string why_not_, why_no_disk_;
  std::unique_ptr<SmallDisk> disk_;  ///< before all processes, which are to see it
  std::unique_ptr<Network> network_;
  RedisServer server_;
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<Daemon>> workers_, coordinators_;
};

milliseconds a_while(std::mt19937& random) { return milliseconds(1000 + random() % 8000); }

void Chaos::cut(int machine, std::mt19937& random) {
  constexpr Cut kCuts[] = {Cut::kBoth, Cut::kBoth, Cut::kSent, Cut::kReceived};
  network_->cut(machine, kCuts[random() % std::size(kCuts)]);
  std::this_thread::sleep_for(a_while(random));
  network_->mend(machine);
}

/// The server loses all. What has ended is noted before, while nobody can end anything.
void Chaos::forget() {
  for (const auto& each : coordinators_) each->signal(SIGSTOP);
  ended_.merge(ended(ids_, server_, 0));
  server_.restart_empty();
  for (const auto& each : coordinators_) each->signal(SIGCONT);
}

/// What it did.
std::string Chaos::disturb(std::mt19937& random) {
  const auto which = static_cast<int>(random() % 1'000'000);
  switch (random() % (network_ ? 10 : 8)) {
    case 0:
    case 1: {
      const int i = which % kWorkers;
      auto& victim = workers_[static_cast<std::size_t>(i)];
      victim->kill();
      victim = worker(i);
      return "worker killed";
    }
    case 2: {
      const int i = which % kCoordinators;
      auto& victim = coordinators_[static_cast<std::size_t>(i)];
      victim->kill();
      victim = coordinator(i);
      return "coordinator killed";
    }
    case 3:
      server_.kill();
      std::this_thread::sleep_for(milliseconds(random() % 1500));
      server_.start();
      return "server killed";
    case 4:
      server_.pause();
      std::this_thread::sleep_for(a_while(random));
      server_.resume();
      return "server paused";
    case 5: {
      const auto& all = which % 3 == 0 ? coordinators_ : workers_;
      const auto& victim = all[static_cast<std::size_t>(which) % all.size()];
      victim->signal(SIGSTOP);
      std::this_thread::sleep_for(a_while(random));
      victim->signal(SIGCONT);
      return "process paused";
    }
    case 6:
      forget();
      return "server forgot all";
    case 7:
      if (!disk_) return "nothing: there is no small disk";
      disk_->fill();
      std::this_thread::sleep_for(a_while(random));
      disk_->free();
      return "disk full";
    case 8:
      cut(0, random);
      return "server cut off";
    default:
      cut(1 + which % (kWorkers + kCoordinators), random);
      return "machine cut off";
  }
}

TEST_P(Chaos, EveryJobEndsAsIfNothingHadHappened) {
  const int rounds = number("HONE_CHAOS_ROUNDS", 6), count = number("HONE_CHAOS_JOBS", 4);
  const int seed = number("HONE_CHAOS_SEED", static_cast<int>(std::random_device{}() % 100000));
  std::printf("HONE_CHAOS_SEED=%d\n", seed);
  std::mt19937 random(static_cast<unsigned>(seed));
  const std::string tasks[] = {HONE_SOURCE_DIR "/baselines/vector_add/vector_add.cu",
                               HONE_SOURCE_DIR "/baselines/transpose/transpose.cu",
                               HONE_SOURCE_DIR "/baselines/gelu/gelu.cu"};
  std::map<std::pair<int, int>, Undisturbed> wanted;  // by task and seed: a few different ones
  const auto kind = [&](int job) { return std::pair(job % 3, 1 + job / 3 % 2); };
  const auto job_of = [&](int job) {
    return TestJob{tasks[kind(job).first], number("HONE_CHAOS_BUDGET", 12), kind(job).second};
  };
  for (int job = 0; job < count; ++job)
    if (!wanted.contains(kind(job))) wanted[kind(job)] = undisturbed(job_of(job));

  for (int job = 0; job < count; ++job) {
    ids_.push_back(submit(job_of(job), server_.socket_url()));
    ASSERT_NE(ids_.back(), "");
  }

  std::this_thread::sleep_for(milliseconds(2000));  // a submission younger than that may be lost
  std::map<std::string, int> done;
  for (int round = 0; round < rounds; ++round) {
    std::this_thread::sleep_for(milliseconds(500 + random() % 2500));
    ++done[disturb(random)];
  }
  for (const auto& [what, times] : done) std::printf("  %s: %d\n", what.c_str(), times);

  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::string> open;
  for (const std::string& id : ids_)
    if (!ended_.contains(id)) open.push_back(id);
  auto statuses = ended(open, server_, 30 + 20 * count);
  statuses.merge(ended_);
  ASSERT_EQ(statuses.size(), ids_.size()) << everything();
  const double after =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("  %d jobs, the last ended %.1f s after the last disturbance\n", count, after);
  coordinators_.clear();
  workers_.clear();
  for (int job = 0; job < count; ++job) {
    SCOPED_TRACE(job);
    expect_undisturbed(statuses.at(ids_[static_cast<std::size_t>(job)]), wanted[kind(job)],
                       database());
  }
  expect_whole(database());
}

INSTANTIATE_TEST_SUITE_P(All, Chaos,
                         ::testing::Values(RedisServerOptions::Persistence::kEverySecond,
                                           RedisServerOptions::Persistence::kAlways),
                         [](const auto& info) {
                           return std::string(info.param == RedisServerOptions::Persistence::kAlways
                                                  ? "AofAlways"
                                                  : "AofEverySecond");
                         });

}  // namespace
}  // namespace hone::test
