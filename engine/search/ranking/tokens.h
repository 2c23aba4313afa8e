// CUDA text as tokens: enough to count what a kernel does, not to parse it. What strangers wrote
// may come here: nothing is believed of it, and every index is checked.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace hone::ranking {

struct Token {
  enum class Kind {
    kName,  ///< "threadIdx.x" is one name
    kNumber,
    kText,    ///< a string, with its quotes
    kSymbol,  ///< "+=", "<<", "(": as long as C++ has it
    kPragma,  ///< the whole line
  };
  Kind kind = Kind::kSymbol;
  std::string_view text;  ///< part of the source
  /// Of a bracket: the number of the one that it belongs to; kNone: of no bracket, or there is
  /// none.
  std::size_t partner = kNone;

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  [[nodiscard]] bool is(std::string_view other) const { return text == other; }
  [[nodiscard]] bool is_name() const { return kind == Kind::kName; }
};

/// Without comments and preprocessor lines other than pragmas. `source` must outlive the tokens.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view source);

}  // namespace hone::ranking
