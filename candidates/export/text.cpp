#include "candidates/export/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "candidates/characters.h"

namespace hone::exporting {
namespace {

/// Words of the languages, and what the generated text means something else by.
const std::set<std::string_view>& reserved(Names::Language language) {
  static const std::set<std::string_view> cpp = {
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
      "case", "catch", "char", "char8_t", "char16_t", "char32_t", "class", "co_await", "co_return",
      "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
      "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
      "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline",
      "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
      "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
      "requires", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast",
      "struct", "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef",
      "typeid", "typename", "typeof", "union", "unsigned", "using", "virtual", "void", "volatile",
      "wchar_t", "while", "xor", "xor_eq",
      // of the launchers
      "stream", "dim3", "size_t", "cudaStream_t", "cudaError_t", "cudaSuccess",
      "cudaErrorInvalidValue", "launch"};
  static const std::set<std::string_view> python = {
      "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
      "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if",
      "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try",
      "while", "with", "yield", "match", "case", "type",
      // of the modules
      "torch", "cupy", "numpy", "ctypes", "glob", "os", "struct", "threading", "compile_now",
      "self", "print", "int", "float", "len", "min", "max", "range", "tuple", "list", "str",
      "bytes", "zip", "enumerate", "all", "any", "dict", "isinstance", "getattr"};
  return language == Names::Language::kCpp ? cpp : python;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\\' || c == '\'' || c == '"') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte >= 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result;
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// b'…'.decode(…) where the bytes are no ASCII: \xNN of a str would be another character.
std::string literal(std::string_view text) {
  if (is_ascii(text)) return "'" + escaped(text) + "'";
  return "b'" + escaped(text) + "'.decode('utf-8', 'replace')";
}

}  // namespace

std::string comment_text(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n' || byte == '\r' || byte == '\t' || byte == '\\') {
      result += ' ';
    } else if (byte < 0x20 || byte >= 0x7F) {
      // Of a character in several bytes the first only.
      if ((byte & 0xC0U) != 0x80U) result += '?';
    } else if ((byte == '/' && result.ends_with('*')) || (byte == '*' && result.ends_with('/')) ||
               (byte == '?' && result.ends_with('?')) || (byte == '"' && result.ends_with('"'))) {
      result += ' ';  // no end of a comment, no trigraph, no end of a docstring
      result += text[i];
    } else {
      result += text[i];
    }
  }
  while (result.ends_with(' ')) result.pop_back();
  return result;
}

std::string identifier(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 100)) {
    if (is_word(c)) {
      result += c;
    } else if (!result.ends_with('_')) {
      result += '_';
    }
  }
  while (result.ends_with('_')) result.pop_back();
  if (result.empty() || std::isalpha(static_cast<unsigned char>(result[0])) == 0) {
    result = "task_" + result;
    while (result.ends_with('_')) result.pop_back();
  }
  return result;
}

std::string Names::fresh(std::string_view name) {
  std::string result(name);
  // The compiler's own names begin with '_', the generated ones with "hone".
  if (result.starts_with('_') || result.starts_with("hone")) result = "x" + result;
  while (reserved(language_).contains(result) || taken_.contains(result)) result += '_';
  taken_.insert(result);
  return result;
}

std::string python_string(std::string_view text) { return literal(text); }

std::string python_text(std::string_view text) {
  const bool raw = text.find("'''") == text.npos && !text.ends_with('\'') &&
                   !text.ends_with('\\') && std::ranges::all_of(text, [](char c) {
                     return c == '\n' || c == '\t' || (c >= 0x20 && c < 0x7F);
                   });
  if (raw) return fmt::format("r'''{}'''", text);
  std::string result = "(\n";
  const bool ascii = is_ascii(text);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    result += fmt::format("    {}'{}'\n", ascii ? "" : "b", escaped(text.substr(0, end)));
    text.remove_prefix(end);
  }
  if (result == "(\n") return "''";
  return result + (ascii ? ")" : ").decode('utf-8', 'replace')");
}

std::vector<std::string> about(const BoardRow& row, const Task& task) {
  const Measurement& m = row.evaluation.measurement;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{} for task {}, made by hone {}.", comment_text(row.candidate.id),
                              comment_text(task.name), comment_text(row.provenance.hone_version)));
  lines.push_back(fmt::format(
      "{} on {} ({}): {:.2f} us, {:.2f}x the reference [{:.2f}, {:.2f}].",
      row.provenance.modelled ? "Modelled" : "Measured", comment_text(row.provenance.device_name),
      comment_text(row.provenance.arch), m.time_us, m.speedup, m.ci95_low, m.ci95_high));
  lines.push_back(fmt::format("Largest relative error seen: {:.2e}; math: {}.",
                              row.evaluation.max_rel_error, to_string(row.evaluation.math)));
  std::vector<std::string> sizes;
  for (const auto& [name, value] : task.sizes) sizes.push_back(fmt::format("{} = {}", name, value));
  if (!sizes.empty())
    lines.push_back(comment_text(fmt::format("Made for {}.", fmt::join(sizes, ", "))));
  for (const Step& step : row.candidate.recipe)
    lines.push_back("  " + comment_text(to_string(step)));
  return lines;
}

}  // namespace hone::exporting
