// An evaluator without a compiler and a device, for tests of what is around it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "candidates/hash.h"
#include "evaluator/evaluator.h"

namespace hone::test {

/// Tunables alone, 64 programs.
inline constexpr const char* kScaleTask = R"CU(/* hone {
  "name": "scale", "sizes": {"N": 65536}, "check_sizes": [{"N": 100}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "tunables": {"BLOCK": [32, 64, 96, 128, 160, 192, 224, 256], "ITEMS": [1, 2, 3, 4, 5, 6, 7, 8]},
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,BLOCK*ITEMS)"], "block": ["BLOCK"], "args": ["x", "y", "N"]
}]
}
*/ __global__ void scale(const float* x, float* y, int N) {
  for (int j = 0; j < ITEMS; ++j) {
    int i = (blockIdx.x * ITEMS + j) * BLOCK + threadIdx.x;
    if (i < N) y[i] = 2.0f * x[i];
  }
}
)CU";

/// Times by a hash of the program; every fourth is wrong, the reference never is.
class FakeEvaluator final : public Evaluator {
 public:
  using Lie = std::function<void(const EvaluationRequest&, Evaluation&)>;
  static DeviceInfo h200() {
    return {.name = "emulated sm_90 (H200 profile)",
            .arch = "sm_90",
            .toolchain = "fake 1",
            .sm_count = 132,
            .memory_bytes = 1LL << 36};
  }
  explicit FakeEvaluator(DeviceInfo info = h200(), bool modelled = true)
      : modelled_(modelled), info_(std::move(info)) {}

  const DeviceInfo& info() const override { return info_; }
  Result<Evaluation> admit(const EvaluationRequest&) override {
    if (not_admitted_) return std::unexpected(*not_admitted_);
    Evaluation evaluation;
    evaluation.verdict = Verdict::kOk;
    evaluation.measurement.modelled = modelled_;
    evaluation.measurement.time_us = evaluation.measurement.reference_time_us = reference_us_;
    evaluation.measurement.speedup = 1;
    return evaluation;
  }
  Result<Evaluation> evaluate(const EvaluationRequest& request) override {
    std::string text = request.timed.candidate.source;
    for (const auto& [name, value] : request.timed.candidate.defines) text += name + value;
    const std::string hash = content_hash(text);
    const int digit = std::stoi(hash.substr(0, 2), nullptr, 16);
    {
      const std::lock_guard lock(mutex_);
      if (cancelled_) return fail(ErrorCode::kInfrastructure, "cancelled");
      ++calls_;
      if (infrastructure_once_ && failed_.insert(hash).second) {
        return fail(ErrorCode::kInfrastructure, "the runner died");
      }
    }
    // Some take long, so that others overtake them.
    if (digit % 5 == 0) std::this_thread::sleep_for(slow_);
    if (request.stage == Stage::kQuick) ++answered_;
    if (request.stage == Stage::kFinal) {
      ++finals_;
      while (hold_finals_ && !cancelled_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (cancelled_) return fail(ErrorCode::kInfrastructure, "cancelled");
    }
    Evaluation evaluation;
    const ConcreteProgram& reference = request.timed.reference;
    const bool is_reference = request.timed.candidate.source == reference.source &&
                              request.timed.candidate.defines == reference.defines;
    evaluation.verdict = digit % 4 == 1 && !is_reference ? Verdict::kWrongResult : Verdict::kOk;
    if (request.stage == Stage::kFinal && !is_reference && fails_finals_) {
      evaluation.verdict = Verdict::kLaunchError;
      evaluation.detail = "too much shared memory";
      return evaluation;
    }
    Measurement& m = evaluation.measurement;
    m.modelled = modelled_;
    m.time_us = 200 + 10 * digit;
    m.reference_time_us = 1000;
    m.speedup = m.ci95_low = m.ci95_high = 1000 / m.time_us;
    if (lie_) lie_(request, evaluation);
    return evaluation;
  }
  Result<Ceilings> measure_ceilings() override {
    ++measured_;
    return Ceilings{.dram_bytes_per_s = 5e12, .source = "measured"};
  }
  void use_ceilings(const Ceilings& ceilings) override { info_.ceilings = ceilings; }
  std::vector<GpuUse> gpus() override {
    const std::lock_guard lock(mutex_);
    return gpus_;
  }
  void set_gpus(std::vector<GpuUse> gpus) {
    const std::lock_guard lock(mutex_);
    gpus_ = std::move(gpus);
  }
  void cancel() override { cancelled_ = true; }
  void resume() override { cancelled_ = false; }

  Lie lie_;                        ///< changes what it says; may be empty
  int measured_ = 0;               ///< ceilings
  double reference_us_ = 1000;     ///< when it is admitted
  int calls_ = 0;                  ///< of evaluate(), where it was not cancelled
  std::atomic<int> answered_ = 0;  ///< in the quick stage
  std::atomic<int> finals_ = 0;    ///< begun
  std::atomic<bool> hold_finals_ = false, fails_finals_ = false;
  std::optional<Error> not_admitted_;
  std::chrono::milliseconds slow_{0};
  bool infrastructure_once_ = false;
  std::atomic<bool> cancelled_ = false;

 private:
  const bool modelled_;
  DeviceInfo info_;
  std::mutex mutex_;
  std::set<std::string> failed_;
  std::vector<GpuUse> gpus_;
};

}  // namespace hone::test
