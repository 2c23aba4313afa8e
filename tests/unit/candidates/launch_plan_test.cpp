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

TEST(LaunchPlan, TensorMaps) {
  const auto plan = read(R"({"launches": [{"kernel": "a", "grid": [1], "block": [1], "args":
      [{"tensor_map": "x", "shape": ["N/8", 8], "box": ["N/16", 8], "swizzle": 32},
       {"tensor_map": "x", "box": 64, "as_tf32": true}]}]})");
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  Program program = make_task().reference;
  program.launches = *plan->launches;
  const auto again = program_from_json(nlohmann::json(program));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(*again, program);
  const auto concrete = instantiate(program, {{"N", 64}});
  ASSERT_TRUE(concrete.has_value()) << concrete.error().message;
  const ConcreteTensorMap map{0, {8, 8}, {8}, {4, 8}, 32};
  EXPECT_EQ(std::get<ConcreteTensorMap>(concrete->launches[0].args[0]), map);
  EXPECT_EQ(std::get<ConcreteTensorMap>(concrete->launches[0].args[1]).shape,
            std::vector<std::int64_t>{64});
  const auto types_of = [](const ConcreteProgram& all) {
    std::vector<TensorMapSpec::Type> types;
    for (const ConcreteArgument& argument : all.launches[0].args) {
      const auto& one = std::get<ConcreteTensorMap>(argument);
      types.push_back(spec_of(one, all.buffers[one.buffer].type, 0).type);
    }
    return types;
  };
  using Type = TensorMapSpec::Type;
  EXPECT_EQ(types_of(*concrete), (std::vector{Type::kF32, Type::kTf32}));
  const auto sent = concrete_program_from_json(nlohmann::json(*concrete));
  ASSERT_TRUE(sent.has_value()) << sent.error().message;
  EXPECT_EQ(std::get<ConcreteTensorMap>(sent->launches[0].args[0]), map);
  EXPECT_EQ(types_of(*sent), types_of(*concrete));
  auto beyond = nlohmann::json(*concrete);
  beyond["launches"][0]["args"][0]["shape"] = {9, 8};
  EXPECT_FALSE(concrete_program_from_json(beyond).has_value());
  auto swizzled = nlohmann::json(*concrete);
  swizzled["launches"][0]["args"][0]["swizzle"] = 100;
  EXPECT_FALSE(concrete_program_from_json(swizzled).has_value());
  auto halves = nlohmann::json(*concrete);
  halves["buffers"][0]["type"] = "f16";
  const auto refused = concrete_program_from_json(halves);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().message.contains("f16 rounded to tf32")) << refused.error().message;
}

TEST(LaunchPlan, MistakesInTensorMaps) {
  const auto mistake = [](const std::string& map) {
    const auto plan = read(
        (R"({"launches": [{"kernel": "a", "grid": [1], "block": [1], "args": [)" + map + "]}]}")
            .c_str());
    if (!plan) return plan.error().message;
    Program program = make_task().reference;
    program.launches = *plan->launches;
    const auto concrete = instantiate(program, {{"N", 64}});
    return concrete ? std::string() : concrete.error().message;
  };
  EXPECT_EQ(mistake(R"({"tensor_map": "x", "box": [64]})"), "");
  EXPECT_TRUE(mistake(R"({"tensor_map": "z", "box": [64]})")
                  .starts_with("$.launches[0].args[0].tensor_map: there is no buffer 'z'"));
  EXPECT_TRUE(mistake(R"({"tensor_map": "x"})").contains("box"));
  EXPECT_TRUE(mistake(R"({"tensor_map": "x", "box": [64], "swizzle": 16})")
                  .ends_with("swizzle: is 16; must be 0, 32, 64 or 128 bytes"));
  EXPECT_TRUE(mistake(R"({"tensor_map": "x", "boxes": [64]})").contains("boxes"));
  EXPECT_TRUE(mistake(R"({"tensor_map": "x", "box": [8, 8]})")
                  .ends_with("box: has 2 entries; the tensor map has 1 dimensions"));
  EXPECT_TRUE(mistake(R"({"tensor_map": "x", "shape": [8, 8], "strides": [8, 1], "box": [8, 8]})")
                  .contains("strides: has 2 entries; a tensor map of 2 dimensions has 1"));
  EXPECT_EQ(mistake(R"({"tensor_map": "x", "shape": [9, 8], "box": [8, 8]})"),
            "launches[0].args[0]: reaches element 71; buffer 'x' has 64 elements");
  EXPECT_TRUE(mistake(R"({"tensor_map": "x", "shape": [4, 6], "box": [4, 4]})")
                  .contains("stride of 24 B in dimension 1 (a multiple of 16"));
  EXPECT_TRUE(mistake(R"({"tensor_map": "x", "box": ["N*8"]})").contains("box of 512"));
  EXPECT_TRUE(mistake(R"({"tensor_map": "x", "box": [4294967300]})").contains("(1 to 256)"));
  EXPECT_TRUE(mistake(R"({"tensor_map": "x", "box": [64], "swizzle": 128})")
                  .contains("a swizzle of 128 B takes at most 128"));
  EXPECT_TRUE(mistake(R"({"tensor_map": "x", "box": [64], "as_tf32": 1})").contains("as_tf32"));
  EXPECT_TRUE(mistake(R"({"tensor_map": "x", "box": ["M"]})").contains("unknown name 'M'"));
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
