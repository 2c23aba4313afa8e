// Coordinators and workers as threads of one process, with an evaluator that answers at once.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "engine/search/search.h"
#include "engine/service/coordinator.h"
#include "engine/service/worker.h"
#include "tests/service/fixture.h"

namespace hone::test {

class CoordinatorTest : public ServiceTest {
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
    if (HasFailure())
      for (const auto& line : lines_) std::printf("%s\n", line.c_str());
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path_.string() + end);
  }

  class Coordinator {
   public:
    Coordinator(CoordinatorTest& test, Store& store, int jobs = 4,
                const llm::Access* model = nullptr, Metrics* metrics = nullptr)
        : broker_(test.broker()), thread_([this, &test, &store, jobs, model, metrics] {
            CoordinatorOptions options;
            options.jobs_at_once = jobs;
            options.model = model;
            options.metrics = metrics;
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
    Worker(CoordinatorTest& test, const std::string& id, FakeEvaluator::Lie lie)
        : Worker(test, id, "emu:sm_90", FakeEvaluator::h200(), std::move(lie)) {}
    explicit Worker(CoordinatorTest& test, const std::string& id,
                    const std::string& device = "emu:sm_90",
                    const DeviceInfo& info = FakeEvaluator::h200(), FakeEvaluator::Lie lie = {})
        : evaluator(info, device.starts_with("emu:")), broker_(test.broker()) {
      evaluator.lie_ = std::move(lie);
      thread_ = std::jthread([this, &test, id, device] {
        WorkerOptions options;
        options.id = id;
        options.host = "here";
        options.devices = {{*DeviceSpec::parse(device), &evaluator, 4}};
        options.log = test.log();
        options.drain = &drain;
        options.stop = &stop;
        const auto ended = run_worker(*broker_, options);
        EXPECT_TRUE(ended) << ended.error().message;
      });
    }
    ~Worker() { stop = true; }

    FakeEvaluator evaluator;
    std::atomic<bool> drain = false, stop = false;

   private:
    std::unique_ptr<queue::Broker> broker_;
    std::jthread thread_;
  };

  queue::JobMessage job(const std::string& id, std::uint64_t seed = 3) {
    queue::JobMessage message;
    message.id = id;
    message.task = task_;
    message.search.budget.evaluations = 40;
    message.search.seed = seed;
    message.search.known = false;  // what one job found changes no other
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
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return status;
  }
  /// What the same search finds in this process.
  SearchOutcome alone(std::uint64_t seed = 3) {
    FakeEvaluator evaluator;
    SearchOptions options;
    options.settings.budget.evaluations = 40;
    options.settings.seed = seed;
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

}  // namespace hone::test
