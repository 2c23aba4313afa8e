// Which level of arithmetic accumulations need: sums of floats come in any order.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "candidates/task_reader.h"
#include "rewriters/schedules/histogram/histogram.h"
#include "rewriters/schedules/rewriter.h"
#include "tests/lift/harness.h"

namespace hone::schedules {
namespace {

/// One thread adds up in a loop: in an order of its own, although by atomics.
Task serial_sums(const std::string& type, const std::string& math) {
  const std::string text = fmt::format(R"(/* hone
{{ "name": "serial", "sizes": {{"N": 300}}, "check_sizes": [{{"N": 300}}], "math": "{1}",
  "buffers": [
    {{"name": "sums", "type": "{2}", "shape": [8], "role": "inout"}},
    {{"name": "keys", "type": "u8", "shape": ["N"], "role": "in"}},
    {{"name": "weights", "type": "{2}", "shape": ["N"], "role": "in"}} ],
  "launches": [
    {{"kernel": "serial", "grid": [1], "block": [1], "args": ["sums", "keys", "weights", "N"]}} ],
  "tolerance": {{"rtol": 1e-4, "atol": 1e-5}} }}
*/
__global__ void serial({0}* sums, const unsigned char* keys, const {0}* weights, int n) {{
  for (int i = 0; i < n; ++i) atomicAdd(&sums[keys[i] & 7], weights[i]);
}}
)",
                                       type, math, type == "float" ? "f32" : "i32");
  const auto task = parse_task(text, "serial.cu");
  EXPECT_TRUE(task.has_value()) << task.error().message;
  return task ? *task : Task{};
}

/// Each row adds the whole part of its sum.
Task sums_of_rows(const std::string& type, const std::string& math) {
  const std::string text = fmt::format(R"(/* hone
{{ "name": "rows", "sizes": {{"N": 60}}, "check_sizes": [{{"N": 60}}], "math": "{1}",
  "buffers": [
    {{"name": "sums", "type": "i32", "shape": [8], "role": "inout"}},
    {{"name": "keys", "type": "u8", "shape": ["N"], "role": "in"}},
    {{"name": "weights", "type": "{2}", "shape": ["N", 33], "role": "in"}} ],
  "launches": [
    {{"kernel": "rows", "grid": [2], "block": [32], "args": ["sums", "keys", "weights", "N"]}} ],
  "tolerance": {{"rtol": 1e-4, "atol": 1e-5}} }}
*/
__global__ void rows(int* sums, const unsigned char* keys, const {0}* weights, int n) {{
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i >= n) return;
  {0} sum = 0;
  for (int k = 0; k < 33; ++k) sum += weights[i * 33 + k];
  atomicAdd(&sums[keys[i] & 7], (int)sum);
}}
)",
                                       type, math, type == "float" ? "f32" : "i32");
  const auto task = parse_task(text, "rows.cu");
  EXPECT_TRUE(task.has_value()) << task.error().message;
  return task ? *task : Task{};
}

std::vector<Proposal> proposals_for(const Task& task) {
  const RewriteContext context{&task, task.check_sizes.at(0), target_limits("sm_90")};
  return make_rewriter(*make_histogram())->propose(task.reference, context);
}

/// Of a recipe that says it needs nothing.
Result<Program> applied_as_exact(const Task& task) {
  const RewriteContext context{&task, task.check_sizes.at(0), target_limits("sm_90")};
  Task free = task;
  free.math = MathLevel::kReassociate;
  const std::vector<Proposal> all = proposals_for(free);
  EXPECT_EQ(all.size(), 1U);
  if (all.size() != 1) return {};
  Step step = all[0].step(all[0].starts.at(0));
  step.math = MathLevel::kExact;
  return make_rewriter(*make_histogram())->apply(task.reference, step, context);
}

void expect_right(const Task& task) {
  const auto outcome = lift_tests::check(task, {.sites = true, .generators = true});
  for (const std::string& what : outcome.wrong) ADD_FAILURE() << what;
  for (const std::string& what : outcome.unrun) ADD_FAILURE() << what;
  EXPECT_GE(outcome.generated, 1);
}

void expect_exact(const Task& task, bool may) {
  const std::vector<Proposal> all = proposals_for(task);
  ASSERT_EQ(all.size(), may ? 1U : 0U);
  if (may) {
    EXPECT_EQ(all[0].math, MathLevel::kExact);
  }
  const auto made = applied_as_exact(task);
  EXPECT_EQ(made.has_value(), may);
  if (!made) {
    EXPECT_EQ(made.error().code, ErrorCode::kRefused);
    EXPECT_NE(made.error().message.find("reassociate"), std::string::npos) << made.error().message;
  }
}

TEST(HistogramMath, SerialSumsOfFloatsNeedReassociation) {
  const Task task = serial_sums("float", "reassociate");
  const std::vector<Proposal> all = proposals_for(task);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].math, MathLevel::kReassociate);
  expect_right(task);
  expect_exact(serial_sums("float", "exact"), false);
}

TEST(HistogramMath, SerialSumsOfIntegersAreExact) {
  expect_exact(serial_sums("int", "exact"), true);
  expect_right(serial_sums("int", "exact"));
}

TEST(HistogramMath, IntegersThatAreSumsOfFloatsNeedReassociation) {
  const std::vector<Proposal> all = proposals_for(sums_of_rows("float", "reassociate"));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].math, MathLevel::kReassociate);
  expect_exact(sums_of_rows("float", "exact"), false);
}

TEST(HistogramMath, IntegersThatAreSumsOfIntegersAreExact) {
  expect_exact(sums_of_rows("int", "exact"), true);
  expect_right(sums_of_rows("int", "exact"));
}

}  // namespace
}  // namespace hone::schedules
