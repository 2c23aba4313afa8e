#include "rewriters/llm/reply/device_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "candidates/json_cursor.h"
#include "rewriters/llm/reply/device_names.h"
#include "rewriters/llm/text/shown_text.h"
#include "rewriters/llm/text/tokens.h"

namespace hone::llm {
namespace {

using Kind = Token::Kind;

struct Finding {
  std::string key;  // what the user's own source excuses; empty: nothing does
  int line = 0;
  std::string message;
};

// Finds what is not accepted, one token after the other; comments are gone by then.
class Reader {
 public:
  explicit Reader(std::string_view source) {
    for (Token& token : tokens_of(source)) {
      if (token.kind == Kind::kComment) {
        if (!token.closed) add("", token.line, "a comment that begins here has no end");
      } else {
        tokens_.push_back(std::move(token));
      }
    }
  }

  std::vector<Finding> run() {
    bool line_begins = true;
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      const Token& token = tokens_[at_];
      if (token.kind == Kind::kNewline) {
        line_begins = true;
        continue;
      }
      if (line_begins && is("#", 0)) {
        directive();
      } else if (token.kind == Kind::kWord) {
        word(token);
      } else if (token.kind == Kind::kSymbol) {
        symbol(token);
      }
      line_begins = false;
    }
    return std::move(findings_);
  }

 private:
  void add(std::string key, int line, std::string message) {
    findings_.push_back({std::move(key), line, std::move(message)});
  }

  [[nodiscard]] bool is(std::string_view text, std::size_t ahead) const {
    const std::size_t i = at_ + ahead;
    return i < tokens_.size() && tokens_[i].kind != Kind::kString && tokens_[i].text == text;
  }
  [[nodiscard]] bool before(std::string_view text, std::size_t back) const {
    return at_ >= back && tokens_[at_ - back].text == text;
  }
  // The place of the next token that is no end of line.
  [[nodiscard]] std::size_t next(std::size_t i) const {
    do {
      ++i;
    } while (i < tokens_.size() && tokens_[i].kind == Kind::kNewline);
    return i;
  }
  [[nodiscard]] bool next_is(std::size_t i, std::string_view text) const {
    const std::size_t n = next(i);
    return n < tokens_.size() && tokens_[n].kind == Kind::kSymbol && tokens_[n].text == text;
  }
  [[nodiscard]] bool scope_follows(std::size_t i) const {
    return next_is(i, ":") && next_is(next(i), ":");
  }

  void symbol(const Token& token) {
    if (token.text == "<" && is("<", 1) && is("<", 2) && !before("<", 1)) {
      add("", token.line, "'<<<' launches a kernel; launches belong into the JSON block");
    } else if (token.text == "\\") {
      add("", token.line, "a stray '\\'");
    } else if (token.text == "`" || token.text == "@") {
      add("", token.line, fmt::format("a stray '{}'", token.text));
    } else if (token.text == "?" && is("?", 1) && at_ + 2 < tokens_.size() &&
               std::string_view("=/'()!<>-").contains(tokens_[at_ + 2].text[0])) {
      add("", token.line, "trigraphs are not accepted");
    }
  }

  void word(const Token& token) {
    if (!token.closed) add("", token.line, "a raw string that begins here has no end");
    const std::string& text = token.text;
    const bool called = next_is(at_, "(");
    if (const auto reason = reason_against(text, called, scope_follows(at_))) {
      add(text, token.line, fmt::format("'{}' {}", printable(text), *reason));
    } else if (text == "std" && !(before(":", 1) && before(":", 2) && before("cuda", 3))) {
      standard_name(token);
    } else if (text == "asm" || text == "__asm__" || text == "__asm") {
      assembly(token);
    } else if (text == "__attribute__" || text == "__attribute") {
      attribute(token);
    } else if ((text == "gnu" || text == "__gnu__" || text == "clang") && scope_follows(at_)) {
      const std::size_t name = next(next(next(at_)));
      if (name < tokens_.size()) expect_attribute(tokens_[name]);
    }
  }

  void standard_name(const Token& token) {
    if (!scope_follows(at_)) {
      add("std", token.line, "the namespace 'std' as a whole belongs to the host");
      return;
    }
    const std::size_t name = next(next(next(at_)));
    const std::string what = name < tokens_.size() ? tokens_[name].text : "";
    if (is_device_std_name(what)) return;
    add("std::" + what, token.line,
        fmt::format("'std::{}' belongs to the host; device code has CUDA's own functions and "
                    "cuda::std",
                    printable(what)));
  }

  void expect_attribute(const Token& name) {
    if (name.kind == Kind::kWord && !is_plain_attribute(name.text)) {
      add("attribute " + name.text, name.line,
          fmt::format("the attribute '{}' is not accepted", printable(name.text)));
    }
  }

  // __attribute__((name(arguments), name))
  void attribute(const Token& token) {
    if (at_ < scanned_) {
      add("", token.line, "an attribute within another one");
      return;
    }
    std::size_t i = next(at_);
    if (!next_is(at_, "(") || !next_is(i, "(")) {
      add("", token.line, "an attribute that is not written as __attribute__((name))");
      return;
    }
    int depth = 1;
    for (i = next(next(i)); i < tokens_.size() && depth > 0; i = next(i)) {
      const Token& inside = tokens_[i];
      if (depth == 1) expect_attribute(inside);
      if (inside.kind != Kind::kSymbol) continue;
      if (inside.text == "(") ++depth;
      if (inside.text == ")") --depth;
    }
    scanned_ = i;
  }

  // Instructions within a function are fine; what directs an assembler is not.
  void assembly(const Token& token) {
    if (at_ < scanned_) {
      add("", token.line, "asm within asm");
      return;
    }
    std::size_t i = next(at_);
    while (i < tokens_.size() && tokens_[i].kind == Kind::kWord) i = next(i);  // volatile
    std::string code;
    int depth = 0;
    for (; i < tokens_.size(); i = next(i)) {
      const Token& inside = tokens_[i];
      if (inside.kind == Kind::kString) code += literal_text(inside);
      if (inside.kind != Kind::kSymbol) continue;
      if (inside.text == "(") ++depth;
      if ((inside.text == ")" && --depth <= 0) || inside.text == ";") break;
    }
    scanned_ = i;
    if (const auto directive = assembler_directive(code)) {
      add("", token.line,
          fmt::format("asm with '{}' is not accepted, only instructions are", *directive));
    }
  }

  void directive() {
    const int line = tokens_[at_].line;
    std::vector<const Token*> rest;
    for (std::size_t i = at_ + 1; i < tokens_.size() && tokens_[i].kind != Kind::kNewline; ++i) {
      rest.push_back(&tokens_[i]);
    }
    if (rest.empty()) return;
    const std::string& name = rest[0]->text;
    if (!is_plain_directive(name)) {
      add("", line, fmt::format("#{} is not accepted", printable(name)));
    } else if (name == "pragma") {
      const std::string what = rest.size() > 1 ? rest[1]->text : "";
      if (!is_plain_pragma(what)) {
        add("pragma " + what, line, fmt::format("#pragma {} is not accepted", printable(what)));
      }
    } else if (name == "include") {
      include(line, std::span(rest).subspan(1));
      at_ += rest.size();  // names between < and > are no words
    }
  }

  void include(int line, std::span<const Token* const> operand) {
    std::string header;
    if (!operand.empty() && operand[0]->kind == Kind::kString) {
      header = literal_text(*operand[0]);
    } else if (!operand.empty() && operand[0]->text == "<") {
      for (const Token* token : operand.subspan(1)) {
        if (token->text == ">") break;
        header += token->text;
      }
    }
    if (is_device_header(header)) return;
    add("include " + header, line,
        header.empty() ? std::string("#include needs a header's name in <>")
                       : fmt::format("#include <{}>: device code here has {}", printable(header),
                                     device_headers_in_words()));
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t scanned_ = 0;  // where the last asm or attribute ended
  std::vector<Finding> findings_;
};

std::string base_name(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find('<'));
  while (kernel.ends_with(' ')) kernel.remove_suffix(1);
  if (const std::size_t colon = kernel.rfind(':'); colon != kernel.npos) {
    kernel.remove_prefix(colon + 1);
  }
  return std::string(kernel);
}

int line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, offset), '\n'));
}

}  // namespace

std::optional<std::string> find_host_code(std::string_view source, std::string_view base) {
  if (const Invisible found = find_invisible(source); found.offset != std::string_view::npos) {
    return fmt::format("line {}: a character that cannot be seen or is no UTF-8 (U+{:04X})",
                       line_at(source, found.offset), static_cast<unsigned>(found.code_point));
  }
  const std::vector<Finding> findings = Reader(source).run();
  if (findings.empty()) return std::nullopt;
  std::set<std::string> excused;
  for (const Finding& finding : Reader(base).run()) {
    if (!finding.key.empty()) excused.insert(finding.key);
  }
  for (const Finding& finding : findings) {
    if (!excused.contains(finding.key)) {
      return fmt::format("line {}: {}", finding.line, finding.message);
    }
  }
  return std::nullopt;
}

bool Kernels::has(std::string_view kernel) const {
  return by_macro || std::ranges::find(names, base_name(kernel)) != names.end();
}

Kernels kernels_of(std::string_view source) {
  Kernels kernels;
  bool in_directive = false, line_begins = true, after_global = false, in_attribute = false;
  int depth = 0;
  std::string last;
  for (const Token& token : tokens_of(source)) {
    if (token.kind == Kind::kComment) continue;
    if (token.kind == Kind::kNewline) {
      in_directive = false;
      line_begins = true;
      continue;
    }
    in_directive |= line_begins && token.text == "#";
    line_begins = false;
    if (token.text == "__global__") {
      // A macro makes kernels, or stands for the word.
      kernels.by_macro |= in_directive;
      after_global = !in_directive;
      in_attribute = false;
      depth = 0;
      last.clear();
    } else if (after_global && token.kind == Kind::kWord && depth == 0) {
      in_attribute = token.text == "__launch_bounds__" || token.text == "__attribute__" ||
                     token.text == "__cluster_dims__" || token.text == "alignas" ||
                     token.text == "__maxnreg__" || token.text == "__block_size__";
      last = token.text;
    } else if (after_global && token.text == "(") {
      if (depth > 0 || in_attribute) {
        ++depth;
      } else {
        if (!last.empty()) kernels.names.push_back(last);
        after_global = false;
      }
    } else if (after_global && token.text == ")" && depth > 0) {
      if (--depth == 0) in_attribute = false;
    } else if (after_global && (token.text == ";" || token.text == "{")) {
      after_global = false;
    }
  }
  return kernels;
}

}  // namespace hone::llm
