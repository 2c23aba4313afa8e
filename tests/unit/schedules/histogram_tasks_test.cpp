// Histograms as people write them, lifted and generated.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "candidates/task_reader.h"
#include "rewriters/schedules/rewriter.h"
#include "tests/lift/harness.h"
#include "tests/unit/schedules/histogram_points.h"

namespace hone::schedules {
namespace {

Task task_at(const std::string& path) {
  const auto task = read_task(fmt::format("{}/{}.cu", HONE_SOURCE_DIR, path));
  EXPECT_TRUE(task.has_value()) << task.error().message;
  return task ? *task : Task{};
}

TEST(HistogramTasks, AreRightAtTheirCheckSizes) {
  for (const char* path :
       {"baselines/histogram/histogram", "rewriters/schedules/tasks/histogram_256",
        "rewriters/schedules/tasks/scatter_add_rows",
        "rewriters/schedules/tasks/weighted_histogram_rows"}) {
    SCOPED_TRACE(path);
    const Task task = task_at(path);
    const auto outcome = lift_tests::check(task, {.sites = true, .generators = true});
    for (const std::string& what : outcome.wrong) ADD_FAILURE() << what;
    for (const std::string& what : outcome.unrun) ADD_FAILURE() << what;
    for (const std::string& what : outcome.ungenerated) ADD_FAILURE() << what;
    EXPECT_GE(outcome.generated, static_cast<int>(task.check_sizes.size()));
  }
}

TEST(HistogramTasks, WhatClearsTheCountsStays) {
  const Task task = task_at("rewriters/schedules/tasks/histogram_256");
  const auto generator = make_histogram();
  const auto rewriter = make_rewriter(*generator);
  const RewriteContext context{&task, task.check_sizes.at(1), target_limits("sm_90")};
  const std::vector<Proposal> proposals = rewriter->propose(task.reference, context);
  ASSERT_EQ(proposals.size(), 1U);
  Step step;
  step.site = proposals[0].site;
  const auto made = rewriter->apply(task.reference, step, context);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  ASSERT_EQ(made->launches.size(), 2U);
  EXPECT_EQ(made->launches[0].kernel, "clear");
  const auto want = lift_tests::emulate(task.reference, context.sizes);
  const auto got = lift_tests::emulate(*made, context.sizes);
  ASSERT_EQ(want.failure + got.failure, "");
  EXPECT_EQ(want.after.at("counts"), got.after.at("counts"));
}

}  // namespace
}  // namespace hone::schedules
