// What a service keeps in its database, and how faults of the file reach it.
#include <SQLiteCpp/SQLiteCpp.h>

#include "tests/unit/candidates/store_fixture.h"

namespace hone {
namespace {

using test::candidate;
using test::gpu;
using test::hash_of;
using test::StoreTest;
using test::timed;

/// Says yes a few times.
struct Observer : StoreObserver {
  explicit Observer(int tries) : tries_(tries) {}
  bool try_again(StoreFault fault, const Error&, int faults) override {
    seen.push_back(fault);
    last_faults = faults;
    if (faults + 1 == tries_ && mend) mend();
    return faults < tries_;
  }
  void succeeded(int faults) override { successes.push_back(faults); }
  void failed(int faults) override { failures.push_back(faults); }
  void fence_lost() override { ++fences_lost; }
  bool in_trouble() const override { return false; }

  std::vector<StoreFault> seen;
  std::vector<int> successes, failures;
  int last_faults = -1, fences_lost = 0;
  std::function<void()> mend;

 private:
  const int tries_;
};

TEST_F(StoreTest, AnObserverHasACallTriedAgainUntilItWorks) {
  const std::int64_t run = begin(gpu());
  reopen({.busy_timeout_ms = 10});
  Observer observer(3);
  store_->observe(&observer);
  SQLite::Database other(file().string(), SQLite::OPEN_READWRITE);
  auto lock = std::make_unique<SQLite::Transaction>(other, SQLite::TransactionBehavior::IMMEDIATE);
  observer.mend = [&] { lock.reset(); };
  put(run, hash_of('a'), timed(2));
  EXPECT_EQ(observer.seen, std::vector(3, StoreFault::kLocked));
  EXPECT_EQ(observer.last_faults, 2);
  EXPECT_EQ(observer.successes, std::vector{3});
  EXPECT_EQ(store_->boards({})->size(), 1U);
  EXPECT_EQ(observer.successes, std::vector{3});  // reading says nothing of writing
}

TEST_F(StoreTest, AnObserverThatSaysNoEndsACallWithItsError) {
  const std::int64_t run = begin(gpu());
  reopen({.busy_timeout_ms = 10});
  Observer observer(0);
  store_->observe(&observer);
  SQLite::Database other(file().string(), SQLite::OPEN_READWRITE);
  const SQLite::Transaction lock(other, SQLite::TransactionBehavior::IMMEDIATE);
  const auto put = store_->put(run, candidate(task_, hash_of('a')), timed(2), gpu());
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kInfrastructure);
  EXPECT_EQ(observer.seen, std::vector{StoreFault::kLocked});
  EXPECT_TRUE(observer.successes.empty());
}

TEST_F(StoreTest, WhatIsWrongWithACallIsNoFault) {
  Observer observer(5);
  store_->observe(&observer);
  EXPECT_FALSE(store_->put(77, candidate(task_, hash_of('a')), timed(2), gpu()));  // no such run
  EXPECT_TRUE(observer.seen.empty());
}

TEST_F(StoreTest, TryWritingFailsWhereTheFileMayNotGrow) {
  EXPECT_TRUE(store_->try_writing());
  begin(gpu());
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(file()));
  reopen();
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE).exec("VACUUM");
  reopen({.max_bytes = bytes});
  const auto tried = store_->try_writing();
  ASSERT_FALSE(tried);
  EXPECT_EQ(tried.error().code, ErrorCode::kInfrastructure);
}

TEST_F(StoreTest, AnIdStaysAndAFileFromBeforeGetsOne) {
  const auto first = store_->identity();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->id.size(), 16U);
  EXPECT_EQ(first->queue, "");
  ASSERT_TRUE(store_->remember_queue("q1"));
  reopen();
  EXPECT_EQ(store_->identity()->id, first->id);
  EXPECT_EQ(store_->identity()->queue, "q1");
  store_.reset();
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE)
      .exec(
          "DROP TABLE identity; DROP TABLE jobs; DROP TABLE probe; ALTER TABLE runs DROP COLUMN "
          "inputs; PRAGMA user_version = 14");
  reopen();
  EXPECT_EQ(store_->identity()->id.size(), 16U);
  EXPECT_NE(store_->identity()->id, first->id);
}

TEST_F(StoreTest, AnObserverHearsThatTheFenceIsLost) {
  const std::int64_t run = begin(gpu());
  Observer observer(0);
  store_->observe(&observer);
  ASSERT_TRUE(store_->take_fence(3));
  put(run, hash_of('a'), timed(2));
  EXPECT_EQ(observer.fences_lost, 0);
  const auto other = Store::open(file());
  ASSERT_TRUE(other);
  ASSERT_TRUE((*other)->take_fence(4));
  const auto put = store_->put(run, candidate(task_, hash_of('b')), timed(2), gpu());
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(observer.fences_lost, 1);
  EXPECT_TRUE(store_->boards({}));  // reading goes on
  EXPECT_EQ(observer.fences_lost, 1);
  store_->observe(nullptr);
}

TEST_F(StoreTest, JobsAreKeptUntilTheyAreForgotten) {
  const std::string bytes("\0\xff message", 10);
  ASSERT_TRUE(store_->keep_jobs({{"b", bytes}, {"a", "two"}, {"c", "three"}}));
  ASSERT_TRUE(store_->keep_jobs({{"a", "changed"}}));
  reopen();
  EXPECT_EQ(*store_->kept_jobs(), (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_EQ(**store_->kept_job("b"), bytes);
  EXPECT_EQ(**store_->kept_job("a"), "two");
  EXPECT_FALSE(*store_->kept_job("d"));
  ASSERT_TRUE(store_->forget_job("b"));
  ASSERT_TRUE(store_->forget_jobs({"a", "x"}));
  EXPECT_EQ(*store_->kept_jobs(), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace hone
