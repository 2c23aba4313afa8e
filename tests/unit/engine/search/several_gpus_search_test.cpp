// A search on several GPUs of this process, with an evaluator that says what became of them. That
// evaluator itself is the business of tests/unit/evaluator/several_gpus_test.cpp.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "candidates/task_reader.h"
#include "engine/results/json.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/search.h"
#include "engine/search/target/workers.h"
#include "tests/unit/engine/fake_evaluator.h"

namespace hone {
namespace {

class SearchOnSeveralGpus : public testing::Test {
 protected:
  void SetUp() override {
    auto task = parse_task(test::kScaleTask, "scale.cu");
    ASSERT_TRUE(task) << task.error().message;
    task_ = *task;
    options_.settings.budget.evaluations = 40;
    options_.settings.seed = 3;
    options_.workers = 4;
  }
  Result<SearchOutcome> search(const std::string& device) {
    return run_search(task_, *DeviceSpec::parse(device), evaluator_, rewriting_, nullptr, options_);
  }
  Task task_;
  SearchOptions options_;
  test::FakeEvaluator evaluator_{test::FakeEvaluator::h200(), false};
  LocalRewriting rewriting_;
};

TEST_F(SearchOnSeveralGpus, MoreIsInFlightAndMoreFinalStagesAtOnce) {
  const DeviceSpec device = *DeviceSpec::parse("cuda:0,1,2,3,4,5,6,7");
  const auto target_of = [&](int gpus) {
    std::vector<GpuUse> uses(static_cast<std::size_t>(gpus));
    evaluator_.set_gpus(uses);
    LocalTarget local(device, evaluator_, 1);
    const Target target = local.target();
    EXPECT_EQ(gpus_of(target), static_cast<std::size_t>(gpus));
    return std::pair(target.window, target.devices);
  };
  const auto [window_1, finals_1] = target_of(1);
  const auto [window_8, finals_8] = target_of(8);
  EXPECT_GE(window_1, 24U);
  EXPECT_LE(window_1, 96U);
  EXPECT_GE(window_8, 96U) << "12 for each GPU, however few cores there are";
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  EXPECT_EQ(finals_1, std::min<std::size_t>(cores, 3));
  EXPECT_EQ(finals_8, std::min<std::size_t>(cores, 10)) << "one more for each further GPU";
}

TEST_F(SearchOnSeveralGpus, EachOnesShareIsSaid) {
  evaluator_.set_gpus({{.ordinal = 0, .measured = 5, .busy_s = 1}, {.ordinal = 2}});
  std::atomic<int> calls = 0;
  evaluator_.lie_ = [&](const EvaluationRequest& request, Evaluation& evaluation) {
    evaluation.verdict = Verdict::kOk;
    if (request.stage == Stage::kFinal) return;
    const int n = ++calls;
    evaluator_.set_gpus({{.ordinal = 0, .measured = 5 + n, .busy_s = 1},
                         {.ordinal = 2, .measured = n, .busy_s = 0, .lost = "it fell off"}});
  };
  const auto outcome = search("cuda:0,2");
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto json = results::pace_json(outcome->pace);
  ASSERT_EQ(json["gpus"].size(), 2U);
  EXPECT_EQ(json["gpus"][0]["device"], "cuda:0");
  EXPECT_EQ(json["gpus"][0]["measured"], json["gpus"][1]["measured"]) << "during the search alone";
  EXPECT_EQ(json["gpus"][0]["busy"], 0);
  EXPECT_EQ(json["gpus"][1]["lost"], "it fell off");
  EXPECT_EQ(json["evaluated"], outcome->counts.evaluated());
  EXPECT_FALSE(outcome->ranked.empty());
}

TEST_F(SearchOnSeveralGpus, WhereAllHaveFailedTheSearchEndsAndSaysWhy) {
  evaluator_.set_gpus({{.ordinal = 0}, {.ordinal = 1}});
  options_.settings.budget = {.seconds = 3600};
  std::atomic<int> calls = 0;
  evaluator_.lie_ = [&](const EvaluationRequest&, Evaluation& evaluation) {
    evaluation.verdict = Verdict::kOk;
    if (++calls == 10)
      evaluator_.set_gpus({{.ordinal = 0, .lost = "no answer"}, {.ordinal = 1, .lost = "dead"}});
  };
  const auto outcome = search("cuda:all");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kInfrastructure);
  EXPECT_NE(outcome.error().message.find("all GPUs of the search failed"), std::string::npos)
      << outcome.error().message;
  EXPECT_NE(outcome.error().message.find("cuda:0: no answer; cuda:1: dead"), std::string::npos)
      << outcome.error().message;
}

}  // namespace
}  // namespace hone
