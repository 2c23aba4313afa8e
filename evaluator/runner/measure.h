// The measure mode of hone-runner: checks and times programs on the real GPU.
//
// What a candidate can see while it runs: the inputs, its own poisoned outputs, its scratch. The
// reference runs after it, into memory that is wiped before any candidate runs again, from inputs
// generated afresh. Code is loaded anew between check and timing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluator/device/cuda/clocks.h"
#include "evaluator/device/cuda/gpu.h"
#include "evaluator/device/cuda/loaded_program.h"
#include "evaluator/protocol/measure_messages.h"
#include "evaluator/runner/bench_case.h"
#include "evaluator/runner/final_timing.h"
#include "evaluator/runner/known_answers.h"

namespace hone::runner {

[[nodiscard]] protocol::MeasureReply reply_for(const Blamed& blamed);

class Measure {
 public:
  /// `opened_s`: how long this process took until the GPU was its own.
  Measure(cuda::Gpu& gpu, double opened_s);
  [[nodiscard]] protocol::MeasureReply handle(protocol::MeasureRequest request);

 private:
  /// The reference once more, in a process that replaces another: right, and as fast as it was? The
  /// samples that hold from now on [us].
  Step<std::vector<double>> recheck(const protocol::MeasureRequest& request);
  /// The reference against itself, then timed: up to `samples` within `budget_s`. `said` gets what
  /// the user should know.
  Step<std::vector<double>> run_twice(const protocol::Case& one,
                                      const protocol::MeasureRequest& request, int samples,
                                      double budget_s, std::vector<std::string>& said);
  /// The candidate on inputs that the task does not list; the reference's own error, where it can
  /// be known, widens the tolerance; what f32 has exactly must be exact. `where` is for the
  /// message.
  Step<void> check_inputs(const protocol::Case& one, const protocol::MeasureRequest& request,
                          double limit_s, const std::string& where);
  /// With one draw of contents.
  Step<void> check_inputs_once(const protocol::Case& one, const protocol::MeasureRequest& request,
                               double limit_s, const std::string& where, bool& perhaps_by_chance);
  /// The same at the timed size, whose case has the task's own.
  Step<void> check_other_inputs(const protocol::MeasureRequest& request, InputSet set,
                                double limit_s);
  /// What is wrong with the task at the timed size, "" for nothing: a fake (see check::Fakes) would
  /// pass in the place of an output. Where such outputs are few enough (check::Survivors), that is
  /// `said`: at the check sizes, where inputs are made up, they are held to the reference.
  Step<std::string> surviving_fake(BenchCase& bench, const protocol::MeasureRequest& request,
                                   std::vector<std::string>& said);
  /// The first that would pass for output `i` of the reference's buffers; "": none.
  Step<std::string> fake_of_output(BenchCase& bench, const protocol::MeasureRequest& request,
                                   std::size_t i);
  Step<void> check_at_check_sizes(const protocol::MeasureRequest& request, double& max_rel_error);
  /// When a candidate of the quick stage is not waited for any longer; none: nothing is known to be
  /// faster. The reference is expected to take `expected_s`.
  [[nodiscard]] std::optional<SlowerThan> slower_than(const protocol::MeasureRequest& request,
                                                      double expected_s) const;
  /// The timed size in either stage. The reference is expected to take `expected_s`.
  Step<FinalTimes> time_quick(const protocol::MeasureRequest& request, double expected_s,
                              double& max_rel_error);
  Step<FinalTimes> time_finally(const protocol::MeasureRequest& request, double expected_s,
                                double& max_rel_error);
  protocol::MeasureReply admit(const protocol::MeasureRequest& request);
  protocol::MeasureReply evaluate(const protocol::MeasureRequest& request);

  /// Seeds of the inputs at the timed size whose answers the quick stage remembers.
  struct Contents {
    std::uint64_t checked = 0, timed = 0;
  };
  Contents contents_of(const std::string& reference);
  /// With those inputs.
  protocol::Case timed_case(const protocol::MeasureRequest& request);

  cuda::Gpu& gpu_;
  const double opened_s_;
  KnownAnswers answers_;
  std::map<std::string, Contents> contents_;                      ///< by runnable key
  const std::unique_ptr<cuda::Clocks> clocks_;                    ///< null: none to be had
  std::map<std::string, std::vector<double>> reference_samples_;  ///< [us], by runnable key
  std::vector<std::string> said_;  ///< of the request in hand: for the result's note
  bool same_bits_ = true;          ///< likewise: all answers were the reference's values
};

}  // namespace hone::runner
