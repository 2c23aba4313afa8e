#include "engine/search/phases/admission.h"

#include <fmt/core.h>

#include <algorithm>
#include <future>
#include <sstream>
#include <stop_token>
#include <thread>
#include <utility>

#include "engine/rewriting/watch.h"
#include "engine/search/strategy/moves.h"

namespace hone::search {
namespace {

constexpr double kMore = 1.000001;  // than rounding
/// Of the first reading, at least: children are started for it.
constexpr double kFirstReading_s = 10;
/// Until so long after it began an admission waits for the lift to be checked: a source may be slow
/// to lift.
constexpr double kLiftCheck_s = 5;

/// Makes what a search begins with, which its space then knows, and has it compiled, until it is
/// destroyed. `ahead`: null: nothing is compiled.
class Preparing {
 public:
  Preparing(SearchRun& run, Space& space, CompilingAhead* ahead, double limit_s)
      : ahead_(ahead),
        watch_(run.rewriting, run.options.stop, limit_s),
        thread_([&space, ahead](const std::stop_token& ended) {
          const FirstRecipes first = first_recipes(space);
          for (std::size_t i = 0; i < first.with_start && !ended.stop_requested(); ++i) {
            const auto rewritten = space.rewritten(first.recipes[i]);
            if (rewritten && ahead != nullptr) ahead->add(rewritten->program, first.recipes[i]);
          }
        }) {}
  /// It ends soon.
  void give_up() {
    if (ahead_ != nullptr) ahead_->begin_nothing_more();
    watch_.fire();
  }

 private:
  CompilingAhead* const ahead_;
  RewritingWatch watch_;
  std::jthread thread_;
};

}  // namespace

Admission::Admission(SearchRun& run, Surveys surveys)
    : run_(run),
      task_(run.task),
      task_hash_(run.task.hash()),
      costs_(run.task, asking_for(std::move(surveys))) {}

CheckCosts::Ask Admission::asking_for(Surveys surveys) const {
  if (!surveys) return {};
  return [surveys = std::move(surveys), stopping = unreadable_.get_token()](
             const std::vector<ConcreteProgram>& programs) { return surveys(programs, stopping); };
}

Result<void> Admission::admit() {
  run_.report(Phase::kAdmit);
  // Children are started for both, and each takes a part of a second.
  auto opening = std::async(std::launch::async, [this] { return open_builder(); });
  const auto readable = read();
  if (!readable) unreadable_.request_stop();
  auto opened = opening.get();
  if (!readable) return readable;
  if (!opened) return std::unexpected(opened.error());
  for (std::string& line : *opened) run_.outcome.warnings.push_back(std::move(line));
  if (auto evaluated = evaluate_reference(); !evaluated) return evaluated;
  run_.journal.begin_run(run_.task, task_hash_);
  auto earlier = run_.journal.earlier_results();
  if (!earlier) return std::unexpected(earlier.error());
  earlier_ = std::move(*earlier);
  run_.findings.know_reference(reference_hash_, run_.outcome.reference_time_us);
  return {};
}

/// The first look at the source.
Result<void> Admission::read() {
  const SearchClock& clock = run_.clock;
  const RewritingWatch watch(run_.rewriting, run_.options.stop,
                             std::max(clock.left_s(clock.plan.admission_end()), kFirstReading_s));
  const auto given_up = [&](const Error& error) {
    if (!watch.fired() || is_lasting(error)) return error;
    return Error{error.code, run_.interrupted() ? "interrupted while the task was read"
                                                : "the task was not read within the budget"};
  };
  if (auto valid = run_.rewriting.validate(task_.reference, task_.source_path); !valid) {
    if (valid.error().code != ErrorCode::kRefused) return std::unexpected(given_up(valid.error()));
    run_.outcome.warnings.push_back(valid.error().message);
  }
  auto hash = run_.rewriting.hash(task_.reference, task_.source_path);
  if (!hash) return std::unexpected(given_up(hash.error()));
  reference_hash_ = std::move(*hash);
  return {};
}

Result<std::vector<std::string>> Admission::open_builder() {
  task_.check_sizes = affordable_check_sizes(run_.task, costs_);
  auto warnings = slow_check_sizes(task_, costs_);
  auto builder = RequestBuilder::make(
      run_.rewriting, task_, target_limits(run_.target.info.arch), left_out(run_.options.settings),
      {.sizes = secret_bits(),
       .inputs = run_.modelled() ? run_.random.bits() : secret_bits(),
       .places = secret_bits()},
      &costs_);
  if (!builder) return std::unexpected(builder.error());
  builder_ = std::move(*builder);
  return warnings;
}

Result<void> Admission::evaluate_reference() {
  auto request = builder_->for_program(task_.reference, run_.random.bits());
  if (!request) return std::unexpected(request.error());
  const LiftChecking lift(run_.rewriting, builder_->space().context(), task_.reference, *request,
                          kLiftCheck_s);
  SearchClock& clock = run_.clock;
  const auto is_over = [&] { return clock.left_s(clock.plan.admission_end()) <= 0; };
  const auto start = Clock::now();
  double admission_s = 0;
  const auto admitted = [&] {
    if (run_.target.compile_ahead) ahead_.emplace(*builder_, run_.target.compile_ahead);
    Preparing meanwhile(run_, builder_->space(), ahead_ ? &*ahead_ : nullptr,
                        clock.left_s(clock.plan.admission_end()));
    auto answer =
        evaluate_and_wait(run_.target.queue, {run_.next_id++, *request, Work::Kind::kAdmit},
                          [&] { return clock.abandoned() || is_over(); });
    admission_s = seconds_since(start);
    if (!answer || answer->verdict != Verdict::kOk) meanwhile.give_up();
    return answer;
  }();
  if (ahead_) ahead_->begin_nothing_more();  // the search compiles in its own order
  if (!admitted)
    return std::unexpected(
        with_place(is_over() ? not_in_time(admitted.error()) : admitted.error(), task_));
  if (admitted->verdict != Verdict::kOk) {
    return std::unexpected(with_place(
        {ErrorCode::kTaskFailed, fmt::format("the reference is not admitted: {}: {}",
                                             to_string(admitted->verdict), admitted->detail)},
        task_));
  }
  std::istringstream notes(admitted->note);
  for (std::string line; std::getline(notes, line);) run_.outcome.warnings.push_back(line);
  judge(lift.judged(*admitted));
  run_.outcome.reference_time_us = admitted->measurement.time_us;
  clock.plan.admitted(admitted->measurement.time_us, admission_s, clock.elapsed_s());
  reference_tried_ = llm::tried_reference(*admitted, run_.modelled());
  request_ = std::move(*request);
  set_roof(admitted->measurement);
  return {};
}

/// As the evaluator saw it, which knows what must be read.
void Admission::set_roof(const Measurement& measurement) {
  const DeviceInfo& info = run_.target.info;
  Roof& roof = run_.outcome.roof;
  roof = roof_of(request_.timed.reference, request_.flops, task_.math, info);
  roof.time_us = measurement.roof_fraction * measurement.time_us;
  DeviceInfo arithmetic = info;
  arithmetic.ceilings.dram_bytes_per_s = 0;
  const double arithmetic_us =
      roof_of(request_.timed.reference, request_.flops, task_.math, arithmetic).time_us;
  roof.memory_bound = roof.time_us > kMore * arithmetic_us;
  if (roof.memory_bound) roof.bytes = roof.time_us * 1e-6 * info.ceilings.dram_bytes_per_s;
}

void Admission::learn_roof(const Measurement& measurement) {
  if (run_.outcome.roof.time_us <= 0 && measurement.roof_fraction > 0) set_roof(measurement);
}

/// Generators write what the lift says: they are not asked where that is not what the task's
/// kernels do.
void Admission::judge(const LiftCheck& lift) {
  if (lift.differs.empty()) return;
  run_.outcome.warnings.push_back(lift.text() + "; generators are not asked");
  for (std::string& name : names_of_generators()) builder_->space().disable(std::move(name));
}

Error Admission::not_in_time(const Error& last) const {
  const auto& warnings = run_.outcome.warnings;
  return {ErrorCode::kTaskFailed,
          fmt::format("the reference was not admitted within the budget of {:.0f} s: {}{}; give a "
                      "larger --budget, smaller \"check_sizes\" or smaller \"sizes\"",
                      run_.options.settings.budget.seconds, last.message,
                      warnings.empty() ? "" : "; " + warnings.back())};
}

CandidateRecord Admission::reference() const {
  CandidateRecord reference;
  reference.program_hash = reference_hash_;
  reference.task_hash = task_hash_;
  reference.task_name = task_.name;
  reference.program = task_.reference;
  reference.origin = "reference";
  return reference;
}

}  // namespace hone::search
