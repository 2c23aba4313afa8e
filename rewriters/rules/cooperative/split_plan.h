// Which loops of a one-thread-per-output kernel several lanes may share, and what else has to be
// guarded then. Used by split-reduction only.
#pragma once

#include <vector>

#include "rewriters/rules/cooperative/accumulators.h"
#include "rewriters/rules/cooperative/kernel_tools.h"

namespace hone::rules::coop {

struct SplitLoop {
  const syntax::Loop* loop = nullptr;
  std::vector<Accumulator> accumulators;
  bool writes = false;  ///< stores to global memory, every iteration to its own place
  bool fenced = false;  ///< those stores are read elsewhere in the kernel: barriers around the loop
};

/// A store outside the shared loops: one lane performs it.
struct LoneStore {
  const syntax::Stmt* statement = nullptr;
  bool fenced = false;
};

struct SplitPlan {
  std::vector<SplitLoop> loops;
  std::vector<LoneStore> stores;
  bool reassociates = false;
};

/// Where loops nest, `innermost` shares the inner ones, otherwise the outer ones are preferred.
/// kRefused names what stands in the way.
[[nodiscard]] Result<SplitPlan> plan_split(const Parsed& parsed, const syntax::KernelInfo& info,
                                           const Bindings& sizes, bool innermost);

/// Is the loop itself inside a loop (canonical or not)?
[[nodiscard]] bool repeats(const syntax::Stmt& stmt);

}  // namespace hone::rules::coop
