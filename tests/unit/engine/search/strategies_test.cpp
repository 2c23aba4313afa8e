// All strategies that learn, on the recipes of a small task; and what is special about some.
#include "engine/search/strategy/strategy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/requests/requests.h"
#include "engine/search/strategy/moves.h"
#include "engine/search/strategy/portfolio_strategy.h"
#include "engine/search/strategy/vndx_strategy.h"
#include "tests/unit/engine/fake_evaluator.h"

namespace hone {
namespace {

class Strategies : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto task = parse_task(test::kScaleTask, "scale.cu");
    ASSERT_TRUE(task) << task.error().message;
    task_ = *task;
    auto builder = RequestBuilder::make(rewriting_, task_, target_limits("sm_90"), {}, {});
    ASSERT_TRUE(builder) << builder.error().message;
    builder_ = std::move(*builder);
  }
  [[nodiscard]] std::unique_ptr<Strategy> strategy(std::uint64_t seed = 1) {
    return find_strategy(GetParam())->make(builder_->space(), seed, kReference_us);
  }
  static Outcome outcome(const Recipe& recipe, double time_us) {
    return {.recipe = recipe, .verdict = Verdict::kOk, .time_us = time_us};
  }
  /// A landscape with one valley: BLOCK = 128, where a program takes 0.8 of the reference's time.
  static double time_of(const Recipe& recipe) {
    double time_us = kReference_us;
    for (const Step& step : recipe) {
      if (!step.params.contains("BLOCK")) continue;
      const double octaves = std::log2(static_cast<double>(step.int_param("BLOCK", 32)) / 128);
      time_us *= 0.8 + 0.1 * std::fabs(octaves);
    }
    return time_us;
  }

  static constexpr double kReference_us = 100;
  Task task_;
  LocalRewriting rewriting_;
  std::unique_ptr<RequestBuilder> builder_;
};

TEST_P(Strategies, IsWhatItIsCalled) { EXPECT_EQ(strategy()->name(), GetParam()); }

TEST_P(Strategies, TheSameSeedAsksTheSame) {
  const auto first = strategy(7), second = strategy(7), other = strategy(8);
  bool differs = false;
  for (int ask = 0; ask < 60; ++ask) {
    const Recipe recipe = first->ask();
    EXPECT_EQ(recipe, second->ask());
    const Recipe elsewhere = other->ask();
    differs |= recipe != elsewhere;
    first->tell(outcome(recipe, time_of(recipe)));
    second->tell(outcome(recipe, time_of(recipe)));
    other->tell(outcome(elsewhere, time_of(elsewhere)));
  }
  EXPECT_TRUE(differs);
}

TEST_P(Strategies, OpensWithEverySiteAndAsksForWhatReplaysAndIsNew) {
  const auto search = strategy();
  const std::size_t sites = builder_->space().proposals({})->size();
  std::set<std::string> asked;
  for (std::size_t ask = 0; ask < sites + 40; ++ask) {
    const Recipe recipe = search->ask();
    if (ask < sites) {
      EXPECT_EQ(recipe.size(), 1U);
    }
    EXPECT_TRUE(builder_->space().replays(recipe)) << recipe_key(recipe);
    asked.insert(recipe_key(recipe));
    search->tell(outcome(recipe, time_of(recipe)));
  }
  EXPECT_GT(asked.size(), sites + 20) << "a pool without anything new is rare";
}

constexpr const char* kTwoProducts = R"CU(/* hone {
  "name": "chain", "sizes": {"N": 256},
  "buffers": [{"name": "a", "type": "f32", "shape": ["N", "N"]},
              {"name": "b", "type": "f32", "shape": ["N", "N"]},
              {"name": "c", "type": "f32", "shape": ["N", "N"], "role": "scratch"},
              {"name": "d", "type": "f32", "shape": ["N", "N"], "role": "out"}],
  "launches": [{"kernel": "first", "grid": ["ceildiv(N*N,128)"], "block": [128], "args": ["a", "b", "c", "N"]},
               {"kernel": "second", "grid": ["ceildiv(N*N,128)"], "block": [128], "args": ["c", "a", "d", "N"]}]
} */
__global__ void first(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  float sum = 0;
  for (int k = 0; k < n; k++) sum += x[i / n * n + k] * y[k * n + i % n];
  z[i] = sum;
}
__global__ void second(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  float sum = 0;
  for (int k = 0; k < n; k++) sum += x[i / n * n + k] * y[k * n + i % n];
  z[i] = sum;
}
)CU";

// With either product as it was, nothing is fast.
TEST_P(Strategies, BeginsWithTheBestStartsOfAllSitesAtOnce) {
  auto task = parse_task(kTwoProducts, "chain.cu");
  ASSERT_TRUE(task) << task.error().message;
  auto builder = RequestBuilder::make(rewriting_, *task, target_limits("sm_90"), {}, {});
  ASSERT_TRUE(builder) << builder.error().message;
  const auto search = find_strategy(GetParam())->make((*builder)->space(), 1, kReference_us);
  EXPECT_GT(search->pioneers(), 2U);
  const Recipe recipe = search->ask();
  ASSERT_GE(recipe.size(), 2U) << recipe_key(recipe);
  EXPECT_TRUE((*builder)->space().replays(recipe));
  std::set<std::string> sites;
  for (const Step& step : recipe)
    if (step.rewriter == "generate-contract") sites.insert(step.site);
  EXPECT_EQ(sites.size(), 2U);
  EXPECT_EQ(search->ask().size(), 1U);
}

TEST_P(Strategies, BeginsWithTheLoosestArithmeticThatIsAllowed) {
  std::string text = kTwoProducts;
  text.insert(text.find("\"sizes\""), "\"math\": \"tf32x3\", ");
  auto task = parse_task(text, "chain.cu");
  ASSERT_TRUE(task) << task.error().message;
  auto builder = RequestBuilder::make(rewriting_, *task, target_limits("sm_90"), {}, {});
  ASSERT_TRUE(builder) << builder.error().message;
  const auto search = find_strategy(GetParam())->make((*builder)->space(), 1, kReference_us);
  const Recipe tensor_cores = search->ask(), plain = search->ask();
  EXPECT_EQ(std::ranges::count(tensor_cores, MathLevel::kTf32x3, &Step::math), 2);
  EXPECT_GE(plain.size(), 2U);
  EXPECT_EQ(std::ranges::count(plain, MathLevel::kTf32x3, &Step::math), 0);
  EXPECT_EQ(search->ask().size(), 1U);
}

TEST(FirstSteps, BestStartsOfAllFirst) {
  const auto proposal = [](const std::string& site, std::vector<std::vector<std::size_t>> starts) {
    return Proposal{.rewriter = "r",
                    .site = site,
                    .parameters = {{"x", {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}}}},
                    .starts = std::move(starts)};
  };
  const FirstSteps first =
      first_steps({proposal("none", {}), proposal("two", {{2}, {0}}), proposal("one", {{1}})});
  std::string order;
  for (const Step& step : first.steps) order += step.site + to_string(step.params.at("x")) + " ";
  EXPECT_EQ(order, "two4 one2 two1 none2 ");
  EXPECT_EQ(first.with_start, 3U);
}

TEST_P(Strategies, FindsTheValleyAndFailuresDoNotStopIt) {
  const auto search = strategy(3);
  double best_us = kReference_us;
  for (int ask = 0; ask < 80; ++ask) {
    const Recipe recipe = search->ask();
    if (ask % 4 == 3) {
      search->tell({.recipe = recipe, .verdict = Verdict::kWrongResult});
      continue;
    }
    best_us = std::min(best_us, time_of(recipe));
    search->tell(outcome(recipe, time_of(recipe)));
  }
  EXPECT_LT(best_us, 0.81 * kReference_us);
}

TEST_P(Strategies, AStrangersProgramIsTaken) {
  const auto search = strategy();
  Outcome stranger = outcome(search->ask(), 10);
  stranger.stranger = true;
  search->tell(stranger);
  EXPECT_FALSE(search->ask().empty());
}

INSTANTIATE_TEST_SUITE_P(All, Strategies, testing::Values("evolve", "bandit", "portfolio", "vndx"),
                         [](const auto& info) { return info.param; });

TEST(Vndx, DistanceCountsStepsAndValuesThatDiffer) {
  const Step a{.rewriter = "unroll", .site = "k", .params = {{"factor", std::int64_t{2}}}};
  Step b = a;
  b.params["factor"] = std::int64_t{4};
  const Step other{.rewriter = "vectorise", .site = "k"};
  EXPECT_EQ(VndxStrategy::distance({a}, {a}), 0U);
  EXPECT_EQ(VndxStrategy::distance({a}, {b}), 2U);
  EXPECT_EQ(VndxStrategy::distance({a}, {a, other}), 1U);
  EXPECT_EQ(VndxStrategy::distance({}, {a}), 2U);
  EXPECT_EQ(VndxStrategy::distance({a, other}, {other, a}), 0U) << "the order does not count";
}

/// Asks for recipes of one step, whose site is a number.
class Counting final : public Strategy {
 public:
  Counting(std::string rewriter, int& asked) : rewriter_(std::move(rewriter)), asked_(asked) {}
  std::string_view name() const override { return rewriter_; }
  Recipe ask() override { return {{.rewriter = rewriter_, .site = std::to_string(asked_++)}}; }
  void tell(const Outcome& outcome) override { told += outcome.recipe.size(); }
  std::size_t told = 0;

 private:
  const std::string rewriter_;
  int& asked_;
};

TEST(Portfolio, WhoFindsFasterProgramsAsksMoreAndAllHearOfAll) {
  int good = 0, bad = 0;
  std::vector<std::unique_ptr<Strategy>> members;
  members.push_back(std::make_unique<Counting>("bad", bad));
  members.push_back(std::make_unique<Counting>("good", good));
  const auto& first = static_cast<const Counting&>(*members.front());
  PortfolioStrategy portfolio(std::move(members), 1000);
  for (int i = 0; i < 100; ++i) {
    const Recipe recipe = portfolio.ask();
    const double time_us = recipe.front().rewriter == "good" ? 900.0 - i : 2000;
    portfolio.tell({.recipe = recipe, .verdict = Verdict::kOk, .time_us = time_us});
  }
  EXPECT_EQ(first.told, 100U);
  EXPECT_GT(good, 80);
  EXPECT_GT(bad, 0);
}

TEST(Portfolio, WhoStopsFindingAnythingLosesItsTurns) {
  int first = 0, second = 0;
  std::vector<std::unique_ptr<Strategy>> members;
  members.push_back(std::make_unique<Counting>("first", first));
  members.push_back(std::make_unique<Counting>("second", second));
  PortfolioStrategy portfolio(std::move(members), 1000);
  int later = 0;
  for (int i = 0; i < 400; ++i) {
    const Recipe recipe = portfolio.ask();
    const bool good = recipe.front().rewriter == (i < 100 ? "first" : "second");
    if (i >= 300 && recipe.front().rewriter == "second") ++later;
    portfolio.tell({.recipe = recipe, .verdict = Verdict::kOk, .time_us = good ? 900.0 - i : 2000});
  }
  EXPECT_GT(later, 80);
}

}  // namespace
}  // namespace hone
