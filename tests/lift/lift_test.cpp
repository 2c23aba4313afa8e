// Kernels as people write them, and the baselines: what they lift to computes what they compute, or
// they are refused for the reason that the file states ("// lift: no: …").
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <iostream>

#include "candidates/task_reader.h"
#include "tests/lift/harness.h"

namespace hone::lift_tests {
namespace {

const std::filesystem::path kRoot = HONE_SOURCE_DIR;

std::string name_of(const testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name;
  for (const char c : info.param.stem().string()) name += isalnum(c) != 0 ? c : '_';
  return name;
}

void expect_right(const Task& task) {
  const Outcome outcome = check(task, {});
  for (const std::string& refusal : outcome.refusals) ADD_FAILURE() << "refused: " << refusal;
  for (const std::string& unrun : outcome.unrun) ADD_FAILURE() << unrun;
  for (const std::string& wrong : outcome.wrong) ADD_FAILURE() << wrong;
}

class LiftedBaseline : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(LiftedBaseline, ComputesTheSame) {
  const auto task = read_task(GetParam());
  ASSERT_TRUE(task) << task.error().message;
  expect_right(*task);
}

INSTANTIATE_TEST_SUITE_P(All, LiftedBaseline, testing::ValuesIn(tasks_in(kRoot / "baselines")),
                         name_of);

class LiftedKernel : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(LiftedKernel, ComputesTheSameOrIsRefusedForTheReason) {
  const auto task = read_task(GetParam());
  ASSERT_TRUE(task) << task.error().message;
  const std::string expected = expectation_of(task->reference.source);
  if (expected == "yes") {
    expect_right(*task);
    return;
  }
  ASSERT_TRUE(expected.starts_with("no: ")) << "'// lift: yes' or '// lift: no: why' is missing";
  const Outcome outcome = lift_only(*task);
  ASSERT_GE(outcome.refusals.size(), task->check_sizes.size());
  for (const std::string& refusal : outcome.refusals)
    EXPECT_NE(refusal.find(expected.substr(4)), std::string::npos) << refusal;
}

INSTANTIATE_TEST_SUITE_P(All, LiftedKernel,
                         testing::ValuesIn(tasks_in(kRoot / "tests/lift/kernels")), name_of);

TEST(Lift, ShareOfKernels) {
  int lifted = 0, wrong = 0, all = 0;
  for (const auto& path : tasks_in(kRoot / "tests/lift/kernels")) {
    const auto task = read_task(path);
    ASSERT_TRUE(task) << task.error().message;
    const bool is_lifted = lift_only(*task).lifted();
    ++all;
    lifted += is_lifted ? 1 : 0;
    wrong += is_lifted != (expectation_of(task->reference.source) == "yes") ? 1 : 0;
  }
  std::cout << fmt::format("lift: {} of {} kernels lifted\n", lifted, all);
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(all, 45);
}

}  // namespace
}  // namespace hone::lift_tests
