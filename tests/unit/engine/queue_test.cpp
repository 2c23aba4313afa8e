#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "engine/queue/in_process_queue.h"

namespace hone {
namespace {

using std::chrono::milliseconds;

TEST(InProcessQueue, GivesEveryPieceOfWorkToOneWorker) {
  constexpr int kWork = 2000;
  InProcessQueue queue(8);
  std::vector<std::jthread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&queue] {
      while (auto work = queue.take(milliseconds(2000))) {
        Evaluation evaluation;
        evaluation.verdict = Verdict::kOk;
        queue.complete({work->id, evaluation});
      }
    });
  }
  std::jthread producer([&queue] {
    for (std::uint64_t id = 0; id < kWork; ++id) ASSERT_TRUE(queue.submit({id, {}}));
  });
  std::set<std::uint64_t> seen;
  while (seen.size() < kWork) {
    const auto done = queue.next_result(milliseconds(5000));
    ASSERT_TRUE(done);
    EXPECT_TRUE(seen.insert(done->id).second) << "twice: " << done->id;
  }
  queue.close();
}

TEST(InProcessQueue, BlocksWhenFullUntilSomethingIsTaken) {
  InProcessQueue queue(1);
  ASSERT_TRUE(queue.submit({1, {}}));
  std::atomic<bool> second{false};
  std::jthread producer([&] {
    queue.submit({2, {}});
    second = true;
  });
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_FALSE(second);
  EXPECT_EQ(queue.take(milliseconds(1000))->id, 1U);
  producer.join();
  EXPECT_TRUE(second);
}

TEST(InProcessQueue, CancellingDropsWhatWaitsAndWaitsForWhatRuns) {
  std::atomic<bool> hurry{false}, recovered{false};
  InProcessQueue queue(2, [&] { hurry = true; }, [&] { recovered = true; });
  ASSERT_TRUE(queue.submit({1, {}}));
  ASSERT_TRUE(queue.submit({2, {}}));
  std::jthread worker([&] {
    const auto work = queue.take(milliseconds(1000));
    while (!hurry) std::this_thread::sleep_for(milliseconds(1));
    queue.complete({work->id, fail(ErrorCode::kInfrastructure, "cancelled")});
  });
  std::this_thread::sleep_for(milliseconds(20));
  ASSERT_TRUE(queue.submit({3, {}}));
  std::jthread blocked([&] { EXPECT_FALSE(queue.submit({4, {}})); });
  std::this_thread::sleep_for(milliseconds(20));
  queue.cancel();
  EXPECT_TRUE(recovered);
  EXPECT_EQ(queue.next_result(milliseconds(0))->id, 1U);
  EXPECT_FALSE(queue.next_result(milliseconds(0)));
  EXPECT_FALSE(queue.submit({5, {}}));
  blocked.join();
  queue.resume();
  EXPECT_TRUE(queue.submit({6, {}}));
  EXPECT_EQ(queue.take(milliseconds(1000))->id, 6U);
}

TEST(InProcessQueue, WakingEndsOneWaitAndLosesNoResult) {
  InProcessQueue queue(1);
  queue.wake();  // before anybody waits
  EXPECT_FALSE(queue.next_result(milliseconds(60'000)));
  std::jthread waker([&queue] {
    std::this_thread::sleep_for(milliseconds(20));
    queue.wake();
  });
  EXPECT_FALSE(queue.next_result(milliseconds(60'000)));
  queue.post({7, fail(ErrorCode::kRefused, "no")});
  queue.wake();
  const auto done = queue.next_result(milliseconds(60'000));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->id, 7U);
}

TEST(InProcessQueue, ClosingWakesEverybody) {
  InProcessQueue queue(1);
  ASSERT_TRUE(queue.submit({1, {}}));
  std::jthread blocked([&] { EXPECT_FALSE(queue.submit({2, {}})); });
  std::jthread waiting([&] { EXPECT_FALSE(queue.next_result(milliseconds(60000))); });
  std::this_thread::sleep_for(milliseconds(20));
  queue.close();
  blocked.join();
  waiting.join();
  EXPECT_FALSE(queue.take(milliseconds(60000)));
  EXPECT_FALSE(queue.submit({3, {}}));
}

}  // namespace
}  // namespace hone
