// What a search counts and remembers of each candidate.
#include "engine/search/phases/findings.h"

#include <gtest/gtest.h>

namespace hone::search {
namespace {

using State = Candidate::State;

Candidate candidate(const std::string& hash, State state, Verdict verdict, double time_us = 0) {
  Candidate made;
  made.state = state;
  made.recipe = {Step{.rewriter = "unroll", .site = hash}};
  made.record.program_hash = hash;
  made.record.recipe = made.recipe;
  made.evaluation.verdict = verdict;
  made.evaluation.measurement.time_us = time_us;
  return made;
}

std::int64_t count(const Findings& findings, Verdict verdict) {
  return findings.counts.verdicts[static_cast<std::size_t>(verdict)];
}

class SearchFindings : public testing::Test {
 protected:
  SearchFindings() { findings_.know_reference("reference", 100); }
  Findings findings_{1};
};

TEST_F(SearchFindings, TheReferenceIsKnownAndToBeBeaten) {
  EXPECT_TRUE(findings_.known("reference"));
  EXPECT_FALSE(findings_.known("a"));
  EXPECT_EQ(findings_.time_to_beat_us(), 100);
}

TEST_F(SearchFindings, AFasterProgramIsTheBest) {
  const Candidate fast = candidate("a", State::kEvaluated, Verdict::kOk, 40);
  findings_.begin(fast);
  EXPECT_TRUE(findings_.in_flight("a"));
  const Outcome outcome = findings_.enter(fast);
  EXPECT_EQ(outcome.verdict, Verdict::kOk);
  EXPECT_EQ(outcome.time_us, 40);
  EXPECT_FALSE(outcome.duplicate);
  EXPECT_TRUE(findings_.nothing_in_flight());
  EXPECT_EQ(findings_.time_to_beat_us(), 40);
  EXPECT_EQ(findings_.best_recipe(), "unroll");
  EXPECT_EQ(count(findings_, Verdict::kOk), 1);
}

TEST_F(SearchFindings, ARepeatedProgramHasItsOwnOutcome) {
  (void)findings_.enter(candidate("a", State::kEvaluated, Verdict::kWrongResult));
  const Outcome outcome = findings_.enter(candidate("a", State::kRepeated, Verdict::kCrash));
  EXPECT_TRUE(outcome.duplicate);
  EXPECT_EQ(outcome.verdict, Verdict::kWrongResult);
  EXPECT_EQ(findings_.counts.duplicate, 1);
  EXPECT_EQ(findings_.fruitless(), 1);
  // Its twin was refused at a check size: then none is known.
  const Outcome unknown = findings_.enter(candidate("b", State::kRepeated, Verdict::kCrash));
  EXPECT_EQ(unknown.verdict, Verdict::kRefused);
}

TEST_F(SearchFindings, RefusalsAreFruitlessUntilAProgramIsNew) {
  (void)findings_.enter(candidate("", State::kRefused, Verdict::kRefused));
  const Candidate later = candidate("a", State::kRefusedLater, Verdict::kRefused);
  findings_.begin(later);
  (void)findings_.enter(later);
  EXPECT_EQ(findings_.fruitless(), 2);
  EXPECT_EQ(findings_.refused_later(), 1);
  EXPECT_EQ(count(findings_, Verdict::kRefused), 2);
  EXPECT_TRUE(findings_.nothing_in_flight());
  EXPECT_FALSE(findings_.known("a")) << "another recipe may yield it at every size";
  (void)findings_.enter(candidate("b", State::kRemembered, Verdict::kFault));
  EXPECT_EQ(findings_.fruitless(), 0);
}

TEST_F(SearchFindings, WhatTheTimeModelLeavesOutHasTheTimeThatItExpects) {
  Candidate screened = candidate("a", State::kEvaluated, Verdict::kOk);
  screened.evaluation.screened = true;
  screened.evaluation.modelled_us = 300;
  const Outcome outcome = findings_.enter(screened);
  EXPECT_EQ(outcome.time_us, 300);
  EXPECT_EQ(findings_.counts.screened, 1);
  EXPECT_EQ(count(findings_, Verdict::kOk), 0);
  EXPECT_TRUE(findings_.best().empty());
}

TEST_F(SearchFindings, WhatIsForgottenCountsForNothing) {
  const Candidate cancelled = candidate("a", State::kCancelled, Verdict::kCrash);
  findings_.begin(cancelled);
  ++findings_.counts.proposed;
  findings_.forget(cancelled);
  EXPECT_EQ(findings_.counts, Counts());
  EXPECT_TRUE(findings_.nothing_in_flight());
  EXPECT_FALSE(findings_.known("a"));
}

TEST_F(SearchFindings, ASecondAnswerCountsInsteadOfTheCrash) {
  Candidate crashed = candidate("a", State::kEvaluated, Verdict::kCrash);
  (void)findings_.enter(crashed);
  findings_.take_back_crash();
  crashed.evaluation = candidate("a", State::kEvaluated, Verdict::kOk, 50).evaluation;
  (void)findings_.enter(crashed);
  EXPECT_EQ(count(findings_, Verdict::kCrash), 0);
  EXPECT_EQ(count(findings_, Verdict::kOk), 1);
  EXPECT_EQ(findings_.time_to_beat_us(), 50);
}

}  // namespace
}  // namespace hone::search
