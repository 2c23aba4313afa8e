#include "engine/search/requests/check_costs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "candidates/check_sizes.h"
#include "candidates/task_reader.h"
#include "engine/search/requests/hidden_sizes.h"
#include "engine/search/requests/requests.h"

namespace hone {
namespace {

Task task(const std::string& more) {
  auto read = parse_task(
      "/* hone {\"name\": \"t\", \"sizes\": {\"M\": 4096, \"N\": 4096, \"K\": 64}," + more +
          "\"buffers\": [{\"name\": \"x\", \"type\": \"f32\", \"shape\": [\"M\", \"N\"]},"
          "{\"name\": \"y\", \"type\": \"f32\", \"shape\": [\"M\", \"N\"], \"role\": \"out\"}],"
          "\"launches\": [{\"kernel\": \"k\", \"grid\": [\"ceildiv(N,16)\", \"ceildiv(M,16)\"], "
          "\"block\": [16, 16], \"args\": [\"x\", \"y\", \"K\"]}]"
          "} */ __global__ void k(const float* x, float* y, int K) {}",
      "t.cu");
  EXPECT_TRUE(read) << read.error().message;
  return *read;
}

/// As if each element took `each` units.
CheckCosts::Ask costing(double each, int* asked = nullptr) {
  return [=](const std::vector<ConcreteProgram>& programs) -> Result<std::vector<Survey>> {
    std::vector<Survey> surveys;
    for (const ConcreteProgram& program : programs) {
      if (asked != nullptr) ++*asked;
      Survey survey{.known = true};
      survey.units = each * static_cast<double>(program.buffers[0].elements());
      survey.seconds = survey.nominal_s();
      surveys.push_back(survey);
    }
    return surveys;
  };
}

TEST(CheckCosts, SizesThatHoneChoseShrinkUntilTheyAreAffordableAndKeepATileAndATail) {
  const Task t = task("");
  CheckCosts cheap(t, costing(1)), expensive(t, costing(5000));
  EXPECT_EQ(affordable_check_sizes(t, cheap), t.check_sizes);
  const auto smaller = affordable_check_sizes(t, expensive);
  ASSERT_EQ(smaller.size(), 2U);
  EXPECT_NE(smaller, t.check_sizes);
  for (const Bindings& sizes : smaller)
    EXPECT_TRUE(expensive.affordable(sizes)) << sizes_text(sizes);
  EXPECT_GT(smaller[0].at("M"), 16) << "a full tile and a tail of the 16 x 16 blocks";
  EXPECT_GT(smaller[0].at("N"), 16);
  EXPECT_NE(smaller[0].at("M") % 16, smaller[1].at("M") % 16);
}

TEST(CheckCosts, TheUsersSizesStayAndAreNamedWithTheirTime) {
  const Task t = task("\"check_sizes\": [{\"M\": 1000, \"N\": 1000}, {\"M\": 33, \"N\": 65}],");
  CheckCosts costs(t, costing(500));
  EXPECT_EQ(affordable_check_sizes(t, costs), t.check_sizes);
  const auto lines = slow_check_sizes(t, costs);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("check_sizes[0] (K=64 M=1000 N=1000) is slow"), std::string::npos)
      << lines[0];
  EXPECT_NE(lines[0].find("about 20.0 s"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("10th of the work"), std::string::npos) << lines[0];
}

TEST(CheckCosts, AlignsAsFarAsThatIsAffordable) {
  const Task t = task("\"check_sizes\": [{\"M\": 5, \"N\": 7, \"K\": 3}],");
  const Bindings& check = t.check_sizes[0];
  CheckCosts cheap(t, costing(1)), expensive(t, costing(20000)), hopeless(t, costing(1e9));
  EXPECT_EQ(affordable_aligned_sizes(t, check, cheap), aligned_sizes(check, t.sizes));
  const Bindings some = affordable_aligned_sizes(t, check, expensive);
  EXPECT_TRUE(expensive.affordable(some)) << sizes_text(some);
  EXPECT_EQ(some.at("M") % 8, 0) << sizes_text(some);
  EXPECT_EQ(some.at("N") % 8, 0) << sizes_text(some);
  EXPECT_EQ(affordable_aligned_sizes(t, check, hopeless), check);
}

TEST(CheckCosts, WhereNobodyCanBeAskedTheElementsDecide) {
  const Task t = task("\"check_sizes\": [{\"M\": 5, \"N\": 7}],");
  CheckCosts costs(t);
  EXPECT_TRUE(costs.affordable({{"M", 64}, {"N", 64}, {"K", 64}}));
  EXPECT_FALSE(costs.affordable({{"M", 4096}, {"N", 4096}, {"K", 64}}));
  EXPECT_TRUE(slow_check_sizes(t, costs).empty());
}

/// A naive transposed convolution visits eight times the products that its operations say. There
/// was no time left to ask when the final stage's sizes were chosen, and its checks took 16 s.
TEST(CheckCosts, WhenThereAreNoMoreAnswersSizesAreJudgedByThoseThatWereSurveyed) {
  const Task t = task("");
  int answers = 1;
  const auto once = [&, ask = costing(1500)](const std::vector<ConcreteProgram>& programs) {
    return answers-- > 0 ? ask(programs) : fail(ErrorCode::kInfrastructure, "no time");
  };
  CheckCosts costs(t, once), silent(t);
  const Bindings small = {{"M", 32}, {"N", 64}, {"K", 64}};
  const Bindings a_little_more = {{"M", 32}, {"N", 72}, {"K", 64}};
  const Bindings larger = {{"M", 64}, {"N", 128}, {"K", 64}};
  EXPECT_TRUE(costs.affordable(small));  // 0.12 of 0.2 s
  EXPECT_TRUE(costs.affordable(a_little_more));
  EXPECT_FALSE(costs.affordable(larger)) << "four times as many elements";
  EXPECT_TRUE(silent.affordable(larger)) << "small by its own numbers";
}

TEST(CheckCosts, HiddenSizesAreAffordable) {
  const Task t = task("\"check_sizes\": [{\"M\": 64, \"N\": 64}, {\"M\": 33, \"N\": 65}],");
  int asked = 0;
  CheckCosts costs(t, costing(600, &asked));
  bool all_were = true;
  for (const Bindings& sizes : hidden_sizes(t, 5)) all_were = all_were && costs.affordable(sizes);
  EXPECT_FALSE(all_were) << "or this shows nothing";
  const auto some =
      hidden_sizes(t, 5, [&](const Bindings& sizes) { return costs.affordable(sizes); });
  EXPECT_FALSE(some.empty());
  for (const Bindings& sizes : some) EXPECT_TRUE(costs.affordable(sizes)) << sizes_text(sizes);
  EXPECT_LT(asked, 60);
}

}  // namespace
}  // namespace hone
