#include "rewriters/syntax/ast.h"

#include <algorithm>

namespace hone::syntax {

const Function* TranslationUnit::find_function(std::string_view name) const {
  std::string_view plain = name.substr(0, name.find('<'));
  // Functions do not know their namespace: where that is named, there must be one of the name
  // alone.
  if (const auto end = plain.rfind("::"); end != plain.npos) {
    plain.remove_prefix(end + 2);
    const auto same = [&](const Function* function) { return function->name == plain; };
    if (std::ranges::count_if(functions, same) > 1) return nullptr;
  }
  const Function* found = nullptr;
  for (const Function* function : functions) {
    if (function->name != plain) continue;
    if (found == nullptr || (function->is_kernel && !found->is_kernel)) found = function;
  }
  return found;
}

std::string_view TranslationUnit::text(const SourceRange& range) const {
  if (!range.valid() || range.end > static_cast<int>(source.size())) return {};
  return std::string_view(source).substr(range.begin, range.end - range.begin);
}

int TranslationUnit::line_of(int offset) const {
  const int end = std::clamp(offset, 0, static_cast<int>(source.size()));
  return 1 + static_cast<int>(std::count(source.begin(), source.begin() + end, '\n'));
}

}  // namespace hone::syntax
