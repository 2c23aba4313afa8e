// Is what the reference lifts to what its kernels compute? The nests are done directly at the check
// sizes, and the admission compares what they leave with the emulated kernels' buffers. Where they
// differ no generator is asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "candidates/task.h"
#include "engine/rewriting/rewriting.h"
#include "evaluator/evaluator.h"
#include "rewriters/schedules/explanation.h"

namespace hone {

struct LiftCheck {
  int sizes = 0;                     ///< at which nests were done
  std::vector<std::string> done_at;  ///< these: "M=33 N=65"
  int checked = 0;                   ///< of these, compared with the emulated kernels
  std::string unchecked;             ///< why not at all sizes, the last reason
  std::string differs;  ///< "C[17] is 3.5, want 3.25 (…), at M=33 N=65"; empty: nowhere

  /// "checked at 3 sizes: agrees with the emulated kernels"; empty: there was no size to check at.
  [[nodiscard]] std::string text() const;
};

/// Puts what the nests of `program` leave into `admission`, whose checks are at the task's check
/// sizes. No size is begun after 0.7 s. In a service the answer does
/// not travel: jobs of workers are not checked.
[[nodiscard]] LiftCheck expect_lifted(Rewriting& rewriting, const RewriteContext& context,
                                      const Program& program, EvaluationRequest& admission);

/// With what the admission said.
[[nodiscard]] LiftCheck judged(LiftCheck check, const Evaluation& admitted);

/// All that is told of a lift: what it is at the timed sizes, what can be generated there, and
/// whether it is right at the check sizes. Every line says at which sizes it holds, so that none
/// contradicts another.
struct LiftReport {
  Bindings sizes;  ///< timed
  schedules::Explanation lift;
  std::optional<LiftCheck> check;  ///< empty: nobody asked
  std::string unchecked;           ///< why it could not be asked for; else empty
};
[[nodiscard]] std::string text(const LiftReport& report);
/// Of it, what was checked: one line, without its end.
[[nodiscard]] std::string check_text(const LiftReport& report);

/// The rewriters that rely on the lift.
[[nodiscard]] std::vector<std::string> names_of_generators();

}  // namespace hone
