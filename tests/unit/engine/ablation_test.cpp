// What a step contributes, with an evaluator that knows what it should cost.
#include "engine/service/ablation.h"

#include <gtest/gtest.h>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/space.h"
#include "rewriters/core/rewriter.h"

namespace hone {
namespace {

constexpr const char* kTask = R"CU(/* hone {
  "name": "rows", "sizes": {"M": 4096, "N": 256}, "check_sizes": [{"M": 3, "N": 40}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "N"]},
              {"name": "y", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "rows", "grid": ["ceildiv(M,128)"], "block": [128],
                "args": ["x", "y", "M", "N"]}]
}
*/ __global__ void rows(const float* x, float* y, int M, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < M) {
    float sum = 0.0f;
    for (int k = 0; k < N; ++k) sum += x[i * N + k];
    y[i] = sum;
  }
}
)CU";

/// A microsecond for each mark that is missing from the source; asked at which stage.
class Counting final : public Evaluator {
 public:
  const DeviceInfo& info() const override { return info_; }
  Result<Evaluation> admit(const EvaluationRequest&) override { return Evaluation{}; }
  Result<Evaluation> evaluate(const EvaluationRequest& request) override {
    stages_.push_back(request.stage);
    Evaluation evaluation;
    evaluation.verdict = Verdict::kOk;
    const std::string& source = request.timed.candidate.source;
    double time_us = 10;
    if (source.find("#pragma unroll") == source.npos) time_us += 1;
    if (source.find("__restrict__") == source.npos) time_us += 2;
    evaluation.measurement.time_us = time_us;
    evaluation.measurement.speedup = 100 / time_us;
    return evaluation;
  }
  Result<Ceilings> measure_ceilings() override { return Ceilings{}; }
  void use_ceilings(const Ceilings&) override {}
  void cancel() override {}
  void resume() override {}

  std::vector<Stage> stages_;

 private:
  DeviceInfo info_ = {"counting", "sm_90", "", "none", 132, 1LL << 36, 0, 0};
};

class AblationTest : public testing::Test {
 protected:
  /// The first thing that this rewriter proposes after `recipe`, with its first values.
  Step propose(const Recipe& recipe, const std::string& rewriter) {
    Space space(rewriting_, {&task_, task_.sizes, target_limits("sm_90")}, {});
    const auto proposals = space.proposals(recipe);
    for (const Proposal& proposal : *proposals) {
      if (proposal.rewriter != rewriter) continue;
      return proposal.step(std::vector<std::size_t>(proposal.parameters.size()));
    }
    ADD_FAILURE() << "nothing of " << rewriter;
    return {};
  }
  Result<Ablation> ablated(const Recipe& recipe, const std::string& device) {
    return ablate(task_, recipe, *DeviceSpec::parse(device), evaluator_, rewriting_);
  }

  Task task_ = *parse_task(kTask, "rows.cu");
  LocalRewriting rewriting_;
  Counting evaluator_;
};

TEST_F(AblationTest, EachStepIsLeftOutOnce) {
  Recipe recipe = {propose({}, "unroll")};
  recipe.push_back(propose(recipe, "restrict-const"));
  const auto ablation = ablated(recipe, "emu:sm_90");
  ASSERT_TRUE(ablation) << ablation.error().message;
  EXPECT_EQ(ablation->whole.measurement.time_us, 10);
  ASSERT_EQ(ablation->steps.size(), 2U);
  EXPECT_EQ(ablation->steps[0].without.measurement.time_us, 11);
  EXPECT_EQ(ablation->steps[1].without.measurement.time_us, 12);
  EXPECT_TRUE(ablation->steps[0].with_it.empty());
  EXPECT_EQ(evaluator_.stages_, std::vector<Stage>(3, Stage::kQuick));
}

TEST_F(AblationTest, OnAGpuInTheFinalStage) {
  ASSERT_TRUE(ablated({propose({}, "unroll")}, "cuda:0"));
  EXPECT_EQ(evaluator_.stages_, std::vector<Stage>(2, Stage::kFinal));
}

TEST_F(AblationTest, WhatNeedsAStepGoesWithIt) {
  // What unrolls a loop that coarsening made is not legal without that.
  Recipe recipe = {propose({}, "coarsen-threads")};
  recipe.push_back(propose(recipe, "restrict-const"));
  Space space(rewriting_, {&task_, task_.sizes, target_limits("sm_90")}, {});
  const auto before = space.proposals({}), after = space.proposals(recipe);
  for (const Proposal& proposal : *after) {
    const bool known = std::ranges::any_of(*before, [&](const Proposal& other) {
      return other.rewriter == proposal.rewriter && other.site == proposal.site;
    });
    if (proposal.rewriter != "unroll" || known) continue;
    recipe.push_back(proposal.step(std::vector<std::size_t>(proposal.parameters.size())));
    break;
  }
  ASSERT_EQ(recipe.size(), 3U) << "no loop of its own to unroll";
  const auto ablation = ablated(recipe, "emu:sm_90");
  ASSERT_TRUE(ablation) << ablation.error().message;
  EXPECT_EQ(ablation->steps[0].with_it, std::vector<std::size_t>{2});
  EXPECT_EQ(ablation->steps[0].without.measurement.time_us, 11);  // restrict-const is still there
  EXPECT_TRUE(ablation->steps[1].with_it.empty());
}

TEST_F(AblationTest, NothingToLeaveOut) {
  const auto ablation = ablated({}, "emu:sm_90");
  ASSERT_FALSE(ablation);
  EXPECT_EQ(ablation.error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace hone
