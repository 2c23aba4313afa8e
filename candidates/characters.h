// Classes of ASCII characters, the same in every locale. Thread-safe: no state.
#pragma once

namespace hone {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// What names in C++, Python and JSON keywords consist of.
[[nodiscard]] constexpr bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace hone
