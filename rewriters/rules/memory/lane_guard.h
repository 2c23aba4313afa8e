// The bound on a kernel's global index: `if (i < bound && ...) { ... }` at the end of the kernel,
// or `if (i >= bound || ...) return;`.
#pragma once

#include <vector>

#include "candidates/result.h"
#include "rewriters/syntax/ast.h"

namespace hone::rules::memory {

struct LaneGuard {
  const syntax::Stmt* statement = nullptr;  ///< null: there is none
  std::size_t at = 0;                       ///< its place among the statements
  bool returns = false;
  const syntax::Expr* bound = nullptr;      ///< does not vary between lanes
  bool inclusive = false;                   ///< i <= bound
  std::vector<const syntax::Expr*> others;  ///< the conditions beside it, the same for all lanes
};

/// `statements`: those of the kernel's body that follow the declaration of `lane`. kRefused when
/// lanes may return for another reason than a bound.
[[nodiscard]] Result<LaneGuard> find_lane_guard(const syntax::Function& kernel,
                                                const syntax::Variable& lane,
                                                const std::vector<const syntax::Stmt*>& statements);

}  // namespace hone::rules::memory
