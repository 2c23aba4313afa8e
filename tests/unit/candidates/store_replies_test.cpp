// What a language model said, and what came of it.
#include <gtest/gtest.h>

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
  const auto totals = store_->reply_totals(run);
  ASSERT_TRUE(totals) << totals.error().message;
  EXPECT_EQ(totals->replies, 2);
  EXPECT_EQ(totals->candidates, 1);
  EXPECT_EQ(totals->input_tokens, 2000);
  EXPECT_EQ(totals->nano_dollars, 24'690);
  EXPECT_EQ(store_->replies(run)->size(), 2U);
  EXPECT_EQ(store_->reply_totals(run + 1)->replies, 0);
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
