#include "engine/search/finals/finals.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

#include "engine/rewriting/watch.h"
#include "engine/search/finals/agreement.h"
#include "engine/search/finals/contenders.h"

namespace hone {
namespace {

/// For rewriting the finalists at all sizes, at most; less when the user waits.
constexpr double kRewriting_s = 10;
constexpr double kHurriedRewriting_s = 2;
constexpr int kWhenHurried = 2;

/// Workers that one program may be given to: after that it is its own fault.
constexpr int kMostAsked = 8;
constexpr std::size_t kWitnesses = 2;  // that must agree, where there are so many
constexpr std::size_t kMostReports = 3;

struct Entry {
  CandidateRecord candidate;
  Result<EvaluationRequest> request;
  std::map<std::uint64_t, std::string> asked = {};  ///< worker by id of the work; empty: any
  std::vector<Report> reports = {};
  std::map<std::string, Error> failed = {};  ///< workers that had no usable answer
  int times_asked = 0;
  bool settled = false;
  bool is_reference = false;
  bool late = false;                          ///< the time was over
  std::optional<Evaluation> evaluation = {};  ///< none: there was none to be had
  std::string why_none = {};                  ///< and it was not late

  [[nodiscard]] std::string name() const { return candidate.program_hash.substr(0, 12); }
};

/// Has every entry timed: by two workers that agree where the target has more than one, a third one
/// deciding where they do not.
class Timing {
 public:
  Timing(const FinalStage& stage, std::vector<Entry>& entries) : stage_(stage), entries_(entries) {
    for (Entry& entry : entries) keep_secret(*entry.request, stage.target.device.modelled());
  }
  /// False: given up.
  bool run();

 private:
  void look();
  void advance(Entry& entry);
  void ask(Entry& entry, const std::string& worker);
  void hear(Done done);
  [[nodiscard]] const TargetWorker* least_busy(const std::set<std::string>& of) const;
  [[nodiscard]] std::size_t load(const std::string& worker) const;
  void settle(Entry& entry, std::size_t report);
  void settle_alone(Entry& entry);
  void settle_without(Entry& entry, const std::string& why);
  [[nodiscard]] bool time_is_over() const;
  void end_work();
  void out_of_time();

  const FinalStage& stage_;
  std::vector<Entry>& entries_;
  std::map<std::string, TargetWorker> workers_;  ///< by id, now
  std::set<std::string> seen_;                   ///< ids, ever
};

bool Timing::run() {
  SearchQueue& queue = stage_.target.queue;
  while (!std::ranges::all_of(entries_, &Entry::settled)) {
    if (stage_.given_up()) {
      end_work();
      return false;
    }
    if (time_is_over()) {
      out_of_time();
      return true;
    }
    look();
    for (Entry& entry : entries_)
      if (!entry.settled) advance(entry);
    if (auto done = queue.next_result(std::chrono::milliseconds(50))) hear(std::move(*done));
  }
  return true;
}

bool Timing::time_is_over() const {
  const auto ok = [](const Entry& entry) {
    return entry.evaluation && entry.evaluation->verdict == Verdict::kOk;
  };
  // The reference's own time is nothing that anybody waited for.
  const bool any = std::ranges::any_of(
      entries_, [&](const Entry& entry) { return ok(entry) && !entry.is_reference; });
  if (stage_.left_s && stage_.left_s() + (any ? 0 : stage_.for_the_first_s) <= 0) return true;
  // The best is the first, and the reference the second.
  return stage_.enough && stage_.enough() &&
         std::ranges::all_of(entries_ | std::views::take(2), ok);
}

/// Nothing is in flight afterwards.
void Timing::end_work() {
  SearchQueue& queue = stage_.target.queue;
  queue.cancel();
  while (queue.next_result(std::chrono::milliseconds(0))) continue;
  queue.resume();
}

void Timing::out_of_time() {
  // A report that is there already counts.
  while (auto done = stage_.target.queue.next_result(std::chrono::milliseconds(0)))
    hear(std::move(*done));
  for (Entry& entry : entries_)
    if (!entry.settled && entry.reports.size() == 1) settle_alone(entry);
  end_work();
  std::string names;
  for (Entry& entry : entries_) {
    if (entry.settled) continue;
    names += (names.empty() ? "" : ", ") + entry.name();
    entry.settled = entry.late = true;
    Evaluation evaluation;
    evaluation.verdict = Verdict::kTimeout;
    evaluation.final_stage = true;
    evaluation.detail = entry.times_asked > 0
                            ? "its final stage had not ended when the budget was spent"
                            : "the budget was spent before its final stage could begin";
    stage_.store(entry.candidate, evaluation);
  }
  if (names.empty()) return;
  stage_.warn(
      fmt::format("not timed again when the budget was spent: {}; a larger --budget has time for "
                  "more finalists",
                  names));
}

void Timing::look() {
  workers_.clear();
  if (!stage_.target.workers) return;
  for (TargetWorker& worker : stage_.target.workers()) {
    seen_.insert(worker.id);
    workers_[worker.id] = std::move(worker);
  }
}

/// Asks whom it takes, or settles.
void Timing::advance(Entry& entry) {
  if (const auto report = believed(entry.reports)) {
    settle(entry, *report);
    return;
  }
  std::set<std::string> others;  // that may still be asked
  for (const auto& [id, worker] : workers_)
    if (!entry.failed.contains(id)) others.insert(id);
  for (const Report& report : entry.reports) others.erase(report.worker);
  std::size_t pending = 0;
  for (const auto& [id, worker] : entry.asked) {
    others.erase(worker);
    if (worker.empty() || workers_.contains(worker)) ++pending;
  }
  const bool nobody_said_anything = entry.reports.empty() && entry.failed.empty();
  if (pending == 0 && nobody_said_anything && workers_.size() < kWitnesses &&
      entry.times_asked < kMostAsked) {
    if (load("") < stage_.target.devices) ask(entry, "");
    return;
  }
  if (std::ranges::any_of(entry.asked, [](const auto& item) { return item.second.empty(); }))
    return;  // who will it be?
  if (entry.reports.size() >= kMostReports || entry.times_asked >= kMostAsked) others.clear();
  const std::size_t wanted = entry.reports.size() < kWitnesses ? kWitnesses : kMostReports;
  while (entry.reports.size() + pending < wanted) {
    const TargetWorker* worker = least_busy(others);
    if (worker == nullptr) break;
    ask(entry, worker->id);
    if (entry.settled) return;
    others.erase(worker->id);
    ++pending;
  }
  if (pending > 0 || !others.empty()) return;
  if (entry.reports.size() == 1) {
    settle_alone(entry);
  } else if (entry.reports.empty()) {
    settle_without(entry, entry.failed.empty() ? "every worker that took it fell silent"
                                               : entry.failed.begin()->second.message);
  } else {
    std::string said;
    for (const Report& report : entry.reports)
      said += fmt::format("{}worker {} reports {}", said.empty() ? "" : ", ", report.worker,
                          what_it_says(report.evaluation));
    settle_without(entry, said + "; no two agree, so none is believed");
  }
}

std::size_t Timing::load(const std::string& worker) const {
  std::size_t count = 0;
  for (const Entry& entry : entries_)
    for (const auto& [id, asked] : entry.asked) count += asked == worker;
  return count;
}

/// Null: none has a free device.
const TargetWorker* Timing::least_busy(const std::set<std::string>& of) const {
  const TargetWorker* best = nullptr;
  for (const std::string& id : of) {
    const TargetWorker& worker = workers_.at(id);
    if (!worker.there || load(id) >= worker.devices) continue;
    if (best == nullptr || worker.devices - load(id) > best->devices - load(best->id))
      best = &worker;
  }
  return best;
}

void Timing::ask(Entry& entry, const std::string& worker) {
  stage_.report();
  ++entry.times_asked;
  Work work{stage_.next_id++, *entry.request};
  work.worker = worker;
  const std::uint64_t id = work.id;
  if (stage_.target.queue.submit(std::move(work))) {
    entry.asked[id] = worker;
  } else {
    settle_without(entry, "the queue takes no work");
  }
}

void Timing::hear(Done done) {
  for (Entry& entry : entries_) {
    const auto asked = entry.asked.find(done.id);
    if (asked == entry.asked.end()) continue;
    const std::string worker = asked->second.empty() ? done.worker : asked->second;
    entry.asked.erase(asked);
    if (entry.settled) return;
    if (!done.evaluation) {
      entry.failed.emplace(worker, done.evaluation.error());
      if (worker.empty()) settle_without(entry, done.evaluation.error().message);
      return;
    }
    done.evaluation->final_stage = true;
    entry.reports.push_back({worker, std::move(*done.evaluation)});
    return;
  }
}

void Timing::settle(Entry& entry, std::size_t report) {
  const Evaluation& evaluation = entry.reports[report].evaluation;
  const auto agrees = [&](const Report& other) { return agree(other.evaluation, evaluation); };
  std::string believed;
  for (const Report& other : entry.reports)
    if (agrees(other)) believed += (believed.empty() ? "" : " and ") + other.worker;
  for (const Report& other : entry.reports) {
    if (agrees(other) || !stage_.target.report_disagreement) continue;
    stage_.target.report_disagreement(
        other.worker, fmt::format("final stage of {}: worker {} reports {} where {} report {}",
                                  entry.name(), other.worker, what_it_says(other.evaluation),
                                  believed, what_it_says(evaluation)));
  }
  entry.settled = true;
  entry.evaluation = evaluation;
  stage_.store(entry.candidate, *entry.evaluation);
  if (evaluation.verdict == Verdict::kOk) return;
  stage_.warn(fmt::format("finalist {} {}: {}", entry.candidate.id,
                          is_unknown(evaluation.verdict) ? "could not be checked within the limits"
                                                         : "failed on fresh inputs",
                          what_it_says(evaluation)));
}

/// There is nobody else to ask.
void Timing::settle_alone(Entry& entry) {
  auto& [worker, evaluation] = entry.reports.front();
  if (seen_.size() > 1 || !entry.failed.empty()) {
    const std::string why = fmt::format("nobody but worker {} could time it", worker);
    evaluation.note += (evaluation.note.empty() ? "" : "; ") + why;
    stage_.warn(fmt::format("final stage of {}: {}", entry.name(), why));
  }
  settle(entry, 0);
}

void Timing::settle_without(Entry& entry, const std::string& why) {
  entry.settled = true;
  entry.why_none = why;
  stage_.warn(fmt::format("final stage of {}: {}", entry.name(), why));
}

/// An entry that could not be made at every size.
void leave_out(const FinalStage& stage, Entry& entry, FinalEnds& ends) {
  const Error& error = entry.request.error();
  const bool late = !is_lasting(error);
  if (!entry.is_reference) ends.note_unchecked(error.message);
  if (late) {
    stage.warn(fmt::format(
        "finalist {} was left out: there was no time to rewrite it for every size", entry.name()));
  } else if (stage.with_refused) {
    Evaluation refused;
    refused.verdict = Verdict::kRefused;
    refused.detail = error.message;
    refused.final_stage = true;
    stage.store(entry.candidate, refused);
    stage.warn(fmt::format("finalist {} is refused: {}", entry.name(), refused.detail));
  }
}

void note(FinalEnds& ends, const Entry& entry) {
  if (entry.is_reference) return;
  if (entry.late) {
    ++ends.late;
  } else if (!entry.evaluation) {
    ends.note_unchecked(entry.why_none);
  } else if (entry.evaluation->verdict != Verdict::kOk) {
    ends.note(*entry.evaluation);
  }
}

/// Of those that passed, in their order.
void note_passed(FinalEnds& ends, const std::vector<Finalist>& ranked) {
  bool behind = false;  // the reference
  for (const Finalist& finalist : ranked) {
    if (finalist.candidate.recipe.empty()) {
      behind = true;
    } else if (behind || finalist.evaluation.measurement.speedup <= 1) {
      ++ends.no_faster;
    } else {
      ++ends.faster;
    }
  }
}

}  // namespace

Finals time_finalists(const FinalStage& stage, std::vector<CandidateRecord> finalists,
                      std::optional<CandidateRecord> reference, int wanted) {
  double rewriting_s = stage.hurry ? kHurriedRewriting_s : kRewriting_s;
  if (stage.left_s) rewriting_s = std::clamp(stage.left_s(), 0.0, rewriting_s);
  const RewritingWatch watch(stage.rewriting, stage.hurry ? nullptr : stage.stop, rewriting_s);
  if (stage.hurry) wanted = std::min(wanted, kWhenHurried);
  if (finalists.size() > static_cast<std::size_t>(wanted))
    finalists.resize(static_cast<std::size_t>(wanted));
  FinalEnds ends;
  std::vector<Entry> entries;
  const auto add = [&](CandidateRecord candidate, Result<EvaluationRequest> request,
                       bool is_reference = false) {
    Entry entry{std::move(candidate), std::move(request)};
    entry.is_reference = is_reference;
    if (entry.request) {
      entries.push_back(std::move(entry));
    } else {
      leave_out(stage, entry, ends);
    }
  };
  for (CandidateRecord& candidate : finalists) {
    auto request = stage.builder.for_rewritten(candidate.program, candidate.recipe,
                                               stage.random.bits(), Stage::kFinal);
    add(std::move(candidate), std::move(request));
  }
  if (reference) {
    auto request =
        stage.builder.for_program(reference->program, stage.random.bits(), Stage::kFinal);
    add(std::move(*reference), std::move(request), true);
    // After the best, which it is compared with: the time may not be enough for all.
    if (entries.size() > 2) std::rotate(entries.begin() + 1, entries.end() - 1, entries.end());
  }

  if (!Timing(stage, entries).run()) return {};
  std::vector<Finalist> ranked;
  for (const Entry& entry : entries) note(ends, entry);
  for (Entry& entry : entries)
    if (entry.evaluation && entry.evaluation->verdict == Verdict::kOk)
      ranked.push_back({std::move(entry.candidate), std::move(*entry.evaluation)});
  // Equal ones as a board has them.
  std::ranges::stable_sort(ranked, {}, [](const Finalist& finalist) {
    const Measurement& measurement = finalist.evaluation.measurement;
    return std::tuple(-measurement.speedup, measurement.time_us, finalist.candidate.recipe.size(),
                      most_registers(finalist.evaluation), finalist.candidate.id);
  });
  note_passed(ends, ranked);
  return {std::move(ranked), std::move(ends)};
}

}  // namespace hone
