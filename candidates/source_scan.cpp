#include "candidates/source_scan.h"

#include <algorithm>

#include "candidates/characters.h"

namespace hone {
namespace {

// `at` is on the opening quote; stops at the end of the line when it is not closed there.
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
  while (begin > 0 && quote - begin < 4 && is_word(text[begin - 1])) --begin;
  const std::string_view prefix = text.substr(begin, quote - begin);
  return prefix == "R" || prefix == "LR" || prefix == "uR" || prefix == "UR" || prefix == "u8R";
}

}  // namespace

std::size_t skip_comment_or_literal(std::string_view source, std::size_t at) {
  const std::string_view rest = source.substr(at);
  if (rest.starts_with("//")) {
    const std::size_t end = source.find('\n', at);
    return end == std::string_view::npos ? source.size() : end;
  }
  if (rest.starts_with("/*")) {
    const std::size_t close = source.find("*/", at + 2);
    return close == std::string_view::npos ? source.size() : close + 2;
  }
  if (rest.starts_with('"')) {
    return is_raw_prefix(source, at) ? skip_raw_string(source, at) : skip_quoted(source, at);
  }
  // Not the separator of 1'000.
  if (rest.starts_with('\'') && (at == 0 || !is_word(source[at - 1]))) {
    return skip_quoted(source, at);
  }
  return at;
}

SourceNames scan_source(std::string_view source) {
  SourceNames names;
  bool after_global = false;  // between __global__ and the kernel's name
  bool in_attribute = false;  // the next '(' belongs to __launch_bounds__ or __attribute__
  int depth = 0;              // of such parentheses
  std::string last;
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t skipped = skip_comment_or_literal(source, at);
    if (skipped > at) {
      at = skipped;
      continue;
    }
    const char c = source[at];
    if (is_word(c) && !is_digit(c)) {
      std::size_t end = at;
      while (end < source.size() && is_word(source[end])) ++end;
      const std::string_view word = source.substr(at, end - at);
      names.identifiers.emplace(word);
      if (word == "__global__") {
        after_global = true;
        last.clear();
      } else if (depth == 0) {
        in_attribute = word == "__launch_bounds__" || word == "__attribute__" || word == "alignas";
        last = word;
      }
      at = end;
      continue;
    }
    if (is_digit(c)) {  // 0x1F is no identifier
      while (at < source.size() && is_word(source[at])) ++at;
      continue;
    }
    if (source.substr(at).starts_with("##")) names.pastes_tokens = true;
    if (after_global && c == '(') {
      if (in_attribute || depth > 0) {
        ++depth;
      } else {
        if (!last.empty() && std::ranges::find(names.kernels, last) == names.kernels.end()) {
          names.kernels.push_back(last);
        }
        after_global = false;
      }
    } else if (after_global && c == ')' && depth > 0) {
      if (--depth == 0) in_attribute = false;
    } else if (after_global && (c == ';' || c == '{')) {
      after_global = false;
      depth = 0;
    }
    ++at;
  }
  return names;
}

}  // namespace hone
