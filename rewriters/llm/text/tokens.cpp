#include "rewriters/llm/text/tokens.h"

#include <set>

namespace hone::llm {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_raw_prefix(std::string_view word) {
  return word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R";
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    for (;;) {
      skip_splices();
      if (at_ >= source_.size()) return std::move(tokens_);
      next();
    }
  }

 private:
  // Length of a backslash and the line end after it; 0 where there is none.
  [[nodiscard]] std::size_t splice_at(std::size_t at) const {
    if (at >= source_.size() || source_[at] != '\\') return 0;
    if (source_.substr(at + 1).starts_with('\n')) return 2;
    return source_.substr(at + 1).starts_with("\r\n") ? 3 : 0;
  }

  void skip_splices() {
    while (const std::size_t length = splice_at(at_)) {
      at_ += length;
      ++line_;
    }
  }

  // The character at `at_`, which is behind all splices; '\0' at the end.
  [[nodiscard]] char peek() const { return at_ < source_.size() ? source_[at_] : '\0'; }
  [[nodiscard]] char peek_second() const {
    std::size_t at = at_ + 1;
    while (const std::size_t length = splice_at(at)) at += length;
    return at < source_.size() ? source_[at] : '\0';
  }

  void take(Token& token) {
    token.text += source_[at_];
    if (source_[at_] == '\n') ++line_;
    token.end = ++at_;
    skip_splices();
  }

  void next() {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
      return;
    }
    Token token;
    token.begin = at_;
    token.line = line_;
    const char second = peek_second();
    if (c == '\n') {
      token.kind = Token::Kind::kNewline;
      take(token);
    } else if (c == '/' && (second == '/' || second == '*')) {
      comment(token, second == '*');
    } else if (c == '"' || c == '\'') {
      literal(token);
    } else if (is_digit(c) || (c == '.' && is_digit(second))) {
      number(token);
    } else if (is_word(c)) {
      word(token);
    } else {
      take(token);
      if (c == '%' && peek() == ':') {
        take(token);
        token.text = "#";
      }
    }
    tokens_.push_back(std::move(token));
  }

  void comment(Token& token, bool block) {
    token.kind = Token::Kind::kComment;
    take(token);
    take(token);
    while (at_ < source_.size()) {
      if (!block && peek() == '\n') return;
      if (block && peek() == '*' && peek_second() == '/') {
        take(token);
        take(token);
        return;
      }
      take(token);
    }
    token.closed = !block;
  }

  // Ends with its line where the quote is missing.
  void literal(Token& token) {
    const char quote = peek();
    token.kind = quote == '"' ? Token::Kind::kString : Token::Kind::kCharacter;
    take(token);
    while (at_ < source_.size() && peek() != '\n') {
      const char c = peek();
      take(token);
      if (c == quote) return;
      if (c == '\\' && at_ < source_.size() && peek() != '\n') take(token);
    }
  }

  void number(Token& token) {
    token.kind = Token::Kind::kNumber;
    for (;;) {
      const char c = peek();
      const char last = token.text.empty() ? '\0' : token.text.back();
      const bool sign =
          (c == '+' || c == '-') && (last == 'e' || last == 'E' || last == 'p' || last == 'P');
      const bool separator = c == '\'' && is_word(peek_second());
      if (at_ >= source_.size() || !(is_word(c) || c == '.' || sign || separator)) return;
      take(token);
    }
  }

  void word(Token& token) {
    token.kind = Token::Kind::kWord;
    while (at_ < source_.size() && is_word(peek())) take(token);
    // A prefix that is spliced away from its quote is rare enough to be read as a plain string.
    if (at_ == token.end && peek() == '"' && is_raw_prefix(token.text)) raw_string(token);
  }

  // `at_` is on the quote. Splices within are text. One without an end is read as a plain string,
  // so that what follows it is still looked at.
  void raw_string(Token& token) {
    const std::size_t open = source_.find_first_of("( )\\\t\v\f\n", at_ + 1);
    if (open == std::string_view::npos || source_[open] != '(' || open - at_ > 17) return;
    std::string close = ")";
    close += source_.substr(at_ + 1, open - at_ - 1);
    close += '"';
    const std::size_t found =
        missing_.contains(close) ? std::string_view::npos : source_.find(close, open);
    if (found == std::string_view::npos) {
      token.closed = false;
      missing_.insert(std::move(close));
      return;
    }
    token.end = found + close.size();
    token.kind = Token::Kind::kString;
    token.raw = true;
    token.text = source_.substr(token.begin, token.end - token.begin);
    for (const char c : token.text) line_ += c == '\n' ? 1 : 0;
    at_ = token.end;
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
  std::set<std::string> missing_;  // ends of raw strings that are not there
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Lexer(source).run(); }

std::string_view literal_text(const Token& token) {
  std::string_view text = token.text;
  const char open = token.raw ? '(' : token.kind == Token::Kind::kCharacter ? '\'' : '"';
  const char close = token.raw ? ')' : open;
  const std::size_t begin = text.find(open);
  const std::size_t end = text.rfind(close);
  if (begin == std::string_view::npos) return {};
  return end > begin ? text.substr(begin + 1, end - begin - 1) : text.substr(begin + 1);
}

}  // namespace hone::llm
