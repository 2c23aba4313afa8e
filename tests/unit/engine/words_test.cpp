// What readers are told of results.
#include "engine/results/words.h"

#include <gtest/gtest.h>

#include "engine/cli/report.h"

namespace hone::results {
namespace {

Evaluation noted(std::string note) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::kOk;
  evaluation.final_stage = true;
  evaluation.note = std::move(note);
  return evaluation;
}

TEST(Words, SayHowFarAResultIsToBeDoubted) {
  EXPECT_EQ(doubt_of(noted("")).badge, "");
  EXPECT_EQ(doubt_of(noted("compared at the timed size: in full on 1 set of inputs")).badge, "");
  EXPECT_EQ(doubt_of(noted("compared at the timed size on 2 of 5 other inputs")).badge, "");
  EXPECT_EQ(doubt_of(noted("not compared at larger sizes: y: too long")).badge, "");
  EXPECT_EQ(doubt_of(noted("not compared at the timed size: y: too long")).badge,
            "not compared at the timed size");
  EXPECT_EQ(
      doubt_of(noted("compared at the timed size: 9 elements; not compared at the timed size: "
                     "z: too long"))
          .badge,
      "partly compared at the timed size");
  EXPECT_EQ(doubt_of(noted("compared at the timed size: 0 elements, by 0 blocks drawn, on 1 set of "
                           "inputs; not compared at the timed size: z: too long"))
                .badge,
            "not compared at the timed size");
  Evaluation quick = noted("");
  quick.final_stage = false;
  EXPECT_EQ(doubt_of(quick).badge, "quick stage only");
  quick.outpaced = true;
  EXPECT_EQ(doubt_of(quick).brief, "unchecked");
  quick.verdict = Verdict::kRace;
  EXPECT_EQ(doubt_of(quick).badge, "");
}

TEST(Words, ABoardOnATerminalSaysTheSame) {
  Board board;
  BoardRow row;
  row.evaluation = noted("not compared at the timed size: y: too long");
  board.rows = {row};
  EXPECT_NE(cli::board_text(board).find("[not compared at the timed size]"), std::string::npos);
  board.rows[0].evaluation.note = "compared at the timed size: 9 elements; " + row.evaluation.note;
  EXPECT_NE(cli::board_text(board).find("[partly compared at the timed size]"), std::string::npos);
}

TEST(Words, SayWhyAProgramIsUnlikeTheReference) {
  const Step unroll{"unroll", 1, "k", {}, MathLevel::kExact};
  const Step generate{"generate-map", 1, "k", {}, MathLevel::kExact};
  const Step model{"model-code", 1, "k", {}, MathLevel::kExact};
  EXPECT_EQ(why_unlike({}), "");
  EXPECT_EQ(why_unlike({unroll}), "");
  EXPECT_NE(why_unlike({generate, unroll}).find("generate-map"), std::string::npos);
  EXPECT_NE(why_unlike({generate, model}).find("language model"), std::string::npos);
}

TEST(Words, ExplainEveryVerdictAndLevel) {
  for (const Verdict verdict : kAllVerdicts) EXPECT_TRUE(in_words(verdict).ends_with("."));
  for (const MathLevel level : kAllMathLevels) EXPECT_FALSE(in_words(level).empty());
}

}  // namespace
}  // namespace hone::results
