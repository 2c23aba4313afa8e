// Which candidates of an earlier process are a language model's own.
#include <gtest/gtest.h>

#include "engine/search/phases/llm_side.h"
#include "rewriters/llm/model_steps.h"

namespace hone::search {
namespace {

CandidateRecord candidate(const std::string& id, const std::vector<std::string>& rewriters) {
  CandidateRecord record;
  record.id = id;
  for (const std::string& name : rewriters) record.recipe.emplace_back().rewriter = name;
  return record;
}

RunReply reply(const std::string& mode, const std::string& id) {
  RunReply reply;
  reply.reply.mode = mode;
  reply.candidates = {id};
  return reply;
}

TEST(IsModels, ARecipeThatEndsWithTheModelIsItsOwn) {
  EXPECT_TRUE(is_models(candidate("a", {kModelCode}), {}));
  EXPECT_TRUE(is_models(candidate("a", {"unroll", kModelEdit}), {}));
  EXPECT_FALSE(is_models(candidate("a", {kModelCode, "unroll"}), {reply("whole", "a")}));
  EXPECT_FALSE(is_models(candidate("a", {}), {}));
}

TEST(IsModels, StepsAreItsOwnWhereAReplyOfStepsGaveThem) {
  const std::vector<RunReply> heard = {reply("whole", "a"), reply("steps", "b")};
  EXPECT_FALSE(is_models(candidate("a", {"unroll"}), heard));
  EXPECT_TRUE(is_models(candidate("b", {"unroll"}), heard));
}

}  // namespace
}  // namespace hone::search
