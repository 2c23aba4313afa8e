// The steps to what a language model wrote.
#include "rewriters/llm/model_steps.h"

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
  EXPECT_TRUE(has_model_step({step}));
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

class ModelEditTest : public ModelCodeTest {
 protected:
  llm::ModelDiff diff(const std::string& reply) const {
    const auto read = llm::read_diff(reply, task_.reference, task_);
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : llm::ModelDiff();
  }
  Result<Program> edited(const Program& base, const Step& step) const {
    return find_rewriter(kModelEdit)->apply(base, step, context_);
  }

  const std::string edit_ =
      "<<<<<<< SEARCH\n    c[i] = a[i] + b[i];\n=======\n"
      "    c[i] = b[i] + a[i];\n>>>>>>> REPLACE\n";
};

TEST_F(ModelEditTest, EditsWhateverComesBefore) {
  const Step step = model_edit_step(diff(edit_), "0123", task_.math);
  EXPECT_TRUE(is_model_step(step));
  EXPECT_EQ(step.params.count("plan"), 0U);
  Program other = task_.reference;
  other.source += "__device__ int of_a_rule;\n";
  other.defines["UNROLL"] = "4";
  const auto made = edited(other, step);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NE(made->source.find("c[i] = b[i] + a[i];"), std::string::npos) << made->source;
  EXPECT_NE(made->source.find("of_a_rule"), std::string::npos);
  EXPECT_EQ(made->defines, other.defines);
  EXPECT_EQ(made->launches, other.launches);
  EXPECT_EQ(made->buffers, other.buffers);
  const auto back = step_from_json(json(step));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, step);
  EXPECT_LT(to_string(step).size(), 200U);
}

TEST_F(ModelEditTest, LaunchesAndScratchBuffersMayChangeAlone) {
  const std::string kernel = task_.reference.launches[0].kernel;
  const Step step = model_edit_step(
      diff("```json\n{\"launches\": [{\"kernel\": \"" + kernel +
           "\", \"grid\": [\"ceildiv(N,64)\"], \"block\": [64], \"args\": [\"a\", \"b\", \"c\", "
           "\"N\"]}], \"scratch\": [{\"name\": \"parts\", \"type\": \"f32\", \"shape\": "
           "[8]}]}\n```"),
      "0123", task_.math);
  const auto made = edited(task_.reference, step);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->launches[0].block[0].text(), "64");
  EXPECT_EQ(made->buffers.size(), task_.reference.buffers.size() + 1);
  // What comes after may edit that again, and keeps the buffers.
  const auto again = edited(*made, model_edit_step(diff(edit_), "4567", task_.math));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->buffers, made->buffers);
  EXPECT_EQ(again->launches, made->launches);
}

TEST_F(ModelEditTest, HoldsNothingElseThatAModelSays) {
  const llm::ModelDiff read =
      diff(edit_ +
           "```json\n{\"why\": \"see \u009b31m\u202e\", \"scratch\": [{\"name\": \"parts\", "
           "\"type\": \"f32\", \"shape\": [8]}]}\n```");
  EXPECT_EQ(read.plan.find("why"), std::string::npos) << read.plan;
  EXPECT_NE(read.plan.find("parts"), std::string::npos) << read.plan;
  EXPECT_TRUE(diff(edit_ + "```json\n{\"why\": \"faster\"}\n```").plan.empty());
  const Step step = model_edit_step(read, "0123", task_.math);
  for (const auto& [name, value] : step.params)
    for (const char c : to_string(value)) EXPECT_TRUE(c >= ' ' && c <= '~') << name;
}

TEST_F(ModelEditTest, RefusesWhatIsNotThereOrNoEdit) {
  Step step = model_edit_step(diff(edit_), "0123", task_.math);
  Program other = task_.reference;
  other.source = "__global__ void vector_add(const float* a, const float* b, float* c, int n) {}\n";
  const auto gone = edited(other, step);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kRefused);
  EXPECT_NE(gone.error().message.find("not in the program"), std::string::npos);
  for (const char* edits :
       {"", "{", "{}", "[[1, 2]]", "[[\"a\"]]", "[[\"a\", \"b\", \"c\"]]", "[]"}) {
    step.params["edits"] = edits;
    EXPECT_FALSE(edited(task_.reference, step)) << edits;
  }
  step = model_edit_step(diff(edit_), "0123", task_.math);
  step.params["plan"] = "{\"launches\": 5}";
  EXPECT_FALSE(edited(task_.reference, step));
  step.params["plan"] = std::string(600'000, ' ');
  EXPECT_FALSE(edited(task_.reference, step));
  step = model_edit_step(diff(edit_), "0123", task_.math);
  step.site = "elsewhere";
  EXPECT_FALSE(edited(task_.reference, step));
  // Host code in a step that nobody read before.
  step.site = "task";
  step.params["edits"] = json::array({{"    c[i] = a[i] + b[i];\n", "  system(\"id\");\n"}}).dump();
  EXPECT_FALSE(edited(task_.reference, step));
}

TEST_F(ModelEditTest, RepliesOfARecipeAreNamedOnce) {
  const Step first = model_code_step(program_, "a", task_.math);
  const Step second = model_edit_step(diff(edit_), "b", task_.math);
  Step rule;
  rule.rewriter = "unroll";
  EXPECT_EQ(replies_in({rule, first, second, first}), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(has_model_step({rule, second}));
  EXPECT_FALSE(has_model_step({rule}));
}

}  // namespace
}  // namespace hone
