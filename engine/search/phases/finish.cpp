#include "engine/search/phases/finish.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/rewriting/watch.h"
#include "engine/search/finals/finals.h"
#include "engine/search/finals/reduce_recipe.h"

namespace hone::search {
namespace {

/// A search that counts evaluations ends when it has done them.
constexpr double kNoLimit_s = 1e6;
/// Of what is left of a budget in seconds, for the reduction.
constexpr double kMostForReduction = 0.5;

}  // namespace

/// What is faster than the reference, the fastest first.
std::vector<Contender> Finish::contenders() {
  std::vector<Contender> faster;
  for (const Contender& contender : run_.findings.best().ranked()) {
    if (contender.time_us >= run_.outcome.reference_time_us) break;
    faster.push_back(contender);
  }
  run_.outcome.seemed_faster = static_cast<int>(faster.size());
  if (!faster.empty())
    run_.outcome.seemed_speedup = run_.outcome.reference_time_us / faster.front().time_us;
  return faster;
}

std::vector<CandidateRecord> Finish::finalists() {
  std::vector<Contender> fastest = contenders();
  if (!run_.interrupted()) return reduced(fastest);
  const int wanted = run_.clock.plan.affordable_finalists(run_.options.settings.finalists);
  const std::vector<Contender> all = fastest;
  if (std::cmp_greater(fastest.size(), wanted)) fastest.resize(static_cast<std::size_t>(wanted));
  keep_a_checked_one(fastest, all, static_cast<std::size_t>(wanted));
  std::vector<CandidateRecord> as_they_are;
  for (const Contender& contender : fastest) as_they_are.push_back(contender.candidate);
  return as_they_are;
}

/// Without the steps that do nothing. Of a budget in evaluations see evaluations_to_reduce.
std::vector<CandidateRecord> Finish::reduced(const std::vector<Contender>& contenders) {
  const Budget& budget = run_.options.settings.budget;
  const double left_s = budget.seconds - run_.clock.elapsed_s();
  const double limit_s =
      budget.seconds > 0 ? std::max(0.0, kMostForReduction * left_s) : kNoLimit_s;
  const RewritingWatch watch(run_.rewriting, run_.options.stop, limit_s, run_.options.paused_s);
  const int wanted = run_.clock.plan.affordable_finalists(run_.options.settings.finalists);
  ReductionStage stage{run_.target, admission_.builder(), run_.next_id, run_.random.bits(),
                       run_.modelled()};
  stage.prescreen = run_.options.settings.prescreen && !run_.modelled();
  stage.most_evaluations = evaluations_to_reduce(budget.evaluations, contenders, wanted);
  stage.deadline = Clock::now() + as_duration(limit_s);
  stage.given_up = [this] { return run_.interrupted(); };
  stage.report = [this] { run_.report(Phase::kFinal); };
  stage.disproved = [this](const Evaluation& evaluation) { run_.outcome.ends.note(evaluation); };
  stage.known = [this](const std::string& hash) -> std::optional<double> {
    const auto known = run_.findings.known(hash);
    if (!known) return std::nullopt;
    return known->verdict == Verdict::kOk ? known->time_us : 0;
  };
  stage.remake = [](const CandidateRecord& base, Recipe recipe, Rewritten made) {
    CandidateRecord candidate = base;
    candidate.id.clear();
    candidate.program_hash = std::move(made.hash);
    candidate.program = std::move(made.program);
    candidate.origin = origin_of(recipe);
    candidate.recipe = std::move(recipe);
    return candidate;
  };
  return reduce_recipes(stage, contenders, wanted);
}

void Finish::run() {
  run_.report(Phase::kFinal);
  std::vector<CandidateRecord> timed = finalists();
  FinalStage stage{run_.target, run_.rewriting, admission_.builder(), run_.random, run_.next_id};
  stage.hurry = run_.interrupted();
  stage.stop = run_.options.stop;
  stage.left_s = [this] { return run_.clock.left_s(run_.clock.plan.finals_end()); };
  stage.for_the_first_s = run_.clock.plan.for_the_first_s();
  stage.enough = [this, begin = Clock::now()] {
    return seconds_since(begin) >= run_.clock.plan.enough_finals_s() &&
           run_.clock.left_s(run_.options.settings.budget.seconds) <= 0;
  };
  stage.report = [this] { run_.report(Phase::kFinal); };
  stage.given_up = [this] { return run_.clock.abandoned() || run_.journal.failure(); };
  stage.store = [this](CandidateRecord& candidate, const Evaluation& evaluation) {
    run_.journal.put(candidate, evaluation);
    candidate.id = run_.journal.id_of(candidate);
    run_.outcome.timed.insert(candidate.program_hash);
  };
  stage.warn = [this](std::string warning) {
    run_.outcome.final_warnings.push_back(std::move(warning));
  };
  // The reference as its own candidate: what the board compares with, and a check of the timer.
  Finals finals =
      time_finalists(stage, std::move(timed), admission_.reference(),
                     run_.clock.plan.affordable_finalists(run_.options.settings.finalists));
  run_.outcome.ranked = std::move(finals.ranked);
  run_.outcome.ends.add(finals.ends);
}

}  // namespace hone::search
