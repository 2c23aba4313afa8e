#include "engine/search/phases/opening.h"

#include <utility>

#include "engine/search/phases/known_recipes.h"
#include "engine/search/ranking/ranked_strategy.h"
#include "engine/search/strategy/mixed_strategy.h"

namespace hone::search {
namespace {

/// For asking again what an earlier process was told, at most.
constexpr double kReplay_s = 600;

}  // namespace

Opening::Opening(SearchRun& run, Admission& admission, LlmSide& llm)
    : run_(run),
      admission_(admission),
      llm_(llm),
      telling_(telling_for(run.modelled())),
      replay_(admission.take_earlier()) {
  llm_.remember();
  // What a model answered an earlier process, nobody asks for again.
  const bool repeats = telling_->repeats() && !llm_.has_a_say();
  const std::vector<Recipe> known = recipes_to_begin_with(run_, admission_.task());
  const TimePlan& plan = run_.clock.plan;
  const double left_s = run_.clock.left_s(known.empty() ? plan.search_end() : plan.known_end());
  watch_.emplace(run_.rewriting, run_.options.stop,
                 left_s + (repeats && !replay_.empty() ? kReplay_s : 0), run_.options.paused_s);
  strategy_ = make_strategy(known);
  teller_.emplace(run_, llm_, *strategy_);
  if (!repeats) recalled_ = recall();
}

double Opening::search_end() const {
  const TimePlan& plan = run_.clock.plan;
  return known_ != nullptr && known_->waits() ? plan.known_end() : plan.search_end();
}

std::unique_ptr<Strategy> Opening::make_strategy(const std::vector<Recipe>& known) {
  const SearchSettings& settings = run_.options.settings;
  const double reference_us = run_.outcome.reference_time_us;
  auto strategy = find_strategy(settings.strategy)
                      ->make(admission_.builder().space(), settings.seed, reference_us);
  strategy = ranked(std::move(strategy));
  if (!known.empty()) {
    auto first = std::make_unique<KnownFirst>(std::move(strategy), known);
    known_ = first.get();
    strategy = std::move(first);
  }
  RecipeSource* const source = llm_.open(admission_);
  if (source == nullptr) return strategy;
  const Budget& budget = settings.budget;
  const auto window = static_cast<double>(run_.target.window);
  const double size =
      budget.evaluations > 0 ? static_cast<double>(budget.evaluations) : budget.seconds * window;
  return std::make_unique<MixedStrategy>(std::move(strategy), *source, reference_us, size);
}

/// Where a model is there for the architecture and the user wants it. On an emulated device only a
/// model that the user names: what is built in learned from GPUs.
std::unique_ptr<Strategy> Opening::ranked(std::unique_ptr<Strategy> strategy) {
  if (!run_.options.settings.ranking) return strategy;
  auto model = run_.options.ranking;
  if (model == nullptr && !run_.modelled()) model = ranking::built_in_model(run_.target.info.arch);
  Space& space = admission_.builder().space();
  auto ranker = ranking::Ranker::make(std::move(model), space.context(), run_.rewriting);
  if (ranker == nullptr) return strategy;
  return std::make_unique<RankedStrategy>(std::move(strategy), std::move(ranker), space,
                                          run_.options.settings.seed);
}

/// Tells the strategy what an earlier process was told, for it goes on from there: it does not ask
/// the same again. How many evaluations that were.
std::int64_t Opening::recall() {
  std::int64_t count = 0;
  for (auto& [hash, evaluation] : replay_.take()) {
    if (evaluation.verdict == Verdict::kCrash) continue;
    Candidate candidate;
    candidate.record.program_hash = hash;
    candidate.record.task_hash = admission_.task_hash();
    auto record = run_.journal.find(candidate.record);
    if (!record) continue;
    candidate.state = Candidate::State::kRemembered;
    candidate.record = std::move(*record);
    candidate.recipe = candidate.record.recipe;
    candidate.stranger = is_models(candidate.record, llm_.heard());
    candidate.evaluation = std::move(evaluation);
    ++run_.findings.counts.proposed;
    teller_->tell(candidate);
    ++count;
  }
  return count;
}

}  // namespace hone::search
