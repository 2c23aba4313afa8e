// Kernels as people write them, and the baselines: what they lift to computes what they compute, or
// they are refused for the reason that the file states ("// lift: no: …").
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <iostream>
#include <set>
#include <stdexcept>

#include "candidates/task_reader.h"
#include "rewriters/lift/lift.h"
#include "rewriters/nest/fuse.h"
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

/// A digit of a thread index, "threadIdx.x1", joined with a block index had a byte from elsewhere
/// as its name.
TEST(Lift, IndexOfADigitOfThreadsIsNamedByItsAxis) {
  const auto task = read_task(kRoot / "tests/lift/kernels/casts_truncate.cu");
  ASSERT_TRUE(task) << task.error().message;
  const auto lifted = nest::lift(task->reference, task->sizes);
  ASSERT_TRUE(lifted) << lifted.error().message;
  EXPECT_NE(to_string(*lifted).find("for x < 256, threadIdx.x1 < 4:"), std::string::npos)
      << to_string(*lifted);
}

/// What a newcomer reads: where, and of what it is said.
TEST(Lift, EveryRefusalNamesItsLineAndWhatItIsAbout) {
  int refusals = 0;
  for (const auto& path : tasks_in(kRoot / "tests/lift/kernels")) {
    const auto task = read_task(path);
    ASSERT_TRUE(task) << task.error().message;
    if (expectation_of(task->reference.source) == "yes") continue;
    const auto lifted = nest::lift(task->reference, task->sizes);
    ASSERT_TRUE(lifted) << lifted.error().message;
    for (const nest::LiftedLaunch& launch : lifted->launches) {
      if (launch.refusal.empty()) continue;
      ++refusals;
      EXPECT_TRUE(launch.refusal.starts_with(launch.kernel + ", line ")) << launch.refusal;
      EXPECT_EQ(launch.refusal.find("''"), std::string::npos) << launch.refusal;
    }
  }
  EXPECT_GE(refusals, 40);
}

Task task_of(const std::string& name) {
  auto task = read_task(kRoot / "tests/lift/kernels" / (name + ".cu"));
  if (!task) throw std::runtime_error(task.error().message);
  return *task;
}

/// Also where every launch lifts somebody must be able to read why nothing can be generated.
TEST(Lift, ALaunchWithoutASiteSaysWhy) {
  for (const char* name : {"adam_step", "sgd_momentum_step", "rmsprop_struct_state"}) {
    const Task task = task_of(name);
    const auto lifted = nest::lift(task.reference, task.sizes);
    ASSERT_TRUE(lifted && lifted->launches[0].refusal.empty());
    std::vector<nest::NoSite> without;
    const auto sites = nest::sites(*lifted, &without);
    ASSERT_EQ(sites.size() + without.size(), 1U) << name;
    if (without.empty()) continue;
    EXPECT_NE(without[0].reason.find("which the same launch writes"), std::string::npos)
        << without[0].reason;
  }
}

/// What a guard of the whole grid leaves of its slowest index is that index's extent: nothing is
/// left that a generator had to keep loads from.
TEST(Lift, AThreadBeyondTheOutputsIsInNoNest) {
  for (const char* name :
       {"conv_whose_grid_has_a_tail", "batched_product_with_a_tail_of_batches"}) {
    const Task task = task_of(name);
    for (const Bindings& sizes : task.check_sizes) {
      const auto lifted = nest::lift(task.reference, sizes);
      ASSERT_TRUE(lifted) << lifted.error().message;
      ASSERT_EQ(lifted->launches.at(0).nests.size(), 1U) << name;
      const nest::Nest& nest = lifted->launches[0].nests[0];
      EXPECT_TRUE(nest.guard->is_constant()) << name;
      EXPECT_TRUE(nest.covers) << name;
      std::int64_t points = 1;
      for (const nest::SymbolId symbol : nest.dims) points *= lifted->nodes->extent(symbol);
      EXPECT_EQ(points, lifted->concrete.buffers.at(2).elements()) << name;
    }
  }
}

/// A flat index of a later launch becomes the digits that an earlier one takes it apart into.
TEST(Lift, WhatIsPutInTakesAFlatIndexApart) {
  const Task task = task_of("product_then_flat_map");
  const auto lifted = nest::lift(task.reference, task.sizes);
  ASSERT_TRUE(lifted) << lifted.error().message;
  const auto sites = nest::sites(*lifted);
  ASSERT_FALSE(sites.empty());
  ASSERT_EQ(sites[0].launches.size(), 3U);
  ASSERT_EQ(sites[0].nests.size(), 1U);
  const nest::Nest& nest = sites[0].nests[0];
  ASSERT_EQ(nest.dims.size(), 2U);
  EXPECT_EQ(lifted->nodes->extent(nest.dims[0]), 64);
  EXPECT_EQ(lifted->nodes->extent(nest.dims[1]), 96);
  EXPECT_TRUE(nest.covers);
}

/// A copy that stands between the product and what reads both goes along; then so does the product.
TEST(Lift, WhatIsKeptBackByALaunchThatIsPutInIsPutIn) {
  const Task task = task_of("product_beside_its_copy");
  const auto lifted = nest::lift(task.reference, task.sizes);
  ASSERT_TRUE(lifted) << lifted.error().message;
  const auto sites = nest::sites(*lifted);
  ASSERT_FALSE(sites.empty());
  EXPECT_EQ(sites[0].name, "y");
  EXPECT_EQ(sites[0].launches.size(), 4U);
}

/// What is loaded only where a condition holds is found by that: parts of a joined tensor.
TEST(Lift, PartsOfAJoinedTensorArePutIn) {
  for (const auto& [name, launches] : {std::pair{"cumsum_shifted_by_joining", 3U},
                                       {"joined_columns_of_three", 4U},
                                       {"twelve_choices_by_data", 12U}}) {
    const Task task = task_of(name);
    const auto lifted = nest::lift(task.reference, task.sizes);
    ASSERT_TRUE(lifted) << lifted.error().message;
    const auto sites = nest::sites(*lifted);
    ASSERT_FALSE(sites.empty());
    EXPECT_EQ(sites[0].launches.size(), launches) << name;
    ASSERT_EQ(sites[0].nests.size(), 1U) << name;
    for (const nest::Ref load : nest::loads_in(sites[0].nests[0].value))
      EXPECT_TRUE(std::set<std::string>({"x", "a", "b", "c"}).contains(load->name)) << load->name;
  }
}

TEST(Lift, NoTwoSitesHaveOneName) {
  const Task task = task_of("jacobi_many_launches");
  const auto lifted = nest::lift(task.reference, task.sizes);
  ASSERT_TRUE(lifted);
  std::set<std::string> names;
  const auto sites = nest::sites(*lifted);
  EXPECT_GT(sites.size(), 20U);
  for (const nest::Site& site : sites) EXPECT_TRUE(names.insert(site.name).second) << site.name;
}

/// Counted, not timed: hostile loops take no more than the limit.
TEST(Lift, HostileLoopsStayWithinTheLimitOfWork) {
  constexpr std::int64_t kMost = 10'001'000;
  for (const char* name : {"do_while_nested", "dynamic_table", "thomas_local_arrays",
                           "nested_constant_rounds", "thomas_constant_rows"}) {
    const Task task = task_of(name);
    const auto lifted = nest::lift(task.reference, task.sizes);
    ASSERT_TRUE(lifted);
    EXPECT_FALSE(lifted->launches[0].refusal.empty()) << name;
    EXPECT_LT(lifted->nodes->worked(), kMost) << name;
  }
}

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
