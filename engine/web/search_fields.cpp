#include "engine/web/search_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/page/html.h"
#include "engine/web/assets.h"
#include "engine/web/whole.h"

namespace hone::web {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using page::escape;
using Set = std::expected<void, Failure>;

constexpr std::uint64_t kLargestSeed = std::numeric_limits<std::uint64_t>::max();

/// One option, with the settings that its value goes into.
struct Target {
  const SearchOption& option;
  SearchSettings& settings;

  template <class Number>
  [[nodiscard]] std::unexpected<Failure> not_whole(Number least, Number most) const {
    return bad_request(
        fmt::format("{} is a whole number from {} to {}.", option.name, least, most));
  }
};

Set set_text(const Target& target, const BudgetField& field, const std::string& text) {
  const auto budget = Budget::parse(text);
  if (!budget) return failure(400, "refused", budget.error().message);
  target.settings.*field.member = *budget;
  return {};
}

// From JSON: what throws is of another type.

Set set(const Target& target, const BudgetField& field, const json& value) {
  return set_text(target, field, value.get<std::string>());
}

Set set(const Target& target, const SeedField& field, const json& value) {
  if (whole(value, std::uint64_t{0}, kLargestSeed, target.settings.*field.member)) return {};
  return target.not_whole(std::uint64_t{0}, kLargestSeed);
}

Set set(const Target& target, const CountField& field, const json& value) {
  if (whole(value, field.least, field.most, target.settings.*field.member)) return {};
  return target.not_whole(field.least, field.most);
}

/// Names, lists of names and switches: whether there is such a name is check_settings()'s to say.
template <class Field>
Set set(const Target& target, const Field& field, const json& value) {
  value.get_to(target.settings.*field.member);
  return {};
}

// From the form's text, and the control that asks for it.

Set set_field(const Target& target, const BudgetField& field, const std::string& text) {
  return set_text(target, field, text);
}
std::string control(const BudgetField&, const std::string& attributes, const std::string& value) {
  return fmt::format(R"(<input {} value="{}" required>)", attributes, value);
}

Set set_field(const Target& target, const SeedField& field, const std::string& text) {
  if (whole_of_text(text, std::uint64_t{0}, kLargestSeed, target.settings.*field.member)) return {};
  return target.not_whole(std::uint64_t{0}, kLargestSeed);
}
std::string control(const SeedField&, const std::string& attributes, const std::string& value) {
  return fmt::format(R"(<input {} type="number" min="0" value="{}">)", attributes, value);
}

Set set_field(const Target& target, const CountField& field, const std::string& text) {
  if (whole_of_text(text, field.least, field.most, target.settings.*field.member)) return {};
  return target.not_whole(field.least, field.most);
}
std::string control(const CountField& field, const std::string& attributes,
                    const std::string& value) {
  return fmt::format(R"(<input {} type="number" min="{}" max="{}" value="{}">)", attributes,
                     field.least, field.most, value);
}

std::string choice(const std::vector<std::string>& names, const std::string& attributes,
                   const std::string& value) {
  std::string options;
  for (const std::string& name : names)
    options += fmt::format("<option{}>{}</option>", name == value ? " selected" : "", escape(name));
  return fmt::format("<select {}>{}</select>", attributes, options);
}

Set set_field(const Target& target, const NameField& field, const std::string& text) {
  target.settings.*field.member = text;
  return {};
}
std::string control(const NameField& field, const std::string& attributes,
                    const std::string& value) {
  return choice(field.names(), attributes, value);
}

Set set_field(const Target& target, const NamesField& field, const std::string& text) {
  target.settings.*field.member = split_names(text);
  return {};
}
std::string control(const NamesField&, const std::string& attributes, const std::string& value) {
  return fmt::format(R"(<input {} value="{}" autocomplete="off">)", attributes, value);
}

Set set_field(const Target& target, const SwitchField& field, const std::string& text) {
  target.settings.*field.member = text == "true";
  return {};
}
std::string control(const SwitchField&, const std::string& attributes, const std::string& value) {
  return choice({"true", "false"}, attributes, value);
}

// What OpenAPI says of the type.

ordered_json type_of(const BudgetField&) { return {{"type", "string"}}; }
ordered_json type_of(const SeedField&) { return {{"type", "integer"}, {"minimum", 0}}; }
ordered_json type_of(const CountField& field) {
  return {{"type", "integer"}, {"minimum", field.least}, {"maximum", field.most}};
}
ordered_json type_of(const NameField& field) {
  return {{"type", "string"}, {"enum", field.names()}};
}
ordered_json type_of(const NamesField&) {
  return {{"type", "array"}, {"items", {{"type", "string"}}}};
}
ordered_json type_of(const SwitchField&) { return {{"type", "boolean"}}; }

ordered_json json_of(const Budget& budget) { return budget.text(); }
template <class T>
ordered_json json_of(const T& value) {
  return value;
}

std::string label_of(const SearchOption& option) {
  std::string label(option.name);
  label.front() = static_cast<char>(label.front() - 'a' + 'A');
  return label;
}

std::string field_html(const SearchOption& option, const Request& request) {
  const std::string& given = request.field(option.name);
  const std::string value = escape(given.empty() ? value_text(option, default_settings()) : given);
  const std::string attributes =
      fmt::format(R"(id="{0}" name="{0}" aria-describedby="{0}-help")", option.name);
  const std::string asked = std::visit(
      [&](const auto& field) { return control(field, attributes, value); }, option.field);
  return fmt::format(R"(<p><label for="{0}">{1}</label>
{2}
<span id="{0}-help" class="soft">{3}.</span></p>
)",
                     option.name, label_of(option), asked, escape(option.help));
}

}  // namespace

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : text) {
    if (c != ',' && c != ' ' && c != '\t') {
      part += c;
    } else if (!part.empty()) {
      parts.push_back(std::exchange(part, ""));
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

Set set_from_json(const SearchOption& option, const json& value, SearchSettings& settings) {
  try {
    return std::visit(
        [&](const auto& field) { return set(Target{option, settings}, field, value); },
        option.field);
  } catch (const json::exception&) {
    return bad_request(fmt::format("'{}' is of another type.", option.name));
  }
}

std::string search_fields_html(const Request& request) {
  std::string html;
  for (const SearchOption& option : search_options())
    if (option.on_form) html += field_html(option, request);
  return html;
}

Set set_from_form(const Request& request, SearchSettings& settings) {
  for (const SearchOption& option : search_options()) {
    const std::string& text = request.field(option.name);
    if (!option.on_form || text.empty()) continue;
    auto done = std::visit(
        [&](const auto& field) { return set_field(Target{option, settings}, field, text); },
        option.field);
    if (!done) return done;
  }
  return {};
}

ordered_json schema_of(const SearchOption& option) {
  ordered_json schema = std::visit([](const auto& field) { return type_of(field); }, option.field);
  schema["default"] = std::visit(
      [](const auto& field) { return json_of(default_settings().*field.member); }, option.field);
  schema["description"] = option.help + ".";
  return schema;
}

const std::string& openapi_text() {
  static const std::string kText = [] {
    ordered_json document = ordered_json::parse(embedded::kOpenApi);
    ordered_json& properties = document["components"]["schemas"]["Submission"]["properties"];
    for (const SearchOption& option : search_options())
      properties[std::string(option.name)] = schema_of(option);
    return document.dump(1) + "\n";
  }();
  return kText;
}

}  // namespace hone::web
