// Steps that leave a program as it is: no rule offers one, and none is applied.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "candidates/task_reader.h"
#include "rewriters/core/registry.h"
#include "rewriters/llm/model_steps.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNothing = "the step changes nothing";

RewriteContext context_of(const Task& task, const Bindings& sizes) {
  return {&task, sizes, target_limits("sm_90")};
}

Task task_of(const std::string& block, const std::string& source) {
  const std::string comment = R"json(/* hone {
  "name": "t", "sizes": {"N": 65536, "B": 256}, "check_sizes": [{"N": 1000, "B": 128}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "t", "grid": ["ceildiv(N,BLOCK)"], "block": ["BLOCK"],
                "args": ["x", "y", "N"]}] } */
)json";
  std::string text = comment + source;
  for (std::size_t at; (at = text.find("BLOCK")) != text.npos;) text.replace(at, 5, block);
  const auto task = parse_task(text, "t.cu");
  EXPECT_TRUE(task) << task.error().message;
  return *task;
}

constexpr const char* kCopy =
    "__global__ void t(const float* x, float* y, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = x[i];\n"
    "}\n";

/// With each value of each parameter, the others at their last.
std::vector<Step> choices(const Proposal& proposal) {
  std::vector<std::size_t> last;
  for (const Parameter& parameter : proposal.parameters)
    last.push_back(parameter.domain.size() - 1);
  std::vector<Step> steps = {proposal.step(last)};
  for (std::size_t i = 0; i < last.size(); ++i) {
    for (std::size_t value = 0; value < last[i]; ++value) {
      auto choice = last;
      choice[i] = value;
      steps.push_back(proposal.step(choice));
    }
  }
  return steps;
}

/// The rule's own tasks are those with something to find, and after a step it may offer that again.
TEST(ChangesNothing, NoRuleOffersItNorRepeatsAStep) {
  int applied = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(std::string(HONE_SOURCE_DIR) + "/tests/golden")) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(".cu") || file.ends_with(".expected.cu") || file.ends_with(".refuse.cu"))
      continue;
    const Rewriter* rule = find_rewriter(entry.path().parent_path().filename().string());
    ASSERT_NE(rule, nullptr) << entry.path();
    const auto task = read_task(entry.path());
    ASSERT_TRUE(task) << task.error().message;
    const RewriteContext context = context_of(*task, task->sizes);
    std::vector<Program> programs = {task->reference};
    for (std::size_t round = 0; round < programs.size(); ++round) {
      for (const Proposal& proposal : rule->propose(programs[round], context)) {
        for (const Step& step : choices(proposal)) {
          SCOPED_TRACE(entry.path().string() + " " + to_string(step));
          auto made = apply_step(programs[round], step, context);
          if (!made) {
            // Of several parameters a combination may be what the last step chose.
            if (round == 0 || proposal.parameters.size() == 1) {
              EXPECT_FALSE(made.error().message.starts_with(kNothing));
            }
            continue;
          }
          ++applied;
          const auto again = apply_step(*made, step, context);
          EXPECT_TRUE(!again || *again != *made);
          if (programs.size() < 3 && round == 0) programs.push_back(std::move(*made));
        }
      }
    }
  }
  EXPECT_GT(applied, 100);
}

TEST(ChangesNothing, AStepThatChangesCommentsAndNamesAlone) {
  const Task task = task_of("256", kCopy);
  Program other = task.reference;
  other.source =
      "// A copy.\n__global__ void copy(const float* from, float* to, int n) {\n"
      "  int at = blockIdx.x * blockDim.x + threadIdx.x;\n  if (at < n) to[at] = from[at];\n}\n";
  other.launches[0].kernel = "copy";
  const RewriteContext context = context_of(task, task.sizes);
  const auto made = apply_step(task.reference, model_code_step(other, "r", task.math), context);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kRefused);
  EXPECT_EQ(made.error().message, kNothing);
  other.launches[0].block = {Expr(128)};
  EXPECT_TRUE(apply_step(task.reference, model_code_step(other, "r", task.math), context));
}

TEST(ChangesNothing, AFactorOfOneInEveryDirection) {
  const Task task = task_of("256", kCopy);
  Step step{.rewriter = "coarsen-threads", .site = "t"};
  step.params = {{"x", std::int64_t{1}}, {"y", std::int64_t{1}}};
  const auto made = apply_step(task.reference, step, context_of(task, task.sizes));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kRefused);
  EXPECT_TRUE(made.error().message.starts_with(kNothing)) << made.error().message;
}

TEST(ChangesNothing, ACombinationThatDomainsCannotLeaveOut) {
  Task task = task_of("256", kCopy);
  task.tunables = {{"A", {1, 2}}, {"B", {3, 4}}};
  task.reference.defines = {{"A", "1"}, {"B", "3"}};
  const RewriteContext context = context_of(task, task.sizes);
  const auto proposals = find_rewriter("tunables")->propose(task.reference, context);
  ASSERT_EQ(proposals.size(), 1U);
  const auto same = apply_step(task.reference, proposals[0].step({0, 0}), context);
  ASSERT_FALSE(same);
  EXPECT_EQ(same.error().message, kNothing);
  EXPECT_TRUE(apply_step(task.reference, proposals[0].step({0, 1}), context));

  task.tunables["B"] = {3};  // A alone can change
  const auto one = find_rewriter("tunables")->propose(task.reference, context);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].parameters[0].domain, std::vector<ParameterValue>{std::int64_t{2}});
}

/// A recipe is replayed at check sizes, where a block may have the wanted shape by itself.
TEST(ChangesNothing, AtOtherSizesThanTheTasksOwnItIsNoReasonToRefuse) {
  const Task task = task_of("B", kCopy);
  Step step{.rewriter = "launch-shape", .site = "t"};
  step.params["block"] = "128x1x1";
  const auto made = apply_step(task.reference, step, context_of(task, task.sizes));
  ASSERT_TRUE(made) << made.error().message;
  const auto small = apply_step(task.reference, step, context_of(task, task.check_sizes[0]));
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_EQ(*small, task.reference);
}

TEST(ChangesNothing, ARecipeNamesTheStep) {
  const Task task = task_of("256", kCopy);
  const RewriteContext context = context_of(task, task.sizes);
  const auto proposals = find_rewriter("launch-bounds")->propose(task.reference, context);
  ASSERT_EQ(proposals.size(), 1U);
  const Step step = proposals[0].step({0});
  const auto made = replay(task.reference, {step, step}, context);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kRefused);
  EXPECT_EQ(made.error().message, "step 2, " + to_string(step) + ": " + kNothing);
}

}  // namespace
}  // namespace hone
