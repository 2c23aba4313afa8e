// A rank above its roof is explained, or an alarm.
#include <gtest/gtest.h>

#include "engine/cli/report.h"
#include "engine/results/roofline.h"

namespace hone::cli {
namespace {

Board board(double roof_fraction) {
  Board board;
  board.task_name = "scale";
  BoardRow row;
  row.candidate.id = "aaaa";
  row.candidate.origin = "rules";
  row.evaluation.measurement.time_us = 10;
  row.evaluation.measurement.roof_fraction = roof_fraction;
  board.rows = {row};
  return board;
}

TEST(RoofNote, IsThereOnlyAboveTheRoof) {
  EXPECT_EQ(results::roof_note(0), "");
  EXPECT_EQ(results::roof_note(1), "");
  EXPECT_EQ(board_text(board(0.97)).find("roof above"), std::string::npos);
  EXPECT_NE(board_text(board(1.04)).find("within the uncertainty"), std::string::npos);
  EXPECT_EQ(board_text(board(1.04)).find("ALARM"), std::string::npos);
  EXPECT_NE(board_text(board(1.3)).find("ALARM: 130.0 % of the roof"), std::string::npos);
}

}  // namespace
}  // namespace hone::cli
