// Priority while jobs run long: slots are shared, nobody starves, nothing is ended or lost.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "engine/queue/dispatcher.h"
#include "engine/queue/lead.h"
#include "engine/queue/worker_link.h"
#include "tests/service/coordinator_fixture.h"

namespace hone {
namespace {

using queue::Dispatcher;
using std::chrono::milliseconds;
using test::CoordinatorTest;
using test::ServiceTest;

constexpr const char* kPool = "emu:sm_90";
constexpr std::uint64_t kSlow = 1'000'000;  // seeds from here on take ten times as long

class Shares : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    lead_ = std::make_unique<queue::Lead>(*broker_);
    ASSERT_TRUE(*lead_->take(0));
    dispatcher_ = std::make_unique<Dispatcher>(*lead_, log());
    dispatcher_->set_capacity(kPool, 4);
    link_ = std::make_unique<queue::WorkerLink>(*broker_, "worker", kPool, 4, log());
    keeper_ = std::jthread([this](const std::stop_token& stopping) {
      for (; !stopping.stop_requested(); std::this_thread::sleep_for(milliseconds(200)))
        (void)lead_->keep();
    });
    for (int i = 0; i < 4; ++i) {
      workers_.emplace_back([this](const std::stop_token& stopping) {
        while (!stopping.stop_requested()) {
          const auto work = link_->take(milliseconds(50));
          if (!work) continue;
          std::this_thread::sleep_for(milliseconds(work->request.seed >= kSlow ? 60 : 6));
          Evaluation evaluation;
          evaluation.verdict = Verdict::kOk;
          Measurement& m = evaluation.measurement;
          m.modelled = true;
          m.time_us = m.reference_time_us = 100;
          m.speedup = m.ci95_low = m.ci95_high = 1;
          link_->complete({work->id, evaluation});
        }
      });
    }
  }
  void TearDown() override {
    workers_.clear();
    link_.reset();
    searches_.clear();
    dispatcher_.reset();
  }

  /// A search that always wants more than it gets.
  struct Search {
    std::unique_ptr<SearchQueue> queue;
    std::atomic<int> answered = 0;
    std::jthread thread;
  };
  Search& search(const std::string& job, int priority, std::uint64_t first_seed = 0) {
    auto& made = *searches_.emplace_back(std::make_unique<Search>());
    made.queue = dispatcher_->open(job, kPool, true, priority);
    made.thread = std::jthread([this, &made, first_seed](const std::stop_token& stopping) {
      std::uint64_t next = 0;
      const auto ask = [&] {
        auto question = request(0);
        question.seed = first_seed + next;
        return made.queue->submit({next++, question});
      };
      while (next < 24) ASSERT_TRUE(ask());
      while (!stopping.stop_requested()) {
        if (!made.queue->next_result(milliseconds(50))) continue;
        ++made.answered;
        ASSERT_TRUE(ask());
      }
    });
    return made;
  }
  static void wait_until(const std::function<bool()>& done) {
    for (int i = 0; i < 6000 && !done(); ++i) std::this_thread::sleep_for(milliseconds(10));
    ASSERT_TRUE(done());
  }

  std::unique_ptr<queue::Lead> lead_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<queue::WorkerLink> link_;
  std::jthread keeper_;
  std::vector<std::jthread> workers_;
  std::vector<std::unique_ptr<Search>> searches_;
};

TEST_F(Shares, EachStepOfPriorityDoublesAShareAndNobodyStarves) {
  Search &low = search("low", 0), &middle = search("middle", 1), &high = search("high", 3);
  wait_until([&] { return high.answered >= 20; });  // all three ask
  const int low_0 = low.answered, middle_0 = middle.answered, high_0 = high.answered;
  wait_until([&] {
    return low.answered - low_0 + middle.answered - middle_0 + high.answered - high_0 >= 440;
  });
  const double low_part = low.answered - low_0, middle_part = middle.answered - middle_0,
               high_part = high.answered - high_0;
  // 1 : 2 : 8
  EXPECT_NEAR(low_part, 40, 20);
  EXPECT_NEAR(middle_part, 80, 35);
  EXPECT_NEAR(high_part, 320, 50);
}

TEST_F(Shares, ASearchOfHighPriorityLeavesTheLowestAThirtySecond) {
  Search &low = search("low", -100), &high = search("high", 100);
  wait_until([&] { return high.answered >= 20; });
  const int low_0 = low.answered, high_0 = high.answered;
  wait_until([&] { return high.answered - high_0 >= 320; });
  EXPECT_GE(low.answered - low_0, 4);
  EXPECT_LE(low.answered - low_0, 40);
}

TEST_F(Shares, ANewOneOfHigherPriorityIsServedAtOnceAndTheOthersShrink) {
  Search &first = search("first", 0), &second = search("second", 0);
  wait_until([&] { return first.answered + second.answered >= 60; });
  const int before = first.answered + second.answered;
  Search& urgent = search("urgent", 5);
  wait_until([&] { return urgent.answered >= 64; });
  // What was handed out before, 8 at most, a 32nd each, and what was on its way.
  EXPECT_LE(first.answered + second.answered - before, 40);
}

TEST_F(Shares, OfOnePriorityTheSlotsAreSharedNotTheirNumber) {
  Search &slow = search("slow", 0, kSlow), &fast = search("fast", 0);
  wait_until([&] { return slow.answered >= 8 && fast.answered >= 8; });
  const int slow_0 = slow.answered, fast_0 = fast.answered;
  wait_until([&] { return slow.answered - slow_0 >= 30; });
  // A slot is held while it waits for a worker, too, so that not ten times as many fit.
  EXPECT_GE(fast.answered - fast_0, 1.3 * (slow.answered - slow_0));
}

TEST_F(Shares, WhoComesBackHasSavedUpNothing) {
  Search& busy = search("busy", 0);
  const auto idle = dispatcher_->open("idle", kPool, true, 0);
  wait_until([&] { return busy.answered >= 300; });
  // Its share from now on, and not all that it might have had.
  for (std::uint64_t i = 0; i < 200; ++i)
    ASSERT_TRUE(idle->submit({i, request(static_cast<int>(i))}));
  const int before = busy.answered;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(idle->next_result(milliseconds(20'000)));
  EXPECT_GE(busy.answered - before, 50);
}

class Urgent : public CoordinatorTest {
 protected:
  /// The same task with another text: what it asks for takes long.
  queue::JobMessage long_job(const std::string& id) {
    auto message = job(id);
    message.task.name = "slow";
    message.task.reference.source += "\n// slow\n";
    return message;
  }
  static void slow_down(Worker& worker) {
    worker.evaluator.lie_ = [](const EvaluationRequest& request, Evaluation&) {
      if (request.timed.reference.source.ends_with("// slow\n"))
        std::this_thread::sleep_for(milliseconds(250));
    };
  }
  void wait_until_searching(const std::string& id) {
    for (int i = 0; i < 600; ++i, std::this_thread::sleep_for(milliseconds(20))) {
      const auto status = broker_->status(id);
      if (status && !status->archs.empty() && status->archs[0].counts.evaluated() > 0) return;
    }
    FAIL() << id << " evaluates nothing";
  }
};

TEST_F(Urgent, AJobOfHigherPriorityBeginsBesideALongOneAndEndsFirst) {
  Worker worker(*this, "one");
  slow_down(worker);
  const Coordinator coordinator(*this, *store_, 1);
  ASSERT_TRUE(broker_->submit(long_job("long")));
  wait_until_searching("long");
  auto urgent = job("urgent", 4);
  urgent.priority = 5;
  ASSERT_TRUE(broker_->submit(urgent));
  auto patient = job("patient", 5);  // of the long one's priority: it waits for its end
  ASSERT_TRUE(broker_->submit(patient));
  EXPECT_EQ(wait_for("urgent").state, queue::JobState::kDone);
  EXPECT_LT(broker_->status("long")->state, queue::JobState::kDone);
  EXPECT_EQ(broker_->status("patient")->state, queue::JobState::kQueued);
  // Nothing of the long one was ended or lost, and the urgent one is what it would be alone.
  const auto ended = wait_for("long");
  EXPECT_EQ(ended.state, queue::JobState::kDone) << ended.error;
  EXPECT_EQ(ended.archs[0].counts.evaluated(), 40);
  expect_as_alone(wait_for("urgent"), 4);
  expect_as_alone(wait_for("patient"), 5);
}

}  // namespace
}  // namespace hone
