#include "engine/service/search_job.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "candidates/hash.h"
#include "engine/rewriting/watch.h"
#include "engine/search/prescreen.h"
#include "engine/search/random.h"
#include "engine/search/strategy.h"
#include "engine/service/ceilings.h"
#include "engine/service/feeder.h"
#include "engine/service/finals.h"
#include "engine/service/lift_check.h"
#include "engine/service/proposer.h"
#include "engine/service/records.h"
#include "engine/service/requests.h"
#include "engine/service/workers.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kRoofReached = 0.95;
constexpr double kRoofBroken = 1.25;
/// The id of a result that is none: there is something to take from the proposer.
constexpr std::uint64_t kProposed = ~std::uint64_t{0};
constexpr std::size_t kMostCrashed = 64;
constexpr int kExhaustedAfter = 600;  // fruitless asks in a row
/// Of the first reading, at least: children are started for it.
constexpr double kFirstReading_s = 10;
/// For asking again what an earlier process was told, at most.
constexpr double kReplay_s = 600;
constexpr double kSlowReference_us = 10e3;
/// Of what checks the lift; a source may be slow to lift.
constexpr double kLiftCheck_s = 5;
/// Where the reference is slow, a search waits so long for what its strategy sends ahead.
constexpr double kPioneers_s = 10;
/// Runs of the reference that one final stage is expected to take: checks, other inputs, pairs.
constexpr double kFinalRuns = 100;
/// Of a budget in seconds, for the final stages of all where the reference is slow.
constexpr double kMostForFinals = 0.3;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is_tunables(const Step& step) { return step.rewriter == "tunables"; }

bool has_tunables(const Recipe& recipe) { return std::ranges::any_of(recipe, is_tunables); }

std::string origin_of(const Recipe& recipe) {
  const bool tunables_only = std::ranges::all_of(recipe, is_tunables);
  return recipe.empty() ? "reference" : tunables_only ? "tunables" : "rules";
}

std::string names_of(const Recipe& recipe) {
  std::vector<std::string> names;
  for (const Step& step : recipe) names.push_back(step.rewriter);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// One ask and what became of it.
struct Slot {
  Outcome outcome;
  CandidateRecord candidate;
  std::uint64_t seed = 0;  ///< of its evaluation
  Evaluation evaluation;
  std::uint64_t id = 0;
  bool refused_later = false;  ///< at a check size, when its program was known
  bool done = false;
  bool told_earlier = false;  ///< to an earlier process
  std::string twin;  ///< hash of a program in flight that this one repeats; settled after it
};

class Search {
 public:
  Search(const Task& task, Target target, Rewriting& rewriting, Store* store,
         const SearchOptions& options)
      : task_(task),
        target_(std::move(target)),
        queue_(target_.queue),
        rewriting_(rewriting),
        store_(store),
        options_(options),
        provenance_(provenance_of(target_.device, target_.info)),
        start_(Clock::now() - std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(options.spent_s))),
        random_(options.seed),
        prescreen_(options.seed ^ 0x5C3EE17ull),
        task_hash_(task.hash()) {}

  Result<SearchOutcome> run();

 private:
  Result<void> admit();
  Result<void> read();
  void judge(const LiftCheck& lift);
  void search();
  void finals();
  Slot slot_of(Proposed proposed);
  [[nodiscard]] Draft draft_of(const Slot& slot);
  void settle(Slot& slot, Strategy& strategy);
  std::int64_t recall(Strategy& strategy);
  void report(const std::string& phase);
  void stored(const Result<void>& result);
  [[nodiscard]] bool interrupted() const {
    return (options_.stop != nullptr && *options_.stop) || abandoned() || unstored_;
  }
  [[nodiscard]] bool abandoned() const { return options_.abandon != nullptr && *options_.abandon; }
  [[nodiscard]] Result<Evaluation> have_done(EvaluationRequest request, Work::Kind kind);
  [[nodiscard]] double search_seconds() const;
  [[nodiscard]] double seconds_per_finalist() const;
  [[nodiscard]] bool reference_is_slow() const;
  [[nodiscard]] int affordable_finalists() const;

  const Task& task_;
  const Target target_;
  SearchQueue& queue_;
  Rewriting& rewriting_;
  Store* store_;
  const SearchOptions& options_;
  Provenance provenance_;
  Clock::time_point start_;
  Random random_;
  Prescreen prescreen_;
  std::string task_hash_;
  std::unique_ptr<RequestBuilder> builder_;
  std::int64_t run_id_ = 0;
  SearchOutcome outcome_;

  struct Known {
    Verdict verdict = Verdict::kCrash;
    double time_us = 0;
  };
  std::unordered_map<std::string, Known> known_;  // by program hash; told programs
  std::map<std::string, Evaluation> earlier_;     // likewise; what an earlier process was told
  std::unordered_set<std::string> in_flight_;     // hashes of slots in flight
  struct Ranked {
    CandidateRecord candidate;
    double time_us;
  };
  std::vector<Ranked> best_;  // quick times, fastest first
  std::string best_recipe_;
  std::string reference_hash_;
  EvaluationRequest reference_request_;
  std::uint64_t next_id_ = 0;
  int fruitless_ = 0;
  std::int64_t refused_later_ = 0;
  std::optional<Error> unstored_;  ///< ends a job
  int alarms_ = 0;
  /// A service's, by id: their answer may be put back, and a second one come.
  std::map<std::uint64_t, Slot> crashed_;
};

double Search::search_seconds() const {
  const double total = options_.budget.seconds;
  if (total == 0) return 1e30;
  // What is kept back for the finalists.
  double reserve = provenance_.modelled ? std::clamp(0.05 * total, 0.5, 5.0)
                                        : std::clamp(0.12 * total, 2.0, 20.0);
  if (reference_is_slow())
    reserve = std::max(reserve, std::min(kMostForFinals * total, 3 * seconds_per_finalist()));
  return std::max(0.2 * total, total - reserve);
}

/// What the final stage of one candidate takes: the reference runs beside it, again and again.
double Search::seconds_per_finalist() const {
  return 4 + kFinalRuns * outcome_.reference_time_us * 1e-6;
}

bool Search::reference_is_slow() const {
  return !provenance_.modelled && outcome_.reference_time_us > kSlowReference_us;
}

/// As many as were asked for, but for those that the budget has no time for.
int Search::affordable_finalists() const {
  if (options_.budget.seconds == 0 || !reference_is_slow()) return options_.finalists;
  const double affordable = kMostForFinals * options_.budget.seconds / seconds_per_finalist();
  return std::clamp(static_cast<int>(affordable), std::min(2, options_.finalists),
                    options_.finalists);
}

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
  progress.best_time_us = best_.empty() ? 0 : best_.front().time_us;
  progress.best_recipe = best_recipe_;
  progress.phase = phase;
  options_.on_progress(progress);
}

/// The first look at the source.
Result<void> Search::read() {
  const RewritingWatch watch(rewriting_, options_.stop,
                             std::max(search_seconds(), kFirstReading_s));
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
  auto builder = RequestBuilder::make(
      rewriting_, task_, target_limits(target_.info.arch), options_.disabled,
      {.sizes = secret_bits(), .inputs = provenance_.modelled ? random_.bits() : secret_bits()});
  if (!builder) return std::unexpected(builder.error());
  builder_ = std::move(*builder);
  auto request = builder_->for_program(task_.reference, random_.bits());
  if (!request) return std::unexpected(request.error());
  reference_request_ = *request;
  const LiftCheck lift = [&] {
    const RewritingWatch watch(rewriting_, options_.stop, kLiftCheck_s);
    return expect_lifted(rewriting_, builder_->space().context(), task_.reference, *request);
  }();
  auto admitted = have_done(*request, Work::Kind::kAdmit);
  if (!admitted) return std::unexpected(with_place(admitted.error(), task_));
  if (admitted->verdict != Verdict::kOk) {
    return std::unexpected(with_place(
        {ErrorCode::kTaskFailed, fmt::format("the reference is not admitted: {}: {}",
                                             to_string(admitted->verdict), admitted->detail)},
        task_));
  }
  judge(judged(lift, *admitted));
  outcome_.reference_time_us = admitted->measurement.time_us;
  outcome_.roof = roof_of(request->timed.reference, request->flops, task_.math, target_.info);
  // A reference that reads a part of its inputs (a gather) beats it: then it bounds nothing.
  if (outcome_.roof.time_us > kRoofBroken * outcome_.reference_time_us) outcome_.roof.time_us = 0;
  if (store_ != nullptr) {
    stored(store_->put_task(task_));
    if (store_ != nullptr) {
      auto run = store_->begin_run(task_hash_, provenance_, options_.seed, options_.strategy,
                                   options_.job);
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

void Search::judge(const LiftCheck& lift) {
  if (lift.differs.empty()) return;
  outcome_.warnings.push_back(lift.text() + "; generators are not asked");
  for (std::string& name : names_of_generators()) builder_->space().disable(std::move(name));
}

Result<Evaluation> Search::have_done(EvaluationRequest request, Work::Kind kind) {
  return hone::have_done(queue_, {next_id_++, std::move(request), kind},
                         [&] { return abandoned(); });
}

Slot Search::slot_of(Proposed proposed) {
  Slot slot;
  slot.id = next_id_++;
  slot.outcome.recipe = std::move(proposed.recipe);
  slot.done = true;
  ++outcome_.counts.proposed;
  if (!proposed.rewritten) {
    slot.evaluation.verdict = Verdict::kRefused;
    slot.evaluation.detail = proposed.rewritten.error().message;
    return slot;
  }
  CandidateRecord& candidate = slot.candidate;
  candidate.program_hash = std::move(proposed.rewritten->hash);
  if (known_.contains(candidate.program_hash) || in_flight_.contains(candidate.program_hash)) {
    slot.outcome.duplicate = true;
    if (in_flight_.contains(candidate.program_hash)) slot.twin = candidate.program_hash;
    return slot;
  }
  slot.seed = random_.bits();
  candidate.task_hash = task_hash_;
  candidate.task_name = task_.name;
  candidate.program = std::move(proposed.rewritten->program);
  candidate.recipe = slot.outcome.recipe;
  candidate.origin = origin_of(candidate.recipe);
  in_flight_.insert(candidate.program_hash);
  const auto earlier = earlier_.find(candidate.program_hash);
  slot.done = earlier != earlier_.end() && earlier->second.verdict != Verdict::kCrash;
  slot.told_earlier = slot.done;
  if (slot.done) slot.evaluation = earlier->second;
  return slot;
}

Draft Search::draft_of(const Slot& slot) {
  Draft draft{.id = slot.id,
              .recipe = slot.candidate.recipe,
              .program = slot.candidate.program,
              .seed = slot.seed};
  // A tunable's values are the user's code, which no rule vouches for.
  draft.measure_first = !provenance_.modelled && !has_tunables(draft.recipe);
  draft.best_time_us = best_.empty() ? outcome_.reference_time_us : best_.front().time_us;
  if (options_.prescreen && !provenance_.modelled) {
    const double above = prescreen_.threshold_us(draft.best_time_us);
    draft.screen_above_us = above > 0 ? above : std::numeric_limits<double>::infinity();
  }
  return draft;
}

void Search::settle(Slot& slot, Strategy& strategy) {
  Outcome& outcome = slot.outcome;
  if (outcome.duplicate) {
    ++outcome_.counts.duplicate;
    ++fruitless_;
    // Another recipe for the same program may have been refused at a check size.
    const auto known = known_.find(slot.candidate.program_hash);
    outcome.verdict = known == known_.end() ? Verdict::kRefused : known->second.verdict;
    outcome.time_us = known == known_.end() ? 0 : known->second.time_us;
  } else if (slot.evaluation.screened) {
    ++outcome_.counts.screened;
    outcome_.pace.gates += slot.evaluation.gates;
    fruitless_ = 0;
    outcome.verdict = Verdict::kOk;
    outcome.time_us = prescreen_.expected_us(slot.evaluation.modelled_us);
    known_[slot.candidate.program_hash] = {Verdict::kOk, outcome.time_us};
    in_flight_.erase(slot.candidate.program_hash);
  } else {
    const Evaluation& evaluation = slot.evaluation;
    outcome_.pace.gates += evaluation.gates;
    ++outcome_.counts.verdicts[static_cast<std::size_t>(evaluation.verdict)];
    if (evaluation.outpaced) ++outcome_.counts.outpaced;
    if (evaluation.faster_than_roof && ++alarms_ == 1) {
      outcome_.warnings.push_back(fmt::format("candidate {} is not believed: {}",
                                              slot.candidate.program_hash.substr(0, 12),
                                              evaluation.detail));
    }
    outcome.verdict = evaluation.verdict;
    outcome.time_us = evaluation.measurement.time_us;
    if (slot.candidate.task_hash.empty() || slot.refused_later) {
      ++fruitless_;  // refused before there was anything to store
      if (slot.refused_later) {
        ++refused_later_;
        in_flight_.erase(slot.candidate.program_hash);
      }
    } else {
      fruitless_ = 0;
      known_[slot.candidate.program_hash] = {evaluation.verdict, outcome.time_us};
      in_flight_.erase(slot.candidate.program_hash);
      if (!options_.job.empty() && evaluation.verdict == Verdict::kCrash) {
        if (crashed_.size() >= kMostCrashed) crashed_.erase(crashed_.begin());
        crashed_[slot.id] = slot;
      }
      if (store_ != nullptr && !slot.told_earlier) {
        stored(store_->put(run_id_, slot.candidate, evaluation, provenance_));
      }
      if (evaluation.verdict == Verdict::kOk) {
        prescreen_.learn(evaluation.modelled_us, outcome.time_us);
        const auto place = std::ranges::find_if(
            best_, [&](const Ranked& r) { return outcome.time_us < r.time_us; });
        if (place == best_.begin()) best_recipe_ = names_of(outcome.recipe);
        best_.insert(place, {slot.candidate, outcome.time_us});
        if (best_.size() > 32) best_.pop_back();
      }
    }
  }
  strategy.tell(outcome);
}

/// Where outcomes are told as they come, a strategy does not ask the same again: it is told what an
/// earlier process was told, and goes on from there. How many evaluations that were.
std::int64_t Search::recall(Strategy& strategy) {
  std::int64_t count = 0;
  for (auto& [hash, evaluation] : earlier_) {
    if (evaluation.verdict == Verdict::kCrash) continue;
    Slot slot;
    slot.candidate.program_hash = hash;
    slot.candidate.task_hash = task_hash_;
    auto row = store_->find_candidate(id_of(store_, slot.candidate));
    if (!row || row->candidate.task_hash != task_hash_) continue;
    slot.candidate = std::move(row->candidate);
    slot.outcome.recipe = slot.candidate.recipe;
    slot.evaluation = std::move(evaluation);
    slot.told_earlier = true;
    ++outcome_.counts.proposed;
    settle(slot, strategy);
    ++count;
  }
  earlier_.clear();
  return count;
}

void Search::search() {
  const StrategyInfo* info = find_strategy(options_.strategy);
  const double deadline = search_seconds();
  // Outcomes of a model are told in the order of the questions, so that a run can be repeated.
  const bool in_order = provenance_.modelled;
  const double left_s =
      deadline - seconds_since(start_) + (in_order && !earlier_.empty() ? kReplay_s : 0);
  const RewritingWatch watch(rewriting_, options_.stop, left_s);
  auto strategy = info->make(builder_->space(), options_.seed, outcome_.reference_time_us);
  // Half of the children propose, the others rewrite at the check sizes.
  const int at_once = std::max(2, rewriting_.at_once());
  Feeder feeder(*builder_, queue_, at_once - at_once / 2);
  Proposer proposer(*strategy, builder_->space(), in_order ? 0 : at_once / 2,
                    [&] { queue_.post({kProposed, fail(ErrorCode::kInternal, "no evaluation")}); });

  const auto search_start = Clock::now();
  std::deque<Slot> slots;
  std::int64_t asked_to_evaluate = in_order ? 0 : recall(*strategy);
  // What an earlier process was told costs none of the time that is left.
  std::size_t told_earlier = 0, since_told_earlier = 0;
  const auto replaying = [&] {
    return told_earlier < earlier_.size() && since_told_earlier < 2 * target_.window;
  };
  const auto time_is_up = [&] {
    return interrupted() || (!replaying() && seconds_since(start_) >= deadline);
  };
  const auto receive = [&](std::chrono::milliseconds timeout) {
    auto done = queue_.next_result(timeout);
    if (!done) return false;
    const bool stopped =
        watch.fired() || outcome_.stop_reason == "budget" || outcome_.stop_reason == "interrupted";
    for (Slot& slot : slots) {
      if (slot.id != done->id) continue;
      if (done->evaluation) {
        slot.evaluation = std::move(*done->evaluation);
      } else if (done->evaluation.error().code == ErrorCode::kRefused) {
        slot.refused_later = true;
        slot.evaluation.verdict = Verdict::kRefused;
        slot.evaluation.detail = stopped ? "cancelled" : done->evaluation.error().message;
      } else {
        slot.evaluation.verdict = Verdict::kCrash;
        slot.evaluation.detail = stopped ? "cancelled" : done->evaluation.error().message;
      }
      slot.done = true;
      return true;
    }
    const auto crashed = crashed_.find(done->id);
    if (crashed == crashed_.end() || !done->evaluation) return true;
    // Put back: what it says now counts instead.
    Slot slot = std::move(crashed->second);
    crashed_.erase(crashed);
    --outcome_.counts.verdicts[static_cast<std::size_t>(Verdict::kCrash)];
    slot.evaluation = std::move(*done->evaluation);
    settle(slot, *strategy);
    return true;
  };
  const auto is_ready = [&](const Slot& slot) {
    return slot.done && (slot.twin.empty() || !in_flight_.contains(slot.twin));
  };

  bool asking = true;
  const auto budget_spent = [&] {
    // What the time model leaves out is no evaluation: more is asked as that turns out.
    return options_.budget.evaluations > 0 &&
           asked_to_evaluate + static_cast<std::int64_t>(proposer.pending()) -
                   outcome_.counts.screened - refused_later_ >=
               options_.budget.evaluations;
  };
  const auto window = [&]() -> std::size_t {
    const bool waits = !in_order && reference_is_slow() && strategy->pioneers() > 0 &&
                       best_.empty() && seconds_since(search_start) < kPioneers_s;
    return waits ? std::min(strategy->pioneers(), target_.window) : target_.window;
  };
  // Exactly one told for one asked once the window is full.
  const auto may_ask = [&] {
    return asking && slots.size() + proposer.pending() < window() && !time_is_up() &&
           // What is in flight may bring something new.
           (fruitless_ < kExhaustedAfter || in_flight_.empty()) && !budget_spent();
  };
  const auto take = [&](Proposed proposed) {
    if (watch.fired()) return;  // it was told no answer
    slots.push_back(slot_of(std::move(proposed)));
    Slot& slot = slots.back();
    ++since_told_earlier;
    if (slot.told_earlier) {
      ++told_earlier;
      since_told_earlier = 0;
      start_ = Clock::now() - std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(options_.spent_s));
      ++asked_to_evaluate;
    } else if (!slot.done) {
      ++asked_to_evaluate;
      feeder.add(draft_of(slot));
    }
  };
  while (asking || !slots.empty()) {
    if (outcome_.stop_reason.empty()) {
      const double best = best_.empty() ? 0 : best_.front().time_us;
      if (interrupted()) {
        outcome_.stop_reason = "interrupted";
      } else if (time_is_up()) {
        outcome_.stop_reason = "budget";
      } else if (best > 0 && outcome_.roof.time_us >= kRoofReached * best) {
        outcome_.stop_reason = "roof";
      } else if (fruitless_ >= kExhaustedAfter && in_flight_.empty()) {
        outcome_.stop_reason = "exhausted";
      }
      if (!outcome_.stop_reason.empty()) {
        asking = false;
        // Time is up or the user waits: what has not begun is dropped. Otherwise all is drained,
        // so that a run can be repeated exactly.
        if (outcome_.stop_reason == "interrupted" || outcome_.stop_reason == "budget") {
          break;
        }
      }
    }
    while (true) {
      while (may_ask() && proposer.ask()) continue;
      auto proposed = proposer.take();
      if (!proposed) break;
      take(std::move(*proposed));
    }
    if (slots.empty() && proposer.pending() == 0) {
      if (!asking) break;
      if (time_is_up() || !budget_spent()) continue;
      outcome_.stop_reason = "budget ";
      break;
    }
    const auto first = in_order ? std::next(slots.begin()) : slots.end();
    const auto ready = std::find_if(slots.begin(), first, is_ready);
    if (ready == first) {
      (void)receive(std::chrono::milliseconds(100));
    } else {
      settle(*ready, *strategy);
      slots.erase(ready);
    }
    report("search");
  }
  outcome_.pace.search_s = seconds_since(search_start);
  proposer.stop();
  outcome_.pace.propose_s = proposer.seconds();
  outcome_.pace.evaluated = outcome_.counts.evaluated();
  queue_.cancel();
  feeder.stop();
  queue_.resume();
  while (receive(std::chrono::milliseconds(0))) {
  }
  for (Slot& slot : slots) {
    if (is_ready(slot) && slot.evaluation.detail != "cancelled") {
      settle(slot, *strategy);
    } else {
      --outcome_.counts.proposed;
    }
  }
  if (outcome_.stop_reason == "budget ") outcome_.stop_reason = "budget";
}

void Search::finals() {
  std::vector<CandidateRecord> finalists;
  for (const Ranked& ranked : best_) {
    if (ranked.time_us >= outcome_.reference_time_us) break;
    finalists.push_back(ranked.candidate);
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
  stage.report = [&] { report("final"); };
  stage.given_up = [&] { return abandoned() || unstored_; };
  stage.store = [&](CandidateRecord& candidate, const Evaluation& evaluation) {
    if (store_ != nullptr) stored(store_->put(run_id_, candidate, evaluation, provenance_));
    candidate.id = id_of(store_, candidate);
    outcome_.timed.insert(candidate.program_hash);
  };
  stage.warn = [&](std::string warning) { outcome_.warnings.push_back(std::move(warning)); };
  outcome_.ranked =
      time_finalists(stage, std::move(finalists), std::move(reference), affordable_finalists());
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
  outcome_.elapsed_s = seconds_since(start_);
  if (store_ != nullptr) stored(store_->end_run(run_id_, outcome_.stop_reason));
  return std::move(outcome_);
}

}  // namespace

Result<SearchOutcome> run_search(const Task& task, Target target, Rewriting& rewriting,
                                 Store* store, const SearchOptions& options) {
  if (auto known = check_strategy(options.strategy); !known) return std::unexpected(known.error());
  return Search(task, std::move(target), rewriting, store, options).run();
}

Result<SearchOutcome> run_search(const Task& task, const DeviceSpec& device, Evaluator& evaluator,
                                 Rewriting& rewriting, Store* store, const SearchOptions& options) {
  auto warning = take_ceilings(evaluator, device, store, [&] {
    if (options.on_progress) options.on_progress(Progress{.phase = "ceilings"});
  });
  LocalTarget local(device, evaluator, options.workers);
  auto outcome = run_search(task, local.target(), rewriting, store, options);
  if (outcome && !warning.empty()) outcome->warnings.push_back(std::move(warning));
  return outcome;
}

}  // namespace hone
