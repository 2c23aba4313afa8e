// Names in the text that the import writes.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace hone::pytorch {

/// What a C identifier may hold of `text`, at most 40 characters: "layer1.0.conv" ->
/// "layer1_0_conv".
[[nodiscard]] std::string identifier_of(std::string_view text);

/// The last number behind each name, so that the next one is found at once.
using LastNumbers = std::map<std::string, int, std::less<>>;

/// identifier_of(text), with the first free number behind it where `taken` has it. What `taken` has
/// it keeps.
template <class Names>
std::string unused_name(std::string_view text, const Names& taken, LastNumbers& numbers) {
  const std::string name = identifier_of(text);
  if (!taken.contains(name)) return name;
  for (int& i = numbers.try_emplace(name, 1).first->second;;) {
    std::string other = fmt::format("{}_{}", name, ++i);
    if (!taken.contains(other)) return other;
  }
}

}  // namespace hone::pytorch
