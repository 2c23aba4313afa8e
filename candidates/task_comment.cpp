// Finds `/* hone {...} */`: walks the source as a C++ lexer does, so that one inside a string or a
// line comment does not count.
#include <cctype>

#include "candidates/task_reader.h"

namespace hone {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// `at` is on the opening quote; returns the place after the closing one, or the end of the line.
std::size_t skip_quoted(std::string_view text, std::size_t at) {
  const char quote = text[at++];
  for (; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      return at + 1;
    } else if (text[at] == '\n') {
      return at;
    }
  }
  return text.size();
}

// `at` is on the quote of R"tag( ... )tag"
std::size_t skip_raw_string(std::string_view text, std::size_t at) {
  const std::size_t open = text.find('(', at);
  if (open == std::string_view::npos || open - at > 17) return at + 1;
  std::string close = ")";
  close += text.substr(at + 1, open - at - 1);
  close += '"';
  const std::size_t end = text.find(close, open);
  return end == std::string_view::npos ? text.size() : end + close.size();
}

bool is_raw_prefix(std::string_view text, std::size_t quote) {
  if (quote == 0 || text[quote - 1] != 'R') return false;
  std::size_t begin = quote - 1;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  const std::string_view prefix = text.substr(begin, quote - begin);
  return prefix == "R" || prefix == "LR" || prefix == "uR" || prefix == "UR" || prefix == "u8R";
}

}  // namespace

std::optional<TaskComment> find_task_comment(std::string_view text) {
  constexpr std::string_view kWord = "hone";
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("//")) {
      at = text.find('\n', at);
      if (at == std::string_view::npos) return std::nullopt;
    } else if (rest.starts_with("/*")) {
      const std::size_t close = text.find("*/", at + 2);
      const std::size_t end = close == std::string_view::npos ? text.size() : close;
      std::size_t word = at + 2;
      while (word < end && (is_space(text[word]) || text[word] == '*')) ++word;
      if (text.substr(word, end - word).starts_with(kWord)) {
        std::size_t brace = word + kWord.size();
        while (brace < end && is_space(text[brace])) ++brace;
        if (brace < end && text[brace] == '{') {
          return TaskComment{text.substr(brace, end - brace), brace, at,
                             close == std::string_view::npos ? end : close + 2};
        }
      }
      if (close == std::string_view::npos) return std::nullopt;
      at = close + 2;
    } else if (c == '"') {
      at = is_raw_prefix(text, at) ? skip_raw_string(text, at) : skip_quoted(text, at);
    } else if (c == '\'' && (at == 0 || !is_word(text[at - 1]))) {  // not 1'000
      at = skip_quoted(text, at);
    } else {
      ++at;
    }
  }
  return std::nullopt;
}

}  // namespace hone
