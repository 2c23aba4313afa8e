#include "evaluator/runner/final_timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "evaluator/runner/bench_case.h"
#include "evaluator/timing/statistics.h"

namespace hone::runner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostPairs = 200, kEnoughPairs = 30, kFewestPairs = 3;
constexpr double kBudget_s = 8;
constexpr double kFinalPrecision = 5e-4;  // standard error of the ratio that is good enough
constexpr int kReloadEvery = 10;          // pairs: code at another place, nothing remembered
constexpr int kWarmPairs = 10;
constexpr double kLongPair_us = 5e5;  // one warm pair will do
constexpr double kClockLoss = 0.03;   // below the median clock: the pair does not count

#define HONE_STEP(expression)                               \
  do {                                                      \
    if (auto hone_step = (expression); !hone_step)          \
      return std::unexpected(std::move(hone_step.error())); \
  } while (false)

struct Pair {
  double candidate_us = 0, reference_us = 0;
  cuda::Clocks::Reading clock;
};

class FinalTiming {
 public:
  FinalTiming(BenchCase& bench, const protocol::MeasureRequest& request, double limit_s,
              const cuda::Clocks* clocks)
      : bench_(bench),
        request_(request),
        limit_s_(limit_s),
        clocks_(clocks),
        random_(request.seed) {}

  Step<FinalTimes> run() {
    for (int number = -1; !enough(number); ++number) {  // the first pair warms up
      if ((number + 1) % kReloadEvery == 0) HONE_STEP(reload());
      const auto pair = one_pair(BenchCase::Cache::kCold);
      if (!pair) return std::unexpected(pair.error());
      if (number >= 0) pairs_.push_back(*pair);
    }
    HONE_STEP(time_warm());
    keep_good_pairs();
    return std::move(times_);
  }

 private:
  [[nodiscard]] double seconds_spent() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  [[nodiscard]] bool enough(int taken) const {
    const double spent = seconds_spent();
    if (taken >= kMostPairs) return true;
    if (taken >= 1 && spent > 3 * kBudget_s) return true;
    if (taken >= kFewestPairs && spent > kBudget_s) return true;
    if (taken < kEnoughPairs) return false;
    std::vector<double> candidate, reference;
    for (const Pair& pair : pairs_) {
      candidate.push_back(pair.candidate_us);
      reference.push_back(pair.reference_us);
    }
    return timing::ratio_standard_error(reference, candidate) < kFinalPrecision;
  }

  Step<void> reload() {
    const bool reference_first = (random_() & 1) != 0;
    for (const bool reference : {reference_first, !reference_first})
      HONE_STEP(bench_.load(reference ? bench_.reference() : bench_.second()));
    return {};
  }

  /// Both on the same new inputs, in random order; every answer is compared, so there is nothing
  /// for a candidate to guess. It never runs while the reference's answer exists, and the reference
  /// never on inputs that the candidate had in its hands. What the GPU does before a timed run is
  /// the same for both, or one of them would be the faster by some tenths of a percent.
  Step<Pair> one_pair(BenchCase::Cache cache) {
    HONE_STEP(bench_.make_inputs(random_()));
    // A file's contents cannot be new: then the code must not remember them.
    if (!bench_.makes_inputs()) HONE_STEP(bench_.load(bench_.second()));
    HONE_STEP(bench_.swap_outputs());
    const bool reference_first = (random_() & 1) != 0;
    Pair pair;
    for (const bool reference : {reference_first, !reference_first}) {
      Side& side = reference ? bench_.reference() : bench_.second();
      HONE_STEP(bench_.remake_inputs());
      const auto us =
          bench_.timed_run(side, kPoison, reference ? request_.timeout_s : limit_s_, cache);
      if (!us) return std::unexpected(us.error());
      (reference ? pair.reference_us : pair.candidate_us) = *us;
      if (auto intact = bench_.inspect(side); !intact) {
        intact.error().reference = false;  // it was checked: what is damaged here, a candidate did
        return std::unexpected(intact.error());
      }
      if (reference && reference_first) HONE_STEP(bench_.wipe(side));
    }
    if (clocks_ != nullptr) pair.clock = clocks_->read();
    if (reference_first) {
      HONE_STEP(bench_.remake_inputs());
      HONE_STEP(bench_.prepare(bench_.reference(), kPoison));
      HONE_STEP(bench_.run(bench_.reference(), request_.timeout_s));
    }
    auto error = bench_.compare(request_.tolerance, request_.timed.precise, request_.timeout_s);
    if (!error) {
      error.error().failure.detail += " (in a timed launch)";
      return std::unexpected(error.error());
    }
    times_.max_rel_error = std::max(times_.max_rel_error, *error);
    HONE_STEP(bench_.wipe(bench_.reference()));
    return pair;
  }

  /// What fits the L2 cache is in it: the inputs were made just before.
  Step<void> time_warm() {
    const double pair_us = pairs_.front().candidate_us + pairs_.front().reference_us;
    const int wanted = pair_us > kLongPair_us ? 1 : kWarmPairs;
    for (int i = 0; i < std::min<int>(wanted, static_cast<int>(pairs_.size())); ++i) {
      if (i > 0 && seconds_spent() > 3 * kBudget_s) break;  // runs in double may be slow
      const auto pair = one_pair(BenchCase::Cache::kWarm);
      if (!pair) return std::unexpected(pair.error());
      times_.warm_us.push_back(pair->candidate_us);
      times_.reference_warm_us.push_back(pair->reference_us);
    }
    return {};
  }

  void keep_good_pairs() {
    std::vector<double> clocks;
    for (const Pair& pair : pairs_)
      if (pair.clock.sm_mhz > 0) clocks.push_back(pair.clock.sm_mhz);
    times_.clock_mhz = timing::median(clocks);
    const auto slow = [&](const Pair& pair) {
      return pair.clock.slowed ||
             (pair.clock.sm_mhz > 0 && pair.clock.sm_mhz < (1 - kClockLoss) * times_.clock_mhz);
    };
    const auto bad = std::ranges::count_if(pairs_, slow);
    // A GPU that is slow all the time is what there is to measure.
    const bool keep_all = static_cast<std::size_t>(bad) * 2 > pairs_.size();
    for (const Pair& pair : pairs_) {
      if (!keep_all && slow(pair)) {
        ++times_.discarded;
        continue;
      }
      times_.candidate_us.push_back(pair.candidate_us);
      times_.reference_us.push_back(pair.reference_us);
    }
  }

  BenchCase& bench_;
  const protocol::MeasureRequest& request_;
  const double limit_s_;
  const cuda::Clocks* clocks_;
  std::mt19937_64 random_;
  const Clock::time_point begin_ = Clock::now();
  std::vector<Pair> pairs_;
  FinalTimes times_;
};

}  // namespace

Step<FinalTimes> time_final(BenchCase& bench, const protocol::MeasureRequest& request,
                            double limit_s, const cuda::Clocks* clocks) {
  return FinalTiming(bench, request, limit_s, clocks).run();
}

}  // namespace hone::runner
