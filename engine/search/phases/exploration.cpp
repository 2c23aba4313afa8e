#include "engine/search/phases/exploration.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "rewriters/llm/model_steps.h"

namespace hone::search {
namespace {

using std::chrono::milliseconds;
using State = Candidate::State;

/// A best time this near to the roof cannot be improved by what a measurement could tell.
constexpr double kRoofReached = 0.95;
constexpr int kExhaustedAfter = 600;  // fruitless asks in a row
constexpr std::size_t kMostCrashed = 64;
/// A search waits so long for what its strategy sends ahead; longer where the reference is slow.
constexpr double kPioneers_s = 2.5, kSlowPioneers_s = 10;
constexpr auto kLooks = milliseconds(100);
constexpr auto kLlmLooks = milliseconds(20);

/// What GPUs did since `before`, of as many.
std::vector<GpuUse> since(const std::vector<GpuUse>& before, std::vector<GpuUse> now) {
  for (std::size_t i = 0; i < now.size() && i < before.size(); ++i) {
    now[i].measured -= before[i].measured;
    now[i].busy_s -= before[i].busy_s;
  }
  return now;
}

std::vector<GpuUse> uses_of(const Target& target) {
  return target.gpus ? target.gpus() : std::vector<GpuUse>{};
}

int children_of(const Rewriting& rewriting) { return std::max(2, rewriting.at_once()); }

}  // namespace

Exploration::Exploration(SearchRun& run, Admission& admission, LlmSide& llm, Opening& opening)
    : run_(run),
      admission_(admission),
      llm_(llm),
      opening_(opening),
      feeder_(admission.builder(), run.target.queue,
              children_of(run.rewriting) - children_of(run.rewriting) / 2),
      proposer_(opening.strategy(), admission.builder().space(),
                opening.telling().asking_threads(children_of(run.rewriting)),
                [&queue = run.target.queue] { queue.wake(); }),
      limit_(run.target.window, gpus_of(run.target)),
      gpus_before_(uses_of(run.target)),
      last_gain_{run.findings.counts.evaluated(), run.clock.elapsed_s()},
      asked_to_evaluate_(opening.recalled()),
      pioneers_left_(opening.strategy().pioneers()) {
  if (pioneers_left_ == 0) run_.clock.plan.pioneers_answered();
}

void Exploration::run() {
  while (!stop_ || !window_.empty()) {
    look_for_an_end();
    if (stop_ && stop_->at_once) break;
    if (!stop_ && exhausted()) std::this_thread::sleep_for(kLlmLooks);  // a reply may bring news
    ask();
    if (!window_.empty() || proposer_.pending() > 0) {
      tell_or_wait();
      run_.report(Phase::kSearch);
    } else if (!stop_ && !time_is_up() && evaluations_spent()) {
      stop_ = Stop{StopReason::kBudget, false};
    }
  }
  end();
}

/// While what is in flight is awaited, the time may be up, too.
void Exploration::look_for_an_end() {
  const auto found = reason_to_stop();
  if (!found || (stop_ && !found->at_once)) return;
  const bool keeps_reason = stop_ && found->reason == StopReason::kBudget;
  stop_ = Stop{keeps_reason ? stop_->reason : found->reason, found->at_once};
}

std::optional<Exploration::Stop> Exploration::reason_to_stop() const {
  if (several_gpus_ && !all_gpus_lost(run_.target).empty())
    return Stop{StopReason::kInterrupted, true};
  if (run_.interrupted()) return Stop{StopReason::kInterrupted, true};
  if (time_is_up()) return Stop{StopReason::kBudget, true};
  // A modelled search awaits what is in flight, so that it repeats exactly.
  if (roof_reached()) return Stop{StopReason::kRoof, !run_.modelled()};
  if (patience_is_over()) return Stop{StopReason::kPatience, false};
  if (exhausted() && !llm_.pending()) return Stop{StopReason::kExhausted, false};
  return std::nullopt;
}

/// Nothing new for long, and nothing in flight that may bring some.
bool Exploration::exhausted() const {
  return run_.findings.fruitless() >= kExhaustedAfter && run_.findings.nothing_in_flight();
}

/// Of the memory: the arithmetic bounds nothing for sure, as it is the task's own count.
bool Exploration::roof_reached() const {
  const double best_us = run_.findings.best().time_us();
  const Roof& roof = run_.outcome.roof;
  return best_us > 0 && roof.memory_bound && roof.time_us >= kRoofReached * best_us;
}

bool Exploration::patience_is_over() const {
  const SearchSettings& settings = run_.options.settings;
  const Budget& budget = settings.budget;
  if (settings.patience >= 100) return false;
  const double part = 0.01 * settings.patience;
  const auto evaluated =
      static_cast<double>(run_.findings.counts.evaluated() - last_gain_.evaluated);
  const double elapsed_s = run_.clock.elapsed_s() - last_gain_.elapsed_s;
  return (budget.evaluations > 0 && evaluated >= part * static_cast<double>(budget.evaluations)) ||
         (budget.seconds > 0 && elapsed_s >= part * budget.seconds);
}

bool Exploration::time_is_up() const {
  if (run_.interrupted()) return true;
  const bool replaying = opening_.replay().going_on(run_.target.window);
  return !replaying && run_.clock.left_s(opening_.search_end()) <= 0;
}

bool Exploration::evaluations_spent() const {
  const std::int64_t budget = run_.options.settings.budget.evaluations;
  // What the time model leaves out is no evaluation: more is asked as that turns out.
  return budget > 0 && asked_to_evaluate_ + static_cast<std::int64_t>(proposer_.pending()) -
                               run_.findings.counts.screened - run_.findings.refused_later() >=
                           budget;
}

/// An error of the queue or of rewriting is then no answer.
bool Exploration::cancelling() const {
  return opening_.rewriting_ended() || (stop_ && stop_->at_once);
}

/// Fills the window: exactly one is told for one asked once it is full.
void Exploration::ask() {
  while (true) {
    while (may_ask() && proposer_.ask()) continue;
    auto proposed = proposer_.take();
    if (!proposed) return;
    take(std::move(*proposed));
  }
}

bool Exploration::may_ask() const {
  if (stop_ || window_.size() + proposer_.pending() >= window_size()) return false;
  // What is in flight may bring something new.
  const Findings& findings = run_.findings;
  const bool waits_for_news =
      findings.fruitless() >= kExhaustedAfter && !findings.nothing_in_flight();
  return !waits_for_news && !time_is_up() && !evaluations_spent();
}

/// On a GPU smaller while what the strategy sends ahead is out: that is compiled sooner if nothing
/// else is. Where measuring is dear, until one of them is better than the reference.
std::size_t Exploration::window_size() const {
  const std::size_t pioneers = opening_.strategy().pioneers();
  const bool slow = run_.clock.plan.reference_is_slow();
  const bool out =
      slow ? run_.findings.best().empty() : finished_ < static_cast<std::int64_t>(pioneers);
  if (run_.modelled()) return run_.target.window;
  const bool waits =
      pioneers > 0 && out && seconds_since(start_) < (slow ? kSlowPioneers_s : kPioneers_s);
  return waits ? std::min(pioneers, run_.target.window) : limit_.now();
}

void Exploration::take(Proposed proposed) {
  if (opening_.rewriting_ended()) return;
  window_.push_back(candidate_of(std::move(proposed)));
  const Candidate& candidate = window_.back();
  const bool remembered = candidate.is(State::kRemembered);
  opening_.replay().asked(remembered);
  if (remembered) run_.clock.restart();
  if (candidate.is(State::kEvaluating)) {
    evaluate(candidate);
  } else {
    count_pioneer(candidate);
  }
  if (remembered || candidate.is(State::kEvaluating)) ++asked_to_evaluate_;
}

Candidate Exploration::candidate_of(Proposed proposed) {
  Candidate candidate;
  candidate.id = run_.next_id++;
  candidate.order = proposed.order;
  candidate.recipe = std::move(proposed.recipe);
  ++run_.findings.counts.proposed;
  if (!proposed.rewritten) {
    candidate.state = State::kRefused;
    candidate.evaluation.verdict = Verdict::kRefused;
    candidate.evaluation.detail = proposed.rewritten.error().message;
    return candidate;
  }
  CandidateRecord& record = candidate.record;
  record.program_hash = std::move(proposed.rewritten->hash);
  if (run_.findings.known(record.program_hash) || run_.findings.in_flight(record.program_hash)) {
    candidate.state = State::kRepeated;
    return candidate;
  }
  candidate.seed = run_.random.bits();
  record.task_hash = admission_.task_hash();
  record.task_name = admission_.task().name;
  record.program = std::move(proposed.rewritten->program);
  record.recipe = candidate.recipe;
  record.origin = origin_of(record.recipe);
  run_.findings.begin(candidate);
  const Evaluation* const earlier = opening_.replay().find(candidate.hash());
  candidate.state = earlier != nullptr ? State::kRemembered : State::kEvaluating;
  if (earlier != nullptr) candidate.evaluation = *earlier;
  return candidate;
}

/// Hands it to those who rewrite it at the check sizes and then to the queue.
void Exploration::evaluate(const Candidate& candidate) {
  Draft draft{.id = candidate.id,
              .recipe = candidate.record.recipe,
              .program = candidate.record.program,
              .seed = candidate.seed,
              .order = candidate.order};
  // No rule vouches for the user's own values of tunables, nor for what a model wrote.
  draft.measure_first =
      !run_.modelled() && !has_tunables(draft.recipe) && !has_model_step(draft.recipe);
  draft.edits_as_timed = run_.modelled();
  draft.best_time_us = run_.findings.time_to_beat_us();
  draft.known_times = timed_.times();
  if (run_.options.settings.prescreen && !run_.modelled()) {
    const double above = run_.findings.prescreen.threshold_us(draft.best_time_us);
    draft.screen_above_us = above > 0 ? above : std::numeric_limits<double>::infinity();
  }
  feeder_.add(std::move(draft));
}

void Exploration::tell_or_wait() {
  const auto ready = opening_.telling().next(
      window_, [this](const Candidate& candidate) { return is_ready(candidate); });
  if (ready == window_.end()) {
    receive(kLooks);
    return;
  }
  tell(*ready);
  window_.erase(ready);
}

/// One that repeats a program in flight is told after that.
bool Exploration::is_ready(const Candidate& candidate) const {
  if (candidate.is(State::kRepeated)) return !run_.findings.in_flight(candidate.hash());
  return !candidate.is(State::kEvaluating);
}

void Exploration::tell(const Candidate& candidate) {
  if (candidate.is(State::kCancelled)) {
    run_.findings.forget(candidate);
    return;
  }
  const double best_us = run_.findings.best().time_us();
  timed_.learn(candidate);
  admission_.learn_roof(candidate.evaluation.measurement);
  opening_.teller().tell(candidate);
  if (run_.findings.best().time_us() != best_us) {
    run_.clock.plan.compiled(candidate.evaluation.gates.compile);
    run_.clock.plan.checked(candidate.evaluation.gates.check);
    last_gain_ = {run_.findings.counts.evaluated(), run_.clock.elapsed_s()};
  }
  const bool crashed = candidate.is(State::kEvaluated) && !candidate.evaluation.screened &&
                       candidate.evaluation.verdict == Verdict::kCrash;
  if (run_.options.job.empty() || !crashed) return;
  if (crashed_.size() >= kMostCrashed) crashed_.erase(crashed_.begin());
  crashed_[candidate.id] = candidate;
}

/// Takes one answer of the queue. False: there was none.
bool Exploration::receive(milliseconds timeout) {
  auto done = run_.target.queue.next_result(timeout);
  if (!done) return false;
  const auto candidate = std::ranges::find(window_, done->id, &Candidate::id);
  if (candidate == window_.end()) {
    hear_again(std::move(*done));
    return true;
  }
  candidate->answer(std::move(done->evaluation), cancelling());
  timed_.complete(candidate->evaluation, run_.journal);
  if (candidate->is(State::kEvaluated)) limit_.evaluated(candidate->evaluation.gates);
  run_.clock.plan.searched(seconds_since(start_), ++finished_);
  count_pioneer(*candidate);
  return true;
}

/// It has an answer, or needs none.
void Exploration::count_pioneer(const Candidate& candidate) {
  if (candidate.order >= opening_.strategy().pioneers() || pioneers_left_ == 0) return;
  if (--pioneers_left_ == 0) run_.clock.plan.pioneers_answered();
}

/// An answer to what was told as a crash: put back meanwhile, what it says now counts instead.
void Exploration::hear_again(Done done) {
  const auto crashed = crashed_.find(done.id);
  if (crashed == crashed_.end() || !done.evaluation) return;
  Candidate candidate = std::move(crashed->second);
  crashed_.erase(crashed);
  run_.findings.take_back_crash();
  candidate.evaluation = std::move(*done.evaluation);
  tell(candidate);
}

void Exploration::end() {
  run_.outcome.stop_reason = stop_->reason;
  Pace& pace = run_.outcome.pace;
  pace.search_s = seconds_since(start_);
  // Nobody waits for an answer that is dropped.
  if (stop_->at_once) run_.rewriting.cancel();
  proposer_.stop();
  pace.propose_s = proposer_.seconds();
  pace.evaluated = run_.findings.counts.evaluated();
  pace.gpus = since(gpus_before_, uses_of(run_.target));
  run_.target.queue.cancel();
  feeder_.stop();
  if (stop_->at_once) run_.rewriting.resume();
  run_.target.queue.resume();
  while (receive(milliseconds(0))) continue;
  tell_the_rest();
  llm_.close();
}

/// What was evaluated by the end; the rest counts for nothing.
void Exploration::tell_the_rest() {
  for (const Candidate& candidate : window_) {
    if (is_ready(candidate) && !candidate.is(State::kCancelled)) {
      tell(candidate);
    } else {
      --run_.findings.counts.proposed;
    }
  }
}

}  // namespace hone::search
