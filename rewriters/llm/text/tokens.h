// CUDA source cut into tokens as C++ does before it preprocesses: spliced lines, raw strings, digit
// separators, digraphs of '#'. No parser, and none is meant: rewriters/syntax has Clang, and Clang
// does not read a model's text in this process.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hone::llm {

struct Token {
  enum class Kind { kWord, kNumber, kString, kCharacter, kSymbol, kComment, kNewline };
  Kind kind = Kind::kSymbol;
  std::size_t begin = 0, end = 0;  ///< in the source
  int line = 1;                    ///< where it begins
  bool closed = true;              ///< false: a comment, or a raw string's prefix, without an end
  bool raw = false;                ///< a raw string
  std::string text;  ///< without splices; of symbols one character ("#" also for "%:")
};

/// Every byte of the source is in a token, is a blank, or belongs to a splice.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view source);

/// What a literal's token holds between its quotes; escapes stay as they are.
[[nodiscard]] std::string_view literal_text(const Token& token);

}  // namespace hone::llm
