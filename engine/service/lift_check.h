// Is what the reference lifts to what its kernels compute? The nests are done directly at the check
// sizes, and the admission compares what they leave with the emulated kernels' buffers. Where they
// differ no generator is asked.
#pragma once

#include <string>
#include <vector>

#include "candidates/task.h"
#include "engine/rewriting/rewriting.h"
#include "evaluator/evaluator.h"

namespace hone {

struct LiftCheck {
  int sizes = 0;          ///< at which nests were done
  int checked = 0;        ///< of these, compared with the emulated kernels
  std::string unchecked;  ///< why not at all sizes, the last reason
  std::string differs;    ///< "C[17] is 3.5, want 3.25 (…), at M=33 N=65"; empty: nowhere

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

/// The rewriters that rely on the lift.
[[nodiscard]] std::vector<std::string> names_of_generators();

}  // namespace hone
