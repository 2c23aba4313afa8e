#include "candidates/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "candidates/hash.h"
#include "candidates/json_cursor.h"

namespace hone {

std::string to_string(const ParameterValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  return std::get<std::string>(value);
}

std::int64_t Step::int_param(std::string_view name, std::int64_t fallback) const {
  const auto found = params.find(std::string(name));
  if (found == params.end()) return fallback;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value != nullptr ? *value : fallback;
}

std::string Step::string_param(std::string_view name, std::string_view fallback) const {
  const auto found = params.find(std::string(name));
  if (found == params.end()) return std::string(fallback);
  const auto* value = std::get_if<std::string>(&found->second);
  return value != nullptr ? *value : std::string(fallback);
}

Step Proposal::step(const std::vector<std::size_t>& choice) const {
  assert(choice.size() == parameters.size());
  Step step{rewriter, version, site, {}, math};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    assert(choice[i] < parameters[i].domain.size());
    step.params[parameters[i].name] = parameters[i].domain[choice[i]];
  }
  return step;
}

MathLevel required_math(const Recipe& recipe) {
  MathLevel level = MathLevel::kExact;
  for (const Step& step : recipe) level = std::max(level, step.math);
  return level;
}

std::string to_string(const Step& step) {
  constexpr std::size_t kLong = 128;
  std::string inside = step.site;
  const char* separator = step.site.empty() || step.params.empty() ? "" : ": ";
  for (const auto& [name, value] : step.params) {
    std::string text = to_string(value);
    if (text.size() > kLong) text = fmt::format("#{} ({} bytes)", content_hash(text), text.size());
    inside += fmt::format("{}{}={}", separator, name, text);
    separator = ",";
  }
  return fmt::format("{}({})", step.rewriter, inside);
}

void to_json(nlohmann::json& json, const Step& step) {
  nlohmann::json params = nlohmann::json::object();
  for (const auto& [name, value] : step.params) {
    std::visit([&params, &name = name](const auto& held) { params[name] = held; }, value);
  }
  json = nlohmann::json{{"rewriter", step.rewriter},
                        {"version", step.version},
                        {"site", step.site},
                        {"params", std::move(params)},
                        {"math", to_string(step.math)}};
}

void to_json(nlohmann::json& json, const Recipe& recipe) {
  json = nlohmann::json::array();
  for (const Step& step : recipe) json.push_back(nlohmann::json(step));
}

void to_json(nlohmann::json& json, const Proposal& proposal) {
  nlohmann::json parameters = nlohmann::json::array();
  for (const Parameter& parameter : proposal.parameters) {
    nlohmann::json domain = nlohmann::json::array();
    for (const ParameterValue& value : parameter.domain) {
      std::visit([&domain](const auto& held) { domain.push_back(held); }, value);
    }
    parameters.push_back({{"name", parameter.name}, {"domain", std::move(domain)}});
  }
  json = nlohmann::json{{"rewriter", proposal.rewriter},
                        {"version", proposal.version},
                        {"site", proposal.site},
                        {"parameters", std::move(parameters)},
                        {"math", to_string(proposal.math)},
                        {"starts", proposal.starts},
                        {"description", proposal.description}};
}

namespace {

ParameterValue decode_value(const JsonCursor& cursor) {
  if (cursor.value().is_string()) return cursor.string();
  return cursor.integer();
}

MathLevel decode_math(const JsonCursor& cursor) {
  return cursor.choice<MathLevel>(parse_math_level, kMathLevelNames);
}

Step decode_step(JsonCursor cursor) {
  Step step;
  if (!cursor.expect_keys({"rewriter", "version", "site", "params", "math"})) return step;
  step.rewriter = cursor.at("rewriter").string();
  step.version = static_cast<int>(cursor.at("version").integer_in(0, 1'000'000));
  step.site = cursor.at("site").string();
  for (auto& [name, value] : cursor.at("params").members()) {
    step.params[name] = decode_value(value);
  }
  step.math = decode_math(cursor.at("math"));
  return step;
}

Proposal decode_proposal(const JsonCursor& cursor) {
  Proposal proposal;
  if (!cursor.expect_keys(
          {"rewriter", "version", "site", "parameters", "starts", "math", "description"})) {
    return proposal;
  }
  proposal.rewriter = cursor.at("rewriter").string();
  proposal.version = static_cast<int>(cursor.at("version").integer_in(0, 1'000'000));
  proposal.site = cursor.at("site").string();
  for (const JsonCursor& element : cursor.at("parameters").elements()) {
    if (!element.expect_keys({"name", "domain"})) return proposal;
    Parameter parameter{element.at("name").string(), {}};
    for (const JsonCursor& value : element.at("domain").elements()) {
      parameter.domain.push_back(decode_value(value));
    }
    proposal.parameters.push_back(std::move(parameter));
  }
  for (const JsonCursor& choice : cursor.at("starts").elements()) {
    std::vector<std::size_t> start;
    for (const JsonCursor& element : choice.elements()) {
      const std::size_t place = start.size();
      const std::size_t most =
          place < proposal.parameters.size() ? proposal.parameters[place].domain.size() : 0;
      if (most == 0) {
        element.fail("has no parameter that it would choose for");
        return proposal;
      }
      start.push_back(
          static_cast<std::size_t>(element.integer_in(0, static_cast<std::int64_t>(most) - 1)));
    }
    if (start.size() != proposal.parameters.size()) {
      choice.fail("does not choose for every parameter");
      return proposal;
    }
    proposal.starts.push_back(std::move(start));
  }
  proposal.math = decode_math(cursor.at("math"));
  proposal.description = cursor.at("description").string();
  return proposal;
}

}  // namespace

Result<Step> step_from_json(const nlohmann::json& json) { return decode<Step>(json, decode_step); }

Result<Recipe> recipe_from_json(const nlohmann::json& json) {
  return decode<Recipe>(json, [](JsonCursor cursor) {
    Recipe recipe;
    for (JsonCursor element : cursor.elements()) recipe.push_back(decode_step(element));
    return recipe;
  });
}

Result<std::vector<Proposal>> proposals_from_json(const nlohmann::json& json) {
  return decode<std::vector<Proposal>>(json, [](JsonCursor cursor) {
    std::vector<Proposal> proposals;
    for (const JsonCursor& element : cursor.elements()) {
      proposals.push_back(decode_proposal(element));
    }
    return proposals;
  });
}

}  // namespace hone
