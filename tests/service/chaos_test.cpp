// Workers, coordinators and the server killed, paused and cut off at random while jobs run: every
// job ends, with the best that it finds undisturbed, and the database is whole.
// HONE_CHAOS_ROUNDS disturbances (default 6) over HONE_CHAOS_JOBS jobs (default 4) of
// HONE_CHAOS_BUDGET evaluations (default 12).
#include <gtest/gtest.h>

#include <SQLiteCpp/SQLiteCpp.h>
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

#include "candidates/task_reader.h"
#include "engine/queue/broker.h"
#include "tests/e2e/process.h"
#include "tests/service/daemon.h"
#include "tests/unit/engine/redis_server.h"

namespace hone {
namespace {

using hone::testing::hone;
using hone::testing::RedisServer;
using hone::testing::RedisServerOptions;
using hone::testing::TemporaryFolder;
using std::chrono::milliseconds;

int number(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : std::atoi(value);
}

std::string budget() { return std::to_string(number("HONE_CHAOS_BUDGET", 12)); }

class Chaos : public ::testing::TestWithParam<RedisServerOptions::Persistence> {
 protected:
  Chaos() : server_({.persistence = GetParam()}) {}

  std::unique_ptr<test::Daemon> worker() {
    return std::make_unique<test::Daemon>(std::vector<std::string>{
        "worker", "--device", "emu:sm_90", "--at-once", "2", "--redis", server_.url_text()});
  }
  std::unique_ptr<test::Daemon> coordinator() {
    return std::make_unique<test::Daemon>(
        std::vector<std::string>{"coordinator", "--db", folder_.file("hone.db"), "--jobs", "3",
                                 "--redis", server_.url_text()});
  }

  RedisServer server_;
  TemporaryFolder folder_;
};

/// What `hone optimize` finds with that seed, and how much it evaluates.
struct Undisturbed {
  std::string recipe;
  std::int64_t evaluated = 0;
};
Undisturbed undisturbed(const std::string& task, int seed, const TemporaryFolder& folder) {
  const auto run =
      hone({"optimize", task, "--device", "emu:sm_90", "--budget", budget(), "--seed",
            std::to_string(seed), "--db", folder.file("alone.db"), "--quiet", "--json", "-"});
  EXPECT_EQ(run.status, 0) << run.err;
  const auto document = run.json();
  Undisturbed out{document["best"]["recipe"].dump(), 0};
  for (const auto& [name, count] : document["counts"].items())
    if (parse_verdict(name) && name != "refused") out.evaluated += count.get<std::int64_t>();
  return out;
}

TEST_P(Chaos, EveryJobEndsAsIfNothingHadHappened) {
  const int rounds = number("HONE_CHAOS_ROUNDS", 6), jobs = number("HONE_CHAOS_JOBS", 4);
  const int seed = number("HONE_CHAOS_SEED", static_cast<int>(std::random_device{}() % 100000));
  std::printf("HONE_CHAOS_SEED=%d\n", seed);
  std::mt19937 random(static_cast<unsigned>(seed));
  const std::string tasks[] = {HONE_SOURCE_DIR "/baselines/vector_add/vector_add.cu",
                               HONE_SOURCE_DIR "/baselines/transpose/transpose.cu",
                               HONE_SOURCE_DIR "/baselines/gelu/gelu.cu"};
  std::map<std::pair<int, int>, Undisturbed> wanted;  // by task and seed: a few different ones
  const auto kind = [&](int job) { return std::pair(job % 3, 1 + job / 3 % 2); };
  for (int job = 0; job < jobs; ++job) {
    const auto [task, own] = kind(job);
    if (!wanted.contains(kind(job))) wanted[kind(job)] = undisturbed(tasks[task], own, folder_);
  }

  std::vector<std::unique_ptr<test::Daemon>> workers, coordinators;
  for (int i = 0; i < 4; ++i) workers.push_back(worker());
  for (int i = 0; i < 2; ++i) coordinators.push_back(coordinator());
  std::vector<std::string> ids;
  for (int job = 0; job < jobs; ++job) {
    const auto [task, own] = kind(job);
    const auto submitted =
        hone({"submit", tasks[task], "--arch", "emu:sm_90", "--budget", budget(), "--seed",
              std::to_string(own), "--redis", server_.url_text(), "--json", "-"});
    ASSERT_EQ(submitted.status, 0) << submitted.err;
    ids.push_back(submitted.json()["job"]);
  }

  std::this_thread::sleep_for(milliseconds(2000));  // a submission younger than that may be lost
  std::map<std::string, int> done;
  for (int round = 0; round < rounds; ++round) {
    std::this_thread::sleep_for(milliseconds(500 + random() % 2500));
    const std::size_t which = random();
    switch (const int what = static_cast<int>(random() % 6)) {
      case 0:
      case 1: {
        auto& victim = workers[which % workers.size()];
        ++done["worker killed"];
        victim->kill();
        victim = worker();
        break;
      }
      case 2: {
        auto& victim = coordinators[which % coordinators.size()];
        ++done["coordinator killed"];
        victim->kill();
        victim = coordinator();
        break;
      }
      case 3:
        ++done["server killed"];
        server_.kill();
        std::this_thread::sleep_for(milliseconds(random() % 1500));
        server_.start();
        break;
      default: {
        const auto pause = milliseconds(1000 + random() % 8000);
        if (what == 4) {
          ++done["server paused"];
          server_.pause();
          std::this_thread::sleep_for(pause);
          server_.resume();
        } else {
          auto& all = which % 3 == 0 ? coordinators : workers;
          auto& victim = all[which % all.size()];
          ++done["process paused"];
          victim->signal(SIGSTOP);
          std::this_thread::sleep_for(pause);
          victim->signal(SIGCONT);
        }
      }
    }
  }
  for (const auto& [what, count] : done) std::printf("  %s: %d\n", what.c_str(), count);

  const auto everything = [&] {
    std::string text;
    for (const auto& daemon : coordinators) text += daemon->log() + "----\n";
    for (const auto& daemon : workers) text += daemon->log() + "----\n";
    return text;
  };
  auto client = RedisClient::open(server_.url(), {});
  ASSERT_TRUE(client) << client.error().message;
  queue::Broker broker(std::shared_ptr<RedisClient>(std::move(*client)), "hone");
  std::map<std::string, queue::JobStatus> ended;
  const auto begin = std::chrono::steady_clock::now();
  while (ended.size() < ids.size() &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(30 + 20 * jobs)) {
    for (const auto& id : ids) {
      const auto status = broker.status(id);
      if (status && status->state >= queue::JobState::kDone) ended[id] = *status;
    }
    std::this_thread::sleep_for(milliseconds(200));
  }
  ASSERT_EQ(ended.size(), ids.size()) << everything();
  const double after =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("  %d jobs, the last ended %.1f s after the last disturbance\n", jobs, after);
  coordinators.clear();
  workers.clear();
  for (int job = 0; job < jobs; ++job) {
    const auto& status = ended[ids[static_cast<std::size_t>(job)]];
    EXPECT_EQ(status.state, queue::JobState::kDone) << status.error;
    ASSERT_EQ(status.archs.size(), 1U);
    const Undisturbed& want = wanted[kind(job)];
    EXPECT_EQ(status.archs[0].counts.evaluated(), want.evaluated) << job;
    const auto shown = hone(
        {"show", status.archs[0].best_candidate, "--db", folder_.file("hone.db"), "--json", "-"});
    ASSERT_EQ(shown.status, 0) << shown.err;
    EXPECT_EQ(shown.json()["recipe"].dump(), want.recipe) << job;
  }
  SQLite::Database database(folder_.file("hone.db"));
  EXPECT_EQ(database.execAndGet("PRAGMA integrity_check").getString(), "ok");
  EXPECT_EQ(database.execAndGet("SELECT COUNT(*) FROM run_results").getInt(), 0);
  EXPECT_EQ(database.execAndGet("SELECT COUNT(*) FROM runs WHERE job <> '' AND ended_at IS NULL")
                .getInt(),
            0);
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
}  // namespace hone
