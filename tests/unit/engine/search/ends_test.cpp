// What is said where programs seemed faster and none was: of each way how often, and nothing else.
#include "engine/results/ends.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/results/json.h"

namespace hone::results {
namespace {

Evaluation failed(Verdict verdict, std::string detail) {
  Evaluation evaluation;
  evaluation.verdict = verdict;
  evaluation.detail = std::move(detail);
  return evaluation;
}

SearchOutcome outcome_of(int seemed_faster, FinalEnds ends) {
  SearchOutcome outcome;
  outcome.seemed_faster = seemed_faster;
  outcome.seemed_speedup = 2.306;
  outcome.ends = std::move(ends);
  return outcome;
}

TEST(EndsText, WhatWasWrongIsNotCalledLate) {
  FinalEnds ends;
  ends.note(failed(Verdict::kWrongResult, "y[3] is 0 instead of 2\nand more"));
  const std::string one = "wrong_result (y[3] is 0 instead of 2 ...";
  EXPECT_EQ(
      ends_text(outcome_of(1, ends)),
      "one program seemed faster (2.31 times), and was not confirmed: it failed its checks: " +
          one);
  ends.note(failed(Verdict::kRace, "another"));
  EXPECT_EQ(ends_text(outcome_of(2, ends)),
            "2 programs seemed faster (the best 2.31 times), and none was confirmed: 2 "
            "failed their checks, the first: " +
                one);
}

TEST(EndsText, WhatWasLateIsNotCalledWrong) {
  EXPECT_EQ(ends_text(outcome_of(3, {.late = 3})),
            "3 programs seemed faster (the best 2.31 times), and none was confirmed: 3 "
            "were not checked in time: a longer budget leaves more time for that");
  SearchOutcome interrupted = outcome_of(1, {.late = 1});
  interrupted.stop_reason = StopReason::kInterrupted;
  EXPECT_EQ(ends_text(interrupted),
            "one program seemed faster (2.31 times), and was not confirmed: it was not checked in "
            "time");
}

TEST(EndsText, EachWayHasItsNumber) {
  FinalEnds ends{.no_faster = 2, .late = 1};
  ends.note(failed(Verdict::kFault, "x[9]"));
  ends.note(failed(Verdict::kUnsupported, "mma.sp"));
  const SearchOutcome outcome = outcome_of(9, ends);
  EXPECT_EQ(
      ends_text(outcome),
      "9 programs seemed faster (the best 2.31 times), and none was confirmed: 1 "
      "failed its checks: fault (x[9]); 2 were no faster when timed again; 1 could not be "
      "checked: unsupported (mma.sp); 1 was not checked in time: a longer budget leaves more time "
      "for that; 4 did not come to the final stage");
  const auto json = seemed_faster_json(outcome);
  EXPECT_EQ(json, nlohmann::json({{"programs", 9},
                                  {"speedup", 2.306},
                                  {"faster", 0},
                                  {"no_faster", 2},
                                  {"failed", 1},
                                  {"why_failed", "fault (x[9])"},
                                  {"unchecked", 1},
                                  {"why_unchecked", "unsupported (mma.sp)"},
                                  {"late", 1},
                                  {"said", ends_text(outcome)}}));
}

TEST(EndsText, NothingWhereNoneSeemedFasterOrOneIs) {
  EXPECT_EQ(ends_text(outcome_of(0, {})), "");
  EXPECT_EQ(ends_text(outcome_of(4, {.faster = 1, .late = 3})), "");
  EXPECT_EQ(seemed_faster_json(outcome_of(4, {.faster = 1}))["said"], nullptr);
  EXPECT_EQ(seemed_faster_json(outcome_of(4, {.faster = 1}))["why_failed"], nullptr);
}

TEST(EndsText, ALongReasonIsCutBetweenCharacters) {
  FinalEnds ends;
  ends.note_unchecked("a" + [] {
    std::string umlauts;
    for (int i = 0; i < 200; ++i) umlauts += "\xC3\xBC";
    return umlauts;
  }());
  EXPECT_LT(ends.why_unchecked.size(), 310U);
  EXPECT_TRUE(ends.why_unchecked.ends_with("\xC3\xBC ...")) << ends.why_unchecked;
}

}  // namespace
}  // namespace hone::results
