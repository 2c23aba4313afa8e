// Who waits for the check of a faster program, and who need not be checked.
#include "evaluator/outpacing.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>

namespace hone {
namespace {

using Check = Outpacing::Check;

/// Whether a program of so many microseconds turns out outpaced; may wait.
std::future<bool> outpaced(Outpacing& all, const std::string& task, double time_us) {
  return std::async(std::launch::async, [&all, task, time_us] {
    const Check check(all, task, time_us);
    return check.outpaced();
  });
}

bool waits(const std::future<bool>& answer) {
  return answer.wait_for(std::chrono::milliseconds(200)) == std::future_status::timeout;
}

TEST(Outpacing, FarSlowerOnesWaitAndAreNotCheckedWhereTheFasterOneIsRight) {
  Outpacing all;
  std::optional<Check> fast(std::in_place, all, "task", 100);
  EXPECT_FALSE(fast->outpaced());
  auto slow = outpaced(all, "task", 140);
  EXPECT_TRUE(waits(slow));
  EXPECT_FALSE(outpaced(all, "task", 120).get()) << "nearly as fast";
  EXPECT_FALSE(outpaced(all, "task", 20).get()) << "faster";
  EXPECT_FALSE(outpaced(all, "other", 900).get()) << "of another task";
  fast->passes();
  EXPECT_TRUE(slow.get());
  fast.reset();
  EXPECT_FALSE(outpaced(all, "task", 900).get()) << "nothing is remembered of what has ended";
}

TEST(Outpacing, WhereTheFasterOneIsWrongTheyAreChecked) {
  Outpacing all;
  std::optional<Check> wrong(std::in_place, all, "task", 1);
  std::optional<Check> right(std::in_place, all, "task", 1.2);
  auto slow = outpaced(all, "task", 150);
  wrong.reset();
  EXPECT_TRUE(waits(slow));
  right.reset();
  EXPECT_FALSE(slow.get());
}

}  // namespace
}  // namespace hone
