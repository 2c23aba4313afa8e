// Coordinators and workers as threads of one process, with an evaluator that answers at once.
#include "engine/service/coordinator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "engine/service/search_job.h"
#include "engine/service/worker.h"
#include "tests/service/fixture.h"

namespace hone {
namespace {

using std::chrono::milliseconds;

class CoordinatorTest : public test::ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    path_ = std::filesystem::path(::testing::TempDir()) /
            ("coordinator_" + std::to_string(server_.port()) + ".db");
    auto store = Store::open(path_);
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
  }
  void TearDown() override {
    store_.reset();
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path_.string() + end);
  }

  class Coordinator {
   public:
    Coordinator(CoordinatorTest& test, Store& store, int jobs = 4)
        : broker_(test.broker()), thread_([this, &test, &store, jobs] {
            CoordinatorOptions options;
            options.jobs_at_once = jobs;
            options.open_rewriting = [] { return std::make_unique<LocalRewriting>(); };
            options.log = test.log();
            options.stop = &stop_;
            const auto ended = run_coordinator(*broker_, store, options);
            EXPECT_TRUE(ended) << ended.error().message;
          }) {}
    ~Coordinator() { stop_ = true; }

   private:
    std::unique_ptr<queue::Broker> broker_;
    std::atomic<bool> stop_ = false;
    std::jthread thread_;
  };

  class Worker {
   public:
    Worker(CoordinatorTest& test, const std::string& id)
        : broker_(test.broker()), thread_([this, &test, id] {
            WorkerOptions options;
            options.id = id;
            options.host = "here";
            options.devices = {{*DeviceSpec::parse("emu:sm_90"), &evaluator, 4}};
            options.log = test.log();
            options.drain = &drain;
            options.stop = &stop;
            const auto ended = run_worker(*broker_, options);
            EXPECT_TRUE(ended) << ended.error().message;
          }) {}
    ~Worker() { stop = true; }

    test::FakeEvaluator evaluator;
    std::atomic<bool> drain = false, stop = false;

   private:
    std::unique_ptr<queue::Broker> broker_;
    std::jthread thread_;
  };

  queue::JobMessage job(const std::string& id, std::uint64_t seed = 3) {
    queue::JobMessage message;
    message.id = id;
    message.task = task_;
    message.budget.evaluations = 40;
    message.seed = seed;
    message.archs = {"emu:sm_90"};
    message.submitted_at = queue::unix_ms();
    return message;
  }
  queue::JobStatus wait_for(const std::string& id, double seconds = 60) {
    queue::JobStatus status;
    for (int i = 0; i < 20 * seconds; ++i) {
      const auto now = broker_->status(id);
      if (now) status = *now;
      if (status.state >= queue::JobState::kDone) break;
      std::this_thread::sleep_for(milliseconds(50));
    }
    return status;
  }
  /// What the same search finds in this process.
  SearchOutcome alone(std::uint64_t seed = 3) {
    test::FakeEvaluator evaluator;
    SearchOptions options;
    options.budget.evaluations = 40;
    options.seed = seed;
    auto outcome =
        run_search(task_, *DeviceSpec::parse("emu:sm_90"), evaluator, rewriting_, nullptr, options);
    EXPECT_TRUE(outcome);
    return *outcome;
  }
  void expect_as_alone(const queue::JobStatus& status, std::uint64_t seed = 3) {
    ASSERT_EQ(status.state, queue::JobState::kDone) << status.error;
    const SearchOutcome want = alone(seed);
    EXPECT_EQ(status.archs[0].counts.proposed, want.counts.proposed);
    EXPECT_EQ(status.archs[0].counts.verdicts, want.counts.verdicts);
    EXPECT_EQ(status.archs[0].best_time_us, want.ranked.front().evaluation.measurement.time_us);
  }

  std::filesystem::path path_;
  std::unique_ptr<Store> store_;
};

TEST_F(CoordinatorTest, AJobFindsWhatASearchAloneFinds) {
  const Coordinator coordinator(*this, *store_);
  ASSERT_TRUE(broker_->submit(job("a")));
  const Worker one(*this, "one"), two(*this, "two");
  const auto status = wait_for("a");
  expect_as_alone(status);
  const auto boards = store_->boards({});
  ASSERT_TRUE(boards);
  ASSERT_EQ(boards->size(), 1U);
  EXPECT_EQ((*boards)[0].rows.front().candidate.id, status.archs[0].best_candidate);
  const auto workers = broker_->workers();
  ASSERT_TRUE(workers);
  EXPECT_EQ(workers->size(), 2U);
}

TEST_F(CoordinatorTest, ManyJobsAtOnce) {
  const Worker one(*this, "one"), two(*this, "two");
  const Coordinator coordinator(*this, *store_, 3);
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(broker_->submit(job("job-" + std::to_string(i), static_cast<std::uint64_t>(i))));
  for (int i = 0; i < 10; ++i)
    expect_as_alone(wait_for("job-" + std::to_string(i)), static_cast<std::uint64_t>(i));
}

TEST_F(CoordinatorTest, AnotherGoesOnWhereOneEnded) {
  Worker worker(*this, "one");
  worker.evaluator.slow_ = milliseconds(30);
  ASSERT_TRUE(broker_->submit(job("a")));
  {
    const Coordinator first(*this, *store_);
    const Coordinator standby(*this, *store_);
    while (broker_->status("a")->archs.empty() ||
           broker_->status("a")->archs[0].counts.evaluated() < 5)
      std::this_thread::sleep_for(milliseconds(20));
  }
  const Coordinator second(*this, *store_);
  expect_as_alone(wait_for("a"));
}

TEST_F(CoordinatorTest, CancellingEndsAJobWithinASecond) {
  Worker worker(*this, "one");
  worker.evaluator.slow_ = milliseconds(200);
  const Coordinator coordinator(*this, *store_, 1);
  ASSERT_TRUE(broker_->submit(job("a")));
  ASSERT_TRUE(broker_->submit(job("b", 4)));
  while (broker_->status("a")->state != queue::JobState::kSearching)
    std::this_thread::sleep_for(milliseconds(20));
  ASSERT_TRUE(broker_->cancel("a"));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(wait_for("a").state, queue::JobState::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(1));
  worker.evaluator.slow_ = milliseconds(0);
  expect_as_alone(wait_for("b"), 4);
}

TEST_F(CoordinatorTest, AWorkerThatDrainsLosesNothing) {
  const Coordinator coordinator(*this, *store_);
  ASSERT_TRUE(broker_->submit(job("a")));
  auto first = std::make_unique<Worker>(*this, "one");
  first->evaluator.slow_ = milliseconds(20);
  while (broker_->status("a")->archs.empty() ||
         broker_->status("a")->archs[0].counts.evaluated() < 3)
    std::this_thread::sleep_for(milliseconds(10));
  const Worker second(*this, "two");
  first->drain = true;
  first.reset();
  expect_as_alone(wait_for("a"));
}

TEST_F(CoordinatorTest, AJobThatCannotBeReadFails) {
  ASSERT_TRUE(broker_->submit(job("a")));
  ASSERT_TRUE(broker_->redis().call({"HSET", broker_->keys().job("a"), "message", "nonsense"}));
  const Coordinator coordinator(*this, *store_);
  const auto status = wait_for("a");
  EXPECT_EQ(status.state, queue::JobState::kFailed);
  EXPECT_NE(status.error.find("cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace hone
