#include "candidates/launch_plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "candidates/task_reader.h"

namespace hone {
namespace {

Task make_task() {
  return *parse_task(R"cu(/* hone
{ "name": "t", "sizes": {"N": 64}, "check_sizes": [{"N": 3}], "tunables": {"BLOCK": [32]},
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "k", "grid": ["N"], "block": ["BLOCK"], "args": ["x", "y", "N"]}] }
*/
__global__ void k(const float* x, float* y, int N) {}
)cu",
                     "task.cu");
}

Result<LaunchPlan> read(const char* json, const std::vector<Buffer>& known = {}) {
  return read_launch_plan(nlohmann::json::parse(json), make_task(), known);
}

std::string error(const char* json) {
  const auto plan = read(json);
  return plan ? "" : plan.error().message;
}

TEST(LaunchPlan, BothPartsMayBeLeftOut) {
  const auto none = read("{}");
  ASSERT_TRUE(none.has_value());
  EXPECT_FALSE(none->launches || none->scratch);
  const auto plan = read(R"({"scratch": [{"name": "s", "type": "u8", "shape": ["2*N"]}],
      "launches": [{"kernel": "a<3>", "grid": ["N", 2], "block": "BLOCK", "shared_bytes": "4*N",
                    "args": ["s", "y", 1.5, "N/2"]}]})");
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(plan->scratch->at(0).role, Role::kScratch);
  const Launch& launch = plan->launches->at(0);
  EXPECT_EQ(launch.args[0].buffer, "s");
  EXPECT_EQ(launch.args[2].number, 1.5);
  EXPECT_EQ(launch.args[3].expr.text(), "N/2");
}

TEST(LaunchPlan, KnownBuffersCountWhereNoneAreGiven) {
  const char* launches = R"({"launches": [{"kernel": "a", "grid": [1], "block": [1],
                             "args": ["s"]}]})";
  EXPECT_EQ(error(launches).substr(0, 40), "$.launches[0].args[0]: unknown name 's'.");
  Buffer known;
  known.name = "s";
  known.role = Role::kScratch;
  EXPECT_TRUE(read(launches, {known}).has_value());
}

TEST(LaunchPlan, MistakesHaveTheirPlace) {
  EXPECT_TRUE(error(R"([])").starts_with("$: must be an object"));
  EXPECT_TRUE(error(R"({"launches": {}})").starts_with("$.launches: must be a list"));
  EXPECT_TRUE(error(R"({"launches": []})").contains("at least 1 launch"));
  EXPECT_TRUE(error(R"({"scratch": [{"name": "x", "type": "f32", "shape": [1]}]})")
                  .starts_with("$.scratch[0]: the task already has a buffer 'x'"));
  EXPECT_TRUE(error(R"({"scratch": [{"name": "s", "type": "f32", "shape": [1], "role": "in"}]})")
                  .contains("only buffers with role \"scratch\""));
  EXPECT_TRUE(error(R"({"scratch": [{"name": "N", "type": "f32", "shape": [1]}]})")
                  .contains("is also a size"));
  EXPECT_TRUE(error(R"({"scratch": [4]})").starts_with("$.scratch[0]: must be an object"));
}

}  // namespace
}  // namespace hone
