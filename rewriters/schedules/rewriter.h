// A generator as a rewriter: its sites are those of the lifted program (nest/fuse.h), its step puts
// what was generated in the place of the site's launches. Kernels that are left without a launch
// leave the source.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"
#include "rewriters/schedules/explanation.h"
#include "rewriters/schedules/generator.h"

namespace hone::schedules {

/// `generator` must outlive it.
[[nodiscard]] std::unique_ptr<Rewriter> make_rewriter(const Generator& generator);

/// What a program computes, as loop nests, and what can be generated for it.
[[nodiscard]] Result<Explanation> explained(const Program& program, const RewriteContext& context);

}  // namespace hone::schedules
