// A database that cannot be written for a while, on a real file system: jobs wait, none fails, and
// all end as undisturbed.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <optional>

#include "engine/service/metrics.h"
#include "tests/service/coordinator_fixture.h"
#include "tests/service/daemon.h"
#include "tests/service/jobs.h"
#include "tests/service/small_disk.h"

namespace hone::test {
namespace {

using std::chrono::milliseconds;

class DatabaseFaults : public CoordinatorTest {
 protected:
  void SetUp() override {
    disk_ = SmallDisk::make(8 << 20, why_not_);
    if (!disk_) GTEST_SKIP() << "no small file system here: " << why_not_;
    CoordinatorTest::SetUp();
    StoreOptions options;
    options.busy_timeout_ms = 3000;  // as a service has it, it waits
    auto store = Store::open(disk_->path() / "hone.db", options);
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
  }
  [[nodiscard]] int times_logged(const std::string& text) {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::ranges::count_if(
        lines_, [&](const std::string& line) { return line.find(text) != line.npos; }));
  }
  template <class Condition>
  [[nodiscard]] static bool within(double seconds, const Condition& condition) {
    for (int i = 0; i < 50 * seconds; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return condition();
  }
  [[nodiscard]] bool has_begun(const std::string& id) {
    return within(20, [&] {
      const auto status = broker_->status(id);
      return status && !status->archs.empty() && status->archs[0].counts.evaluated() >= 5;
    });
  }
  [[nodiscard]] bool is_said(const std::string& trouble) {
    return within(10, [&] { return broker_->trouble().value_or("?") == trouble; });
  }
  /// Neither failed, done nor cancelled.
  void expect_open(const std::string& id) {
    const auto status = broker_->status(id);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_LT(status->state, queue::JobState::kDone) << status->error;
  }

  /// The job "a", which has begun and has something left to be stored: its worker holds what it
  /// would answer in the final stage.
  struct HeldJob {
    explicit HeldJob(DatabaseFaults& test) : worker(test, "one") {
      worker.evaluator.hold_finals_ = true;
      coordinator.emplace(test, *test.store_, 2, nullptr, &test.metrics_);
      EXPECT_TRUE(test.broker_->submit(test.job("a")));
      EXPECT_TRUE(test.has_begun("a"));
    }
    void let_go() { worker.evaluator.hold_finals_ = false; }

    Worker worker;
    std::optional<Coordinator> coordinator;
  };

  std::string why_not_;
  std::unique_ptr<SmallDisk> disk_;
  Metrics metrics_;
};

TEST_F(DatabaseFaults, AFullDiskHoldsJobsUpAndFailsNone) {
  HeldJob held(*this);
  ASSERT_TRUE(broker_->submit(job("b", 4)));
  EXPECT_NE(metrics_.page().find("hone_database_writable 1\n"), std::string::npos);
  disk_->fill();
  held.let_go();
  ASSERT_TRUE(is_said("database full"));
  ASSERT_TRUE(broker_->submit(job("c", 5)));
  ASSERT_TRUE(broker_->submit(job("d", 6)));
  std::this_thread::sleep_for(milliseconds(2500));
  for (const char* id : {"a", "b", "c", "d"}) expect_open(id);
  EXPECT_EQ(broker_->status("c")->state, queue::JobState::kQueued);
  EXPECT_EQ(broker_->status("d")->state, queue::JobState::kQueued);
  EXPECT_NE(metrics_.page().find("hone_database_writable 0\n"), std::string::npos);
  EXPECT_EQ(metrics_.page().find("hone_database_errors_total{fault=\"full\"} 0\n"),
            std::string::npos);
  disk_->free();
  expect_as_alone(wait_for("a"));
  expect_as_alone(wait_for("b"), 4);
  expect_as_alone(wait_for("c"), 5);
  expect_as_alone(wait_for("d"), 6);
  EXPECT_TRUE(is_said(""));
  EXPECT_NE(metrics_.page().find("hone_database_writable 1\n"), std::string::npos);
  EXPECT_EQ(times_logged("jobs wait, for the database cannot be written"), 1);
  EXPECT_EQ(times_logged((disk_->path() / "hone.db").string() + ": no space is left"), 1);
  EXPECT_EQ(times_logged("the database can be written again"), 1);
}

TEST_F(DatabaseFaults, WhatIsSubmittedWhileTheDiskIsFullIsAdmittedLater) {
  const Worker worker(*this, "one");
  const Coordinator coordinator(*this, *store_);
  ASSERT_TRUE(within(10, [&] { return logged("leading, term"); }));
  disk_->fill();
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(broker_->submit(job("job-" + std::to_string(i), static_cast<std::uint64_t>(i))));
  ASSERT_TRUE(is_said("database full"));
  std::this_thread::sleep_for(milliseconds(1500));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(broker_->status("job-" + std::to_string(i))->state, queue::JobState::kQueued);
  disk_->free();
  for (int i = 0; i < 4; ++i)
    expect_as_alone(wait_for("job-" + std::to_string(i)), static_cast<std::uint64_t>(i));
  EXPECT_EQ(times_logged("jobs wait, for the database cannot be written"), 1);
}

TEST_F(DatabaseFaults, ALeaderThatEndsMeanwhileLeavesItsJobsToTheNext) {
  HeldJob held(*this);
  disk_->fill();
  held.let_go();
  ASSERT_TRUE(is_said("database full"));
  held.coordinator.reset();
  expect_open("a");
  const Coordinator second(*this, *store_);
  std::this_thread::sleep_for(milliseconds(1000));
  expect_open("a");
  disk_->free();
  expect_as_alone(wait_for("a"));
}

TEST_F(DatabaseFaults, ALockOfAnotherProcessHoldsJobsUp) {
  HeldJob held(*this);
  {
    SQLite::Database other((disk_->path() / "hone.db").string(), SQLite::OPEN_READWRITE, 5000);
    const SQLite::Transaction lock(other, SQLite::TransactionBehavior::IMMEDIATE);
    held.let_go();
    ASSERT_TRUE(is_said("database locked"));
    ASSERT_TRUE(broker_->submit(job("b", 4)));
    std::this_thread::sleep_for(milliseconds(1500));
    expect_open("a");
    expect_open("b");
    // Who waits for the lock does not keep the coordinator's own thread from its work.
    EXPECT_TRUE(broker_->cancel("b").value_or(false));
    EXPECT_TRUE(within(5, [&] {
      const auto status = broker_->status("b");
      return status && status->state == queue::JobState::kCancelled;
    }));
  }
  expect_as_alone(wait_for("a"));
  EXPECT_EQ(times_logged("locked by another process"), 1);
}

/// The system's own error of writing (EFBIG), by a limit on this process's files.
TEST_F(DatabaseFaults, AnErrorOfWritingHoldsJobsUp) {
  HeldJob held(*this);
  const auto earlier = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  held.let_go();
  EXPECT_TRUE(is_said("database failing"));
  ASSERT_TRUE(broker_->submit(job("b", 4)));
  std::this_thread::sleep_for(milliseconds(1500));
  expect_open("a");
  expect_open("b");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  expect_as_alone(wait_for("a"));
  expect_as_alone(wait_for("b"), 4);
  ::signal(SIGXFSZ, earlier);
}

TEST_F(DatabaseFaults, CancellingAJobThatWaitsForTheDatabase) {
  const Worker worker(*this, "one");
  const Coordinator coordinator(*this, *store_);
  ASSERT_TRUE(within(10, [&] { return logged("leading, term"); }));
  disk_->fill();
  ASSERT_TRUE(broker_->submit(job("a")));
  ASSERT_TRUE(is_said("database full"));
  ASSERT_TRUE(broker_->cancel("a"));
  EXPECT_EQ(wait_for("a", 10).state, queue::JobState::kCancelled);
  disk_->free();
  ASSERT_TRUE(broker_->submit(job("b", 4)));
  expect_as_alone(wait_for("b"), 4);
  EXPECT_TRUE(store_->kept_jobs()->empty());
}

TEST_F(DatabaseFaults, CancellingAJobThatRunsTakesItFromTheWorkersAtOnce) {
  Worker worker(*this, "one");
  worker.evaluator.slow_ = milliseconds(20);
  const Coordinator coordinator(*this, *store_, 2, nullptr, &metrics_);
  auto endless = job("a");
  endless.search.budget.evaluations = 1'000'000;
  ASSERT_TRUE(broker_->submit(endless));
  ASSERT_TRUE(has_begun("a"));
  disk_->fill();
  ASSERT_TRUE(is_said("database full"));
  ASSERT_TRUE(broker_->cancel("a"));
  EXPECT_EQ(wait_for("a", 5).state, queue::JobState::kCancelled);
  EXPECT_TRUE(within(2, [&] { return times_logged("cancelled") == 1; }));
  EXPECT_TRUE(within(2, [&] {
    const auto open = broker_->redis().call({"HLEN", broker_->keys().open()});
    return open && open->as_integer().value_or(-1) == 0;
  }));
  std::this_thread::sleep_for(milliseconds(500));  // what it was at
  const int answered = worker.evaluator.answered_;
  std::this_thread::sleep_for(milliseconds(1000));
  EXPECT_EQ(worker.evaluator.answered_, answered);
  EXPECT_EQ(broker_->trouble().value_or("?"), "database full");
  EXPECT_EQ(broker_->status("a")->state, queue::JobState::kCancelled);
  EXPECT_NE(metrics_.page().find("hone_jobs_ended_total{state=\"cancelled\"} 1"), std::string::npos)
      << metrics_.page();
  disk_->free();
  ASSERT_TRUE(broker_->submit(job("b", 4)));
  expect_as_alone(wait_for("b"), 4);
  // The database has heard of it by then.
  EXPECT_TRUE(within(5, [&] { return store_->kept_jobs()->empty(); }));
  const auto runs = store_->runs({.job = "a"});
  ASSERT_TRUE(runs) << runs.error().message;
  for (const auto& run : *runs) EXPECT_NE(run.status, "running");
  EXPECT_TRUE(within(2, [&] { return times_logged("cancelled") == 1; }));
}

/// As an operator sees it, with processes of their own.
TEST(DatabaseFaultsOfProcesses, HoneJobsSaysWhatJobsWaitFor) {
  using hone::testing::hone;
  using hone::testing::RedisServer;
  std::string why_not;
  const auto disk = SmallDisk::make(16 << 20, why_not);
  if (!disk) GTEST_SKIP() << "no small file system here: " << why_not;
  const RedisServer server({.unix_socket = true});
  const std::string database = disk->path() / "hone.db";
  const TestJob test{HONE_SOURCE_DIR "/baselines/vector_add/vector_add.cu", 12, 1};
  const Undisturbed want = undisturbed(test);
  const Daemon coordinator({"coordinator", "--db", database, "--redis", server.url_text()});
  for (int i = 0; i < 500 && coordinator.log().find("leading, term") == std::string::npos; ++i)
    std::this_thread::sleep_for(milliseconds(20));
  disk->fill();
  const std::string id = submit(test, server.socket_url());
  const Daemon worker({"worker", "--device", "emu:sm_90", "--redis", server.url_text()});
  hone::testing::ProcessResult jobs;
  for (int i = 0; i < 100 && jobs.out.find("database full") == std::string::npos; ++i) {
    std::this_thread::sleep_for(milliseconds(100));
    jobs = hone({"jobs", "--redis", server.url_text()});
  }
  EXPECT_NE(jobs.out.find("queued; database full"), std::string::npos) << jobs.out;
  const auto document = hone({"jobs", "--redis", server.url_text(), "--json", "-"}).json();
  EXPECT_EQ(document["jobs"][0]["waits"], "database full");
  EXPECT_EQ(document["jobs"][0]["state"], "queued");
  std::this_thread::sleep_for(milliseconds(2000));
  disk->free();
  const auto statuses = ended({id}, server, 60);
  ASSERT_EQ(statuses.size(), 1U) << coordinator.log();
  expect_undisturbed(statuses.at(id), want, database);
  EXPECT_EQ(hone({"jobs", "--redis", server.url_text()}).out.find("waits"), std::string::npos);
  EXPECT_NE(coordinator.log().find("no space is left"), std::string::npos);
}

}  // namespace
}  // namespace hone::test
