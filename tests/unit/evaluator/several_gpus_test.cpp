// One evaluator on several GPUs, against a driver without one (tests/fakes/fake_cuda.cpp) that is
// told how many there are, how fast each is, and which of them fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "evaluator/evaluator.h"
#include "evaluator/pool/placement.h"
#include "tests/fakes/doubling.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

EvaluationRequest doubling_request(const std::string& candidate) {
  EvaluationRequest r;
  r.checks.push_back({doubling("scale", 1000), doubling(candidate, 1000), 1});
  r.timed = {doubling("scale", 200000), doubling(candidate, 200000), 2};
  r.seed = 3;
  return r;
}

class SeveralGpus : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hone_several_gpus_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    const fs::path library = folder_ / "libcuda.so.1";
    fs::copy_file(HONE_BIN_DIR "/../fakes/libcuda.so.1", library);
    setenv("HONE_LIBCUDA", library.c_str(), 1);
    options_.compile_processes = options_.check_processes = 1;
    options_.final_check_processes = 1;
    options_.device_timeout_s = 1;
    options_.final_timing_s = 8;  // the count of pairs must not depend on the machine
    options_.input_files = {folder_ / "libcuda.so.1.conf"};
    options_.tell_missing_layers = false;
    options_.warn = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      said_ += line + "\n";
    };
  }
  void TearDown() override {
    evaluator_.reset();
    unsetenv("HONE_LIBCUDA");
    fs::remove_all(folder_);
  }

  /// In place: runners that are confined see the file and not the folder.
  void describe(const std::string& lines) const {
    std::ofstream(folder_ / "libcuda.so.1.conf", std::ios::trunc) << lines;
  }
  std::string error_of(const std::string& device) {
    const auto spec = DeviceSpec::parse(device);
    if (!spec) return spec.error().message;
    const auto opened = Evaluator::open(*spec, options_);
    return opened ? "" : opened.error().message;
  }
  void open(const std::string& device = "cuda:all") {
    auto opened = Evaluator::open(*DeviceSpec::parse(device), options_);
    ASSERT_TRUE(opened) << opened.error().message;
    evaluator_ = std::move(*opened);
    const auto admitted = evaluator_->admit(doubling_request("scale"));
    ASSERT_TRUE(admitted) << admitted.error().message;
    EXPECT_NEAR(admitted->measurement.time_us, 100, 0.01);
  }
  /// So many at once, and what each came to.
  std::vector<Result<Evaluation>> evaluate(int count, int threads, const std::string& candidate) {
    std::vector<Result<Evaluation>> out(static_cast<std::size_t>(count));
    std::atomic<int> next = 0;
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i)
      workers.emplace_back([&] {
        for (int at = next++; at < count; at = next++)
          out[static_cast<std::size_t>(at)] = evaluator_->evaluate(doubling_request(candidate));
      });
    workers.clear();
    return out;
  }
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

  fs::path folder_;
  EvaluatorOptions options_;
  std::unique_ptr<Evaluator> evaluator_;
  std::mutex mutex_;
  std::string said_;
};

TEST_F(SeveralGpus, WhatWasTimedDoesNotGoToAGpuAgain) {
  describe("gpus 1\nrun_ms 2\n");
  open();
  const auto first = evaluator_->evaluate(doubling_request("scale_quick"));
  ASSERT_TRUE(first);
  ASSERT_EQ(first->verdict, Verdict::kOk) << first->detail;
  const auto before = evaluator_->gpus().front().measured;
  auto again = doubling_request("scale_quick");
  again.known_times =
      std::make_shared<KnownTimes>(KnownTimes{{first->timing_key, first->measurement.time_us}});
  for (const bool measure_first : {false, true}) {
    again.measure_first = measure_first;
    again.best_time_us = first->measurement.time_us;
    const auto second = evaluator_->evaluate(again);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->verdict, Verdict::kOk) << second->detail;
    EXPECT_TRUE(second->timed_before);
    EXPECT_FALSE(second->outpaced);
    EXPECT_EQ(second->measurement.time_us, first->measurement.time_us);
  }
  // Much slower than the best: not checked further, as if it had been timed.
  again.best_time_us = first->measurement.time_us / 2;
  const auto slow = evaluator_->evaluate(again);
  ASSERT_TRUE(slow);
  EXPECT_TRUE(slow->outpaced);
  EXPECT_EQ(evaluator_->gpus().front().measured, before);
  again.stage = Stage::kFinal;
  ASSERT_TRUE(evaluator_->evaluate(again));
  EXPECT_GT(evaluator_->gpus().front().measured, before);
}

class SoManyGpus : public SeveralGpus, public testing::WithParamInterface<int> {};

TEST_P(SoManyGpus, AllGetWorkAndNoneStarves) {
  const int gpus = GetParam();
  describe("gpus " + std::to_string(gpus) + "\nrun_ms 2\n");
  open();
  const int count = 8 * gpus;
  for (const auto& evaluation : evaluate(count, 3 * gpus, "scale_quick")) {
    ASSERT_TRUE(evaluation) << evaluation.error().message;
    EXPECT_EQ(evaluation->verdict, Verdict::kOk) << evaluation->detail;
  }
  std::int64_t measured = 0;
  const auto uses = evaluator_->gpus();
  ASSERT_EQ(uses.size(), static_cast<std::size_t>(gpus));
  for (const GpuUse& use : uses) {
    EXPECT_GE(use.measured, 2) << "cuda:" << use.ordinal;
    EXPECT_GT(use.busy_s, 0) << "cuda:" << use.ordinal;
    EXPECT_EQ(use.lost, "");
    measured += use.measured;
  }
  EXPECT_EQ(measured, count);
  EXPECT_EQ(said(), "");
}
INSTANTIATE_TEST_SUITE_P(Of, SoManyGpus, testing::Values(2, 4, 8));

class InLine : public SeveralGpus, public testing::WithParamInterface<int> {};

// Whoever comes first has a GPU; all others are in line when it is given back.
TEST_P(InLine, TheLowestOrderIsMeasuredNext) {
  const auto gpus = static_cast<std::size_t>(GetParam());
  const std::string lines = "gpus " + std::to_string(gpus) + "\nrun_ms 100\n";
  describe(lines);
  options_.compile_processes = options_.check_processes = 4;
  options_.device_timeout_s = 30;
  open();
  const auto ask = [&](std::uint64_t order) {
    auto request = doubling_request("scale_quick");
    request.measure_first = true;
    request.order = order;
    const auto evaluation = evaluator_->evaluate(request);
    EXPECT_TRUE(evaluation) << evaluation.error().message;
  };
  ask(0);  // from here on it is compiled
  describe(lines + "hold\n");
  std::vector<std::uint64_t> ended;
  std::vector<std::jthread> threads;
  for (std::uint64_t order = 5 * gpus; order > 0; --order)
    threads.emplace_back([&, order] {
      ask(order);
      const std::lock_guard lock(mutex_);
      ended.push_back(order);
    });
  std::this_thread::sleep_for(std::chrono::seconds(2));
  describe(lines);
  threads.clear();
  ASSERT_EQ(ended.size(), 5 * gpus);
  const auto waited = ended.begin() + static_cast<std::ptrdiff_t>(gpus);
  const auto half = waited + static_cast<std::ptrdiff_t>(2 * gpus);
  EXPECT_LT(*std::max_element(waited, half), *std::min_element(half, ended.end()));
}
INSTANTIATE_TEST_SUITE_P(Of, InLine, testing::Values(1, 2));

// A transposed convolution's search of 5 s had measured 30 candidates one after another, and the
// one that the model knew to be four times as fast was not among them.
TEST_F(SeveralGpus, WhatTheModelExpectsToBeFastestIsMeasuredNext) {
  const std::string lines = "gpus 1\nrun_ms 40\n";
  describe(lines);
  options_.compile_processes = options_.check_processes = 2;
  options_.device_timeout_s = 30;
  open();
  const auto ask = [&](std::uint64_t order, int repeats) {
    auto request = doubling_request("scale_quick");
    for (ConcreteProgram* one : {&request.checks[0].candidate, &request.timed.candidate}) {
      const auto store = one->source.find("if (i < n)");
      one->source.insert(store, "float sum = 0; for (int k = 0; k < " + std::to_string(repeats) +
                                    "; ++k) sum += x[(i + k * 32) % n];\n  if (sum == 12345) "
                                    "y[0] = 1;\n  ");
    }
    request.measure_first = true;
    request.screen_above_us = std::numeric_limits<double>::infinity();
    request.order = order;
    const auto evaluation = evaluator_->evaluate(request);
    EXPECT_TRUE(evaluation) << evaluation.error().message;
    if (evaluation) EXPECT_GT(evaluation->modelled_us, 0);
  };
  // Compiled, as those that follow; and what modelling takes is known.
  for (const int repeats : {1, 100, 1, 100}) ask(0, repeats);
  describe(lines + "hold\n");
  std::vector<std::uint64_t> ended;
  std::vector<std::jthread> threads;
  for (std::uint64_t order = 1; order <= 8; ++order) {
    threads.emplace_back([&, order] {
      ask(order, order == 8 ? 1 : 100);
      const std::lock_guard lock(mutex_);
      ended.push_back(order);
    });
  }
  std::this_thread::sleep_for(std::chrono::seconds(4));
  describe(lines);
  threads.clear();
  ASSERT_EQ(ended.size(), 8U);
  // One had the GPU while the others came, and checks are two at a time.
  EXPECT_LE(std::ranges::find(ended, 8U) - ended.begin(), 2);
}

// Else whoever was measured on the faster one would seem faster.
TEST_F(SeveralGpus, QuickTimesAreTheFirstOnesWhateverTheOthersClock) {
  describe("gpus 2\nrun_ms 2\nspeed 1 1.25\n");
  open();
  for (const auto& evaluation : evaluate(16, 6, "scale_quick")) {
    ASSERT_TRUE(evaluation) << evaluation.error().message;
    EXPECT_NEAR(evaluation->measurement.time_us, 50, 0.1);
    EXPECT_NEAR(evaluation->measurement.reference_time_us, 100, 0.1);
    EXPECT_NEAR(evaluation->measurement.speedup, 2, 1e-3);
  }
  for (const GpuUse& use : evaluator_->gpus()) EXPECT_GT(use.measured, 0);
}

// The best so far is known by the first GPU's clock. 150 us here are no more than 50 us there.
TEST_F(SeveralGpus, ATimeToBeatIsTheSlowerOnesOwn) {
  describe("gpus 2\nrun_ms 2\nspeed 1 3\n");
  open();
  auto request = doubling_request("scale_quick");
  request.best_time_us = 50;
  request.measure_first = true;
  std::vector<std::jthread> threads;
  std::atomic<int> outpaced = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      const auto evaluation = evaluator_->evaluate(request);
      ASSERT_TRUE(evaluation) << evaluation.error().message;
      outpaced += evaluation->outpaced || evaluation->measurement.samples_us.size() < 3;
    });
  threads.clear();
  EXPECT_EQ(outpaced, 0);
  for (const GpuUse& use : evaluator_->gpus()) EXPECT_GT(use.measured, 0);
}

/// Three launches of it, one after another.
EvaluationRequest three_launches(const std::string& candidate) {
  EvaluationRequest r = doubling_request(candidate);
  for (ConcreteProgram* one : {&r.checks[0].candidate, &r.timed.candidate})
    one->launches.resize(3, one->launches.front());
  return r;
}

// By the host's clock a launch takes 0.3 s, by the GPU's 0.4 ms.
TEST_F(SeveralGpus, AHostThatIsHeldUpMakesNoProgramSlow) {
  describe("gpus 1\n");
  open();
  describe("gpus 1\nrun_ms 300\n");
  auto request = three_launches("scale_slow");
  request.best_time_us = 1e3;
  const auto evaluation = evaluator_->evaluate(request);
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_EQ(evaluation->verdict, Verdict::kOk) << evaluation->detail;
  EXPECT_NEAR(evaluation->measurement.time_us, 1200, 0.1);
}

// The new process finds the reference at half its pace: ten times 50 ms are a second there.
TEST_F(SeveralGpus, ASlowerGpuGivesProgramsMoreTimeToBeFarSlower) {
  describe("gpus 1\n");
  open();
  const auto faulted = evaluator_->evaluate(doubling_request("scale_fault"));
  ASSERT_TRUE(faulted) << faulted.error().message;
  EXPECT_EQ(faulted->verdict, Verdict::kFault) << faulted->detail;
  describe("gpus 1\nspeed 0 2\n");
  auto request = three_launches("naive_takes300");  // 0.35 s each, by its clock
  request.best_time_us = 50e3;
  const auto evaluation = evaluator_->evaluate(request);
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_EQ(evaluation->verdict, Verdict::kOk) << evaluation->detail;
}

// Two in a row that fail, and a GPU is asked for the whole admission again: these would not pass
// it.
TEST_F(SeveralGpus, WhatIsEndedAsSlowerIsNoFailureOfItsGpu) {
  describe("gpus 2\n");
  options_.device_timeout_s = 20;
  open();
  describe("gpus 2\nsick_small 0\nsick_small 1\n");
  auto request = doubling_request("scale_hang");
  request.best_time_us = 100;
  request.measure_first = true;
  for (int i = 0; i < 4; ++i) {
    const auto evaluation = evaluator_->evaluate(request);
    ASSERT_TRUE(evaluation) << evaluation.error().message;
    EXPECT_EQ(evaluation->verdict, Verdict::kSlower) << evaluation->detail;
  }
  for (const GpuUse& use : evaluator_->gpus()) {
    EXPECT_EQ(use.measured, 2);
    EXPECT_EQ(use.lost, "");
  }
  EXPECT_EQ(said(), "");
}

// Reference and candidate run on one GPU; what it took there is what is said.
TEST_F(SeveralGpus, FinalStagesAreSpreadAndEachKeepsToItsGpu) {
  describe("gpus 2\nrun_ms 1\nspeed 1 1.25\n");
  open();
  std::vector<std::jthread> threads;
  std::mutex mutex;
  std::set<int> times;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      auto request = doubling_request("scale_quick");
      request.stage = Stage::kFinal;
      const auto evaluation = evaluator_->evaluate(request);
      ASSERT_TRUE(evaluation) << evaluation.error().message;
      ASSERT_EQ(evaluation->verdict, Verdict::kOk) << evaluation->detail;
      const Measurement& m = evaluation->measurement;
      EXPECT_NEAR(m.speedup, 2, 1e-3);
      EXPECT_NEAR(m.reference_time_us, 2 * m.time_us, 0.1);
      EXPECT_EQ(evaluation->note.find("longer beside"), std::string::npos) << evaluation->note;
      const std::lock_guard lock(mutex);
      times.insert(static_cast<int>(std::lround(10 * m.time_us)));
    });
  threads.clear();
  EXPECT_EQ(times, (std::set<int>{500, 625}));
}

TEST_F(SeveralGpus, AFinalStageThatTakesLongHoldsUpOneGpuOnly) {
  describe("gpus 2\n");
  options_.device_timeout_s = 300;
  open();
  const auto final_of = [&](const std::string& candidate) {
    auto request = doubling_request(candidate);
    request.stage = Stage::kFinal;
    return evaluator_->evaluate(request);
  };
  std::atomic<bool> ended = false;
  std::jthread first([&] {
    (void)final_of("scale_takes5000");
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto second = final_of("scale_quick");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->verdict, Verdict::kOk) << second->detail;
  EXPECT_FALSE(ended);
  evaluator_->cancel();
  first.join();
  evaluator_->resume();
  for (const GpuUse& use : evaluator_->gpus()) EXPECT_EQ(use.lost, "") << "a cancel is no failure";
  const auto after = evaluator_->evaluate(doubling_request("scale_quick"));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->verdict, Verdict::kOk) << after->detail;
}

TEST_F(SeveralGpus, OneThatFailsInTheMiddleIsLeftOut) {
  const std::string four = "gpus 4\nrun_ms 2\n";
  describe(four);
  open();
  std::atomic<bool> ended = false;
  std::jthread later([&] {
    while (!ended && evaluator_->gpus()[2].measured < 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    describe(four + "lost 2\n");
  });
  const auto evaluations = evaluate(60, 8, "scale_quick");
  ended = true;
  later.join();
  const auto rest = evaluate(20, 8, "scale_quick");
  for (const auto* all : {&evaluations, &rest})
    for (const auto& evaluation : *all) {
      ASSERT_TRUE(evaluation) << evaluation.error().message;
      EXPECT_EQ(evaluation->verdict, Verdict::kOk) << evaluation->detail;
      EXPECT_NEAR(evaluation->measurement.time_us, 50, 0.1);
    }
  const auto uses = evaluator_->gpus();
  for (const GpuUse& use : uses) EXPECT_EQ(use.lost.empty(), use.ordinal != 2) << use.lost;
  EXPECT_NE(said().find("cuda:2 failed and is left out"), std::string::npos) << said();
  EXPECT_NE(said().find("its work goes to the 3 others"), std::string::npos) << said();
}

// It starts again each time, so that only the reference can tell.
TEST_F(SeveralGpus, OneOnWhichEverythingFaultsIsLeftOut) {
  describe("gpus 2\nrun_ms 2\n");
  open();
  describe("gpus 2\nrun_ms 2\nsick 1\n");
  int wrong = 0;
  for (const auto& evaluation : evaluate(24, 4, "scale_quick")) {
    ASSERT_TRUE(evaluation) << evaluation.error().message;
    wrong += evaluation->verdict != Verdict::kOk;
  }
  EXPECT_LE(wrong, 1) << "the first is believed";
  EXPECT_NE(said().find("cuda:1 failed and is left out"), std::string::npos) << said();
  EXPECT_EQ(evaluator_->gpus()[0].lost, "");
}

// That a candidate faults everywhere says nothing against a GPU.
TEST_F(SeveralGpus, CandidatesThatFaultCostNoGpu) {
  describe("gpus 2\n");
  open();
  for (const auto& evaluation : evaluate(6, 2, "scale_fault")) {
    ASSERT_TRUE(evaluation) << evaluation.error().message;
    EXPECT_EQ(evaluation->verdict, Verdict::kFault) << evaluation->detail;
  }
  for (const GpuUse& use : evaluator_->gpus()) EXPECT_EQ(use.lost, "");
  EXPECT_EQ(said(), "");
}

TEST_F(SeveralGpus, OneOfAllThatDoesNotOpenIsLeftOut) {
  describe("gpus 3\nlost 1\n");
  open();
  EXPECT_EQ(evaluator_->gpus().size(), 2U);
  EXPECT_NE(said().find("cuda:1 does not open and is left out: "), std::string::npos) << said();
  EXPECT_NE(error_of("cuda:0,1"), "") << "one that was named has to be there";
}

// Each of them may be doubted at the same time.
TEST_F(SeveralGpus, CandidatesThatHangCostNoGpu) {
  describe("gpus 2\nrun_ms 2\n");
  open();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 3; ++j) {
        const bool hangs = (i + j) % 2 == 0;
        const auto evaluation =
            evaluator_->evaluate(doubling_request(hangs ? "scale_hang" : "scale_quick"));
        ASSERT_TRUE(evaluation) << evaluation.error().message;
        EXPECT_EQ(evaluation->verdict, hangs ? Verdict::kTimeout : Verdict::kOk)
            << evaluation->detail;
      }
    });
  threads.clear();
  for (const GpuUse& use : evaluator_->gpus()) EXPECT_EQ(use.lost, "");
}

TEST_F(SeveralGpus, OneOnWhichTheReferenceFailsIsLeftOutFromTheStart) {
  describe("gpus 2\nsick 1\n");
  open();
  EXPECT_NE(evaluator_->gpus()[1].lost.find("the reference ended there as fault"),
            std::string::npos)
      << evaluator_->gpus()[1].lost;
  const auto evaluation = evaluator_->evaluate(doubling_request("scale_quick"));
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_EQ(evaluation->verdict, Verdict::kOk);
}

// The emulator says later than the GPUs that it is no reference.
TEST_F(SeveralGpus, NoneIsLeftOutOverAReferenceThatIsNone) {
  describe("gpus 2\n");
  open();
  describe("gpus 2\nsick 1\n");
  auto request = doubling_request("scale");
  std::string& source = request.checks[0].reference.source;
  const std::string body = "if (i < n) y[i] = 2.0f * x[i];";
  source.replace(source.find(body), body.size(),
                 "if (i > 0 && i < n) y[i] = 2.0f * x[i];\n"
                 "  if (threadIdx.x == 0) atomicExch(&y[0], (float)blockIdx.x);");
  request.checks[0].expected = [] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    return CheckCase::Buffers{};
  };
  const auto refused = evaluator_->admit(request);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the order in which"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(said(), "");
  for (const GpuUse& use : evaluator_->gpus()) EXPECT_EQ(use.lost, "");
}

TEST_F(SeveralGpus, WhenAllHaveFailedItSaysSo) {
  describe("gpus 2\n");
  open();
  describe("gpus 2\nlost 0\nlost 1\n");
  const auto evaluations = evaluate(4, 4, "scale_quick");
  for (const auto& evaluation : evaluations) {
    ASSERT_FALSE(evaluation);
    EXPECT_EQ(evaluation.error().code, ErrorCode::kInfrastructure);
    EXPECT_NE(evaluation.error().message.find("no GPU is left: cuda:0: "), std::string::npos)
        << evaluation.error().message;
    EXPECT_NE(evaluation.error().message.find("; cuda:1: "), std::string::npos);
  }
}

TEST_F(SeveralGpus, OnesOfDifferentModelsAreRefused) {
  describe("gpus 3\nmodel 2 Other GPU\n");
  EXPECT_EQ(error_of("cuda:all"),
            "cuda:2 is another model than cuda:0: Other GPU (sm_90, 4 multiprocessors), and not "
            "Fake GPU (sm_90, 4 multiprocessors); times of unlike GPUs are not compared, so "
            "--device takes GPUs of one model");
  EXPECT_EQ(error_of("cuda:0,1"), "");
}

TEST_F(SeveralGpus, AListThatIsWrongSaysWhatIsRight) {
  describe("gpus 4\n");
  EXPECT_EQ(error_of("cuda:0,9"),
            "there is no cuda:9: the GPUs are cuda:0 to cuda:3, together cuda:all (see "
            "CUDA_VISIBLE_DEVICES)");
  const std::string lists =
      "several GPUs are cuda:0,2 (numbers with commas between them, each once) or cuda:all";
  EXPECT_EQ(error_of("cuda:1,0,1"), "'cuda:1,0,1' names cuda:1 twice: " + lists);
  for (const std::string bad :
       {"cuda:", "cuda:0,", "cuda:,1", "cuda:0-3", "cuda:0 1", "cuda:all,0"})
    EXPECT_EQ(error_of(bad), "'" + bad + "' is no device: " + lists);
  EXPECT_EQ(error_of("emu:sm_90,sm_80"),
            "'emu:sm_90,sm_80' is no device: a search works on one emulated device, emu:sm_90 "
            "say; " +
                lists);
  EXPECT_EQ(DeviceSpec::parse("cuda:0,2")->text(), "cuda:0,2");
  EXPECT_EQ(DeviceSpec::parse_one("cuda:2,1").error().message,
            "'cuda:2,1' is several GPUs, and this takes one: cuda:2");
}

TEST_F(SeveralGpus, WithoutOneAllOfThemIsAnError) {
  describe("gpus 0\n");
  EXPECT_EQ(error_of("cuda:all").substr(0, 28), "cuda:all: no GPU is there; `");
}

/// A made-up /sys with two memory nodes and a GPU on each.
class ASysFolder : public SeveralGpus {
 protected:
  void SetUp() override {
    SeveralGpus::SetUp();
    sysfs_ = folder_ / "sys";
    for (const char* node : {"node0", "node1"})
      fs::create_directories(sysfs_ / "devices/system/node" / node);
    put("0000:03:00.0", "0", "0,2-3");
    put("0000:83:00.0", "1", "1,4-5");
    put("0000:93:00.0", "-1", "0-5");
  }
  void put(const std::string& pci, const std::string& node, const std::string& cores) const {
    const fs::path device = sysfs_ / "bus/pci/devices" / pci;
    fs::create_directories(device);
    std::ofstream(device / "numa_node") << node << "\n";
    std::ofstream(device / "local_cpulist") << cores << "\n";
  }
  fs::path sysfs_;
};

using Cores = std::vector<int>;

TEST_F(ASysFolder, SaysWhichCoresAreBesideAGpu) {
  const Cores all = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(pool::cores_beside("0000:03:00.0", sysfs_, all), (Cores{0, 2, 3}));
  EXPECT_EQ(pool::cores_beside("0000:83:00.0", sysfs_, all), (Cores{1, 4, 5}));
  EXPECT_EQ(pool::cores_beside("0000:83:00.0", sysfs_, {0, 1, 4}), (Cores{1, 4}));
  EXPECT_EQ(pool::cores_beside("0000:83:00.0", sysfs_, {0, 2}), Cores{});
  EXPECT_EQ(pool::cores_beside("0000:93:00.0", sysfs_, all), Cores{}) << "on no node";
  EXPECT_EQ(pool::cores_beside("0000:a3:00.0", sysfs_, all), Cores{}) << "not there";
  fs::remove(sysfs_ / "devices/system/node/node1");
  EXPECT_EQ(pool::cores_beside("0000:03:00.0", sysfs_, all), Cores{}) << "one node";
  EXPECT_EQ(pool::parse_cores("0-1,7"), (Cores{0, 1, 7}));
  EXPECT_EQ(pool::parse_cores("3-1"), Cores{});
}

TEST_F(ASysFolder, EachRunnerHasItsGpusCoresAndOthersTakeTurns) {
  const std::vector<std::string> addresses = {"0000:03:00.0", "0000:83:00.0", "0000:93:00.0"};
  const Cores all = {0, 1, 2, 3, 4, 5};
  const Placement placement = pool::placed_beside({0, 1}, addresses, sysfs_, all);
  EXPECT_EQ(pool::cores_of_child(1, placement), (Cores{1, 4, 5}));
  EXPECT_EQ(pool::count_cores(placement), 6);
  const std::set<Cores> turns = {pool::cores_of_child(-1, placement),
                                 pool::cores_of_child(-1, placement)};
  EXPECT_EQ(turns, (std::set<Cores>{{0, 2, 3}, {1, 4, 5}}));
  EXPECT_TRUE(pool::placed_beside({0, 2}, addresses, sysfs_, all).by_gpu.empty())
      << "of one of them it is not known";
  EXPECT_EQ(pool::cores_of_child(0, {}), Cores{});
}

/// "Cpus_allowed_list" of every process that hone-runner became, by its mode.
std::multimap<std::string, std::string> cores_of_runners(const fs::path& library) {
  std::multimap<std::string, std::string> out;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::error_code code;
    std::ifstream command(entry.path() / "cmdline"), environment(entry.path() / "environ");
    std::string words, variables;
    std::getline(command, words);
    std::getline(environment, variables);
    const auto runner = words.find("hone-runner");
    if (runner == words.npos || variables.find(library.string()) == variables.npos) continue;
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("Cpus_allowed_list:\t"))
        out.emplace(words.substr(runner + 12, words.size() - runner - 13), line.substr(19));
  }
  return out;
}

TEST_F(ASysFolder, ProcessesRunBesideTheirGpus) {
  const Cores allowed = pool::allowed_cores();
  if (allowed.size() < 2) GTEST_SKIP() << "one core is beside everything";
  const std::string one = std::to_string(allowed[0]), other = std::to_string(allowed[1]);
  put("0000:03:00.0", "0", one);
  put("0000:83:00.0", "1", other);
  describe("gpus 2\npci 0 0000:03:00.0\npci 1 0000:83:00.0\n");
  options_.sysfs = sysfs_;
  open("cuda:1,0");
  const auto cores = cores_of_runners(folder_ / "libcuda.so.1");
  std::multiset<std::string> of_gpus, of_others;
  for (const auto& [mode, list] : cores) (mode == "measure" ? of_gpus : of_others).insert(list);
  EXPECT_EQ(of_gpus, (std::multiset<std::string>{one, other}));
  EXPECT_FALSE(of_others.empty());
  for (const std::string& list : of_others) EXPECT_TRUE(list == one || list == other) << list;
  evaluator_.reset();
  // One GPU alone leaves it to the system.
  open("cuda:1");
  std::string everywhere;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Cpus_allowed_list:\t")) everywhere = line.substr(19);
  for (const auto& [mode, list] : cores_of_runners(folder_ / "libcuda.so.1"))
    EXPECT_EQ(list, everywhere) << mode;
}

}  // namespace
}  // namespace hone
