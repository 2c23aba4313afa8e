// Whether a claim stands, with an evaluator that answers what it is told to.
#include "engine/search/single/verify.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"

namespace hone {
namespace {

constexpr const char* kTask = R"CU(/* hone {
  "name": "scale", "sizes": {"N": 4096}, "check_sizes": [{"N": 100}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]
}]
}
*/ __global__ void scale(const float* x, float* y, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = 2.0f * x[i];
}
)CU";

Evaluation timed(double speedup, double low, double high) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::kOk;
  evaluation.final_stage = true;
  auto& m = evaluation.measurement;
  m.time_us = 100;
  m.reference_time_us = 100 * speedup;
  m.speedup = speedup;
  m.ci95_low = low;
  m.ci95_high = high;
  return evaluation;
}

class Told final : public Evaluator {
 public:
  const DeviceInfo& info() const override { return info_; }
  Result<Evaluation> admit(const EvaluationRequest&) override { return timed(1, 1, 1); }
  Result<Evaluation> evaluate(const EvaluationRequest& request) override {
    stage_ = request.stage;
    return answer_;
  }
  Result<Ceilings> measure_ceilings() override { return Ceilings{}; }
  void use_ceilings(const Ceilings&) override {}
  void cancel() override {}
  void resume() override {}

  Evaluation answer_;
  Stage stage_ = Stage::kQuick;

 private:
  DeviceInfo info_ = {"told", "sm_90", "", "none", 132, 1LL << 36, 0, 0};
};

TEST(Verify, JudgesByTheSpeedupHoweverWideTheInterval) {
  const auto task = parse_task(kTask, "scale.cu");
  ASSERT_TRUE(task) << task.error().message;
  const auto path = std::filesystem::path(testing::TempDir()) / "verify_test.db";
  std::filesystem::remove(path);
  auto store = Store::open(path);
  ASSERT_TRUE(store) << store.error().message;
  ASSERT_TRUE((*store)->put_task(*task));

  BoardRow claim;
  claim.candidate.program_hash = std::string(32, 'a');
  claim.candidate.task_hash = task->hash();
  claim.candidate.task_name = task->name;
  claim.candidate.program = task->reference;
  claim.provenance.device_name = "told";
  claim.evaluation = timed(2, 0.5, 8);

  Told evaluator;
  LocalRewriting rewriting;
  const auto now = [&](Evaluation answer) {
    evaluator.answer_ = std::move(answer);
    const auto result =
        verify(*task, claim, *DeviceSpec::parse("cuda:0"), evaluator, rewriting, **store);
    EXPECT_TRUE(result) << result.error().message;
    EXPECT_EQ(evaluator.stage_, Stage::kFinal);
    return result ? *result : Verification{};
  };
  // Both intervals hold what was claimed.
  const auto fell = now(timed(1.9, 0.5, 8));
  EXPECT_FALSE(fell.stands) << fell.reason;
  EXPECT_NE(fell.reason.find("it is 1.90x [0.50, 8.00] now, 2.00x was claimed"), std::string::npos)
      << fell.reason;
  EXPECT_TRUE(now(timed(1.95, 0.5, 8)).stands);
  // This one lies below it.
  EXPECT_TRUE(now(timed(1.95, 1.9, 1.99)).stands);
  Evaluation wrong;
  wrong.verdict = Verdict::kWrongResult;
  EXPECT_FALSE(now(wrong).stands);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hone
