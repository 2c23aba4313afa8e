// Which locals of a kernel differ between neighbouring threads of one row of a block, once those
// threads are merged into one. Everything else is computed once for all of them.
#pragma once

#include <set>

#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/ast.h"

namespace hone::rules::memory {

class LaneVariance {
 public:
  /// `lane` is the only variable from which threadIdx.x and blockIdx.x are seen. `assumed` is a
  /// statement (the guard) that counts as taken by all lanes, or null.
  LaneVariance(const syntax::Function& kernel, const syntax::Variable& lane,
               const syntax::Stmt* assumed);

  [[nodiscard]] bool varies(const syntax::Variable& variable) const {
    return varying_.contains(&variable);
  }
  [[nodiscard]] bool varies(const syntax::Expr& expr) const;
  /// Same effect when executed once for all lanes: no varying variable is read or written and
  /// nothing is stored.
  [[nodiscard]] bool once_for_all(const syntax::Stmt& statement) const;
  [[nodiscard]] const std::set<const syntax::Variable*>& varying() const { return varying_; }

 private:
  [[nodiscard]] bool varying_control(const syntax::Stmt* statement) const;
  bool add(const syntax::Variable& variable);

  const syntax::Stmt* assumed_;
  std::set<const syntax::Variable*> varying_;
};

}  // namespace hone::rules::memory
