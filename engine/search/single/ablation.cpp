#include "engine/search/single/ablation.h"

#include "engine/search/random.h"
#include "engine/search/requests/requests.h"
#include "engine/search/target/workers.h"
#include "rewriters/core/rewriter.h"

namespace hone {

Result<Ablation> ablate(const Task& task, const Recipe& recipe, const DeviceSpec& device,
                        Evaluator& evaluator, Rewriting& rewriting,
                        const std::function<void(std::size_t, std::size_t)>& on_step) {
  if (recipe.empty()) return invalid("there is no recipe whose steps could be left out");
  auto builder = RequestBuilder::make(
      rewriting, task, target_limits(evaluator.info().arch), {},
      {.sizes = secret_bits(), .inputs = secret_bits(), .places = secret_bits()});
  if (!builder) return std::unexpected(builder.error());
  auto reference = (*builder)->for_program(task.reference, secret_bits());
  if (!reference) return std::unexpected(reference.error());
  if (auto admitted = evaluator.admit(*reference); !admitted)
    return std::unexpected(admitted.error());

  const Stage stage = device.modelled() ? Stage::kQuick : Stage::kFinal;
  // What is modelled is modelled on the same inputs: they may decide how long a task takes.
  const std::uint64_t seed = secret_bits();
  const auto evaluate = [&](const Recipe& steps) -> Result<Evaluation> {
    auto request = (*builder)->for_recipe(steps, device.modelled() ? seed : secret_bits(), stage);
    if (!request) {
      if (request.error().code != ErrorCode::kRefused) return std::unexpected(request.error());
      Evaluation refused;
      refused.verdict = Verdict::kRefused;
      refused.detail = request.error().message;
      return refused;
    }
    keep_secret(*request, device.modelled());
    return evaluate_patiently(evaluator, *request);
  };
  const std::size_t all = recipe.size() + 1;
  if (on_step) on_step(0, all);
  auto whole = evaluate(recipe);
  if (!whole) return std::unexpected(whole.error());
  // A rule may refuse today what it did when the recipe was stored: no step can be compared then.
  if (whole->verdict == Verdict::kRefused)
    return refused("the recipe does not replay: " + whole->detail);
  Ablation ablation{std::move(*whole), {}};
  for (std::size_t i = 0; i < recipe.size(); ++i) {
    if (on_step) on_step(i + 1, all);
    Contribution contribution{recipe[i], {}, {}};
    Recipe shorter(recipe.begin(), recipe.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::size_t later = i + 1; later < recipe.size(); ++later) {
      shorter.push_back(recipe[later]);
      const auto legal = (*builder)->space().program(shorter);
      if (legal) continue;
      if (legal.error().code != ErrorCode::kRefused) return std::unexpected(legal.error());
      shorter.pop_back();
      contribution.with_it.push_back(later);
    }
    auto without = evaluate(shorter);
    if (!without) return std::unexpected(without.error());
    contribution.without = std::move(*without);
    ablation.steps.push_back(std::move(contribution));
  }
  return ablation;
}

}  // namespace hone
