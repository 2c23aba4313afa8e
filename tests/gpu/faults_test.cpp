// Candidates that break the GPU's context, one in four of many: each costs itself and no more.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "evaluator/evaluator.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kTimed = 1 << 22;
constexpr int kCandidates = 400;
constexpr double kWatchdog_s = 2;  // beyond what the reference takes

struct Fault {
  const char* name;
  const char* body;  ///< at the timed size only: the emulated check must let it pass
  std::vector<Verdict> verdicts;
  std::int64_t shared_bytes = 0;
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = {
      {"illegal address", "if (timed && i == 0) *(float*)16 = 3.0f;", {Verdict::kFault}},
      {"misaligned", "if (timed && i == 0) *(float*)((char*)y + 2) = 3.0f;", {Verdict::kFault}},
      {"infinite loop",
       "if (timed && i == 0) while (((volatile int*)&counter)[0] == 0) {}",
       {Verdict::kTimeout}},
      {"device assert", "assert(!timed || i != 0);", {Verdict::kFault}},
      {"stack overflow", "if (timed && i == 0) y[0] = deep(x, 1 << 20);", {Verdict::kFault}},
      {"oversize shared", "", {Verdict::kLaunchError}, 1 << 20},
      {"trap", "if (timed && i == 0) __trap();", {Verdict::kFault}},
  };
  return all;
}

ConcreteProgram program(int number, const Fault* fault, std::int64_t n) {
  ConcreteProgram p;
  p.source = fmt::format(
      "#include <cassert>\n__device__ int counter;\n"
      "__device__ __noinline__ float deep(const float* x, int n) {{\n"
      "  volatile float local[64]; local[n & 63] = x[n & 7];\n"
      "  return n == 0 ? local[0] : deep(x, n - 1) + local[n & 63];\n}}\n"
      "__global__ void scale(const float* x, float* y, int n) {{  // {}\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  const bool timed = n == {};\n  if (i < n) y[i] = 2.0f * x[i];\n  {}\n}}\n",
      number, kTimed, fault != nullptr ? fault->body : "");
  p.buffers = {{"x", ScalarType::kF32, {n}, Role::kIn, {}},
               {"y", ScalarType::kF32, {n}, Role::kOut, {}}};
  p.launches = {{"scale",
                 {(n + 255) / 256, 1, 1},
                 {256, 1, 1},
                 fault != nullptr && n == kTimed ? static_cast<int>(fault->shared_bytes) : 0,
                 {BufferIndex{0}, BufferIndex{1}, n}}};
  return p;
}

EvaluationRequest request(int number, const Fault* fault) {
  EvaluationRequest r;
  r.checks = {{program(-1, nullptr, 1000), program(number, fault, 1000), 11}};
  r.timed = {program(-1, nullptr, kTimed), program(number, fault, kTimed), 12};
  return r;
}

class FaultsOnTheGpu : public testing::Test {
 protected:
  void SetUp() override {
    EvaluatorOptions options;
    options.device_timeout_s = kWatchdog_s;
    auto opened = Evaluator::open(*DeviceSpec::parse("cuda:0"), options);
    if (!opened) {
      if (std::getenv("HONE_REQUIRE_GPU") != nullptr) FAIL() << opened.error().message;
      GTEST_SKIP() << opened.error().message;
    }
    evaluator_ = std::move(*opened);
  }
  std::unique_ptr<Evaluator> evaluator_;
};

TEST_F(FaultsOnTheGpu, OneInFourOfFourHundred) {
  Evaluator& evaluator = *evaluator_;
  const auto admitted = evaluator.admit(request(-1, nullptr));
  ASSERT_TRUE(admitted) << admitted.error().message;
  ASSERT_EQ(admitted->verdict, Verdict::kOk) << admitted->detail;

  std::vector<double> good;  // seconds of a good candidate after a good one
  std::map<std::string, std::vector<double>> lost;
  double after_fault = 0;
  const Fault* last = nullptr;
  for (int i = 0; i < kCandidates; ++i) {
    const Fault* fault =
        i % 4 == 3 ? &faults()[static_cast<std::size_t>(i / 4) % faults().size()] : nullptr;
    const auto begin = Clock::now();
    const auto e = evaluator.evaluate(request(i, fault));
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    ASSERT_TRUE(e) << e.error().message;
    if (fault != nullptr) {
      EXPECT_TRUE(std::ranges::count(fault->verdicts, e->verdict) == 1)
          << fault->name << ": " << to_string(e->verdict) << ": " << e->detail;
      after_fault = seconds;
    } else {
      EXPECT_EQ(e->verdict, Verdict::kOk) << to_string(e->verdict) << ": " << e->detail;
      if (last == nullptr) good.push_back(seconds);
      if (last != nullptr) lost[last->name].push_back(after_fault + seconds);
    }
    last = fault;
  }
  std::ranges::nth_element(good, good.begin() + static_cast<std::ptrdiff_t>(good.size() / 2));
  const double usual = good[good.size() / 2];
  fmt::print("a good candidate takes {:.3f} s\n", usual);
  for (auto& [name, pairs] : lost) {
    // The fault and the candidate after it, against two good ones.
    double most = 0, sum = 0;
    for (double& seconds : pairs) {
      seconds -= 2 * usual + (name == "infinite loop" ? kWatchdog_s : 0);
      most = std::max(most, seconds);
      sum += seconds;
    }
    fmt::print("{:<16} {:3} times, lost {:.3f} s on average, {:.3f} s at most\n", name,
               pairs.size(), sum / static_cast<double>(pairs.size()), most);
    EXPECT_LE(most, 1.0) << name;
  }
}

// As in a search: many wait for the GPU while a fault ends its runner, and none is blamed for it.
TEST_F(FaultsOnTheGpu, BesideOthersThatWait) {
  constexpr int kThreads = 8, kEach = 16;
  Evaluator& evaluator = *evaluator_;
  ASSERT_TRUE(evaluator.admit(request(-1, nullptr)));
  std::atomic<int> faulted = 0;
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          const int number = 1000 + t * kEach + i;
          const Fault* fault =
              i % 4 == 3 ? &faults()[static_cast<std::size_t>(number) % faults().size()] : nullptr;
          const auto e = evaluator.evaluate(request(number, fault));
          ASSERT_TRUE(e) << e.error().message;
          const bool right = fault == nullptr
                                 ? e->verdict == Verdict::kOk
                                 : std::ranges::count(fault->verdicts, e->verdict) == 1;
          EXPECT_TRUE(right) << (fault != nullptr ? fault->name : "good") << ": "
                             << to_string(e->verdict) << ": " << e->detail;
          faulted += fault != nullptr ? 1 : 0;
        }
      });
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  fmt::print("{} candidates, {} of them faulting, from {} threads: {:.1f} s\n", kThreads * kEach,
             faulted.load(), kThreads, seconds);
  EXPECT_LE(seconds, kThreads * kEach * 0.1 + faulted * (1.0 + kWatchdog_s / 5));
}

}  // namespace
}  // namespace hone
