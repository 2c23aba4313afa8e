// A glance at CUDA source without a parser: enough to catch a misspelt kernel name early.
// rewriters/syntax is where source is really understood. Private to candidates/.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

struct SourceNames {
  std::set<std::string, std::less<>> identifiers;  ///< outside comments and strings
  std::vector<std::string> kernels;                ///< what follows __global__ before its '('
  bool pastes_tokens = false;                      ///< ## may make names that are not spelt out
};
[[nodiscard]] SourceNames scan_source(std::string_view source);

/// Offset just after the comment, string or character literal that begins at `at`; `at` itself
/// where none does.
[[nodiscard]] std::size_t skip_comment_or_literal(std::string_view source, std::size_t at);

}  // namespace hone
