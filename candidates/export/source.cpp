#include "candidates/export/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "candidates/source_scan.h"
#include "candidates/std_headers.h"

namespace hone::exporting {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

struct Token {
  enum class Kind { kWord, kSymbol, kLiteral, kComment, kDirective };
  Kind kind = Kind::kSymbol;
  std::size_t begin = 0, end = 0;
};

/// A preprocessor directive is one token, to the end of its logical line.
std::vector<Token> tokens_of(std::string_view source) {
  std::vector<Token> tokens;
  bool line_begins = true;
  for (std::size_t at = 0; at < source.size();) {
    const char c = source[at];
    if (is_space(c)) {
      if (c == '\n') line_begins = true;
      ++at;
      continue;
    }
    const std::size_t skipped = skip_comment_or_literal(source, at);
    if (skipped > at) {
      const bool comment = c == '/';
      tokens.push_back({comment ? Token::Kind::kComment : Token::Kind::kLiteral, at, skipped});
      if (!comment) line_begins = false;
      at = skipped;
      continue;
    }
    std::size_t end = at + 1;
    auto kind = Token::Kind::kSymbol;
    if (c == '#' && line_begins) {
      kind = Token::Kind::kDirective;
      while (end < source.size() && source[end] != '\n') {
        const bool comment = source.substr(end).starts_with("/*");
        if (comment) {
          end = skip_comment_or_literal(source, end);
        } else {
          end += source[end] == '\\' && end + 1 < source.size() ? 2 : 1;
          // A spliced line may end in \r\n.
          if (source[end - 1] == '\r' && source[end - 2] == '\\' && end < source.size()) ++end;
        }
      }
      end = std::min(end, source.size());
    } else if (is_word(c)) {
      kind = Token::Kind::kWord;
      while (end < source.size() && is_word(source[end])) ++end;
    }
    line_begins = false;
    tokens.push_back({kind, at, end});
    at = end;
  }
  return tokens;
}

struct Directive {
  std::string_view word;  ///< "include"
  std::string_view rest;
};

Directive directive(std::string_view text) {
  std::size_t at = 1;
  const auto skip_space = [&] {
    for (;;) {
      while (at < text.size() && is_space(text[at])) ++at;
      if (!text.substr(at).starts_with("/*")) return;
      at = skip_comment_or_literal(text, at);
    }
  };
  skip_space();
  const std::size_t begin = at;
  while (at < text.size() && is_word(text[at])) ++at;
  Directive result{text.substr(begin, at - begin), {}};
  skip_space();
  result.rest = text.substr(std::min(at, text.size()));
  return result;
}

/// "<name>" or "\"name\""; empty where the directive includes nothing that is spelt out.
std::string_view included(std::string_view text) {
  const Directive d = directive(text);
  if (d.word != "include" || d.rest.empty()) return {};
  const char close = d.rest[0] == '<' ? '>' : d.rest[0] == '"' ? '"' : '\0';
  const std::size_t end = close == '\0' ? d.rest.npos : d.rest.find(close, 1);
  const std::string_view name = end == d.rest.npos ? "" : d.rest.substr(0, end + 1);
  return name.find('\n') == name.npos ? name : std::string_view();
}

bool has_word(std::string_view source, const std::function<bool(std::string_view)>& is) {
  return std::ranges::any_of(tokens_of(source), [&](const Token& token) {
    const std::string_view text = source.substr(token.begin, token.end - token.begin);
    if (token.kind == Token::Kind::kComment) return false;
    if (token.kind == Token::Kind::kWord) return is(text);
    // PTX stands in literals, and what macros expand to in directives.
    for (std::size_t at = 0; token.kind != Token::Kind::kSymbol && at < text.size();) {
      std::size_t end = at;
      while (end < text.size() && is_word(text[end])) ++end;
      if (end > at && is(text.substr(at, end - at))) return true;
      at = end + 1;
    }
    return false;
  });
}

constexpr std::string_view kBuiltins[] = {
    "abs",       "acos",      "asin",       "atan",      "atan2",     "atomicAdd", "atomicAnd",
    "atomicCAS", "atomicDec", "atomicExch", "atomicInc", "atomicMax", "atomicMin", "atomicOr",
    "atomicSub", "atomicXor", "cbrt",       "ceil",      "copysign",  "cos",       "cosh",
    "erf",       "erfc",      "exp",        "exp2",      "expm1",     "fabs",      "floor",
    "fma",       "fmax",      "fmin",       "fmod",      "hypot",     "isfinite",  "isinf",
    "isnan",     "log",       "log10",      "log1p",     "log2",      "max",       "min",
    "pow",       "rint",      "round",      "rsqrt",     "sin",       "sinh",      "sqrt",
    "tan",       "tanh",      "trunc",      "__ldg",     "__ldcs",    "__ldcg",    "__stcs"};

}  // namespace

SplitSource split_includes(std::string_view source) {
  SplitSource split;
  std::size_t done = 0;
  for (const Token& token : tokens_of(source)) {
    if (token.kind != Token::Kind::kDirective) continue;
    const std::string_view name = included(source.substr(token.begin, token.end - token.begin));
    if (name.empty()) continue;
    if (std::ranges::find(split.includes, name) == split.includes.end()) {
      split.includes.emplace_back(name);
    }
    split.body += source.substr(done, token.begin - done);
    done = token.end;
  }
  split.body += source.substr(done);
  return split;
}

std::set<std::string> macros_of(std::string_view source) {
  std::set<std::string> macros;
  for (const Token& token : tokens_of(source)) {
    if (token.kind != Token::Kind::kDirective) continue;
    const Directive d = directive(source.substr(token.begin, token.end - token.begin));
    if (d.word != "define") continue;
    std::size_t end = 0;
    while (end < d.rest.size() && is_word(d.rest[end])) ++end;
    if (end > 0) macros.emplace(d.rest.substr(0, end));
  }
  return macros;
}

std::string with_cpp_linkage(std::string_view source) {
  std::string result;
  std::size_t done = 0;
  const auto replace = [&](std::size_t begin, std::size_t end) {
    result += source.substr(done, begin - done);
    result += "\"C++\"";
    done = end;
  };
  bool after_extern = false;
  for (const Token& token : tokens_of(source)) {
    const std::string_view text = source.substr(token.begin, token.end - token.begin);
    if (token.kind == Token::Kind::kComment) continue;
    if (token.kind == Token::Kind::kDirective) {  // #define API extern "C"
      for (std::size_t at = text.find("extern"); at != text.npos;
           at = text.find("extern", at + 6)) {
        std::size_t quote = at + 6;
        while (quote < text.size() && (is_space(text[quote]) || text[quote] == '\\')) ++quote;
        if (text.substr(quote).starts_with("\"C\"")) {
          replace(token.begin + quote, token.begin + quote + 3);
        }
      }
    }
    if (after_extern && text == "\"C\"") replace(token.begin, token.end);
    after_extern = text == "extern";
  }
  result += source.substr(done);
  return result;
}

std::vector<std::string> overloaded_builtins(std::string_view source) {
  const std::vector<std::string> kernels = scan_source(source).kernels;
  std::set<std::string> found;
  std::string_view before, last;
  bool last_is_word = false;
  int depth = 0;
  for (const Token& token : tokens_of(source)) {
    if (token.kind == Token::Kind::kComment || token.kind == Token::Kind::kDirective) continue;
    const std::string_view text = source.substr(token.begin, token.end - token.begin);
    if (text == "{") ++depth;
    if (text == "}") --depth;
    const bool typed = !before.empty() &&
                       (is_word(before.back()) || before == "*" || before == "&" || before == ">");
    if (text == "(" && depth == 0 && last_is_word && typed &&
        std::ranges::find(kBuiltins, last) != std::end(kBuiltins) &&
        std::ranges::find(kernels, last) == kernels.end()) {
      found.emplace(last);
    }
    before = last;
    last = text;
    last_is_word = token.kind == Token::Kind::kWord;
  }
  return {found.begin(), found.end()};
}

bool needs_arch_features(std::string_view source) {
  return has_word(source, [](std::string_view word) {
    return word.starts_with("wgmma") || word == "setmaxnreg" || word.starts_with("tcgen05");
  });
}

bool is_arch_specific(std::string_view source) {
  return has_word(source, [](std::string_view word) {
    return word == "asm" || word == "__asm__" || word == "__asm" || word == "cooperative_groups" ||
           word == "wmma" || word == "barrier" || word == "pipeline" ||
           word == "cuda_pipeline_primitives" || word.starts_with("__pipeline_") ||
           word.starts_with("__reduce_") || word.starts_with("__cluster") ||
           word.starts_with("__nv_fp") || word.starts_with("__viaddm") ||
           word.starts_with("__vimin") || word.starts_with("__vimax") || word == "__nanosleep";
  });
}

std::string guard_bodies(std::string_view source, std::string_view condition,
                         std::string_view mark) {
  std::string result;
  std::size_t done = 0;
  const std::vector<Token> tokens = tokens_of(source);
  const auto text = [&](std::size_t i) {
    return source.substr(tokens[i].begin, tokens[i].end - tokens[i].begin);
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != Token::Kind::kWord) continue;
    const bool kernel = text(i) == "__global__";
    if (!kernel && text(i) != "__device__") continue;
    // The body begins at the first brace outside parentheses, after parameters.
    int parentheses = 0;
    bool has_parameters = false;
    std::size_t open = i + 1;
    for (; open < tokens.size(); ++open) {
      const std::string_view t = text(open);
      if (tokens[open].kind == Token::Kind::kWord && t == "__global__") break;
      if (tokens[open].kind != Token::Kind::kSymbol) continue;
      if (t == "(") ++parentheses;
      if (t == ")") has_parameters |= --parentheses == 0;
      if (parentheses != 0) continue;
      // A variable, a declaration, or a constructor with initialisers.
      const bool scope = t == ":" && (text(open - 1) == ":" ||
                                      (open + 1 < tokens.size() && text(open + 1) == ":"));
      if (t == ";" || t == "=" || (t == ":" && !scope) || t == "{" || t == "}") break;
    }
    if (open >= tokens.size() || text(open) != "{" || !has_parameters) continue;
    int braces = 0;
    std::size_t close = open;
    for (; close < tokens.size(); ++close) {
      if (tokens[close].kind != Token::Kind::kSymbol) continue;
      if (text(close) == "{") ++braces;
      if (text(close) == "}" && --braces == 0) break;
    }
    if (close >= tokens.size()) continue;
    const std::size_t begin = tokens[open].end, end = tokens[close].begin;
    const std::string_view body = source.substr(begin, end - begin);
    if (kernel || is_arch_specific(body)) {
      result += source.substr(done, begin - done);
      result +=
          fmt::format("\n#if {0}  // {1}\n{2}\n{3}#endif  // {1}\n", condition, mark, body,
                      kernel ? "" : fmt::format("#else  // {}\n__builtin_unreachable();\n", mark));
      done = end;
    }
    i = close;
  }
  result += source.substr(done);
  return result;
}

std::expected<std::string, std::size_t> without_guards(std::string_view source,
                                                       std::string_view mark) {
  std::string result;
  std::size_t done = 0, last = 0;
  std::string_view open;  // the marked directive whose partner has not come yet
  for (const Token& token : tokens_of(source)) {
    if (token.kind != Token::Kind::kDirective) continue;
    const std::string_view text = source.substr(token.begin, token.end - token.begin);
    const std::size_t comment = text.rfind("//");
    if (comment == text.npos) continue;
    std::string_view said = text.substr(comment + 2);
    while (!said.empty() && is_space(said.front())) said.remove_prefix(1);
    while (!said.empty() && is_space(said.back())) said.remove_suffix(1);
    if (said != mark) continue;
    const std::string_view word = directive(text).word;
    const bool follows = word == "if"     ? open.empty()
                         : word == "else" ? open == "if"
                                          : word == "endif" && !open.empty();
    if (!follows) return std::unexpected(token.begin);
    if (open != "else") result += source.substr(done, token.begin - done);
    open = word == "endif" ? "" : word;
    last = token.begin;
    done = token.end;
  }
  if (!open.empty()) return std::unexpected(last);
  return result + std::string(source.substr(done));
}

std::string with_std_headers(std::string_view source) {
  const std::function<std::string(std::string_view)> expand = [&](std::string_view text) {
    std::string result;
    std::size_t at = 0;
    for (const Token& token : tokens_of(text)) {
      if (token.kind != Token::Kind::kDirective) continue;
      const std::string_view line = text.substr(token.begin, token.end - token.begin);
      std::string_view name = included(line);
      const bool once =
          directive(line).word == "pragma" && directive(line).rest.starts_with("once");
      if (name.size() > 2) name = name.substr(1, name.size() - 2);
      const auto header = std::ranges::find(std_headers(), name, &StdHeader::name);
      if (!once && (name.empty() || header == std_headers().end())) continue;
      result += text.substr(at, token.begin - at);
      at = token.end;
      // Guarded, for an include may stand within #if and be there again.
      if (once) continue;
      std::string guard = "HONE_STD_";
      for (const char c : name) guard += is_word(c) ? c : '_';
      result += fmt::format("#ifndef {0}\n#define {0}\n{1}#endif", guard, expand(header->text));
    }
    result += text.substr(at);
    return result;
  };
  const bool math = has_word(source, [](std::string_view word) {
    return word == "INFINITY" || word == "NAN" || word.starts_with("HUGE_VAL") ||
           word.starts_with("M_");
  });
  return (math ? expand("#include <math.h>\n") + "\n" : "") + expand(source);
}

}  // namespace hone::exporting
