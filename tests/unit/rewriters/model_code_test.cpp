// The step to a program that a language model wrote.
#include "rewriters/llm/model_code.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "candidates/task_reader.h"
#include "rewriters/core/registry.h"

namespace hone {
namespace {

using nlohmann::json;

class ModelCodeTest : public ::testing::Test {
 protected:
  ModelCodeTest()
      : task_(*read_task(std::string(HONE_SOURCE_DIR) + "/baselines/vector_add/vector_add.cu")) {
    context_.task = &task_;
    context_.sizes = task_.sizes;
    program_ = task_.reference;
    program_.source += "\n// by a model\n";
    program_.defines["UNROLL"] = "4";
    Buffer scratch;
    scratch.name = "parts";
    scratch.role = Role::kScratch;
    scratch.shape = {*Expr::parse("16")};
    program_.buffers.push_back(scratch);
  }

  Result<Program> apply(const Step& step) const {
    return find_rewriter(kModelCode)->apply(task_.reference, step, context_);
  }
  /// Of a step whose program was changed as JSON.
  std::string refusal(const std::function<void(json&)>& change) const {
    Step step = model_code_step(program_, "r", task_.math);
    json own = json::parse(step.string_param("program", ""));
    change(own);
    step.params["program"] = own.dump();
    const auto made = apply(step);
    return made ? "" : made.error().message;
  }

  Task task_;
  RewriteContext context_;
  Program program_;
};

TEST_F(ModelCodeTest, GivesTheProgramFromAnythingElse) {
  const Step step = model_code_step(program_, "0123", task_.math);
  const auto made = apply(step);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(*made, program_);
  EXPECT_TRUE(has_model_code({step}));
  EXPECT_EQ(step.math, task_.math);
  EXPECT_TRUE(find_rewriter(kModelCode)->propose(task_.reference, context_).empty());
}

TEST_F(ModelCodeTest, IsShortInWordsAndUnlikeOthers) {
  const Step step = model_code_step(program_, "0123", task_.math);
  program_.source += " ";
  const Step other = model_code_step(program_, "0123", task_.math);
  EXPECT_LT(to_string(step).size(), 200U);
  EXPECT_NE(to_string(step), to_string(other));
  const auto back = step_from_json(json(step));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, step);
}

TEST_F(ModelCodeTest, RefusesWhatIsNoProgramOfTheTask) {
  EXPECT_EQ(refusal([](json&) {}), "");
  EXPECT_NE(refusal([](json& own) { own.erase("launches"); }).find("launches"), std::string::npos);
  EXPECT_NE(refusal([](json& own) { own["launches"] = 5; }), "");
  EXPECT_NE(refusal([](json& own) { own["source"] = json::array(); }), "");
  EXPECT_NE(refusal([](json& own) { own["scratch"][0]["role"] = "out"; }).find("not scratch"),
            std::string::npos);
  EXPECT_NE(refusal([](json& own) { own["scratch"] = "parts"; }), "");
  EXPECT_NE(refusal([](json& own) { own["source"] = std::string(600'000, 'x'); }).find("large"),
            std::string::npos);
  Step step = model_code_step(program_, "r", task_.math);
  step.site = "elsewhere";
  EXPECT_FALSE(apply(step));
  step.site = "task";
  step.params["program"] = "{";
  EXPECT_FALSE(apply(step));
}

}  // namespace
}  // namespace hone
