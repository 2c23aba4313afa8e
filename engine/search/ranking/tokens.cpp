#include "engine/search/ranking/tokens.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace hone::ranking {
namespace {

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else if (source_.substr(at_).starts_with("//")) {
        at_ = end_of_line();
      } else if (source_.substr(at_).starts_with("/*")) {
        const std::size_t end = source_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? source_.size() : end + 2;
      } else if (c == '#') {
        directive();
      } else {
        token(c);
      }
    }
    match();
    return std::move(tokens_);
  }

 private:
  /// A backslash at its end continues a line.
  [[nodiscard]] std::size_t end_of_line() const {
    std::size_t end = at_;
    while (end < source_.size() && (source_[end] != '\n' || source_[end - 1] == '\\')) ++end;
    return end;
  }

  void take(Token::Kind kind, std::size_t end) {
    tokens_.push_back({kind, source_.substr(at_, end - at_), Token::kNone});
    at_ = end;
  }

  void directive() {
    const std::size_t end = end_of_line();
    const bool pragma = source_.substr(at_, end - at_).find("pragma") != std::string_view::npos;
    if (pragma) take(Token::Kind::kPragma, end);
    at_ = end;
  }

  void token(char c) {
    if (begins_name(c)) {
      name();
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      std::size_t end = at_ + 1;
      while (end < source_.size() && (continues_name(source_[end]) || source_[end] == '.')) ++end;
      take(Token::Kind::kNumber, end);
    } else if (c == '"' || c == '\'') {
      std::size_t end = at_ + 1;
      while (end < source_.size() && source_[end] != c) end += source_[end] == '\\' ? 2 : 1;
      take(Token::Kind::kText, std::min(end + 1, source_.size()));
    } else {
      take(Token::Kind::kSymbol, at_ + symbol_length());
    }
  }

  void name() {
    std::size_t end = at_ + 1;
    while (end < source_.size() && continues_name(source_[end])) ++end;
    static constexpr std::array<std::string_view, 4> kBuiltins = {"threadIdx", "blockIdx",
                                                                  "blockDim", "gridDim"};
    const bool builtin =
        std::ranges::find(kBuiltins, source_.substr(at_, end - at_)) != kBuiltins.end();
    if (builtin && end + 1 < source_.size() && source_[end] == '.') end += 2;
    take(Token::Kind::kName, end);
  }

  [[nodiscard]] std::size_t symbol_length() const {
    static constexpr std::array<std::string_view, 22> kLong = {
        "<<=", ">>=", "...", "<<", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
        "^=",  "==",  "!=",  "<=", ">=", "&&", "||", "++", "--", "->", "::"};
    for (const std::string_view symbol : kLong)
      if (source_.substr(at_).starts_with(symbol)) return symbol.size();
    return 1;
  }

  /// Which bracket belongs to which; those of templates are no brackets here.
  void match() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind != Token::Kind::kSymbol) continue;
      const std::string_view text = tokens_[i].text;
      if (text == "(" || text == "[" || text == "{") open.push_back(i);
      if (text != ")" && text != "]" && text != "}") continue;
      if (open.empty()) return;
      tokens_[i].partner = open.back();
      tokens_[open.back()].partner = i;
      open.pop_back();
    }
  }

  const std::string_view source_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Lexer(source).run(); }

}  // namespace hone::ranking
