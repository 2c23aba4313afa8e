// Is what the reference lifts to what its kernels compute? The nests are done directly at the check
// sizes while the reference is admitted, and the admission compares what they leave with the
// emulated kernels' buffers. Where they differ no generator is asked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
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

/// Does the nests of a program at its check sizes, in threads of its own, beside its admission.
class LiftChecking {
 public:
  /// Of `program` at the check sizes of the context's task, where the checks of `admission` are:
  /// puts into them what the nests leave, which they may wait for until `limit_s` from now. No size
  /// is begun after 0.7 s. `rewriting` and the task outlive it. In a service the answer does not
  /// travel: jobs of workers are not checked.
  LiftChecking(Rewriting& rewriting, const RewriteContext& context, const Program& program,
               EvaluationRequest& admission, double limit_s);
  /// Ends what is still being done.
  ~LiftChecking();
  LiftChecking(const LiftChecking&) = delete;
  LiftChecking& operator=(const LiftChecking&) = delete;

  /// What was done by now, and not yet compared.
  [[nodiscard]] LiftCheck so_far() const;
  /// The same when all is done.
  [[nodiscard]] LiftCheck wait();
  /// With what the admission said.
  [[nodiscard]] LiftCheck judged(const Evaluation& admitted) const;

 private:
  struct State;
  void run(RewriteContext context, const Program& program, const std::vector<std::uint64_t>& seeds,
           const std::stop_token& stopping);

  Rewriting& rewriting_;
  const std::shared_ptr<State> state_;
  std::vector<std::jthread> threads_;
};

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
