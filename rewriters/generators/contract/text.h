// Kernel text with holes.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace hone::generators::contract {

using Holes = std::map<std::string, std::string, std::less<>>;

/// Every $name replaced. What stands alone on its line is indented as the hole is, and where it is
/// empty the line goes.
[[nodiscard]] std::string filled(std::string_view text, const Holes& holes);

}  // namespace hone::generators::contract
