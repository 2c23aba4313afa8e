// Size expressions of a task: "ceildiv(N,16)", "2*M*N*K", and constraints "N % 256 == 0".
// Immutable after parse; safe to share between threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "candidates/result.h"

namespace hone {

/// Values of the sizes and tunables of a task: {"M": 4096, "BLOCK": 128}.
using Bindings = std::map<std::string, std::int64_t, std::less<>>;

/// An integer expression over sizes and tunables. Grammar, loosest first:
/// `||`, `&&`, comparisons (== != < <= > >=), `+ -`, `* / %`, unary `-`, integers, names,
/// `( )`, `min(a,b,…)`, `max(a,b,…)`, `ceildiv(a,b)`. 64-bit, overflow and division by zero are
/// errors; `/` truncates like C.
class Expr {
 public:
  Expr() = default;  ///< the constant 0
  explicit Expr(std::int64_t value);

  /// Errors name the column and what was expected.
  [[nodiscard]] static Result<Expr> parse(std::string_view text);

  /// Errors: unknown name, overflow, division by zero; the message names the expression.
  [[nodiscard]] Result<std::int64_t> eval(const Bindings& bindings) const;

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::set<std::string> names() const;
  [[nodiscard]] bool is_constant() const { return names().empty(); }

  /// True when this is a comparison or a logical combination of them (a constraint).
  [[nodiscard]] bool is_condition() const;

  bool operator==(const Expr& other) const { return text_ == other.text_; }

  struct Node;

 private:
  std::string text_ = "0";
  std::shared_ptr<const Node> root_;  ///< null means 0
};

}  // namespace hone
