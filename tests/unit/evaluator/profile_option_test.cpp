// A user's own profile reaches the model in the emulate runner, and a named one is not the default.
#include <gtest/gtest.h>

#include "evaluator/device/emulator/profile_file.h"
#include "evaluator/evaluator.h"

namespace hone {
namespace {

ConcreteProgram program() {
  ConcreteProgram p;
  p.source = "__global__ void k(float* y) { y[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f; }";
  p.buffers = {{"y", ScalarType::kF32, {256}, Role::kOut, {}}};
  p.launches = {{"k", {2, 1, 1}, {128, 1, 1}, 0, {BufferIndex{0}}}};
  return p;
}

Result<std::unique_ptr<Evaluator>> open(const std::string& device, EvaluatorOptions options = {}) {
  options.compile_processes = options.check_processes = 1;
  return Evaluator::open(*DeviceSpec::parse(device), options);
}

TEST(ProfileOption, ReachesTheModel) {
  emulator::ProfileFile slow = *emulator::find_profile_file("sm_90");
  slow.profile.launch_us = 500;
  EvaluatorOptions options;
  options.profile = std::make_shared<emulator::ProfileFile>(slow);
  const auto evaluator = open("emu:sm_90", options);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  EXPECT_EQ((*evaluator)->info().name.find("emulated sm_90 (H200 profile "), 0U);
  EvaluationRequest request;
  request.checks = {{program(), program(), 1}};
  request.timed = {program(), program(), 2};
  const auto e = (*evaluator)->evaluate(request);
  ASSERT_TRUE(e) << e.error().message;
  ASSERT_EQ(e->verdict, Verdict::kOk) << e->detail;
  EXPECT_GE(e->measurement.time_us, 500);
}

TEST(ProfileOption, NamedBuiltInProfiles) {
  const auto spec = DeviceSpec::parse("emu:sm_90/H100");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->arch, "sm_90");
  EXPECT_EQ(spec->text(), "emu:sm_90/H100");
  EXPECT_EQ(DeviceSpec::parse("emu:sm_89/RTX-4090")->arch, "sm_89");
  const auto wrong = DeviceSpec::parse("emu:sm_90/H300");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("emu:sm_90/H100"), std::string::npos)
      << wrong.error().message;
  const auto evaluator = open("emu:sm_90/H100");
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  EXPECT_EQ((*evaluator)->info().name, "emulated sm_90 (H100 profile)");
  EXPECT_LT((*evaluator)->info().ceilings.dram_bytes_per_s, 4e12);
}

}  // namespace
}  // namespace hone
