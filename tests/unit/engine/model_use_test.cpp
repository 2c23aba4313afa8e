// What a language model was used for, in numbers that its server stated.
#include <gtest/gtest.h>

#include <limits>

#include "engine/results/replies.h"

namespace hone::results {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

RunReply reply_at_most() {
  RunReply reply;
  reply.reply.outcome = "program";
  reply.reply.input_tokens = reply.reply.output_tokens = reply.reply.nano_dollars = kMost;
  return reply;
}

void expect_most(const ModelUse& use) {
  EXPECT_EQ(use.input_tokens, kMost);
  EXPECT_EQ(use.output_tokens, kMost);
  EXPECT_EQ(use.nano_dollars, kMost);
}

// A server may state any number, again and again.
TEST(ModelUse, SumsEndAtTheLargestNumber) {
  ModelUse use = model_use({reply_at_most(), reply_at_most()});
  expect_most(use);
  EXPECT_EQ(use.asked, 2);
  use.add_counts(model_use({reply_at_most()}));
  expect_most(use);
  EXPECT_EQ(use.asked, 3);
}

}  // namespace
}  // namespace hone::results
