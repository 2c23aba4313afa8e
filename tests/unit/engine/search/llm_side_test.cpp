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

/// On a GPU a search goes on to the end of its budget while it has found nothing, but once it finds
/// something it ends before: money that was kept for later bought proposals that nobody measured.
TEST(PaceOfAModel, IsOverWhenAFoundCandidateEndsTheSearch) {
  SearchOptions options;
  options.settings.budget = {.seconds = 100};
  options.spent_s = 80;
  SearchClock clock(options, false);
  clock.plan.admitted(100, 2, 9);
  ASSERT_EQ(clock.plan.search_end(), 100);
  const double end_s = clock.plan.proposals_end();
  EXPECT_GT(end_s, 85);
  EXPECT_LT(end_s, 90);
  const auto pace = pace_of(clock);
  EXPECT_NEAR(pace(), 80 / end_s, 0.01);
  options.spent_s = 95;
  clock.restart();
  EXPECT_EQ(pace(), 1) << "the search goes on, and all money may be spent";
  SearchOptions endless;
  endless.settings.budget = {.evaluations = 10};
  EXPECT_FALSE(pace_of(SearchClock(endless, true)));
}

}  // namespace
}  // namespace hone::search
