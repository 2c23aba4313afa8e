// Who gets the GPU next.
#include "evaluator/pool/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace hone {
namespace {

/// Threads that want a turn; what they got, in order.
class Waiting {
 public:
  ~Waiting() {
    for (std::thread& thread : threads_) thread.join();
  }

  /// Returns when the thread waits.
  void add(const std::string& name, double rank, const std::string& group = "") {
    const std::size_t before = turns.waiting();
    threads_.emplace_back([=, this] {
      const bool held = turns.take(rank, group);
      {
        const std::lock_guard lock(mutex_);
        told_.push_back(held ? name : name + " sent away");
      }
      if (held) turns.give_back();
    });
    while (turns.waiting() == before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::vector<std::string> told(std::size_t count) {
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (told_.size() >= count) return told_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  Turns turns;

 private:
  std::mutex mutex_;
  std::vector<std::string> told_;
  std::vector<std::thread> threads_;
};

TEST(Turns, TheLowestRankFirstAndEqualOnesAsTheyCame) {
  Waiting waiting;
  ASSERT_TRUE(waiting.turns.take());
  waiting.add("slow", 3);
  waiting.add("fast", 1);
  waiting.add("also fast", 1);
  waiting.add("middling", 2);
  waiting.turns.give_back();
  EXPECT_EQ(waiting.told(4), (std::vector<std::string>{"fast", "also fast", "middling", "slow"}));
}

TEST(Turns, NobodyIsOvertakenForEver) {
  Waiting waiting;
  ASSERT_TRUE(waiting.turns.take());
  waiting.add("slow", 9);
  for (int i = 0; i < 70; ++i) waiting.add("fast", 1);
  waiting.turns.give_back();
  const std::vector<std::string> told = waiting.told(71);
  EXPECT_EQ(std::ranges::find(told, "slow") - told.begin(), 64);
}

TEST(Turns, OnlyThoseOfTheGroupAboveTheRankAreSentAway) {
  Waiting waiting;
  ASSERT_TRUE(waiting.turns.take());
  waiting.add("hopeless", 9, "a");
  waiting.add("other task", 9, "b");
  waiting.add("good", 1, "a");
  waiting.turns.send_away("a", 4);
  EXPECT_EQ(waiting.told(1), (std::vector<std::string>{"hopeless sent away"}));
  EXPECT_EQ(waiting.turns.waiting(), 2U);
  waiting.turns.give_back();
  EXPECT_EQ(waiting.told(3),
            (std::vector<std::string>{"hopeless sent away", "good", "other task"}));
  EXPECT_TRUE(waiting.turns.take()) << "the last one gave it back";
}

}  // namespace
}  // namespace hone
