#include "evaluator/device/emulator/ptx/lexer.h"

#include <cctype>

namespace hone::emulator {
namespace {

bool word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

}  // namespace

std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  tokens.reserve(text.size() / 5);
  int line = 1;
  std::size_t i = 0;
  const std::size_t n = text.size();
  while (i < n) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      ++i;
    } else if (std::isspace(static_cast<unsigned char>(c)) || c == '\0') {
      ++i;
    } else if (c == '/' && i + 1 < n && text[i + 1] == '/') {
      while (i < n && text[i] != '\n') ++i;
    } else if (c == '/' && i + 1 < n && text[i + 1] == '*') {
      i += 2;
      while (i + 1 < n && !(text[i] == '*' && text[i + 1] == '/')) line += text[i++] == '\n';
      i += 2;
    } else if (c == '"') {
      const std::size_t start = ++i;
      while (i < n && text[i] != '"') line += text[i++] == '\n';
      tokens.push_back({Token::Kind::kString, text.substr(start, i - start), line});
      ++i;
    } else if (word_char(c)) {
      const std::size_t start = i;
      while (i < n) {
        if (text[i] == '.' && c == '.' && i > start) break;  // ".reg.b16": two directives
        if (word_char(text[i])) {
          ++i;
        } else if (text[i] == ':' && i + 2 < n && text[i + 1] == ':' && word_char(text[i + 2])) {
          i += 2;  // .shared::cta
        } else {
          break;
        }
      }
      tokens.push_back({Token::Kind::kWord, text.substr(start, i - start), line});
    } else {
      tokens.push_back({Token::Kind::kPunctuation, text.substr(i, 1), line});
      ++i;
    }
  }
  tokens.push_back({Token::Kind::kEnd, {}, line});
  return tokens;
}

}  // namespace hone::emulator
