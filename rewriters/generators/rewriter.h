// A generator as a rewriter: its sites are those of the lifted program (lift/fuse.h), its step puts
// what was generated in the place of the site's launches. Kernels that are left without a launch
// leave the source.
#pragma once

#include <memory>

#include "rewriters/core/rewriter.h"
#include "rewriters/generators/generator.h"

namespace hone::generators {

/// `generator` must outlive it.
[[nodiscard]] std::unique_ptr<Rewriter> make_rewriter(const Generator& generator);

/// What a program computes, launch by launch as loop nests or why it could not be lifted, and for
/// each site which generators can print it, or why none can. Text for people.
[[nodiscard]] Result<std::string> explained(const Program& program, const RewriteContext& context);

}  // namespace hone::generators
