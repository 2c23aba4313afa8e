#include "engine/search/phases/candidate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "rewriters/llm/model_steps.h"

namespace hone::search {
namespace {

bool is_tunables(const Step& step) { return step.rewriter == "tunables"; }

}  // namespace

void Candidate::answer(Result<Evaluation> answered, bool given_up) {
  if (answered) {
    state = State::kEvaluated;
    evaluation = std::move(*answered);
  } else if (given_up) {
    state = State::kCancelled;
  } else {
    const bool refused = answered.error().code == ErrorCode::kRefused;
    state = refused ? State::kRefusedLater : State::kEvaluated;
    evaluation.verdict = refused ? Verdict::kRefused : Verdict::kCrash;
    evaluation.detail = answered.error().message;
  }
}

bool has_tunables(const Recipe& recipe) { return std::ranges::any_of(recipe, is_tunables); }

std::string names_of(const Recipe& recipe) {
  std::vector<std::string> names;
  for (const Step& step : recipe) names.push_back(step.rewriter);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string origin_of(const Recipe& recipe) {
  if (has_model_step(recipe))
    return std::ranges::all_of(recipe, is_model_step) ? "model" : "model+rules";
  const bool tunables_only = std::ranges::all_of(recipe, is_tunables);
  return recipe.empty() ? "reference" : tunables_only ? "tunables" : "rules";
}

}  // namespace hone::search
