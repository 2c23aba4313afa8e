#include "evaluator/compile/include_check.h"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "candidates/std_headers.h"

namespace hone::compile {
namespace fs = std::filesystem;
namespace {

struct Line {
  int number = 0;
  std::string text;
};

/// Whether a ' after `before` stands within a number (1'000) and opens no character: the token that
/// it would end begins with a digit. L', u', U' and u8' do open one.
bool separates_digits(std::string_view before) {
  std::size_t begin = before.size();
  const auto in_token = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '\'';
  };
  while (begin > 0 && in_token(before[begin - 1])) --begin;
  const std::string_view token = before.substr(begin);
  const bool number = !token.empty() && (std::isdigit(static_cast<unsigned char>(token[0])) ||
                                         (token[0] == '.' && token.size() > 1));
  return number && std::isalnum(static_cast<unsigned char>(token.back()));
}

/// Logical lines: backslash-newline spliced, comments blanked unless `keep_comments`, literals
/// kept.
std::vector<Line> logical_lines(std::string_view source, bool keep_comments) {
  std::vector<Line> lines;
  Line line{1, {}};
  int number = 1;
  enum class State { kCode, kLineComment, kBlockComment, kString, kChar } state = State::kCode;
  // Next character with splices removed.
  const auto splice = [&](std::size_t& i) {
    for (;;) {
      if (i + 1 < source.size() && source[i] == '\\' && source[i + 1] == '\n') {
        i += 2;
      } else if (i + 2 < source.size() && source[i] == '\\' && source[i + 1] == '\r' &&
                 source[i + 2] == '\n') {
        i += 3;
      } else {
        return;
      }
      ++number;
    }
  };
  for (std::size_t i = 0;;) {
    splice(i);
    if (i >= source.size()) break;
    const char c = source[i++];
    std::size_t next_index = i;
    {
      const int keep = number;
      splice(next_index);
      number = keep;
    }
    const char next = next_index < source.size() ? source[next_index] : '\0';
    if (c == '\n') {
      ++number;
      if (state == State::kBlockComment) continue;
      // Literals do not span lines (a raw string may: its lines are then read as code, which can
      // only refuse more).
      state = State::kCode;
      lines.push_back(std::exchange(line, Line{number, {}}));
      continue;
    }
    switch (state) {
      case State::kCode:
        if (keep_comments) {
          line.text += c;
          break;
        }
        if (c == '/' && (next == '/' || next == '*')) {
          state = next == '/' ? State::kLineComment : State::kBlockComment;
          splice(i);
          ++i;
          line.text += ' ';
          continue;
        }
        if (c == '"') state = State::kString;
        if (c == '\'' && !separates_digits(line.text)) state = State::kChar;
        line.text += c;
        break;
      case State::kString:
      case State::kChar:
        line.text += c;
        if (c == '\\' && next != '\n') {
          splice(i);
          if (i < source.size()) line.text += source[i++];
        } else if (c == (state == State::kString ? '"' : '\'')) {
          state = State::kCode;
        }
        break;
      case State::kBlockComment:
        if (c == '*' && next == '/') {
          splice(i);
          ++i;
          state = State::kCode;
        }
        break;
      case State::kLineComment:
        break;
    }
  }
  lines.push_back(line);
  return lines;
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

bool is_cuda_header(std::string_view name, const std::vector<fs::path>& include_path) {
  if (name.empty() || name.front() == '/' || name.find('\\') != name.npos) return false;
  const fs::path relative(name);
  for (const auto& part : relative) {
    if (part == "..") return false;
  }
  if (is_std_header(name)) return true;
  for (const auto& folder : include_path) {
    std::error_code ec;
    if (fs::is_regular_file(folder / relative, ec)) return true;
  }
  return false;
}

bool word_follows(std::string_view text, std::size_t at, std::size_t length) {
  const auto ident = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  const bool left = at == 0 || !ident(text[at - 1]);
  const bool right = at + length >= text.size() || !ident(text[at + length]);
  return left && right;
}

std::optional<std::string> find_in(const std::vector<Line>& lines,
                                   const std::vector<fs::path>& include_path) {
  for (const auto& line : lines) {
    std::string_view text = trim(line.text);
    for (const char* word : {"__has_include", "__has_include_next", "__has_embed"}) {
      const std::size_t at = text.find(word);
      if (at != text.npos && word_follows(text, at, std::string_view(word).size()))
        return fmt::format("line {}: {} is not accepted", line.number, word);
    }
    std::string_view directive;
    if (text.starts_with("#")) {
      directive = text.substr(1);
    } else if (text.starts_with("%:")) {  // digraph
      directive = text.substr(2);
    } else {
      continue;
    }
    directive = trim(directive);
    std::size_t end = 0;
    while (end < directive.size() && std::isalpha(static_cast<unsigned char>(directive[end])))
      ++end;
    if (end < directive.size() && directive[end] == '_') {  // include_next
      while (end < directive.size() &&
             (std::isalpha(static_cast<unsigned char>(directive[end])) || directive[end] == '_'))
        ++end;
    }
    const std::string_view word = directive.substr(0, end);
    if (word == "embed" || word == "include_next" || word == "import")
      return fmt::format("line {}: #{} is not accepted", line.number, word);
    if (word != "include") continue;
    const std::string_view operand = trim(directive.substr(end));
    const bool angle = operand.starts_with("<");
    const bool quote = operand.starts_with("\"");
    const std::size_t close = angle || quote ? operand.find(angle ? '>' : '"', 1) : operand.npos;
    if (close == operand.npos || !is_cuda_header(operand.substr(1, close - 1), include_path)) {
      return fmt::format(
          "line {}: #include {}: only CUDA's own headers and the common standard ones may be "
          "included",
          line.number, operand.substr(0, 80));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_forbidden_include(std::string_view source,
                                                  const std::vector<fs::path>& include_path) {
  if (auto found = find_in(logical_lines(source, false), include_path)) return found;
  // A raw string could make a comment seem to begin where none does; with one about, directives
  // count inside comments as well.
  if (source.find("R\"") == source.npos) return std::nullopt;
  return find_in(logical_lines(source, true), include_path);
}

}  // namespace hone::compile
