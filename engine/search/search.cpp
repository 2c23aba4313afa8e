#include "engine/search/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "engine/rewriting/watch.h"
#include "engine/search/finals/finals.h"
#include "engine/search/finals/reduce_recipe.h"
#include "engine/search/phases/run.h"
#include "engine/search/target/ceilings.h"

namespace hone::search_job {
namespace {

constexpr double kMore = 1.000001;  // than rounding
/// Of the first reading, at least: children are started for it.
constexpr double kFirstReading_s = 10;
/// Of what checks the lift; a source may be slow to lift.
constexpr double kLiftCheck_s = 5;
/// A search that counts evaluations ends when it has done them.
constexpr double kNoLimit_s = 1e6;

}  // namespace

void Search::stored(const Result<void>& result) {
  if (result || store_ == nullptr) return;
  if (!options_.job.empty()) {  // nobody sees what is not stored
    unstored_ = result.error();
    return;
  }
  // The search goes on: what was found is still returned, and said to be unsaved.
  outcome_.warnings.push_back("results are no longer stored: " + result.error().message);
  store_ = nullptr;
}

void Search::report(const std::string& phase) {
  if (!options_.on_progress) return;
  Progress progress;
  progress.counts = outcome_.counts;
  progress.elapsed_s = seconds_since(start_);
  progress.reference_time_us = outcome_.reference_time_us;
  progress.best_time_us = best_.time_us();
  progress.best_recipe = best_recipe_;
  progress.phase = phase;
  options_.on_progress(progress);
}

/// The first look at the source.
Result<void> Search::read() {
  const RewritingWatch watch(rewriting_, options_.stop,
                             std::max(left_s(plan_.admission_end()), kFirstReading_s));
  const auto given_up = [&](const Error& error) {
    if (!watch.fired() || is_lasting(error)) return error;
    return Error{error.code, interrupted() ? "interrupted while the task was read"
                                           : "the task was not read within the budget"};
  };
  if (auto valid = rewriting_.validate(task_.reference, task_.source_path); !valid) {
    if (valid.error().code != ErrorCode::kRefused) {
      return std::unexpected(given_up(valid.error()));
    }
    outcome_.warnings.push_back(valid.error().message);
  }
  auto hash = rewriting_.hash(task_.reference, task_.source_path);
  if (!hash) return std::unexpected(given_up(hash.error()));
  reference_hash_ = std::move(*hash);
  return {};
}

Result<void> Search::admit() {
  report("admit");
  if (auto readable = read(); !readable) return readable;
  task_.check_sizes = affordable_check_sizes(given_, costs_);
  for (std::string& line : slow_check_sizes(task_, costs_))
    outcome_.warnings.push_back(std::move(line));
  auto builder = RequestBuilder::make(
      rewriting_, task_, target_limits(target_.info.arch), options_.settings.without,
      {.sizes = secret_bits(),
       .inputs = provenance_.modelled ? random_.bits() : secret_bits(),
       .places = secret_bits()},
      &costs_);
  if (!builder) return std::unexpected(builder.error());
  builder_ = std::move(*builder);
  auto request = builder_->for_program(task_.reference, random_.bits());
  if (!request) return std::unexpected(request.error());
  reference_request_ = *request;
  const LiftCheck lift = [&] {
    const RewritingWatch watch(rewriting_, options_.stop, kLiftCheck_s);
    return expect_lifted(rewriting_, builder_->space().context(), task_.reference, *request);
  }();
  const auto admission_start = Clock::now();
  auto admitted = evaluate_and_wait(*request, Work::Kind::kAdmit);
  if (!admitted && left_s(plan_.admission_end()) <= 0)
    return std::unexpected(with_place(not_admitted_in_time(admitted.error()), task_));
  if (!admitted) return std::unexpected(with_place(admitted.error(), task_));
  if (admitted->verdict != Verdict::kOk) {
    return std::unexpected(with_place(
        {ErrorCode::kTaskFailed, fmt::format("the reference is not admitted: {}: {}",
                                             to_string(admitted->verdict), admitted->detail)},
        task_));
  }
  std::istringstream notes(admitted->note);
  for (std::string line; std::getline(notes, line);) outcome_.warnings.push_back(line);
  judge(judged(lift, *admitted));
  outcome_.reference_time_us = admitted->measurement.time_us;
  plan_.admitted(outcome_.reference_time_us, seconds_since(admission_start), seconds_since(start_));
  reference_tried_ = llm::tried_reference(*admitted, provenance_.modelled);
  set_roof(*request, admitted->measurement);
  if (store_ != nullptr) {
    stored(store_->put_task(given_));
    if (store_ != nullptr) {
      auto run = store_->begin_run(task_hash_, provenance_, options_.settings.seed,
                                   options_.settings.strategy, options_.job);
      if (run) run_id_ = *run;
      stored(run ? Result<void>{} : std::unexpected(run.error()));
    }
    if (store_ != nullptr && !options_.job.empty()) {
      auto earlier = store_->run_results(run_id_);
      if (!earlier) return std::unexpected(earlier.error());
      earlier_ = std::move(*earlier);
    }
  }
  known_[reference_hash_] = {Verdict::kOk, outcome_.reference_time_us};
  return {};
}

/// As the evaluator saw it, which knows what must be read.
void Search::set_roof(const EvaluationRequest& request, const Measurement& reference) {
  outcome_.roof = roof_of(request.timed.reference, request.flops, task_.math, target_.info);
  outcome_.roof.time_us = reference.roof_fraction * reference.time_us;
  DeviceInfo arithmetic = target_.info;
  arithmetic.ceilings.dram_bytes_per_s = 0;
  const double arithmetic_us =
      roof_of(request.timed.reference, request.flops, task_.math, arithmetic).time_us;
  outcome_.roof.memory_bound = outcome_.roof.time_us > kMore * arithmetic_us;
  if (outcome_.roof.memory_bound)
    outcome_.roof.bytes = outcome_.roof.time_us * 1e-6 * target_.info.ceilings.dram_bytes_per_s;
}

void Search::judge(const LiftCheck& lift) {
  if (lift.differs.empty()) return;
  outcome_.warnings.push_back(lift.text() + "; generators are not asked");
  for (std::string& name : names_of_generators()) builder_->space().disable(std::move(name));
}

Result<Evaluation> Search::evaluate_and_wait(EvaluationRequest request, Work::Kind kind) {
  return hone::evaluate_and_wait(queue_, {next_id_++, std::move(request), kind},
                                 [&] { return abandoned() || left_s(plan_.admission_end()) <= 0; });
}

Error Search::not_admitted_in_time(const Error& last) const {
  return {ErrorCode::kTaskFailed,
          fmt::format("the reference was not admitted within the budget of {:.0f} s: {}{}; give a "
                      "larger --budget, smaller \"check_sizes\" or smaller \"sizes\"",
                      options_.settings.budget.seconds, last.message,
                      outcome_.warnings.empty() ? "" : "; " + outcome_.warnings.back())};
}

/// Without the steps that do nothing. Of a budget in seconds it may take half of what is left; of
/// one in evaluations see evaluations_to_reduce.
std::vector<CandidateRecord> Search::reduced(const std::vector<Contender>& contenders) {
  const double total = options_.settings.budget.seconds;
  const double limit_s =
      total > 0 ? std::max(0.0, 0.5 * (total - seconds_since(start_))) : kNoLimit_s;
  const RewritingWatch watch(rewriting_, options_.stop, limit_s);
  const int wanted = plan_.affordable_finalists(options_.settings.finalists);
  ReductionStage stage{target_, *builder_, next_id_, random_.bits(), provenance_.modelled};
  stage.most_evaluations =
      evaluations_to_reduce(options_.settings.budget.evaluations, contenders, wanted);
  stage.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(limit_s));
  stage.given_up = [&] { return interrupted(); };
  stage.report = [&] { report("final"); };
  stage.known = [&](const std::string& hash) -> std::optional<double> {
    const auto known = known_.find(hash);
    if (known == known_.end()) return std::nullopt;
    return known->second.verdict == Verdict::kOk ? known->second.time_us : 0;
  };
  stage.remake = [&](const CandidateRecord& base, Recipe recipe, Rewritten made) {
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

void Search::finals() {
  report("final");
  std::vector<Contender> contenders;
  for (const Contender& contender : best_.ranked()) {
    if (contender.time_us >= outcome_.reference_time_us) break;
    contenders.push_back(contender);
  }
  std::vector<CandidateRecord> finalists;
  if (interrupted()) {
    for (const Contender& contender : contenders) finalists.push_back(contender.candidate);
  } else {
    finalists = reduced(contenders);
  }
  // The reference as its own candidate: what the board compares with, and a check of the timer.
  CandidateRecord reference;
  reference.program_hash = reference_hash_;
  reference.task_hash = task_hash_;
  reference.task_name = task_.name;
  reference.program = task_.reference;
  reference.origin = "reference";

  FinalStage stage{target_, rewriting_, *builder_, random_, next_id_};
  stage.hurry = interrupted();
  stage.stop = options_.stop;
  stage.left_s = [&] { return left_s(plan_.finals_end()); };
  stage.report = [&] { report("final"); };
  stage.given_up = [&] { return abandoned() || unstored_; };
  stage.store = [&](CandidateRecord& candidate, const Evaluation& evaluation) {
    if (store_ != nullptr) stored(store_->put(run_id_, candidate, evaluation, provenance_));
    candidate.id = id_of(store_, candidate);
    outcome_.timed.insert(candidate.program_hash);
  };
  stage.warn = [&](std::string warning) { outcome_.warnings.push_back(std::move(warning)); };
  outcome_.ranked = time_finalists(stage, std::move(finalists), std::move(reference),
                                   plan_.affordable_finalists(options_.settings.finalists));
}

Result<SearchOutcome> Search::run() {
  if (auto admitted = admit(); !admitted) return std::unexpected(admitted.error());
  if (interrupted()) {
    outcome_.stop_reason = "interrupted";
  } else {
    search();
  }
  finals();
  if (abandoned()) return fail(ErrorCode::kInfrastructure, "the search was abandoned");
  if (unstored_) return std::unexpected(*unstored_);
  outcome_.model = model_use();
  outcome_.elapsed_s = seconds_since(start_);
  if (store_ != nullptr) stored(store_->end_run(run_id_, outcome_.stop_reason));
  return std::move(outcome_);
}

}  // namespace hone::search_job

namespace hone {

std::vector<std::string> SearchOutcome::all_warnings() const {
  std::vector<std::string> all = warnings;
  all.insert(all.end(), model_warnings.begin(), model_warnings.end());
  return all;
}

Result<SearchOutcome> run_search(const Task& task, Target target, Rewriting& rewriting,
                                 Store* store, const SearchOptions& options) {
  if (auto valid = check_settings(options.settings); !valid) return std::unexpected(valid.error());
  return search_job::Search(task, std::move(target), rewriting, store, options, {}).run();
}

namespace {

/// Of a budget in seconds: after this part of it sizes are chosen without asking.
constexpr double kMostForSurveys = 0.15;

/// Surveys by the evaluator until `limit_s`, of which `spent_s` are over now; 0: always.
CheckCosts::Ask ask_within(double limit_s, double spent_s, Evaluator& evaluator) {
  const auto begin = search_job::Clock::now();
  return
      [=, &evaluator](const std::vector<ConcreteProgram>& programs) -> Result<std::vector<Survey>> {
        if (limit_s > 0 && spent_s + search_job::seconds_since(begin) > limit_s)
          return fail(ErrorCode::kInfrastructure, "there is no time for a survey");
        return survey(evaluator, programs);
      };
}

}  // namespace

Result<SearchOutcome> run_search(const Task& task, const DeviceSpec& device, Evaluator& evaluator,
                                 Rewriting& rewriting, Store* store, const SearchOptions& options) {
  const auto begin = search_job::Clock::now();
  auto warning = take_ceilings(evaluator, device, store, [&] {
    if (options.on_progress) options.on_progress(Progress{.phase = "ceilings"});
  });
  LocalTarget local(device, evaluator, options.workers);
  if (auto valid = check_settings(options.settings); !valid) return std::unexpected(valid.error());
  SearchOptions rest = options;
  rest.spent_s += search_job::seconds_since(begin);
  auto outcome = search_job::Search(task, local.target(), rewriting, store, rest,
                                    ask_within(kMostForSurveys * options.settings.budget.seconds,
                                               rest.spent_s, evaluator))
                     .run();
  if (outcome && !warning.empty()) outcome->warnings.push_back(std::move(warning));
  return outcome;
}

}  // namespace hone
