// A candidate's states, and the two policies of telling.
#include "engine/search/phases/candidate.h"

#include <gtest/gtest.h>

#include "engine/search/phases/replay.h"
#include "engine/search/phases/telling.h"

namespace hone::search {
namespace {

using State = Candidate::State;

Candidate evaluating() {
  Candidate candidate;
  candidate.state = State::kEvaluating;
  return candidate;
}

TEST(SearchCandidate, AnAnswerSettlesItsState) {
  Candidate evaluated = evaluating();
  evaluated.answer(Evaluation{.verdict = Verdict::kOk}, false);
  EXPECT_EQ(evaluated.state, State::kEvaluated);
  EXPECT_TRUE(evaluated.has_evaluation());

  Candidate refused = evaluating();
  refused.answer(hone::refused("not at this size"), false);
  EXPECT_EQ(refused.state, State::kRefusedLater);
  EXPECT_EQ(refused.evaluation.verdict, Verdict::kRefused);
  EXPECT_EQ(refused.evaluation.detail, "not at this size");
  EXPECT_FALSE(refused.has_evaluation());

  Candidate crashed = evaluating();
  crashed.answer(fail(ErrorCode::kInfrastructure, "the child died"), false);
  EXPECT_EQ(crashed.state, State::kEvaluated);
  EXPECT_EQ(crashed.evaluation.verdict, Verdict::kCrash);
}

TEST(SearchCandidate, WhatIsGivenUpIsCancelledUnlessItsAnswerCame) {
  Candidate cancelled = evaluating();
  cancelled.answer(fail(ErrorCode::kInfrastructure, "cancelled"), true);
  EXPECT_EQ(cancelled.state, State::kCancelled);
  Candidate evaluated = evaluating();
  evaluated.answer(Evaluation{.verdict = Verdict::kOk}, true);
  EXPECT_EQ(evaluated.state, State::kEvaluated);
}

TEST(SearchCandidate, OriginsAreSaidByTheSteps) {
  const Step rule{.rewriter = "unroll"}, macro{.rewriter = "tunables"};
  EXPECT_EQ(origin_of({}), "reference");
  EXPECT_EQ(origin_of({macro}), "tunables");
  EXPECT_EQ(origin_of({macro, rule}), "rules");
  EXPECT_EQ(names_of({macro, rule}), "tunables, unroll");
  EXPECT_TRUE(has_tunables({rule, macro}));
  EXPECT_FALSE(has_tunables({rule}));
}

class TellingPolicy : public testing::Test {
 protected:
  TellingPolicy() {
    for (const std::uint64_t id : {1, 2, 3}) {
      window_.push_back(evaluating());
      window_.back().id = id;
    }
  }
  [[nodiscard]] std::uint64_t next(const Telling& telling) {
    const auto found = telling.next(
        window_, [](const Candidate& candidate) { return candidate.is(State::kEvaluated); });
    return found == window_.end() ? 0 : found->id;
  }
  Telling::Window window_;
};

TEST_F(TellingPolicy, OrderedTellsTheOldestAlone) {
  const auto telling = telling_for(true);
  EXPECT_EQ(telling->asking_threads(8), 0);
  EXPECT_TRUE(telling->repeats());
  EXPECT_EQ(next(*telling), 0U);
  window_[1].state = State::kEvaluated;
  EXPECT_EQ(next(*telling), 0U) << "the second waits for the first";
  window_[0].state = State::kEvaluated;
  EXPECT_EQ(next(*telling), 1U);
  window_.clear();
  EXPECT_EQ(next(*telling), 0U);
}

TEST_F(TellingPolicy, UnorderedTellsWhoIsReady) {
  const auto telling = telling_for(false);
  EXPECT_EQ(telling->asking_threads(8), 4);
  EXPECT_FALSE(telling->repeats());
  EXPECT_EQ(next(*telling), 0U);
  window_[2].state = State::kEvaluated;
  EXPECT_EQ(next(*telling), 3U);
  window_[1].state = State::kEvaluated;
  EXPECT_EQ(next(*telling), 2U) << "of those who are, the oldest";
}

TEST(SearchReplay, GoesOnWhileItIsAskedFor) {
  Replay replay({{"a", {.verdict = Verdict::kOk}}, {"b", {.verdict = Verdict::kCrash}}});
  ASSERT_NE(replay.find("a"), nullptr);
  EXPECT_EQ(replay.find("b"), nullptr) << "a crash may have been the machine's fault";
  EXPECT_EQ(replay.find("c"), nullptr);
  for (int ask = 0; ask < 3; ++ask) replay.asked(false);
  EXPECT_TRUE(replay.going_on(2));
  replay.asked(false);
  EXPECT_FALSE(replay.going_on(2)) << "two windows without any";
  replay.asked(true);
  EXPECT_TRUE(replay.going_on(2));
  replay.asked(true);
  EXPECT_FALSE(replay.going_on(2)) << "all of it was asked for";
}

TEST(SearchReplay, WithoutAnEarlierProcessThereIsNone) {
  Replay replay({});
  EXPECT_TRUE(replay.empty());
  EXPECT_FALSE(replay.going_on(24));
}

}  // namespace
}  // namespace hone::search
