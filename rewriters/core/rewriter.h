// The interface every rewriter implements, and the context it works in.
// Rewriters are stateless and may be called from several threads at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "candidates/program.h"
#include "candidates/recipe.h"
#include "candidates/result.h"
#include "candidates/task.h"

namespace hone {

/// The limits of the target that rules need to know. Sizes in bytes.
struct TargetLimits {
  int compute_capability = 90;  ///< 90 for sm_90
  int max_threads_per_block = 1024;
  std::int64_t shared_per_block = 48 * 1024;  ///< static shared memory
  std::int64_t shared_per_block_optin = 227 * 1024;
  std::int64_t shared_per_sm = 228 * 1024;
  int registers_per_sm = 65536;
  int sm_count = 132;
};
[[nodiscard]] TargetLimits target_limits(
    std::string_view arch);  ///< "sm_90"; unknown: conservative

/// What a rewriter may look at beside the program itself.
struct RewriteContext {
  const Task* task = nullptr;  ///< sizes to be held, math level, specialize, tolerance
  Bindings sizes;              ///< the sizes this replay is for (timed or check sizes)
  TargetLimits target;
};

/// The refusal of a step that leaves the program as it is; `why` may say more.
[[nodiscard]] inline std::unexpected<Error> changes_nothing(std::string_view why = "") {
  std::string message = "the step changes nothing";
  if (!why.empty()) message.append(": ").append(why);
  return refused(std::move(message));
}

class Rewriter {
 public:
  virtual ~Rewriter() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;  ///< kebab-case, never changes
  [[nodiscard]] virtual int version() const { return 1; }   ///< raised when the output changes
  [[nodiscard]] virtual std::string_view summary()
      const = 0;  ///< "before => after, legal when ..."

  /// Whether it puts formulas for functions that are less exact than those: what they lose shows
  /// where values are tiny, which few inputs are.
  [[nodiscard]] virtual bool approximates() const { return false; }

  /// Every site where the rule can prove (at these sizes) that it may fire, with the domains of its
  /// parameters. A value with which the program stays as it is is not offered; a combination of
  /// several parameters may be, as domains cannot leave it out. Never an error: a program it cannot
  /// read gives no proposals.
  [[nodiscard]] virtual std::vector<Proposal> propose(const Program& program,
                                                      const RewriteContext& context) const = 0;

  /// Applies one step. ErrorCode::kRefused, with the reason, when the site is not there or the
  /// rewrite is not legal at these sizes. Must be deterministic, and must itself check legality:
  /// a step may come from a recipe made at other sizes or after other steps. The result may be the
  /// program as it was: apply_step() (registry.h) refuses that where it must.
  [[nodiscard]] virtual Result<Program> apply(const Program& program, const Step& step,
                                              const RewriteContext& context) const = 0;
};

}  // namespace hone
