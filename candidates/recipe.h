// Step: one application of a rewriter. Recipe: the steps from the reference to a candidate.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "candidates/result.h"
#include "candidates/verdict.h"

namespace hone {

using ParameterValue = std::variant<std::int64_t, std::string>;
[[nodiscard]] std::string to_string(const ParameterValue& value);

/// A parameter of a step and the values it may take, in a meaningful order (neighbours are
/// similar).
struct Parameter {
  std::string name;
  std::vector<ParameterValue> domain;
  bool operator==(const Parameter&) const = default;
};

struct Step {
  std::string rewriter;  ///< kebab-case name, e.g. "coarsen-threads"
  int version = 1;
  std::string site;  ///< where, stable under replay at other sizes, e.g. "matmul/loop0"
  std::map<std::string, ParameterValue> params;
  MathLevel math = MathLevel::kExact;  ///< what this step needs

  bool operator==(const Step&) const = default;
  [[nodiscard]] std::int64_t int_param(std::string_view name, std::int64_t fallback) const;
  [[nodiscard]] std::string string_param(std::string_view name, std::string_view fallback) const;
};

/// What a rewriter offers at one site: a Step once a value of each parameter is chosen.
struct Proposal {
  std::string rewriter;
  int version = 1;
  std::string site;
  std::vector<Parameter> parameters;
  MathLevel math = MathLevel::kExact;
  std::string description;  ///< one line for a person
  /// Good first choices, the best one first: of each, one index per parameter. Empty: nobody knows.
  std::vector<std::vector<std::size_t>> starts = {};

  /// Step with the values at `choice` (one index per parameter, each inside its domain).
  [[nodiscard]] Step step(const std::vector<std::size_t>& choice) const;
};

using Recipe = std::vector<Step>;

/// The loosest level any step of the recipe needs.
[[nodiscard]] MathLevel required_math(const Recipe& recipe);

/// "coarsen-threads(matmul: x=2,y=4)"; unlike for unlike steps: a long value is shown as its hash.
[[nodiscard]] std::string to_string(const Step& step);

void to_json(nlohmann::json& json, const Step& step);
void to_json(nlohmann::json& json, const Recipe& recipe);
void to_json(nlohmann::json& json, const Proposal& proposal);
[[nodiscard]] Result<Step> step_from_json(const nlohmann::json& json);
[[nodiscard]] Result<Recipe> recipe_from_json(const nlohmann::json& json);
[[nodiscard]] Result<std::vector<Proposal>> proposals_from_json(const nlohmann::json& json);

}  // namespace hone
