// What ptxas spills, from its machine code to the modelled time, through every gate.
#include <gtest/gtest.h>

#include "evaluator/evaluator.h"

namespace hone {
namespace {

/// Sixty-four sums that live through a loop. `bounds` may leave no registers for them.
ConcreteProgram many_sums(const std::string& bounds, std::int64_t blocks) {
  ConcreteProgram p;
  p.source = "__global__ void " + bounds +
             " k(const float* x, float* y, int n) {\n"
             "  float s[64];\n"
             "  for (int i = 0; i < 64; ++i) s[i] = x[i * 512 + threadIdx.x];\n"
             "  for (int r = 0; r < n; ++r)\n"
             "#pragma unroll\n"
             "    for (int i = 0; i < 64; ++i) s[i] = 0.5f * s[i] + 0.4f * s[(i + 1) % 64];\n"
             "  for (int i = 0; i < 64; ++i)\n"
             "    y[(blockIdx.x * 64 + i) * 512 + threadIdx.x] = s[i];\n}\n";
  p.buffers = {{"x", ScalarType::kF32, {64 * 512}, Role::kIn, {Fill::Kind::kUniform, 0, 0.5}},
               {"y", ScalarType::kF32, {blocks * 64 * 512}, Role::kOut, {}}};
  p.launches = {
      {"k", {blocks, 1, 1}, {512, 1, 1}, 0, {BufferIndex{0}, BufferIndex{1}, std::int64_t{40}}}};
  return p;
}

TEST(Spills, AreChargedFromTheMachineCode) {
  EvaluatorOptions options;
  options.compile_processes = options.check_processes = 1;
  auto evaluator = Evaluator::open(*DeviceSpec::parse("emu:sm_90"), options);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  const std::string none, tight = "__launch_bounds__(512, 4)";
  EvaluationRequest request;
  request.checks.push_back({many_sums(none, 2), many_sums(tight, 2), 3});
  request.timed = {many_sums(none, 264), many_sums(tight, 264), 4};
  request.tolerance = {1e-4, 1e-5};
  const auto e = (*evaluator)->evaluate(request);
  ASSERT_TRUE(e) << e.error().message;
  ASSERT_EQ(e->verdict, Verdict::kOk) << e->detail;
  ASSERT_EQ(e->resources.size(), 1U);
  EXPECT_GT(e->resources[0].spill_bytes, 0) << "else this shows nothing";
  EXPECT_GT(e->measurement.counters.at("local_accesses"), 0);
  EXPECT_GE(e->measurement.time_us, e->measurement.reference_time_us);
}

}  // namespace
}  // namespace hone
