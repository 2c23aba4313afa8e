// Where a pointer or an lvalue points: base variable and element offset.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "rewriters/syntax/analysis.h"

namespace hone::syntax {

struct Place {
  const Variable* base = nullptr;          ///< origin; null when unknown
  const Variable* written_base = nullptr;  ///< the variable as written
  std::optional<Polynomial> index;         ///< in elements from base
  std::vector<const Expr*> indices;        ///< subscripts as written, outermost first
};

[[nodiscard]] Place place_of(const Expr& lvalue);           ///< p[i], *p, a[i][j], p[i].x
[[nodiscard]] Place place_of_pointer(const Expr& pointer);  ///< p + i, &p[i], a row of an array

/// Every parameter or array that the pointer may point into. A null member means "anything".
[[nodiscard]] std::set<const Variable*> origins_of(const Expr& pointer);
[[nodiscard]] std::set<const Variable*> origins_of(const Variable& pointer);

}  // namespace hone::syntax
