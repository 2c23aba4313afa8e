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

/// Applies the steps in order. The error names the step ("step 3, unroll(matmul/loop0: factor=4):
/// …").
[[nodiscard]] Result<Program> replay(const Program& reference, const Recipe& recipe,
                                     const RewriteContext& context);

}  // namespace hone
