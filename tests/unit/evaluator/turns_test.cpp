// Who gets the GPU next.
#include "evaluator/pool/turns.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

namespace hone {
namespace {

TEST(InOrder, LetsThroughAsTheyJoinedHoweverLateTheyCome) {
  InOrder order;
  std::optional<InOrder::Place> first(order), second(order);
  InOrder::Place third(order);
  EXPECT_EQ(order.size(), 3U);
  std::vector<int> through;
  std::mutex mutex;
  std::thread last([&] {  // ready before the others
    third.wait();
    const std::lock_guard hold(mutex);
    through.push_back(3);
  });
  std::thread middle([&] {
    second->wait();
    {
      const std::lock_guard hold(mutex);
      through.push_back(2);
    }
    second.reset();
  });
  first->wait();
  {
    const std::lock_guard hold(mutex);
    EXPECT_TRUE(through.empty());
    through.push_back(1);
  }
  first.reset();
  middle.join();
  last.join();
  EXPECT_EQ(through, (std::vector<int>{1, 2, 3}));
}

TEST(InOrder, WhoLeavesWithoutHavingComeHoldsUpNobody) {
  InOrder order;
  std::optional<InOrder::Place> first(order);
  InOrder::Place second(order);
  first.reset();
  second.wait();
  EXPECT_EQ(order.size(), 1U);
}

TEST(InOrder, TheFirstFewAreLetThroughAtOnce) {
  InOrder order(2);
  const InOrder::Place first(order);
  auto second = std::make_unique<InOrder::Place>(order);
  const InOrder::Place third(order);
  first.wait();
  second->wait();
  std::atomic<bool> through = false;
  std::jthread waits([&] {
    third.wait();
    through = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(through);
  second.reset();
  waits.join();
  EXPECT_TRUE(through);
}

TEST(InOrder, WhoHasWaitedLongEnoughGoesBeforeThoseWhoHaveNotCome) {
  InOrder order;
  std::optional<InOrder::Place> first(order), second(order), third(order);
  std::vector<int> through;
  std::mutex mutex;
  const auto goes = [&](std::optional<InOrder::Place>& place, int number) {
    return std::jthread([&, number] {
      place->wait(std::chrono::milliseconds(50));
      const std::lock_guard hold(mutex);
      through.push_back(number);
    });
  };
  {
    const auto waits = goes(third, 3);  // the first and the second are not ready
  }
  EXPECT_EQ(through, std::vector<int>{3});
  std::jthread later = goes(second, 2);
  std::jthread best = goes(first, 1);
  while (order.waiting() < 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  {
    const std::lock_guard hold(mutex);
    EXPECT_EQ(through, std::vector<int>{3}) << "one at a time";
  }
  third.reset();
  best.join();
  first.reset();
  later.join();
  EXPECT_EQ(through, (std::vector<int>{3, 1, 2}));
}

TEST(Seats, GoToTheLowestNumberOfThoseWhoWait) {
  Seats seats(1);
  std::optional<Seats::Seat> taken(std::in_place, seats, 9);
  std::vector<int> through;
  std::mutex mutex;
  std::vector<std::thread> waiting;
  for (const int number : {3, 1, 2, 1})
    waiting.emplace_back([&, number] {
      const Seats::Seat seat(seats, static_cast<std::uint64_t>(number));
      const std::lock_guard hold(mutex);
      through.push_back(number);
    });
  while (seats.waiting() < 4) std::this_thread::yield();
  taken.reset();
  for (auto& thread : waiting) thread.join();
  EXPECT_EQ(through, (std::vector<int>{1, 1, 2, 3}));
}

}  // namespace
}  // namespace hone
