// What a language model said, and what came of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/candidates/store_fixture.h"

namespace hone {
namespace {

using test::gpu;
using test::hash_of;
using test::StoreTest;
using test::timed;

ReplyRecord reply(const std::string& id) {
  ReplyRecord record;
  record.id = id;
  record.mode = "whole";
  record.prompt_version = "whole-1";
  record.model = "m";
  record.text = std::string("said \0 and more", 15);
  record.outcome = "program";
  record.input_tokens = 1000;
  record.output_tokens = 200;
  record.nano_dollars = 12'345;
  record.exact = false;
  record.seconds = 1.5;
  return record;
}

TEST_F(StoreTest, RepliesAreKeptWithTheirCandidates) {
  const std::int64_t run = begin(gpu());
  put(run, hash_of('a'), timed(2));
  ASSERT_TRUE(store_->put_reply(run, reply("r1")));
  ASSERT_TRUE(store_->put_reply(run, reply("r1")));  // once is enough
  ASSERT_TRUE(store_->put_reply(run, reply("r2")));
  const std::string candidate(12, 'a');
  ASSERT_TRUE(store_->link_reply(run, "r1", candidate));
  ASSERT_TRUE(store_->link_reply(run, "r1", candidate));
  reopen();
  const auto of = store_->replies_of(candidate);
  ASSERT_TRUE(of) << of.error().message;
  ASSERT_EQ(of->size(), 1U);
  EXPECT_EQ(of->front().text, reply("r1").text);
  EXPECT_EQ(of->front().prompt_version, "whole-1");
  EXPECT_EQ(of->front().nano_dollars, 12'345);
  EXPECT_FALSE(of->front().exact);
  EXPECT_FALSE(of->front().stored_at.empty());
  const auto all = store_->replies(run);
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->front().reply.text, reply("r1").text);
  EXPECT_EQ(all->front().candidates, std::vector<std::string>{candidate});
  EXPECT_TRUE(all->back().candidates.empty());
  EXPECT_EQ(store_->replies(run, false)->front().reply.text, "");
  EXPECT_EQ(store_->replies(run, false)->front().reply.outcome, "program");
  EXPECT_TRUE(store_->replies(run + 1)->empty());
}

// A reply counts as the best of what came of it.
TEST_F(StoreTest, RepliesHaveTheFateOfTheirCandidates) {
  const std::int64_t run = begin(gpu());
  const auto quick = [](double speedup) {
    Evaluation evaluation = timed(speedup, 10 / speedup);
    evaluation.final_stage = false;
    return evaluation;
  };
  put(run, hash_of('a'), quick(0.5));                           // right, and slower
  put(run, hash_of('b'), test::failed(Verdict::kWrongResult));  // not right
  put(run, hash_of('c'), quick(3));                             // the fastest then
  put(run, hash_of('d'), quick(2));                             // right, and not the fastest
  put(run, hash_of('e'), quick(4));                             // the fastest, of no reply
  put(run, hash_of('f'), quick(5));                             // the fastest; the final stage:
  put(run, hash_of('f'), test::failed(Verdict::kWrongResult));  // not right
  const std::pair<const char*, ReplyFate> expected[] = {
      {"a", ReplyFate::kPassed},     {"b", ReplyFate::kFailed},       {"bd", ReplyFate::kPassed},
      {"c", ReplyFate::kBest},       {"f", ReplyFate::kFailed},       {"none", ReplyFate::kNone},
      {"said", ReplyFate::kRefused}, {"untried", ReplyFate::kUntried}};
  for (const auto& [id, fate] : expected) {
    ReplyRecord record = reply(id);
    if (fate == ReplyFate::kNone) record.outcome = "no reply: trouble";
    if (fate == ReplyFate::kRefused) record.outcome = "refused: it says so";
    ASSERT_TRUE(store_->put_reply(run, record));
    if (fate == ReplyFate::kPassed || fate == ReplyFate::kFailed || fate == ReplyFate::kBest) {
      for (const char* digit = id; *digit != 0; ++digit)
        ASSERT_TRUE(store_->link_reply(run, id, std::string(12, *digit)));
    }
  }
  const auto all = store_->replies(run);
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), std::size(expected));
  for (const RunReply& one : *all) {
    const auto* const want = std::ranges::find(
        expected, one.reply.id, [](const auto& entry) { return std::string(entry.first); });
    EXPECT_EQ(to_string(one.fate), to_string(want->second)) << one.reply.id;
  }
}

// A coordinator that another one has taken over from writes nothing down, so it asks nothing.
TEST_F(StoreTest, WhoLostTheFenceSpendsNothing) {
  ASSERT_TRUE(store_->take_fence(1));
  ASSERT_TRUE(store_->put_spending("a", {5000, 70}));
  const auto other = Store::open(file());
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_TRUE((*other)->take_fence(2));
  EXPECT_FALSE(store_->put_spending("a", {1, 1}));
  EXPECT_EQ(*(*other)->spending("a"), (Spending{5000, 70}));
}

TEST_F(StoreTest, WhatAJobSpentStays) {
  EXPECT_EQ(*store_->spending("a"), Spending{});
  ASSERT_TRUE(store_->put_spending("a", {5000, 70}));
  ASSERT_TRUE(store_->put_spending("a", {4000, 60}));
  ASSERT_TRUE(store_->put_spending("b", {1, 2}));
  ASSERT_TRUE(store_->forget_jobs({}));
  reopen();
  EXPECT_EQ(*store_->spending("a"), (Spending{4000, 60}));
  EXPECT_EQ(*store_->spending("b"), (Spending{1, 2}));
}

TEST_F(StoreTest, ALinkNeedsItsReplyAndItsCandidate) {
  const std::int64_t run = begin(gpu());
  put(run, hash_of('a'), timed(2));
  ASSERT_TRUE(store_->put_reply(run, reply("r1")));
  EXPECT_FALSE(store_->link_reply(run, "r2", std::string(12, 'a')));
  EXPECT_FALSE(store_->link_reply(run, "r1", std::string(12, 'b')));
}

}  // namespace
}  // namespace hone
