// Kernel text with holes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::schedules {

using Holes = std::map<std::string, std::string, std::less<>>;

/// Every $name replaced. What stands alone on its line is indented as the hole is, and where it is
/// empty the line goes.
[[nodiscard]] std::string filled(std::string_view text, const Holes& holes);

/// "constexpr int kA = 1, kB = 2;" for each line of constants: those that the text mentions.
[[nodiscard]] std::string constants_of(
    std::string_view text,
    const std::vector<std::vector<std::pair<std::string, std::int64_t>>>& lines);

/// Does the text hold this identifier?
[[nodiscard]] bool mentions(std::string_view text, std::string_view name);

}  // namespace hone::schedules
