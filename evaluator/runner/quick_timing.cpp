#include "evaluator/runner/quick_timing.h"

#include <algorithm>
#include <chrono>

#include "evaluator/timing/statistics.h"

namespace hone::runner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFewestSamples = 3;
constexpr double kClearlyWorse = 1.3;  // than the best so far: the fewest samples will do
constexpr double kFarWorse = 2;        // than the best so far: one sample will do
constexpr double kLongRun_us = 20e3;   // warming up changes nothing: it is a sample itself
constexpr double kGoodEnough = 1e-3;   // relative standard error of long runs
/// A first run may be this much slower than the following ones.
constexpr double kFirstRun = 3, kFirstRun_us = 100;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool enough(const std::vector<double>& samples, const SamplePlan& plan, double spent_s) {
  const auto have = static_cast<int>(samples.size());
  if (have >= plan.most) return true;
  if (have == 0) return false;
  if (spent_s > 5 * plan.budget_s) return true;
  const double least = std::ranges::min(samples);
  if (plan.best_time_us > 0 && least > kFarWorse * plan.best_time_us) return true;
  if (have < kFewestSamples) return false;
  if (plan.best_time_us > 0 && least > kClearlyWorse * plan.best_time_us) return true;
  if (least > kLongRun_us && timing::standard_error(samples) < kGoodEnough) return true;
  return spent_s > plan.budget_s;
}

}  // namespace

bool cannot_win(double us, double best_time_us) {
  return best_time_us > 0 && us > kFirstRun * best_time_us + kFirstRun_us;
}

Step<std::vector<double>> quick_samples(BenchCase& bench, Side& side, std::uint64_t seed,
                                        const SamplePlan& plan) {
  const auto begin = Clock::now();
  const auto warm_up = bench.timed_run(side, kTimedPoison, plan.limit_s);
  if (!warm_up) return std::unexpected(warm_up.error());
  std::vector<double> samples;
  if (*warm_up > std::min(kLongRun_us, 0.3e6 * plan.budget_s)) samples.push_back(*warm_up);
  while (!enough(samples, plan, seconds_since(begin))) {
    if (auto made = bench.make_inputs(++seed, false); !made) return std::unexpected(made.error());
    const auto us = bench.timed_run(side, kTimedPoison, plan.limit_s);
    if (!us) return std::unexpected(us.error());
    samples.push_back(*us);
  }
  return samples;
}

}  // namespace hone::runner
