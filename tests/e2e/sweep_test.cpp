// Every proposal of every rewriter on every baseline, in the emulator at the check sizes (odd and
// prime ones among them): a rule that proposes must be right. Then recipes of several steps.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <future>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/random.h"
#include "engine/search/requests/lift_check.h"
#include "engine/search/requests/requests.h"
#include "engine/search/strategy/moves.h"
#include "engine/search/strategy/random_strategy.h"
#include "evaluator/evaluator.h"
#include "rewriters/core/registry.h"
#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

std::vector<std::string> baselines() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(HONE_SOURCE_DIR) + "/baselines")) {
    const std::string name = entry.path().filename().string();
    if (std::filesystem::exists(entry.path() / (name + ".cu"))) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Evaluator& evaluator() {
  static std::unique_ptr<Evaluator> instance = [] {
    auto spec = DeviceSpec::parse("emu:sm_90");
    EvaluatorOptions options;
    options.runner_path = std::string(HONE_BIN_DIR) + "/hone-runner";
    options.check_timeout_s = 200;  // some only fit large sizes, and are right there, too
    auto opened = Evaluator::open(*spec, options);
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }();
  return *instance;
}

class Sweep : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string folder = std::string(HONE_SOURCE_DIR) + "/baselines/" + GetParam();
    auto task = read_task(folder + "/" + GetParam() + ".cu");
    ASSERT_TRUE(task) << task.error().message;
    task_ = *task;
    build({});
    ASSERT_NE(builder_, nullptr);
    auto reference = builder_->for_program(task_.reference, 1);
    ASSERT_TRUE(reference) << reference.error().message;
    auto admitted = evaluator().admit(*reference);
    ASSERT_TRUE(admitted) << admitted.error().message;
  }

  void build(std::vector<std::string> disabled) {
    auto builder =
        RequestBuilder::make(rewriting_, task_, target_limits("sm_90"), std::move(disabled));
    ASSERT_TRUE(builder) << builder.error().message;
    builder_ = std::move(*builder);
  }

  /// Evaluates the recipes, two at a time; every one must be ok.
  void expect_ok(const std::vector<Recipe>& recipes) {
    std::vector<std::pair<const Recipe*, std::future<Result<Evaluation>>>> running;
    const auto finish = [&] {
      auto result = running.front().second.get();
      std::string text;
      for (const Step& step : *running.front().first) text += to_string(step) + "; ";
      if (!result) {
        ADD_FAILURE() << text << result.error().message;
      } else {
        // A configuration that needs more than the device has is no mistake of the rule.
        const bool fine =
            result->verdict == Verdict::kOk || result->verdict == Verdict::kLaunchError;
        auto program = builder_->space().program(*running.front().first);
        EXPECT_TRUE(fine) << text << to_string(result->verdict) << ": " << result->detail << "\n"
                          << (program ? program->source : "");
      }
      running.erase(running.begin());
    };
    for (const Recipe& recipe : recipes) {
      auto request = builder_->for_recipe(recipe, 17);
      if (!request) continue;  // legal at the timed sizes only: refused, not wrong
      ++evaluated_;
      running.emplace_back(&recipe, std::async(std::launch::async,
                                               [r = *request] { return evaluator().evaluate(r); }));
      if (running.size() >= 2) finish();
    }
    while (!running.empty()) finish();
  }

  Task task_;
  LocalRewriting rewriting_;
  std::unique_ptr<RequestBuilder> builder_;
  int evaluated_ = 0;
};

TEST_P(Sweep, EveryProposalIsRight) {
  Random random(5);
  std::vector<Recipe> recipes;
  for (const Proposal& proposal : *builder_->space().proposals({})) {
    const int choices = proposal.parameters.empty() ? 1 : 2;
    for (int i = 0; i < choices; ++i) recipes.push_back({random_step(proposal, random)});
  }
  EXPECT_FALSE(recipes.empty());
  expect_ok(recipes);
  EXPECT_GT(evaluated_, 0);
}

/// Of rules: after a generator's step they often only fit sizes whose emulation takes minutes.
TEST_P(Sweep, RandomRecipesAreRight) {
  build(names_of_generators());
  RandomStrategy strategy(builder_->space(), 23);
  std::vector<Recipe> recipes;
  for (int i = 0; i < 24; ++i) recipes.push_back(strategy.ask());
  expect_ok(recipes);
  EXPECT_GT(evaluated_, 0);
}

INSTANTIATE_TEST_SUITE_P(Baselines, Sweep, ::testing::ValuesIn(baselines()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hone
