// One search from admission to finalists: its phases in their order.
#include "engine/search/search.h"

#include <optional>
#include <utility>

#include "engine/search/phases/admission.h"
#include "engine/search/phases/exploration.h"
#include "engine/search/phases/finish.h"
#include "engine/search/phases/llm_side.h"
#include "engine/search/phases/opening.h"
#include "engine/search/phases/run.h"
#include "engine/search/target/ceilings.h"
#include "engine/search/target/workers.h"

namespace hone {
namespace search {
namespace {

/// Of a budget in seconds: what surveys may take. Afterwards sizes are chosen without asking.
constexpr double kMostForSurveys = 0.07;

/// Surveys by the evaluator, of `limit_s` together; 0: without a limit.
Admission::Surveys ask_within(double limit_s, Evaluator& evaluator) {
  return [=, spent_s = 0.0, &evaluator](
             const std::vector<ConcreteProgram>& programs,
             const std::stop_token& stopping) mutable -> Result<std::vector<Survey>> {
    if (limit_s > 0 && spent_s > limit_s)
      return fail(ErrorCode::kInfrastructure, "there is no time for a survey");
    const auto begin = Clock::now();
    auto surveys = survey(evaluator, programs, stopping);
    spent_s += seconds_since(begin);
    return surveys;
  };
}

Result<SearchOutcome> through_all_phases(SearchRun& run, Admission::Surveys surveys) {
  Admission admission(run, std::move(surveys));
  if (auto admitted = admission.admit(); !admitted) return std::unexpected(admitted.error());
  LlmSide llm(run);
  if (run.interrupted()) {
    run.outcome.stop_reason = StopReason::kInterrupted;
  } else {
    Opening opening(run, admission, llm);
    Exploration(run, admission, llm, opening).run();
  }
  const auto no_gpu = [&]() -> std::optional<Error> {
    if (!run.target.gpus || run.target.gpus().size() < 2) return std::nullopt;
    const std::string why = all_gpus_lost(run.target);
    if (why.empty()) return std::nullopt;
    return Error{ErrorCode::kInfrastructure, "all GPUs of the search failed: " + why};
  };
  if (const auto& failure = run.journal.failure()) return std::unexpected(*failure);
  if (const auto error = no_gpu()) return std::unexpected(*error);
  Finish(run, admission).run();
  if (run.outcome.ranked.empty())
    if (const auto error = no_gpu()) return std::unexpected(*error);
  if (run.clock.abandoned()) return fail(ErrorCode::kInfrastructure, "the search was abandoned");
  if (const auto& failure = run.journal.failure()) return std::unexpected(*failure);
  SearchOutcome& outcome = run.outcome;
  outcome.counts = run.findings.counts;
  outcome.llm = llm.use();
  outcome.elapsed_s = run.clock.elapsed_s();
  run.journal.end_run(outcome.stop_reason);
  return std::move(outcome);
}

}  // namespace

void SearchRun::report(Phase phase) const {
  if (!options.on_progress) return;
  options.on_progress({.counts = findings.counts,
                       .elapsed_s = clock.elapsed_s(),
                       .reference_time_us = outcome.reference_time_us,
                       .best_time_us = findings.best().time_us(),
                       .best_recipe = findings.best_recipe(),
                       .phase = phase});
}

}  // namespace search

std::vector<std::string> SearchOutcome::search_warnings() const {
  std::vector<std::string> all = warnings;
  all.insert(all.end(), llm_warnings.begin(), llm_warnings.end());
  return all;
}

std::vector<std::string> SearchOutcome::all_warnings() const {
  std::vector<std::string> all = search_warnings();
  all.insert(all.end(), final_warnings.begin(), final_warnings.end());
  return all;
}

Result<SearchOutcome> run_search(const Task& task, Target target, Rewriting& rewriting,
                                 Store* store, const SearchOptions& options) {
  if (auto valid = check_settings(options.settings); !valid) return std::unexpected(valid.error());
  search::SearchRun run(task, std::move(target), rewriting, store, options);
  return search::through_all_phases(run, {});
}

Result<SearchOutcome> run_search(const Task& task, const DeviceSpec& device, Evaluator& evaluator,
                                 Rewriting& rewriting, Store* store, const SearchOptions& options) {
  const auto begin = search::Clock::now();
  bool first = false;  // what is measured once for a GPU does not count against a search's budget
  auto warning = take_ceilings(evaluator, device, store, [&] {
    first = true;
    if (options.on_progress) options.on_progress(Progress{.phase = Phase::kCeilings});
  });
  LocalTarget local(device, evaluator, options.workers);
  if (auto valid = check_settings(options.settings); !valid) return std::unexpected(valid.error());
  SearchOptions rest = options;
  if (!first) rest.spent_s += search::seconds_since(begin);
  search::SearchRun run(task, local.target(), rewriting, store, rest);
  const double surveys_s = search::kMostForSurveys * options.settings.budget.seconds;
  auto outcome = search::through_all_phases(run, search::ask_within(surveys_s, evaluator));
  if (outcome && !warning.empty()) outcome->warnings.push_back(std::move(warning));
  return outcome;
}

}  // namespace hone
