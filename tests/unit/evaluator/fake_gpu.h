// What the tests of the measure runner's logic share: an evaluator on a driver without a GPU
// (tests/fakes/fake_cuda.cpp). What a candidate does at the timed size is decided by its kernel's
// name there. Real devices are the business of tests/gpu.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "evaluator/evaluator.h"
#include "tests/fakes/doubling.h"

namespace hone {

class OnAFakeGpu : public testing::Test {
 protected:
  static constexpr std::int64_t kTimed = 200000;

  static EvaluationRequest request(const std::string& candidate,
                                   const std::string& reference = "scale") {
    EvaluationRequest r;
    r.checks.push_back({doubling(reference, 1000), doubling(candidate, 1000), 1});
    r.timed = {doubling(reference, kTimed), doubling(candidate, kTimed), 2};
    r.seed = 3;
    return r;
  }

  static EvaluatorOptions small_options() {
    EvaluatorOptions options;
    options.compile_processes = options.check_processes = 1;
    options.final_check_processes = 2;
    options.device_timeout_s = 1;
    options.final_timing_s = 8;  // the count of pairs must not depend on the machine
    return options;
  }

  static void SetUpTestSuite() {
    setenv("HONE_LIBCUDA", HONE_BIN_DIR "/../fakes/libcuda.so.1", 1);
    auto opened = Evaluator::open(*DeviceSpec::parse("cuda:0"), small_options());
    if (opened) {
      evaluator_ = std::move(*opened);
    } else {
      reason_ = opened.error().message;
    }
  }
  /// Not in SetUpTestSuite: what fails there skips the tests.
  void SetUp() override { ASSERT_TRUE(evaluator_) << reason_; }
  static void TearDownTestSuite() {
    evaluator_.reset();
    unsetenv("HONE_LIBCUDA");
  }

  static Evaluation evaluate(const EvaluationRequest& r) {
    auto result = evaluator_->evaluate(r);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : Evaluation{};
  }
  static void expect(Verdict verdict, const std::string& detail, const std::string& candidate) {
    const auto e = evaluate(request(candidate));
    EXPECT_EQ(e.verdict, verdict) << to_string(e.verdict) << ": " << e.detail;
    EXPECT_NE(e.detail.find(detail), std::string::npos) << e.detail;
    const auto next = evaluate(request("scale"));
    EXPECT_EQ(next.verdict, Verdict::kOk) << "the runner was not replaced: " << next.detail;
  }

  inline static std::unique_ptr<Evaluator> evaluator_;
  inline static std::string reason_;
};

}  // namespace hone
