// The middle of a search: recipes are asked for, rewritten, evaluated and told.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <thread>

#include "engine/rewriting/watch.h"
#include "engine/search/phases/run.h"
#include "engine/search/strategy/mixed_strategy.h"
#include "rewriters/llm/model_steps.h"

namespace hone::search_job {
namespace {

constexpr double kRoofReached = 0.95;
/// The id of a result that is none: there is something to take from the proposer.
constexpr std::uint64_t kProposed = ~std::uint64_t{0};
constexpr std::size_t kMostCrashed = 64;
constexpr int kExhaustedAfter = 600;  // fruitless asks in a row
/// For asking again what an earlier process was told, at most.
constexpr double kReplay_s = 600;
/// Where the reference is slow, a search waits so long for what its strategy sends ahead.
constexpr double kPioneers_s = 10;

bool is_tunables(const Step& step) { return step.rewriter == "tunables"; }

bool has_tunables(const Recipe& recipe) { return std::ranges::any_of(recipe, is_tunables); }

std::string names_of(const Recipe& recipe) {
  std::vector<std::string> names;
  for (const Step& step : recipe) names.push_back(step.rewriter);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string origin_of(const Recipe& recipe) {
  if (has_model_step(recipe))
    return std::ranges::all_of(recipe, is_model_step) ? "model" : "model+rules";
  const bool tunables_only = std::ranges::all_of(recipe, is_tunables);
  return recipe.empty() ? "reference" : tunables_only ? "tunables" : "rules";
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
  // No rule vouches for the user's own values of tunables, nor for what a model wrote.
  draft.measure_first =
      !provenance_.modelled && !has_tunables(draft.recipe) && !has_model_step(draft.recipe);
  draft.edits_as_timed = provenance_.modelled;
  draft.best_time_us = best_.empty() ? outcome_.reference_time_us : best_.time_us();
  if (options_.settings.prescreen && !provenance_.modelled) {
    const double above = prescreen_.threshold_us(draft.best_time_us);
    draft.screen_above_us = above > 0 ? above : std::numeric_limits<double>::infinity();
  }
  return draft;
}

void Search::settle(Slot& slot, Strategy& strategy) {
  if (model_) hear_model();
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
        if (best_.add(contender_of(slot.candidate, evaluation)))
          best_recipe_ = names_of(outcome.recipe);
      }
    }
  }
  if (!options_.settings.budget.evaluations)
    outcome.cost = slot.evaluation.gates.check + slot.evaluation.gates.measure;
  if (model_) told_model(slot);
  strategy.tell(outcome);
}

/// Where outcomes are told as they come, or a language model is or was asked, a strategy does not
/// ask the same again: it is told what an earlier process was told, and goes on from there. How
/// many evaluations that were.
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
    slot.outcome.stranger = is_models(slot.candidate, heard_);
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
  const StrategyInfo* info = find_strategy(options_.settings.strategy);
  const double deadline = plan_.search_end();
  // Outcomes of a model are told in the order of the questions, so that a run can be repeated.
  const bool in_order = provenance_.modelled;
  remember_replies();
  // What an earlier process asked; what a model answered it nobody asks for again.
  const bool repeats = in_order && options_.llm == nullptr && heard_.empty();
  const double most_s =
      deadline - seconds_since(start_) + (repeats && !earlier_.empty() ? kReplay_s : 0);
  const RewritingWatch watch(rewriting_, options_.stop, most_s);
  auto strategy = info->make(builder_->space(), options_.settings.seed, outcome_.reference_time_us);
  model_ = make_model();
  if (model_) {
    const double size = options_.settings.budget.evaluations > 0
                            ? static_cast<double>(options_.settings.budget.evaluations)
                            : options_.settings.budget.seconds * target_.window;
    strategy = std::make_unique<MixedStrategy>(std::move(strategy), *model_,
                                               outcome_.reference_time_us, size);
  }
  // Half of the children propose, the others rewrite at the check sizes.
  const int children = std::max(2, rewriting_.at_once());
  Feeder feeder(*builder_, queue_, children - children / 2);
  Proposer proposer(*strategy, builder_->space(), in_order ? 0 : children / 2,
                    [&] { queue_.post({kProposed, fail(ErrorCode::kInternal, "no evaluation")}); });

  const auto search_start = Clock::now();
  std::deque<Slot> slots;
  std::int64_t asked_to_evaluate = repeats ? 0 : recall(*strategy);
  // What an earlier process was told costs none of the time that is left.
  std::size_t told_earlier = 0, since_told_earlier = 0;
  const auto replaying = [&] {
    return told_earlier < earlier_.size() && since_told_earlier < 2 * target_.window;
  };
  const auto time_is_up = [&] {
    return interrupted() || (!replaying() && left_s(plan_.search_end()) <= 0);
  };
  std::int64_t finished = 0;
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
      plan_.searched(seconds_since(search_start), ++finished);
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
    return options_.settings.budget.evaluations > 0 &&
           asked_to_evaluate + static_cast<std::int64_t>(proposer.pending()) -
                   outcome_.counts.screened - refused_later_ >=
               options_.settings.budget.evaluations;
  };
  const auto window = [&]() -> std::size_t {
    const bool waits = !in_order && plan_.reference_is_slow() && strategy->pioneers() > 0 &&
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
      const double best = best_.time_us();
      if (interrupted()) {
        outcome_.stop_reason = "interrupted";
      } else if (time_is_up()) {
        outcome_.stop_reason = "budget";
      } else if (best > 0 && outcome_.roof.memory_bound &&
                 outcome_.roof.time_us >= kRoofReached * best) {
        // The arithmetic bounds nothing for sure: it is the task's own count.
        outcome_.stop_reason = "roof";
      } else if (fruitless_ >= kExhaustedAfter && in_flight_.empty()) {
        if (model_ && model_->pending()) {  // its reply may bring something new
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        } else {
          outcome_.stop_reason = "exhausted";
        }
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
  // Nobody waits for an answer that is dropped.
  const bool at_once = outcome_.stop_reason == "budget" || outcome_.stop_reason == "interrupted";
  if (at_once) rewriting_.cancel();
  proposer.stop();
  outcome_.pace.propose_s = proposer.seconds();
  outcome_.pace.evaluated = outcome_.counts.evaluated();
  queue_.cancel();
  feeder.stop();
  if (at_once) rewriting_.resume();
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
  end_model();
}

}  // namespace hone::search_job
