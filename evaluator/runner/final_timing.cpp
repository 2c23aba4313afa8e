#include "evaluator/runner/final_timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>

#include "evaluator/runner/bench_case.h"
#include "evaluator/runner/quick_timing.h"
#include "evaluator/timing/statistics.h"

namespace hone::runner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostPairs = 200, kEnoughPairs = 20, kFewestPairs = 3;
/// Standard error of the ratio that is good enough: its 95 % interval is 0.5 % wide.
constexpr double kFinalPrecision = 1.25e-3;
constexpr int kReloadEvery = 10;  // pairs: code at another place, nothing remembered
constexpr int kWarmPairs = 10;
/// A pair that takes so long is timed precisely by few warm ones, or one.
constexpr double kLongPair_us = 5e3, kVeryLongPair_us = 5e5;
constexpr int kFewWarmPairs = 3;
constexpr double kClockLoss = 0.03;  // below the median clock: the pair does not count
// Apart from a slow reference.
constexpr std::size_t kContents = 3, kContentsIfVerySlow = 2;  // which it runs on
constexpr int kMostRuns = 100, kEnoughRuns = 15, kFewestRuns = 3, kWarmRuns = 5;
/// No warm run but the first begins once cold and warm runs together have taken so many times
/// `timing_s`.
constexpr double kUntilWarm = 1.25;

struct Pair {
  double candidate_us = 0, reference_us = 0;
  cuda::Clocks::Reading clock;
};

/// Of each reading whether what was timed then does not count; notes in `times` how many, and the
/// median clock. None where more than half are slow: a GPU that always is, is what there is to
/// measure.
std::vector<bool> taken_while_slow(const std::vector<cuda::Clocks::Reading>& clocks,
                                   FinalTimes& times) {
  std::vector<double> known;
  for (const auto& clock : clocks)
    if (clock.sm_mhz > 0) known.push_back(clock.sm_mhz);
  times.clock_mhz = timing::median(known);
  std::vector<bool> slow;
  for (const auto& clock : clocks)
    slow.push_back(clock.slowed ||
                   (clock.sm_mhz > 0 && clock.sm_mhz < (1 - kClockLoss) * times.clock_mhz));
  const auto count = std::ranges::count(slow, true);
  if (static_cast<std::size_t>(count) * 2 > slow.size()) return std::vector<bool>(slow.size());
  times.discarded = static_cast<int>(count);
  return slow;
}

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
    if (taken >= 1 && spent > 3 * request_.timing_s) return true;
    if (taken >= kFewestPairs && spent > request_.timing_s) return true;
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
    const int wanted = pair_us > kVeryLongPair_us ? 1
                       : pair_us > kLongPair_us   ? kFewWarmPairs
                                                  : kWarmPairs;
    for (int i = 0; i < std::min<int>(wanted, static_cast<int>(pairs_.size())); ++i) {
      if (i > 0 && seconds_spent() > 3 * request_.timing_s) break;  // runs in double may be slow
      const auto pair = one_pair(BenchCase::Cache::kWarm);
      if (!pair) return std::unexpected(pair.error());
      times_.warm_us.push_back(pair->candidate_us);
      times_.reference_warm_us.push_back(pair->reference_us);
    }
    return {};
  }

  void keep_good_pairs() {
    std::vector<cuda::Clocks::Reading> clocks;
    for (const Pair& pair : pairs_) clocks.push_back(pair.clock);
    const std::vector<bool> bad = taken_while_slow(clocks, times_);
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      if (bad[i]) continue;
      times_.candidate_us.push_back(pairs_[i].candidate_us);
      times_.reference_us.push_back(pairs_[i].reference_us);
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

/// See time_final_apart().
class ApartTiming {
 public:
  ApartTiming(BenchCase& bench, const protocol::MeasureRequest& request, double limit_s,
              const cuda::Clocks* clocks, KnownAnswers& answers, double checked_s)
      : bench_(bench),
        request_(request),
        limit_s_(limit_s),
        clocks_(clocks),
        answers_(answers),
        checked_us_(1e6 * checked_s),
        itself_(bench.second().runnable->key == bench.reference().runnable->key),
        random_(request.seed) {}

  Step<FinalTimes> run() {
    HONE_STEP(time_reference());
    if (itself_) return reference_again();
    begin_ = Clock::now();
    while (!enough()) {
      HONE_STEP(bench_.swap_outputs());
      const auto us = one_run(BenchCase::Cache::kCold);
      if (!us) return std::unexpected(us.error());
      runs_us_.push_back(*us);
      clock_.push_back(clocks_ != nullptr ? clocks_->read() : cuda::Clocks::Reading{});
    }
    const auto is_over = [&] { return seconds_spent() > kUntilWarm * request_.timing_s; };
    for (int i = 0; i < kWarmRuns && (i == 0 || !is_over()); ++i) {
      const auto us = one_run(BenchCase::Cache::kWarm);
      if (!us) return std::unexpected(us.error());
      times_.warm_us.push_back(*us);
    }
    const std::vector<bool> bad = taken_while_slow(clock_, times_);
    for (std::size_t i = 0; i < runs_us_.size(); ++i)
      if (!bad[i]) times_.candidate_us.push_back(runs_us_[i]);
    return std::move(times_);
  }

 private:
  [[nodiscard]] double seconds_spent() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  [[nodiscard]] bool enough() const {
    const auto have = static_cast<int>(runs_us_.size());
    if (have >= kMostRuns || (have >= 1 && seconds_spent() > 3 * request_.timing_s)) return true;
    if (have >= kFewestRuns && seconds_spent() > request_.timing_s) return true;
    return have >= kEnoughRuns && timing::standard_error(runs_us_) < kFinalPrecision;
  }

  /// It is so slow that the caches hold nothing of use for it: its last run counts as a warm one.
  Step<void> time_reference() {
    // A check's run may be the first one, and nothing queues its launches while a flush goes on:
    // of a run that lasts very long, as the next one says, that is a small part.
    const bool is_checked = checked_us_ > kVerySlow_us && !itself_;
    if (is_checked) seeds_.push_back(request_.timed.seed);
    auto& runs_us = times_.reference_us;
    while (runs_us.size() < kContents) {
      // Those of the check are remembered, and what a run in double gave for them.
      const bool is_known = seeds_.empty();
      const std::uint64_t seed = is_known ? request_.timed.seed : random_();
      HONE_STEP(bench_.make_inputs(seed));
      HONE_STEP(bench_.load(bench_.reference()));
      HONE_STEP(bench_.prepare(bench_.reference(), kPoison));
      const auto us = bench_.timed_run(bench_.reference(), kPoison, request_.timeout_s);
      if (!us) return std::unexpected(us.error());
      HONE_STEP(bench_.inspect(bench_.reference()));
      if (!is_known && !itself_) HONE_STEP(answers_.keep(bench_.reference(), seed));
      HONE_STEP(bench_.wipe(bench_.reference()));
      runs_us.push_back(*us);
      seeds_.push_back(seed);
      if (*us <= kVerySlow_us) continue;
      if (is_checked && runs_us.size() == 1) runs_us.insert(runs_us.begin(), checked_us_);
      if (runs_us.size() >= kContentsIfVerySlow) break;
    }
    times_.reference_warm_us = {runs_us.back()};
    return {};
  }

  /// The reference as its own candidate: what else there is to know of it, an admission found out.
  Step<FinalTimes> reference_again() {
    if (times_.reference_us.size() < kContents) {
      times_.candidate_us = {times_.reference_us.back()};
      times_.reference_us.pop_back();
      times_.warm_us = times_.reference_warm_us;
      return std::move(times_);
    }
    seeds_.clear();
    times_.candidate_us = std::exchange(times_.reference_us, {});
    HONE_STEP(time_reference());
    times_.warm_us = times_.reference_warm_us;
    return std::move(times_);
  }

  /// After a first run on inputs that nobody asks for, as the code has just been loaded.
  Step<double> one_run(BenchCase::Cache cache) {
    const std::uint64_t seed = seeds_[random_() % seeds_.size()];
    HONE_STEP(bench_.load(bench_.second()));
    HONE_STEP(bench_.make_inputs(random_(), false));
    HONE_STEP(bench_.timed_run(bench_.second(), kPoison, limit_s_));
    HONE_STEP(bench_.make_inputs(seed));
    const auto us = bench_.timed_run(bench_.second(), kPoison, limit_s_, cache);
    if (!us) return us;
    HONE_STEP(bench_.inspect(bench_.second()));
    auto known = answers_.recall(bench_.reference(), seed);
    if (!known) return std::unexpected(known.error());
    if (!*known) {  // there was no room for it
      HONE_STEP(bench_.make_inputs(seed));
      HONE_STEP(bench_.load(bench_.reference()));
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
    return us;
  }

  BenchCase& bench_;
  const protocol::MeasureRequest& request_;
  const double limit_s_;
  const cuda::Clocks* clocks_;
  KnownAnswers& answers_;
  const double checked_us_;
  const bool itself_;  ///< the reference as its own candidate
  std::mt19937_64 random_;
  Clock::time_point begin_;
  std::vector<std::uint64_t> seeds_;  ///< of inputs whose answers are known
  std::vector<double> runs_us_;
  std::vector<cuda::Clocks::Reading> clock_;  ///< at each
  FinalTimes times_;
};

}  // namespace

Step<FinalTimes> time_final(BenchCase& bench, const protocol::MeasureRequest& request,
                            double limit_s, const cuda::Clocks* clocks) {
  return FinalTiming(bench, request, limit_s, clocks).run();
}

Step<FinalTimes> time_final_apart(BenchCase& bench, const protocol::MeasureRequest& request,
                                  double limit_s, const cuda::Clocks* clocks, KnownAnswers& answers,
                                  double checked_s) {
  return ApartTiming(bench, request, limit_s, clocks, answers, checked_s).run();
}

}  // namespace hone::runner
