// What each step of a recipe contributes: the recipe without it, evaluated.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "candidates/recipe.h"
#include "candidates/task.h"
#include "engine/rewriting/rewriting.h"
#include "evaluator/device_spec.h"
#include "evaluator/evaluator.h"

namespace hone {

struct Contribution {
  Step step;
  /// Places in the recipe of later steps that are not legal without it, so left out with it.
  std::vector<std::size_t> with_it;
  Evaluation without;  ///< of what is left; its time says what the step is worth
};

struct Ablation {
  Evaluation whole;  ///< of the recipe itself, in the same run
  std::vector<Contribution> steps;
};

/// On a GPU every one of them goes through the final stage; modelled times need no more than one
/// quick look. Stores nothing. `on_step`: before each evaluation, how many are done and how many
/// there are. Errors: kInvalidInput for an empty recipe, kRefused for one that does not replay,
/// those of admission, infrastructure.
[[nodiscard]] Result<Ablation> ablate(
    const Task& task, const Recipe& recipe, const DeviceSpec& device, Evaluator& evaluator,
    Rewriting& rewriting, const std::function<void(std::size_t, std::size_t)>& on_step = {});

}  // namespace hone
