// An expression in another language: what candidates/export writes launches with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/expr.h"

namespace hone {

/// How a language writes things. An operation is named as in the grammar of Expr ("+", "&&", "min",
/// "ceildiv"), a negation "neg"; its operands come as the language writes them.
struct ExprSpelling {
  std::function<std::string(std::int64_t)> literal;
  std::function<std::string(const std::string&)> name;
  std::function<std::string(std::string_view, const std::vector<std::string>&)> operation;
};

/// Errors (kInvalidInput): operations nested deeper than `most_nested`; compilers give up
/// somewhere.
[[nodiscard]] Result<std::string> spell(const Expr& expr, const ExprSpelling& spelling,
                                        int most_nested = 60);

}  // namespace hone
