// What honest evaluators report is plausible: emulated and, on the fake driver, measured ones, in
// every stage. What contradicts itself is not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "candidates/task_reader.h"
#include "engine/queue/messages_result.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/requests/requests.h"
#include "tests/fakes/doubling.h"

namespace hone::queue {
namespace {

EvaluatorOptions small_options() {
  EvaluatorOptions options;
  options.compile_processes = options.check_processes = 1;
  options.device_timeout_s = 1;
  return options;
}

/// Plausible, whole in a message, and not taken for the other kind of device's.
void expect_honest(const Result<Evaluation>& evaluation, bool modelled) {
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  const auto why = implausible(*evaluation, modelled);
  EXPECT_FALSE(why) << *why;
  const auto bytes = encode(ResultMessage{"job", "1", "worker", *evaluation});
  ASSERT_TRUE(bytes) << bytes.error().message;
  const auto got = result_from(*bytes);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(nlohmann::json(*got->evaluation), nlohmann::json(*evaluation));
  EXPECT_FALSE(implausible(*got->evaluation, modelled));
  if (evaluation->verdict == Verdict::kOk && !evaluation->screened) {
    EXPECT_TRUE(implausible(*evaluation, !modelled));
  }
}

TEST(Implausible, IsNothingOfAnHonestEmulator) {
  auto evaluator = Evaluator::open(*DeviceSpec::parse("emu:sm_90"), small_options());
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  LocalRewriting rewriting;
  for (const char* name : {"vector_add", "matvec", "softmax"}) {
    SCOPED_TRACE(name);
    const auto task =
        read_task(std::string(HONE_SOURCE_DIR "/baselines/") + name + "/" + name + ".cu");
    ASSERT_TRUE(task) << task.error().message;
    auto builder = RequestBuilder::make(rewriting, *task, target_limits("sm_90"), {});
    ASSERT_TRUE(builder) << builder.error().message;
    auto request = (*builder)->for_program(task->reference, 7);
    ASSERT_TRUE(request) << request.error().message;
    expect_honest((*evaluator)->admit(*request), true);
    expect_honest((*evaluator)->evaluate(*request), true);
    auto final_stage = (*builder)->for_program(task->reference, 8, Stage::kFinal);
    ASSERT_TRUE(final_stage) << final_stage.error().message;
    expect_honest((*evaluator)->evaluate(*final_stage), true);
    for (ConcreteProgram* program : {&request->timed.candidate, &request->checks[0].candidate})
      program->source += "\nthis is no CUDA";
    const auto broken = (*evaluator)->evaluate(*request);
    expect_honest(broken, true);
    EXPECT_EQ(broken->verdict, Verdict::kCompileError);
  }
}

EvaluationRequest fake_request(const std::string& candidate) {
  EvaluationRequest r;
  r.checks.push_back({doubling("scale", 1000), doubling(candidate, 1000), 1});
  r.timed = {doubling("scale", 200'000), doubling(candidate, 200'000), 2};
  r.seed = 3;
  return r;
}

TEST(Implausible, IsNothingOfAnHonestGpu) {
  struct FakeDriver {
    FakeDriver() { setenv("HONE_LIBCUDA", HONE_BIN_DIR "/../fakes/libcuda.so.1", 1); }
    ~FakeDriver() { unsetenv("HONE_LIBCUDA"); }
  } const driver;
  auto evaluator = Evaluator::open(*DeviceSpec::parse("cuda:0"), small_options());
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  expect_honest((*evaluator)->admit(fake_request("scale")), false);
  for (const char* kernel : {"scale", "scale_quick", "scale_slow", "scale_fault"}) {
    for (const Stage stage : {Stage::kQuick, Stage::kFinal}) {
      SCOPED_TRACE(kernel);
      auto request = fake_request(kernel);
      request.stage = stage;
      expect_honest((*evaluator)->evaluate(request), false);
    }
  }
  auto outpaced = fake_request("scale_slow");
  outpaced.measure_first = true;
  outpaced.best_time_us = 200;
  const auto slow = (*evaluator)->evaluate(outpaced);
  expect_honest(slow, false);
  EXPECT_TRUE(slow->outpaced);
  auto screened = fake_request("scale");
  screened.screen_above_us = 1e-3;
  EXPECT_FALSE((*evaluator)->evaluate(screened)->screened);  // the GPU has nothing else to do
  std::vector<std::jthread> others;
  for (int i = 0; i < 8; ++i) {
    others.emplace_back([&](const std::stop_token& stopping) {
      while (!stopping.stop_requested()) (void)(*evaluator)->evaluate(fake_request("scale_slow"));
    });
  }
  auto left_out = (*evaluator)->evaluate(screened);
  for (int i = 0; i < 100 && left_out && !left_out->screened; ++i)
    left_out = (*evaluator)->evaluate(screened);
  others.clear();
  expect_honest(left_out, false);
  EXPECT_TRUE(left_out->screened);
  EXPECT_TRUE(implausible(*left_out, true));
  Ceilings slow_memory;
  slow_memory.dram_read_bytes_per_s = 1.2e10;
  (*evaluator)->use_ceilings(slow_memory);
  ASSERT_TRUE((*evaluator)->admit(fake_request("scale")));
  const auto alarm = (*evaluator)->evaluate(fake_request("scale_quick"));
  expect_honest(alarm, false);
  EXPECT_TRUE(alarm->faster_than_roof);
}

Evaluation measured() {
  Evaluation e;
  e.verdict = Verdict::kOk;
  e.final_stage = true;
  Measurement& m = e.measurement;
  m.samples_us = {9, 10, 12, 11, 8};
  m.reference_samples_us = {19, 20, 22, 21, 18};
  m.time_us = 10;
  m.reference_time_us = 20;
  m.speedup = 2;
  m.ci95_low = 1.8;
  m.ci95_high = 2.2;
  m.roof_fraction = 0.9;
  m.warm_time_us = 8;
  m.reference_warm_time_us = 15;
  m.outliers = 1;
  m.clock_mhz = 1980;
  return e;
}

TEST(Implausible, IsWhatContradictsItself) {
  ASSERT_FALSE(implausible(measured(), false)) << *implausible(measured(), false);
  const auto caught = [](const std::function<void(Evaluation&)>& spoil, const std::string& why) {
    Evaluation e = measured();
    spoil(e);
    const auto got = implausible(e, false);
    ASSERT_TRUE(got) << why;
    EXPECT_NE(got->find(why), std::string::npos) << *got;
  };
  using E = Evaluation;
  EXPECT_TRUE(implausible(measured(), true));
  caught([](E& e) { e.measurement.modelled = true; }, "modelled by a device that measures");
  caught([](E& e) { e.measurement.time_us = 0; }, "ok with a time of 0");
  caught([](E& e) { e.measurement.reference_time_us = 0; }, "ok with a time");
  caught([](E& e) { e.measurement = {}; }, "ok with a time");
  caught([](E& e) { e.measurement.speedup = 2.1; }, "a speedup of 2.1, but the times give 2");
  caught([](E& e) { e.measurement.ci95_low = 2.3; }, "a speedup of 2 in [2.3, 2.2]");
  caught([](E& e) { e.measurement.ci95_low = 0; }, "in [0, 2.2]");
  caught([](E& e) { e.measurement.ci95_low = e.measurement.ci95_high = 4; }, "in [4, 4]");
  caught([](E& e) { e.measurement.ci95_low = e.measurement.ci95_high = 1; }, "in [1, 1]");
  caught([](E& e) { e.measurement.samples_us[1] = 9.5; }, "but the samples' median is 9.5");
  caught([](E& e) { e.measurement.reference_samples_us.pop_back(); }, "median is 20.5");
  caught([](E& e) { e.measurement.roof_fraction = 4.5; }, "4.50 times as fast as the roof");
  caught([](E& e) { e.measurement.warm_time_us = 0; }, "one warm time of two");
  caught([](E& e) { e.measurement.outliers = 11; }, "11 outliers among fewer samples");
  caught([](E& e) { e.measurement.outliers = -1; }, "outliers is -1");
  caught([](E& e) { e.faster_than_roof = true; }, "'ok', and an alarm");
  caught([](E& e) { e.outpaced = true; }, "cut short where nothing is");
  caught([](E& e) { e.screened = true; }, "cut short where nothing is");
  caught([](E& e) { e.verdict = Verdict::kSlower; }, "cut short where nothing is");
  caught(
      [](E& e) {
        e.final_stage = false;
        e.screened = true;
      },
      "left out by the time model, and not");
  caught([](E& e) { e.measurement.time_us = 1e13; }, "time_us is 10000000000000");
  caught([](E& e) { e.elapsed_s = NAN; }, "elapsed_s is nan");
  caught([](E& e) { e.gates.wait = -1; }, "gates.wait is -1");
  caught([](E& e) { e.resources = {{"k", 1, 1, 1, 1, 1, 1.5}}; }, "occupancy is 1.5");
  // Of what failed only the numbers count.
  Evaluation wrong = measured();
  wrong.verdict = Verdict::kWrongResult;
  wrong.measurement = {};
  EXPECT_FALSE(implausible(wrong, false));
  EXPECT_FALSE(implausible(wrong, true));
  wrong.faster_than_roof = true;
  EXPECT_TRUE(implausible(wrong, false));
}

}  // namespace
}  // namespace hone::queue
