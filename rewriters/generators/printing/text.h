// Kernel text with holes.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace hone::generators {

using Holes = std::map<std::string, std::string, std::less<>>;

/// Every $name replaced. What stands alone on its line is indented as the hole is, and where it is
/// empty the line goes.
[[nodiscard]] std::string filled(std::string_view text, const Holes& holes);

/// Does the text hold this identifier?
[[nodiscard]] bool mentions(std::string_view text, std::string_view name);

}  // namespace hone::generators
