// What coordinators, workers and users see of each other through a real Redis server.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "engine/queue/dispatcher.h"
#include "engine/queue/lead.h"
#include "engine/queue/messages_result.h"
#include "engine/queue/scripts.h"
#include "engine/queue/worker_link.h"
#include "tests/service/fixture.h"

namespace hone::queue {
namespace {

using std::chrono::milliseconds;
using test::ServiceTest;

class QueueTest : public ServiceTest {};

JobMessage job(const Task& task, const std::string& id, int priority = 0) {
  JobMessage message;
  message.id = id;
  message.task = task;
  message.search.budget.evaluations = 20;
  message.archs = {"emu:sm_90"};
  message.priority = priority;
  message.submitted_at = unix_ms();
  return message;
}

TEST_F(QueueTest, AJobIsSubmittedOnceAndListed) {
  ASSERT_TRUE(broker_->submit(job(task_, "a")));
  ASSERT_TRUE(broker_->submit(job(task_, "a")));  // a client that tried again
  ASSERT_TRUE(broker_->submit(job(task_, "b", 7)));
  const auto jobs = broker_->rows({}, 10);
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ(broker_->status("a")->state, JobState::kQueued);
  EXPECT_EQ(broker_->status("c").error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(broker_->status("a*\r\n").error().code, ErrorCode::kInvalidInput);

  Lead lead(*broker_);
  ASSERT_TRUE(*lead.take(0));
  const auto fresh = lead.new_jobs();
  ASSERT_TRUE(fresh) << fresh.error().message;
  ASSERT_EQ(fresh->size(), 2U);
  EXPECT_EQ((*fresh)[1].priority, 7);
  EXPECT_TRUE(lead.new_jobs()->empty());
  EXPECT_EQ(lead.unfinished_jobs()->size(), 2U);
  const auto message = lead.message_of("a");
  ASSERT_TRUE(message && *message);
  EXPECT_EQ((*message)->task.hash(), task_.hash());

  ASSERT_TRUE(broker_->cancel("b"));
  EXPECT_TRUE(lead.cancelled()->contains("b"));
  JobStatus done{.id = "b", .state = JobState::kCancelled, .updated_at = unix_ms()};
  ASSERT_TRUE(lead.end_job((*fresh)[1], done));
  EXPECT_TRUE(lead.cancelled()->empty());
  EXPECT_EQ(lead.unfinished_jobs()->size(), 1U);
  EXPECT_EQ(broker_->status("b")->state, JobState::kCancelled);
  EXPECT_FALSE(*lead.message_of("b"));
  // A search that ends later does not begin it again.
  ASSERT_TRUE(lead.set_status({.id = "b", .state = JobState::kSearching}));
  EXPECT_EQ(broker_->status("b")->state, JobState::kCancelled);
}

TEST_F(QueueTest, AFullQueueSaysSo) {
  auto connection = server_.connect();
  for (int i = 0; i < kMostJobs; i += 100) {
    std::vector<std::vector<std::string>> some(
        100, {"XADD", broker_->keys().jobs(), "*", "id", "x", "priority", "0"});
    ASSERT_TRUE(connection->pipeline(some));
  }
  const auto submitted = broker_->submit(job(task_, "a"));
  ASSERT_FALSE(submitted);
  EXPECT_EQ(submitted.error().code, ErrorCode::kEnvironment);
  EXPECT_NE(submitted.error().message.find("10000 jobs"), std::string::npos);
}

TEST_F(QueueTest, OneLeadsAndALaterOneHasALargerToken) {
  Lead first(*broker_), second(*broker_);
  ASSERT_TRUE(*first.take(41));
  EXPECT_EQ(first.token(), 42);
  EXPECT_FALSE(*second.take(41));
  EXPECT_TRUE(*first.keep());
  first.resign();
  ASSERT_TRUE(*second.take(0));
  EXPECT_EQ(second.token(), 43);
  // The first wakes up, and is refused whatever it wants.
  EXPECT_FALSE(*first.keep());
  EXPECT_TRUE(first.deposed());
  Lead late(*broker_);
  EXPECT_FALSE(first.give("emu:sm_90", {{"x.42.1.1", "m"}}));
  EXPECT_FALSE(first.drop({"x.42.1.1"}));
  EXPECT_FALSE(first.forget_evaluations());
  EXPECT_FALSE(first.set_status({.id = "a"}));
  EXPECT_FALSE(first.end_job({"0-1", "a", 0}, {.id = "a"}));
  EXPECT_TRUE(second.open({"x.42.1.1"})->empty());
}

/// Answers at once.
Evaluation answer(const Work& work) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::kOk;
  Measurement& m = evaluation.measurement;
  m.modelled = true;
  m.time_us = 1 + static_cast<double>(work.request.seed % 100);
  m.reference_time_us = 100;
  m.speedup = m.ci95_low = m.ci95_high = m.reference_time_us / m.time_us;
  return evaluation;
}

class Dispatching : public QueueTest {
 protected:
  void SetUp() override {
    QueueTest::SetUp();
    lead_ = std::make_unique<Lead>(*broker_);
    ASSERT_TRUE(*lead_->take(0));
    dispatcher_ = std::make_unique<Dispatcher>(*lead_, log());
    dispatcher_->set_capacity(kPool, 8);
    keeper_ = std::jthread([this](const std::stop_token& stopping) {
      for (; !stopping.stop_requested(); std::this_thread::sleep_for(milliseconds(200)))
        (void)lead_->keep();
    });
  }
  std::unique_ptr<WorkerLink> link(const std::string& name, int capacity = 8) {
    return std::make_unique<WorkerLink>(*broker_, name, kPool, capacity, log());
  }
  /// Submits so many and collects every answer; ids must come back once each.
  void run(SearchQueue& queue, int count, int window = 24) {
    std::map<std::uint64_t, int> seen;
    int next = 0;
    while (static_cast<int>(seen.size()) < count) {
      while (next < count && next - static_cast<int>(seen.size()) < window) {
        ASSERT_TRUE(queue.submit({static_cast<std::uint64_t>(next), request(next)}));
        ++next;
      }
      const auto done = queue.next_result(milliseconds(30'000));
      ASSERT_TRUE(done) << "after " << seen.size();
      ASSERT_TRUE(done->evaluation) << done->evaluation.error().message;
      EXPECT_EQ(done->evaluation->measurement.time_us, 1 + static_cast<double>(done->id % 100));
      EXPECT_EQ(++seen[done->id], 1);
    }
    EXPECT_FALSE(queue.next_result(milliseconds(50)));
  }
  static constexpr const char* kPool = "emu:sm_90";
  std::unique_ptr<Lead> lead_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::jthread keeper_;
};

/// Threads that answer what a link brings.
class Answering {
 public:
  explicit Answering(WorkerLink& link, int threads = 2) : link_(link) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this](const std::stop_token& stopping) {
        while (!stopping.stop_requested()) {
          const auto work = link_.take(milliseconds(50));
          if (!work) continue;
          std::this_thread::sleep_for(pause);
          ++answered;
          link_.complete({work->id, answer(*work)});
        }
      });
    }
  }
  std::atomic<int> answered = 0;
  std::chrono::milliseconds pause{0};

 private:
  WorkerLink& link_;
  std::vector<std::jthread> threads_;
};

TEST_F(Dispatching, EveryQuestionGetsOneAnswer) {
  auto one = link("one"), two = link("two");
  Answering a(*one), b(*two);
  const auto queue = dispatcher_->open("job", kPool, true, 0);
  run(*queue, 500);
  EXPECT_GT(a.answered, 50);
  EXPECT_GT(b.answered, 50);
  // Nothing is left behind.
  auto connection = server_.connect();
  EXPECT_EQ(*connection->command({"HLEN", broker_->keys().open()})->as_integer(), 0);
  EXPECT_EQ(*connection->command({"XLEN", broker_->keys().work(kPool)})->as_integer(), 0);
  EXPECT_EQ(*connection->command({"XLEN", broker_->keys().results()})->as_integer(), 0);
  EXPECT_EQ(dispatcher_->counts().repeated, 0);
}

TEST_F(Dispatching, AWorkerThatDrainsGivesBackWhatItHasNotBegun) {
  const auto queue = dispatcher_->open("job", kPool, true, 0);
  auto lazy = link("lazy");
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(queue->submit({static_cast<std::uint64_t>(i), request(i)}));
  std::optional<Work> begun;
  while (!begun) begun = lazy->take(milliseconds(1000));
  while (lazy->in_hand() < 8) std::this_thread::sleep_for(milliseconds(5));
  lazy->drain();
  EXPECT_EQ(lazy->in_hand(), 1);
  auto other = link("other");
  Answering answering(*other);
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(queue->next_result(milliseconds(8000))) << i;
  lazy->complete({begun->id, answer(*begun)});
  EXPECT_TRUE(queue->next_result(milliseconds(8000)));
}

TEST_F(Dispatching, OfTwoDevicesOfANodeOneLeavesWhileTheOtherHoldsWork) {
  const auto queue = dispatcher_->open("job", kPool, true, 0);
  auto busy = link("node"), idle = link("node");  // one consumer, two readers
  ASSERT_TRUE(queue->submit({1, request(1)}));
  std::optional<Work> begun;
  while (!begun) {
    begun = busy->take(milliseconds(20));
    if (auto other = begun ? std::nullopt : idle->take(milliseconds(20))) {
      begun = std::move(other);
      std::swap(busy, idle);
    }
  }
  idle->close();
  idle.reset();
  busy->close();  // hands back
  busy.reset();
  auto other = link("other");
  Answering answering(*other);
  const auto done = queue->next_result(milliseconds(20'000));
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->evaluation);
}

TEST_F(Dispatching, WhatADeadWorkerHadIsTakenOver) {
  const auto queue = dispatcher_->open("job", kPool, true, 0);
  {
    // One that took work and died without a word.
    RedisClient& redis = broker_->redis();
    ASSERT_TRUE(redis.call(
        {"XGROUP", "CREATE", broker_->keys().work(kPool), kWorkersGroup, "0", "MKSTREAM"}));
    for (int i = 0; i < 5; ++i)
      ASSERT_TRUE(queue->submit({static_cast<std::uint64_t>(i), request(i)}));
    std::this_thread::sleep_for(milliseconds(200));
    const auto taken = redis.call({"XREADGROUP", "GROUP", kWorkersGroup, "dead", "COUNT", "10",
                                   "STREAMS", broker_->keys().work(kPool), ">"});
    ASSERT_TRUE(taken && taken->is_array());
  }
  auto other = link("other");
  Answering answering(*other);
  for (int i = 0; i < 5; ++i) {
    const auto done = queue->next_result(milliseconds(20'000));
    ASSERT_TRUE(done) << i;
    EXPECT_TRUE(done->evaluation);
  }
}

TEST_F(Dispatching, WhatKillsEveryWorkerIsBuried) {
  const auto queue = dispatcher_->open("job", kPool, true, 0);
  RedisClient& redis = broker_->redis();
  const std::string stream = broker_->keys().work(kPool);
  ASSERT_TRUE(redis.call({"XGROUP", "CREATE", stream, kWorkersGroup, "0", "MKSTREAM"}));
  ASSERT_TRUE(queue->submit({1, request(1)}));
  std::this_thread::sleep_for(milliseconds(200));
  const auto taken = redis.call(
      {"XREADGROUP", "GROUP", kWorkersGroup, "dead", "COUNT", "10", "STREAMS", stream, ">"});
  ASSERT_TRUE(taken && taken->is_array());
  for (int death = 0; death < kMostDeliveries - 1; ++death)
    ASSERT_TRUE(redis.call({"XAUTOCLAIM", stream, kWorkersGroup, "dead", "0", "0"}));
  auto last = link("last");
  Answering answering(*last);
  const auto done = queue->next_result(milliseconds(20'000));
  ASSERT_TRUE(done);
  ASSERT_TRUE(done->evaluation);
  EXPECT_EQ(done->evaluation->verdict, Verdict::kCrash);
  EXPECT_EQ(answering.answered, 0);
  const auto dead = broker_->dead(10);
  ASSERT_TRUE(dead);
  ASSERT_EQ(dead->size(), 1U);
  EXPECT_EQ((*dead)[0].pool, kPool);
  EXPECT_NE((*dead)[0].why.find("fell silent"), std::string::npos);
  // Put back, it is asked once more, and once only.
  EXPECT_TRUE(dispatcher_->put_back((*dead)[0].id));
  EXPECT_FALSE(dispatcher_->put_back((*dead)[0].id));
  const auto again = queue->next_result(milliseconds(20'000));
  ASSERT_TRUE(again && again->evaluation);
  EXPECT_EQ(again->id, 1U);
  EXPECT_EQ(again->evaluation->verdict, Verdict::kOk);
  EXPECT_FALSE(queue->next_result(milliseconds(300)));
}

Work work_for(const std::string& worker, std::uint64_t id, EvaluationRequest request) {
  Work work{id, std::move(request)};
  work.worker = worker;
  return work;
}

TEST_F(Dispatching, WhatIsForOneWorkerNoOtherGets) {
  auto one = link("one"), two = link("two");
  Answering a(*one), b(*two);
  const auto queue = dispatcher_->open("job", kPool, true, 0);
  for (int i = 0; i < 60; ++i)
    ASSERT_TRUE(queue->submit(
        work_for(i % 3 == 0 ? "one" : "two", static_cast<std::uint64_t>(i), request(i))));
  for (int i = 0; i < 60; ++i) {
    const auto done = queue->next_result(milliseconds(20'000));
    ASSERT_TRUE(done) << i;
    EXPECT_EQ(done->worker, done->id % 3 == 0 ? "one" : "two");
  }
  EXPECT_EQ(a.answered, 20);
  EXPECT_EQ(b.answered, 40);
  run(*queue, 100);  // and what is for any
  EXPECT_EQ(dispatcher_->counts().refused, 0);
  auto connection = server_.connect();
  const std::string own = broker_->keys().work_of(kPool, "one");
  EXPECT_EQ(*connection->command({"XLEN", own})->as_integer(), 0);
  EXPECT_GT(*connection->command({"PTTL", own})->as_integer(), 0);
}

TEST_F(Dispatching, AnAnswerOfAnotherThanTheAskedIsRefused) {
  const auto queue = dispatcher_->open("job", kPool, true, 0);
  ASSERT_TRUE(queue->submit(work_for("one", 1, request(1))));
  std::this_thread::sleep_for(milliseconds(200));
  const std::string id = "job." + std::to_string(lead_->token()) + ".1.1";
  const auto forged = encode(ResultMessage{"job", id, "other", answer({1, request(7)})});
  ASSERT_TRUE(forged);
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(
        broker_->redis().call({"XADD", broker_->keys().results(), "*", "id", id, "m", *forged}));
  auto one = link("one");
  Answering answering(*one);
  const auto done = queue->next_result(milliseconds(20'000));
  ASSERT_TRUE(done && done->evaluation);
  EXPECT_EQ(done->evaluation->measurement.time_us, 2);
  EXPECT_EQ(done->worker, "one");
  EXPECT_TRUE(logged("worker one was asked"));
}

TEST_F(Dispatching, AWorkerThatComesBackFindsWhatWasForItAlone) {
  const auto queue = dispatcher_->open("job", kPool, true, 0);
  // It took one and died without a word; another came while it was away.
  RedisClient& redis = broker_->redis();
  const std::string own = broker_->keys().work_of(kPool, "one");
  ASSERT_TRUE(redis.call({"XGROUP", "CREATE", own, kWorkersGroup, "0", "MKSTREAM"}));
  ASSERT_TRUE(queue->submit(work_for("one", 1, request(1))));
  std::this_thread::sleep_for(milliseconds(200));
  const auto taken =
      redis.call({"XREADGROUP", "GROUP", kWorkersGroup, "one", "COUNT", "10", "STREAMS", own, ">"});
  ASSERT_TRUE(taken && taken->is_array());
  ASSERT_TRUE(queue->submit(work_for("one", 2, request(2))));
  auto other = link("other");
  Answering others(*other);
  auto one = link("one");
  Answering answering(*one);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(queue->next_result(milliseconds(20'000))) << i;
  EXPECT_EQ(answering.answered, 2);
  EXPECT_EQ(others.answered, 0);
}

TEST_F(Dispatching, NonsenseAndLiesAreRefusedAndAskedAgain) {
  const auto queue = dispatcher_->open("job", kPool, true, 0);
  auto liar = link("liar");
  int lies = 0;
  std::jthread lying([&](const std::stop_token& stopping) {
    while (!stopping.stop_requested()) {
      const auto work = liar->take(milliseconds(50));
      if (!work) continue;
      Evaluation evaluation = answer(*work);
      if (lies++ < 2) evaluation.measurement.speedup = 1000;
      liar->complete({work->id, evaluation});
    }
  });
  ASSERT_TRUE(queue->submit({1, request(1)}));
  const auto done = queue->next_result(milliseconds(20'000));
  ASSERT_TRUE(done && done->evaluation);
  EXPECT_LT(done->evaluation->measurement.speedup, 101);
  EXPECT_EQ(dispatcher_->counts().refused, 2);
  lies = -1000;  // from now on
  ASSERT_TRUE(queue->submit({2, request(2)}));
  const auto none = queue->next_result(milliseconds(20'000));
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->evaluation);
  EXPECT_TRUE(logged("is refused"));

  // Answers that nobody asked for, from whoever can write to the server.
  auto connection = server_.connect();
  const std::string results = broker_->keys().results();
  ASSERT_TRUE(connection->command({"XADD", results, "*", "id", "job.1.1.99", "m", "\xff\x00"}));
  ASSERT_TRUE(connection->command({"XADD", results, "*", "what", "ever"}));
  lying.request_stop();
  lying.join();
  liar->close();
  ASSERT_TRUE(queue->submit({3, request(3)}));
  std::this_thread::sleep_for(milliseconds(300));
  const std::string id = "job." + std::to_string(lead_->token()) + ".1.3";
  ASSERT_TRUE(connection->command({"XADD", results, "*", "id", id, "m", "garbage"}));
  auto honest = link("honest");
  Answering answering(*honest);
  const auto right = queue->next_result(milliseconds(20'000));
  ASSERT_TRUE(right && right->evaluation);
  EXPECT_EQ(right->id, 3U);
  EXPECT_GE(dispatcher_->counts().late, 2);
}

TEST_F(Dispatching, OnlyWhereATimeIsToBeatMayAnAnswerBeSlower) {
  const auto queue = dispatcher_->open("job", kPool, false, 0);
  auto worker = link("worker");
  std::jthread answering([&](const std::stop_token& stopping) {
    while (!stopping.stop_requested()) {
      const auto work = worker->take(milliseconds(50));
      if (!work) continue;
      Evaluation slower;
      slower.verdict = Verdict::kSlower;
      worker->complete({work->id, slower});
    }
  });
  EvaluationRequest beside = request(1);
  beside.best_time_us = 100;
  ASSERT_TRUE(queue->submit({1, beside}));
  const auto done = queue->next_result(milliseconds(20'000));
  ASSERT_TRUE(done && done->evaluation);
  EXPECT_EQ(done->evaluation->verdict, Verdict::kSlower);
  EXPECT_EQ(dispatcher_->counts().refused, 0);
  ASSERT_TRUE(queue->submit({2, request(2)}));
  const auto none = queue->next_result(milliseconds(20'000));
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->evaluation);
  EXPECT_GT(dispatcher_->counts().refused, 0);
}

TEST_F(Dispatching, WorkThatIsNoneIsBuried) {
  auto worker = link("worker");
  Answering answering(*worker);
  auto connection = server_.connect();
  const std::string stream = broker_->keys().work(kPool);
  ASSERT_TRUE(connection->command({"HSET", broker_->keys().open(), "job.9.9.9", kPool}));
  ASSERT_TRUE(connection->command({"XADD", stream, "*", "id", "job.9.9.9", "m", "nonsense"}));
  for (int i = 0; i < 100 && broker_->dead(10)->empty(); ++i)
    std::this_thread::sleep_for(milliseconds(50));
  ASSERT_EQ(broker_->dead(10)->size(), 1U);
  EXPECT_EQ(answering.answered, 0);
  const auto queue = dispatcher_->open("job", kPool, true, 0);
  run(*queue, 10);  // and life goes on
}

TEST_F(Dispatching, CancelledWorkIsLeftOut) {
  const auto queue = dispatcher_->open("job", kPool, true, 0);
  for (int i = 0; i < 12; ++i)
    ASSERT_TRUE(queue->submit({static_cast<std::uint64_t>(i), request(i)}));
  std::this_thread::sleep_for(milliseconds(200));
  queue->cancel();
  EXPECT_FALSE(queue->submit({50, request(50)}));
  queue->resume();
  auto worker = link("worker");
  Answering answering(*worker);
  ASSERT_TRUE(queue->submit({51, request(51)}));
  const auto done = queue->next_result(milliseconds(20'000));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->id, 51U);
  EXPECT_EQ(answering.answered, 1);
}

TEST_F(Dispatching, HigherPrioritiesGoFirstAndEqualOnesShare) {
  const auto low = dispatcher_->open("low", kPool, true, 0);
  const auto high = dispatcher_->open("high", kPool, true, 5);
  const auto equal = dispatcher_->open("equal", kPool, true, 5);
  for (int i = 0; i < 40; ++i)
    for (auto* queue : {low.get(), high.get(), equal.get()})
      ASSERT_TRUE(queue->submit({static_cast<std::uint64_t>(i), request(i)}));
  std::vector<std::string> order;
  std::mutex mutex;
  auto worker = link("worker", 4);
  std::jthread working([&](const std::stop_token& stopping) {
    while (!stopping.stop_requested())
      if (const auto work = worker->take(milliseconds(50)))
        worker->complete({work->id, answer(*work)});
  });
  const auto collect = [&](SearchQueue& queue, const char* name) {
    return std::jthread([&queue, name, &order, &mutex] {
      for (int i = 0; i < 40; ++i) {
        ASSERT_TRUE(queue.next_result(milliseconds(30'000)));
        const std::lock_guard lock(mutex);
        order.emplace_back(name);
      }
    });
  };
  {
    const auto a = collect(*low, "low"), b = collect(*high, "high"), c = collect(*equal, "equal");
  }
  // What the first had handed out before the others came is done first.
  const auto until = order.begin() + 70;
  EXPECT_LE(std::count(order.begin(), until, "low"), 20);
  EXPECT_NEAR(std::count(order.begin(), until, "high"), std::count(order.begin(), until, "equal"),
              8);
}

TEST_F(Dispatching, ARedisThatForgetsIsAskedAgain) {
  const auto queue = dispatcher_->open("job", kPool, true, 0);
  auto worker = link("worker");
  Answering answering(*worker);
  answering.pause = milliseconds(2);
  std::jthread killer([&] {
    for (int i = 0; i < 2; ++i) {
      std::this_thread::sleep_for(milliseconds(300));
      // All is gone but the leader's lock, in one step: without it nobody would lead any more.
      auto connection = server_.connect();
      EXPECT_TRUE(connection
                      ->command({"EVAL",
                                 "redis.call('FLUSHALL') "
                                 "return redis.call('SET', KEYS[1], ARGV[1])",
                                 "1", broker_->keys().leader(), std::to_string(lead_->token())})
                      .value()
                      .is_ok());
      EXPECT_TRUE(connection->command({"SCRIPT", "FLUSH"}));
      EXPECT_TRUE(connection->command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}));
    }
  });
  run(*queue, 600);
  EXPECT_GT(dispatcher_->counts().repeated, 0);
}

}  // namespace
}  // namespace hone::queue
