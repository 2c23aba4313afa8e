#include "rewriters/syntax/edit.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::syntax {

void Edits::replace(const SourceRange& range, std::string text) {
  edits_.push_back({range, std::move(text)});
}

void Edits::insert(int offset, std::string text) {
  edits_.push_back({{offset, offset}, std::move(text)});
}

Result<std::string> Edits::apply() const {
  const int size = static_cast<int>(unit_->source.size());
  std::vector<Edit> ordered = edits_;
  for (const Edit& edit : ordered) {
    if (!edit.range.valid() || edit.range.end > size) {
      return refused("an edit would touch text that comes from a macro");
    }
  }
  // Insertions at one offset keep their order and stand before a replacement that begins there.
  std::stable_sort(ordered.begin(), ordered.end(), [](const Edit& a, const Edit& b) {
    if (a.range.begin != b.range.begin) return a.range.begin < b.range.begin;
    const bool a_inserts = a.range.begin == a.range.end, b_inserts = b.range.begin == b.range.end;
    return a_inserts && !b_inserts;
  });
  std::string result;
  int position = 0;
  const Edit* previous = nullptr;
  for (const Edit& edit : ordered) {
    if (previous != nullptr && edit.range == previous->range && edit.text == previous->text &&
        edit.range.begin != edit.range.end) {
      continue;  // the same replacement twice: a macro argument that the body uses twice
    }
    if (edit.range.begin < position) {
      return refused(fmt::format("two edits overlap at line {}", unit_->line_of(edit.range.begin)));
    }
    result.append(unit_->source, position, edit.range.begin - position);
    result += edit.text;
    position = edit.range.end;
    previous = &edit;
  }
  result.append(unit_->source, position, std::string::npos);
  return result;
}

std::optional<std::string> substitute(const TranslationUnit& unit, const Function& function,
                                      const SourceRange& range,
                                      const std::vector<Substitution>& substitutions) {
  if (!range.valid()) return std::nullopt;
  std::vector<std::pair<SourceRange, const std::string*>> changes;
  for (const Expr* expr : function.all_expressions) {
    const bool is_variable = expr->kind == Expr::Kind::kVariable;
    if (!is_variable && expr->kind != Expr::Kind::kBuiltin) continue;
    if (expr->position < range.begin || expr->position >= range.end) continue;
    for (const Substitution& substitution : substitutions) {
      const bool hit = is_variable
                           ? substitution.variable == expr->variable
                           : !substitution.builtin.empty() && substitution.builtin == expr->text;
      if (!hit) continue;
      if (!range.contains(expr->range)) return std::nullopt;  // written in a macro body
      changes.emplace_back(expr->range, &substitution.text);
      break;
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
  std::string result;
  int position = range.begin;
  for (const auto& [where, text] : changes) {
    if (where.begin < position) {
      if (where.end == position) continue;  // a macro argument that the body uses twice
      return std::nullopt;
    }
    result += unit.text({position, where.begin});
    result += *text;
    position = where.end;
  }
  result += unit.text({position, range.end});
  return result;
}

}  // namespace hone::syntax
