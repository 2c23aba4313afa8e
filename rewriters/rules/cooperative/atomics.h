// The atomic operations of a kernel whose results nobody uses, and how they fold.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rewriters/rules/cooperative/kernel_tools.h"

namespace hone::rules::coop {

struct AtomicStatement {
  const syntax::Access* access = nullptr;
  const syntax::Expr* call = nullptr;
  const syntax::Expr* address = nullptr;
  const syntax::Expr* value = nullptr;
  const syntax::Variable* root = nullptr;  ///< pointer parameter
  std::string function;                    ///< "atomicAdd"
  std::string type;                        ///< of the element
  bool uniform = false;                    ///< one address for all threads of a block

  [[nodiscard]] bool is_float() const { return type == "float" || type == "double"; }
  /// A value that changes nothing, for partial results.
  [[nodiscard]] std::string identity() const;
  /// The statement that folds `other` into the partial result `value`.
  [[nodiscard]] std::string fold(const std::string& value, const std::string& other) const;
};

/// Atomic statements (add, sub, min, max, and, or, xor; int, unsigned, 64-bit, float, double) on
/// global memory that the kernel touches in no other way than by the same kind of atomic.
[[nodiscard]] std::vector<AtomicStatement> atomic_statements(const syntax::KernelInfo& info);

}  // namespace hone::rules::coop
