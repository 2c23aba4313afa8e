// kSteps: {"steps": [{"rewriter": …, "site": …, "values": {…}}, …]}, each as it was proposed. A
// step of a recipe calls its values "params"; that is understood, too.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "candidates/json_cursor.h"
#include "rewriters/llm/reply/blocks.h"
#include "rewriters/llm/reply/json_text.h"
#include "rewriters/llm/reply/program_check.h"

namespace hone::llm {
namespace {

constexpr std::string_view kSteps = "\"steps\"";

Result<nlohmann::json> steps_json(const ReplyParts& parts) {
  bool half = false;
  for (std::size_t i = parts.blocks.size(); i-- > 0;) {
    const Block& block = parts.blocks[i];
    if (!is_json(block) || !block.text.contains(kSteps)) continue;
    if (block.closed) return parse_json_text(block.text);
    half = true;
  }
  if (half) return refused("half a reply: its JSON block has no end");
  const std::string_view bare = last_object(parts.prose, kSteps);
  if (!bare.empty()) return parse_json_text(bare);
  if (parts.prose.contains(kSteps)) {
    return refused("half a reply: its JSON object has no end, or something stands before its '{'");
  }
  return refused("the reply has no JSON with \"steps\"");
}

// As the domain has it; a number may come in quotes.
std::optional<ParameterValue> value_in(const Parameter& parameter, const nlohmann::json& given) {
  std::string text;
  if (given.is_string()) {
    text = given.get<std::string>();
  } else if (given.is_number_integer()) {
    text = given.dump();
  } else if (given.is_boolean()) {
    text = given.get<bool>() ? "1" : "0";
  } else {
    return std::nullopt;
  }
  for (const ParameterValue& value : parameter.domain) {
    if (hone::to_string(value) == text) return value;
  }
  return std::nullopt;
}

std::string list_domain(const Parameter& parameter) {
  std::vector<std::string> names;
  for (const ParameterValue& value : parameter.domain) names.push_back(hone::to_string(value));
  return join_names(names);
}

// The step, or what is wrong with its parameters.
Result<Step> chosen(const Proposal& proposal, const JsonCursor& params) {
  Step step{proposal.rewriter, proposal.version, proposal.site, {}, proposal.math};
  std::vector<std::string> known;
  for (const Parameter& parameter : proposal.parameters) {
    known.push_back(parameter.name);
    const auto given = params.find(parameter.name);
    if (!given) {
      return refused(fmt::format("{}: \"{}\" is missing; it may be {}", params.path(),
                                 parameter.name, list_domain(parameter)));
    }
    const auto value = value_in(parameter, given->value());
    if (!value) {
      return refused(fmt::format("{}: this value was not proposed; it may be {}", given->path(),
                                 list_domain(parameter)));
    }
    step.params[parameter.name] = *value;
  }
  for (const auto& item : params.value().items()) {
    if (std::ranges::find(known, item.key()) != known.end()) continue;
    return refused(
        fmt::format("{}: there is no parameter '{}'", params.path(), printable(item.key())));
  }
  return step;
}

Result<Step> step_of(const JsonCursor& cursor, const std::vector<Proposal>& proposals) {
  cursor.expect_keys({"rewriter", "site", "values", "params"});
  const std::string rewriter = cursor.at("rewriter").string();
  const std::string site = cursor.at("site").string();
  static const nlohmann::json kNone = nlohmann::json::object();
  std::optional<JsonError> unused;
  JsonCursor params(kNone, child_path(cursor.path(), "values"), unused);
  const char* name = cursor.find("values") ? "values" : "params";
  if (const auto given = cursor.find(name)) {
    if (!given->value().is_object()) given->fail_type("an object");
    params = *given;
  }
  if (!cursor.ok()) return refused("");  // the caller has the error
  // A rewriter may propose the same site twice, with other parameters.
  std::optional<Error> first;
  for (const Proposal& proposal : proposals) {
    if (proposal.rewriter != rewriter || proposal.site != site) continue;
    auto step = chosen(proposal, params);
    if (step) return step;
    if (!first) first = step.error();
  }
  if (first) return std::unexpected(*first);
  return refused(fmt::format("{}: '{}' at '{}' was not proposed", cursor.path(),
                             printable(rewriter), printable(site)));
}

Result<std::vector<Step>> steps_in(std::string_view reply, const std::vector<Proposal>& proposals) {
  const auto parts = readable_parts(reply);
  if (!parts) return std::unexpected(parts.error());
  const auto json = steps_json(*parts);
  if (!json) return std::unexpected(json.error());
  std::optional<JsonError> error;
  const JsonCursor root(*json, "$", error);
  root.expect_keys({"reason", "steps", "why"});
  std::vector<Step> steps;
  for (const JsonCursor& element : root.at("steps").elements_up_to(kMaxSteps)) {
    auto step = step_of(element, proposals);
    if (error) break;
    if (!step) return std::unexpected(step.error());
    steps.push_back(std::move(*step));
  }
  if (error) return refused(error->path + ": " + error->message);
  if (steps.empty()) return refused("$.steps: is empty; there must be at least 1 step");
  return steps;
}

}  // namespace

Result<std::vector<Step>> read_steps(std::string_view reply,
                                     const std::vector<Proposal>& proposals) {
  return in_one_line(steps_in(reply, proposals));
}

}  // namespace hone::llm
