// Finds `/* hone {...} */`: walks the source as a C++ lexer does, so that one inside a string or a
// line comment does not count.
#include <algorithm>

#include "candidates/source_scan.h"
#include "candidates/task_reader.h"

namespace hone {

std::optional<TaskComment> find_task_comment(std::string_view text) {
  constexpr std::string_view kWord = "hone";
  constexpr std::string_view kSpace = " \t\r\n";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = skip_comment_or_literal(text, at);
    if (text.substr(at).starts_with("/*")) {
      const bool closed = next >= at + 4 && text.substr(next - 2, 2) == "*/";
      const std::size_t end = closed ? next - 2 : next;
      const std::string_view inside = text.substr(at + 2, end - at - 2);
      const std::size_t word = inside.find_first_not_of(" \t\r\n*");
      if (word != std::string_view::npos && inside.substr(word).starts_with(kWord)) {
        const std::size_t brace = inside.find_first_not_of(kSpace, word + kWord.size());
        if (brace != std::string_view::npos && inside[brace] == '{') {
          return TaskComment{inside.substr(brace), at + 2 + brace, at, next};
        }
      }
    }
    at = next > at ? next : at + 1;
  }
  return std::nullopt;
}

std::string without_task_comment(std::string_view source) {
  std::string result(source);
  if (const auto comment = find_task_comment(source)) {
    result.erase(comment->comment_begin, comment->comment_end - comment->comment_begin);
  }
  result.erase(0, std::min(result.find_first_not_of(" \t\r\n"), result.size()));
  if (!result.ends_with('\n')) result += '\n';
  return result;
}

}  // namespace hone
