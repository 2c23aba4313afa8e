// When may a local's name be replaced by its initialiser?
#pragma once

#include "rewriters/syntax/ast.h"

namespace hone::syntax {

/// No variable that the initialiser of `variable` reads is written while `variable` is in scope, so
/// the initialiser would still give the same value at every use.
[[nodiscard]] bool init_is_stable(const Variable& variable);

}  // namespace hone::syntax
