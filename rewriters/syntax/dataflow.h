// What may differ between the threads of a block, and between blocks: a fixed point over the locals
// of one kernel, through assignments and control flow.
#pragma once

#include <set>

#include "rewriters/syntax/analysis.h"

namespace hone::syntax {

struct Dataflow {
  struct Varies {
    bool thread = false;
    bool block = false;
    bool operator==(const Varies&) const = default;
    Varies operator|(const Varies& other) const {
      return {thread || other.thread, block || other.block};
    }
  };

  std::map<const Variable*, Varies> variables;  ///< absent: uniform
  std::set<const Variable*> written;            ///< memory that the kernel writes; null: anything

  /// The value of an expression.
  [[nodiscard]] Varies of(const Expr& expr) const;
  /// Whether threads reach `statement` differently, looking up to (not including) `scope`.
  [[nodiscard]] Varies control(const Stmt& statement, const Stmt* scope) const;
  /// A loop's condition, and every conditional way out of it.
  [[nodiscard]] Varies loop_control(const Stmt& loop) const;
};

[[nodiscard]] std::shared_ptr<const Dataflow> find_dataflow(const Function& function,
                                                            const std::vector<Access>& accesses);

}  // namespace hone::syntax
