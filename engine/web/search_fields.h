// The options of a search (engine/search/settings.h) at the web's three doors: keys of the API,
// fields of the form, and what /api/v1/openapi.json says of them.
#pragma once

#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/search/settings.h"
#include "engine/web/http.h"

namespace hone::web {

/// Puts the value of the API's key into `settings`. The failure names the key.
[[nodiscard]] std::expected<void, Failure> set_from_json(const SearchOption& option,
                                                         const nlohmann::json& value,
                                                         SearchSettings& settings);

/// A paragraph for each option that the form shows, with what `request` gave.
[[nodiscard]] std::string search_fields_html(const Request& request);
/// What the form gave; an empty field leaves the default.
[[nodiscard]] std::expected<void, Failure> set_from_form(const Request& request,
                                                         SearchSettings& settings);

/// Names that commas or blanks separate.
[[nodiscard]] std::vector<std::string> split_names(std::string_view text);

/// OpenAPI 3.1's schema of the API's key.
[[nodiscard]] nlohmann::ordered_json schema_of(const SearchOption& option);
/// The API's description, with schemas of all options.
[[nodiscard]] const std::string& openapi_text();

}  // namespace hone::web
