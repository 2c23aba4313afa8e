// JSON as a model writes it, read within limits.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "candidates/result.h"

namespace hone::llm {

/// Nested at most 32 deep; comments and last commas are skipped. Errors: kRefused, one line.
[[nodiscard]] Result<nlohmann::json> parse_json_text(std::string_view text);

/// One line of at most kMaxWhyCharacters printable characters.
[[nodiscard]] std::string printable_why(std::string_view text);

}  // namespace hone::llm
