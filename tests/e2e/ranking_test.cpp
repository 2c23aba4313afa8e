// From a search to a model, and back into a search, through the command line.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/e2e/process.h"
#include "tests/e2e/small_baseline.h"

namespace hone::testing {
namespace {

const std::string kBaselines = std::string(HONE_SOURCE_DIR) + "/baselines/";

class RankingCli : public ::testing::Test {
 protected:
  /// Searches a baseline; returns the JSON document.
  nlohmann::json optimize(const std::string& task, std::vector<std::string> more = {}) {
    std::vector<std::string> command = {"optimize",    small_baseline(folder_, task),
                                        "--device",    "emu:sm_90",
                                        "--budget",    "12",
                                        "--finalists", "1",
                                        "--quiet",     "--no-known",
                                        "--db",        db_,
                                        "--json",      "-"};
    command.insert(command.end(), more.begin(), more.end());
    return hone(command).json();
  }
  TemporaryFolder folder_;
  std::string db_ = folder_.file("hone.db");
};

TEST_F(RankingCli, WhatIsNoDatabaseOrNoModelIsSaidInOneLine) {
  const auto missing = hone({"calibrate", "--from-db", folder_.file("none.db")});
  EXPECT_EQ(missing.status, 2);
  EXPECT_NE(missing.err.find("there is no database here"), std::string::npos) << missing.err;
  EXPECT_EQ(hone({"calibrate", "--keep-out", "matmul"}).status, 2);  // of what?
  const std::string text = folder_.write("model.json", "{\"format\": 1}");
  const auto wrong = hone({"optimize", kBaselines + "row_sum/row_sum.cu", "--ranking-model", text});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("model.json: a ranking model is JSON"), std::string::npos) << wrong.err;
}

TEST_F(RankingCli, LearnsFromSearchesAndRanksTheNext) {
  (void)optimize("row_sum");
  (void)optimize("vector_add");
  const std::string model = folder_.file("model.json");
  const auto trained = hone({"calibrate", "--from-db", db_, "-o", model, "--json", "-"});
  if (trained.status == 3) GTEST_SKIP() << trained.err;
  ASSERT_EQ(trained.status, 0) << trained.err;
  const auto report = trained.json();
  EXPECT_EQ(report["tasks"].size(), 2U) << report;
  EXPECT_NE(report["trained_on"].get<std::string>().find("2 different nests"), std::string::npos);

  // The same seed goes the same way with a model, too.
  const std::vector<std::string> ranked = {"--ranking-model", model, "--seed", "3"};
  const auto first = optimize("column_sum", ranked), again = optimize("column_sum", ranked);
  EXPECT_GE(first["counts"]["proposed"], 12);
  EXPECT_EQ(first["counts"], again["counts"]);
  EXPECT_EQ(first["best"]["candidate"], again["best"]["candidate"]);
  EXPECT_EQ(first["best"]["recipe"], again["best"]["recipe"]);
}

}  // namespace
}  // namespace hone::testing
