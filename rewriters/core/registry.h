// The one ordered list of rewriters, and recipe replay.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "rewriters/core/rewriter.h"

namespace hone {

/// All rewriters, in the order in which they are tried. Owned by the registry, alive for the
/// process; safe to use from several threads.
[[nodiscard]] const std::vector<const Rewriter*>& rewriters();
[[nodiscard]] const Rewriter* find_rewriter(std::string_view name);

/// Every proposal of every rewriter whose math level the task allows.
[[nodiscard]] std::vector<Proposal> propose_all(const Program& program,
                                                const RewriteContext& context);

/// Applies one step: everything but a rule's own tests comes here for its result. Errors: those of
/// Rewriter::apply; kRefused where no rewriter has that name, and where the step leaves the program
/// as it is at the task's own sizes, because such a step would only lengthen a recipe. Comments,
/// spaces and declared names make no other program. At other sizes a step may change nothing: a
/// block of 128 threads may be what the launch has there already. kRefused, too, where what a rule
/// made does not parse; with `unread` that is left to the next step, or to the compiler: a parse
/// takes longer than most rules.
[[nodiscard]] Result<Program> apply_step(const Program& program, const Step& step,
                                         const RewriteContext& context, bool unread = false);

/// Applies the steps in order, each as apply_step does. The error names the step
/// ("step 3, unroll(matmul/loop0: factor=4): …").
[[nodiscard]] Result<Program> replay(const Program& reference, const Recipe& recipe,
                                     const RewriteContext& context);

}  // namespace hone
