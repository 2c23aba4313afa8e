// The final stage's timing: reference and candidate in turns, each pair of runs on inputs that
// nobody has seen, at exchanged addresses, and all of the candidate's timed answers compared.
#pragma once

#include <vector>

#include "evaluator/device/cuda/clocks.h"
#include "evaluator/protocol/measure_messages.h"
#include "evaluator/runner/bench_case.h"
#include "evaluator/runner/known_answers.h"

namespace hone::runner {

struct FinalTimes {
  std::vector<double> candidate_us, reference_us;  ///< pairs, or apart; with a flushed L2
  std::vector<double> warm_us, reference_warm_us;
  int discarded = 0;     ///< pairs, or runs, that were taken while the clocks were down
  double clock_mhz = 0;  // median; 0: not known
  double max_rel_error = 0;
};

/// `bench` has its memory; code and inputs are made here. `limit_s`: of one run of the candidate.
/// `clocks` may be null. Ends when the ratio is known to kFinalPrecision, or with the budget.
[[nodiscard]] Step<FinalTimes> time_final(BenchCase& bench, const protocol::MeasureRequest& request,
                                          double limit_s, const cuda::Clocks* clocks);

/// The same where the reference is so slow that pairs would take long: it runs a few times, each on
/// inputs of its own, and `answers` remembers what it answered. The candidate then runs on those in
/// any order, and loads its code anew for every run, so that it remembers none. `checked_s`: what
/// the reference took to answer a check on the timed case's inputs, 0: it did not run. The
/// reference is timed three times; over kVerySlow_us twice, and the check's run, where there was
/// one, is the first of both. As its own candidate it is timed six times, or twice.
[[nodiscard]] Step<FinalTimes> time_final_apart(BenchCase& bench,
                                                const protocol::MeasureRequest& request,
                                                double limit_s, const cuda::Clocks* clocks,
                                                KnownAnswers& answers, double checked_s);

}  // namespace hone::runner
