// The column mode of split-reduction: threads along x stay on neighbouring columns, lanes along
// threadIdx.y share the rows and combine through shared memory.
#pragma once

#include "rewriters/rules/cooperative/split_plan.h"

namespace hone::rules::coop {

/// Does some shared loop read neighbouring columns in neighbouring threads?
[[nodiscard]] bool can_split_columns(const Parsed& parsed, const syntax::KernelInfo& info,
                                     const SplitPlan& plan, const RewriteContext& context);

/// `lanes` along y, block / lanes columns along x.
[[nodiscard]] Result<Program> split_columns(const Program& program, const std::string& kernel,
                                            int lanes, int block, bool innermost,
                                            const RewriteContext& context);

}  // namespace hone::rules::coop
