// Names in the text that the import writes.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace hone::pytorch {

/// What a C identifier may hold of `text`, at most 40 characters: "layer1.0.conv" ->
/// "layer1_0_conv".
[[nodiscard]] std::string identifier_of(std::string_view text);

/// identifier_of(text), with a number behind it where `taken` has it.
template <class Names>
std::string unused_name(std::string_view text, const Names& taken) {
  const std::string name = identifier_of(text);
  if (!taken.contains(name)) return name;
  for (int i = 2;; ++i) {
    std::string other = fmt::format("{}_{}", name, i);
    if (!taken.contains(other)) return other;
  }
}

}  // namespace hone::pytorch
