// A canonical loop whose iterations are dealt out to lanes, with vector accesses where they are
// legal.
#pragma once

#include <string>

#include "rewriters/rules/cooperative/accumulators.h"
#include "rewriters/rules/cooperative/kernel_tools.h"

namespace hone::rules::coop {

/// for (k = lower; k < upper; k += s)  =>  for (k = lower + lane * s; k < upper; k += lanes * s),
/// or with vec = V: V neighbouring iterations at a time, with a scalar head and tail where lower
/// and upper are no multiples of V. Falls back to what is legal at these sizes. Edits that change
/// the builtins inside must be in `patch` already.
void stride_loop(Patch& patch, const Parsed& parsed, const syntax::KernelInfo& info,
                 const syntax::Loop& loop, const std::string& lane, int lanes, int vec,
                 const Bindings& sizes);

/// 4, 2 or 1.
[[nodiscard]] int widest_vector(const Parsed& parsed, const syntax::KernelInfo& info,
                                const syntax::Loop& loop, const Bindings& sizes);

/// Is the accumulator known to hold its identity whenever the loop starts (declared so beside it)?
[[nodiscard]] bool starts_at_identity(const Accumulator& accumulator, const syntax::Stmt& loop);

}  // namespace hone::rules::coop
