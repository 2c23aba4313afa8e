// A set of text edits that is applied at once. Overlapping edits are an error of ours, reported.
#pragma once

#include <string>
#include <vector>

#include "candidates/result.h"
#include "rewriters/syntax/ast.h"

namespace hone::syntax {

class Edits {
 public:
  explicit Edits(const TranslationUnit& unit) : unit_(&unit) {}

  void replace(const SourceRange& range, std::string text);
  void insert(int offset, std::string text);  ///< several at one offset stay in order of insertion
  void remove(const SourceRange& range) { replace(range, ""); }
  [[nodiscard]] bool empty() const { return edits_.empty(); }

  /// The edited source. kRefused when a range is invalid (macro text) or two edits overlap.
  [[nodiscard]] Result<std::string> apply() const;

 private:
  struct Edit {
    SourceRange range;
    std::string text;
  };
  const TranslationUnit* unit_;
  std::vector<Edit> edits_;
};

/// The text of `expr` with whole sub-expressions replaced: every node for which `replacement`
/// returns a value is printed as that value (in parentheses when it is not a plain name or
/// literal), the rest as written. Empty when part of the text comes from a macro body.
template <class F>
std::optional<std::string> text_with(const TranslationUnit& unit, const Expr& expr,
                                     F&& replacement);

/// The text of any range (a statement, a loop body) with every use of the given variables or
/// builtins replaced. Empty when the range, or a use, comes from a macro body.
struct Substitution {
  const Variable* variable = nullptr;  ///< replaces uses of this variable, or
  std::string builtin;                 ///< of this builtin ("threadIdx.x")
  std::string text;                    ///< inserted as is: add parentheses yourself
};
[[nodiscard]] std::optional<std::string> substitute(const TranslationUnit& unit,
                                                    const Function& function,
                                                    const SourceRange& range,
                                                    const std::vector<Substitution>& substitutions);

template <class F>
std::optional<std::string> text_with(const TranslationUnit& unit, const Expr& expr,
                                     F&& replacement) {
  if (auto text = replacement(expr)) return text;
  if (!expr.range.valid()) return std::nullopt;
  if (expr.implicit) return text_with(unit, *expr.operands[0], replacement);
  std::string result;
  int position = expr.range.begin;
  for (const Expr* operand : expr.operands) {
    if (!operand->range.valid()) return std::nullopt;
    if (!expr.range.contains(operand->range) || operand->range.begin < position) continue;
    auto inner = text_with(unit, *operand, replacement);
    if (!inner) return std::nullopt;
    result += unit.text({position, operand->range.begin});
    result += *inner;
    position = operand->range.end;
  }
  result += unit.text({position, expr.range.end});
  return result;
}

}  // namespace hone::syntax
