// Whole numbers that strangers send, which must not be bent to fit.
#pragma once

#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

namespace hone::web {

/// Whether it is an integer within these bounds; then `into` has it. The library would make one of
/// 1.5, 3e10 or true.
template <class T>
[[nodiscard]] bool whole(const nlohmann::json& value, T least, T most, T& into) {
  const auto take = [&](auto number) {
    if (std::cmp_less(number, least) || std::cmp_greater(number, most)) return false;
    into = static_cast<T>(number);
    return true;
  };
  if (value.is_number_unsigned()) return take(value.get<std::uint64_t>());
  return value.is_number_integer() && take(value.get<std::int64_t>());
}

/// Likewise of a form's text.
template <class T>
[[nodiscard]] bool whole_of_text(std::string_view text, T least, T most, T& into) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  if (number < least || number > most) return false;
  into = number;
  return true;
}

}  // namespace hone::web
