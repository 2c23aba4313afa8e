// The prompt's text files (templates/*.md), embedded at build, and their expansion. Their text is
// the only one in a prompt that asks for something.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hone::llm {

struct Template {
  std::string_view name;  ///< "system" of templates/system.md
  std::string_view text;
};

/// By name. Generated.
[[nodiscard]] const std::vector<Template>& templates();

using Values = std::map<std::string, std::string, std::less<>>;

/// The template with each {{name}} replaced by its value, in one pass: a value that holds {{best}}
/// keeps it. A name without a value, or a template that is not there, is a bug of ours.
[[nodiscard]] std::string expand(std::string_view name, const Values& values);

/// Of all templates' text: "1.0123abcd".
[[nodiscard]] const std::string& templates_version();

}  // namespace hone::llm
