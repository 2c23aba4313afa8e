#include "engine/search/phases/timed_codes.h"

#include <fmt/core.h>

#include <algorithm>

namespace hone::search {
namespace {

/// One part of so many may be missing of the times that requests have.
constexpr std::size_t kOld = 16;

}  // namespace

std::shared_ptr<const KnownTimes> TimedCodes::times() {
  // Each request in flight has one: not a new one for every code.
  if (times_ == nullptr || firsts_.size() > times_->size() + times_->size() / kOld) {
    auto made = std::make_shared<KnownTimes>();
    for (const auto& [key, first] : firsts_) made->emplace(key, first.measurement.time_us);
    times_ = std::move(made);
  }
  return times_;
}

void TimedCodes::learn(const Candidate& candidate) {
  const Evaluation& evaluation = candidate.evaluation;
  const bool timed = candidate.is(Candidate::State::kEvaluated) &&
                     evaluation.verdict == Verdict::kOk && !evaluation.screened &&
                     !evaluation.timed_before && evaluation.measurement.time_us > 0;
  if (!timed || evaluation.timing_key.empty()) return;
  First first{.candidate = {},
              .measurement = evaluation.measurement,
              .note = evaluation.note,
              .max_rel_error = evaluation.max_rel_error,
              .reference_error = evaluation.reference_error};
  first.candidate.task_hash = candidate.record.task_hash;
  first.candidate.program_hash = candidate.record.program_hash;
  firsts_.emplace(evaluation.timing_key, std::move(first));
}

void TimedCodes::complete(Evaluation& evaluation, const Journal& journal) const {
  const auto found = firsts_.find(evaluation.timing_key);
  if (!evaluation.timed_before || found == firsts_.end()) return;
  const First& first = found->second;
  evaluation.measurement = first.measurement;
  evaluation.max_rel_error = std::max(evaluation.max_rel_error, first.max_rel_error);
  evaluation.reference_error = std::max(evaluation.reference_error, first.reference_error);
  // The first one's note counts for this one, too: that it was not compared at the timed size, say.
  for (const std::string& text :
       {first.note, fmt::format("timed as candidate {}, whose machine code is the same",
                                journal.id_of(first.candidate))})
    if (!text.empty()) evaluation.note += (evaluation.note.empty() ? "" : "; ") + text;
}

}  // namespace hone::search
