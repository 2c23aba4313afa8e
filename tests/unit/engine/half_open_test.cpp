// Who may wait for a request's head, and who makes room.
#include "engine/web/half_open.h"

#include <gtest/gtest.h>

namespace hone::web {
namespace {

using std::chrono::seconds;

class HalfOpenTest : public ::testing::Test {
 protected:
  HalfOpen::Entry begin(int connection, const std::string& address, int at_s) {
    return waits_.begin(connection, address, start_ + seconds(at_s));
  }
  const HalfOpen::Clock::time_point start_ = HalfOpen::Clock::now();
  HalfOpen waits_{{.soft = 2, .hard = 4, .all = 6, .grace = seconds(1)}};
};

TEST_F(HalfOpenTest, TheOldestOfAnAddressMakesRoom) {
  EXPECT_FALSE(begin(1, "a", 0).cut);
  EXPECT_FALSE(begin(2, "a", 1).cut);
  const auto third = begin(3, "a", 5);
  EXPECT_EQ(third.cut, 1);
  EXPECT_FALSE(third.refused);
  EXPECT_EQ(waits_.waiting(), 2);
  EXPECT_FALSE(begin(4, "b", 5).cut);  // others are not asked to
}

TEST_F(HalfOpenTest, NobodyIsCutWithinTheGraceAndTooManyAreRefused) {
  for (int i = 0; i < 4; ++i) {
    const auto entry = begin(i, "a", 0);
    EXPECT_FALSE(entry.cut || entry.refused) << i;
  }
  const auto fifth = begin(4, "a", 0);
  EXPECT_TRUE(fifth.refused);
  EXPECT_FALSE(fifth.cut);
  EXPECT_EQ(waits_.waiting(), 4);
  EXPECT_FALSE(begin(5, "b", 0).refused);
}

TEST_F(HalfOpenTest, WhereAllAreTakenTheAddressWithTheMostMakesRoom) {
  begin(1, "b", 0), begin(2, "c", 0), begin(3, "d", 0);
  begin(4, "a", 1), begin(5, "a", 2), begin(6, "e", 2);
  const auto seventh = begin(7, "f", 9);
  EXPECT_EQ(seventh.cut, 4);
  EXPECT_EQ(waits_.waiting(), 6);
}

TEST_F(HalfOpenTest, WhoseHeadIsThereCountsNoMore) {
  begin(1, "a", 0), begin(2, "a", 0);
  waits_.end(1);
  waits_.end(1);
  waits_.end(99);
  EXPECT_FALSE(begin(3, "a", 5).cut);
  EXPECT_FALSE(begin(2, "a", 5).cut);  // the next request of a connection that stays open
  EXPECT_EQ(waits_.waiting(), 2);
}

}  // namespace
}  // namespace hone::web
