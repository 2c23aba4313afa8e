// Cuts PTX text into tokens. Views point into the text, which must outlive them.
#pragma once

#include <string_view>
#include <vector>

namespace hone::emulator {

struct Token {
  enum class Kind : unsigned char { kWord, kString, kPunctuation, kEnd } kind = Kind::kEnd;
  std::string_view text;
  int line = 0;  ///< of the PTX
};

/// Always ends with a kEnd token. Unknown bytes become punctuation, for the parser to refuse.
[[nodiscard]] std::vector<Token> tokenize(std::string_view text);

}  // namespace hone::emulator
