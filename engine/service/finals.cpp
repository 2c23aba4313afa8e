#include "engine/service/finals.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/rewriting/watch.h"

namespace hone {
namespace {

/// For rewriting the finalists at all sizes, at most; less when the user waits.
constexpr double kRewriting_s = 10;
constexpr double kHurriedRewriting_s = 2;
constexpr int kWhenHurried = 2;

struct Entry {
  CandidateRecord candidate;
  Result<EvaluationRequest> request;
  std::optional<Evaluation> evaluation;  ///< none: there was none to be had

  [[nodiscard]] std::string name() const { return candidate.program_hash.substr(0, 12); }
};

void settle(const FinalStage& stage, Entry& entry, Result<Evaluation> evaluation) {
  if (!evaluation) {
    stage.warn(fmt::format("final stage of {}: {}", entry.name(), evaluation.error().message));
    return;
  }
  evaluation->final_stage = true;
  stage.store(entry.candidate, *evaluation);
  if (evaluation->verdict != Verdict::kOk)
    stage.warn(fmt::format("finalist {} failed on fresh inputs: {} ({})", entry.candidate.id,
                           to_string(evaluation->verdict), evaluation->detail));
  entry.evaluation = std::move(*evaluation);
}

/// False: given up.
bool have_timed(const FinalStage& stage, std::vector<Entry>& entries) {
  SearchQueue& queue = stage.target.queue;
  std::unordered_map<std::uint64_t, Entry*> in_flight;
  auto next = entries.begin();
  while (next != entries.end() || !in_flight.empty()) {
    if (stage.given_up()) {
      queue.cancel();
      while (queue.next_result(std::chrono::milliseconds(0))) continue;
      queue.resume();
      return false;
    }
    if (next != entries.end() && in_flight.size() < stage.target.devices) {
      stage.report();
      keep_secret(*next->request, stage.target.device.modelled());
      const std::uint64_t id = stage.next_id++;
      if (queue.submit({id, std::move(*next->request)})) {
        in_flight[id] = &*next;
      } else {
        settle(stage, *next, fail(ErrorCode::kInfrastructure, "the queue takes no work"));
      }
      ++next;
      continue;
    }
    auto done = queue.next_result(std::chrono::milliseconds(50));
    if (!done) continue;
    const auto found = in_flight.find(done->id);
    if (found == in_flight.end()) continue;
    settle(stage, *found->second, std::move(done->evaluation));
    in_flight.erase(found);
  }
  return true;
}

}  // namespace

std::vector<Finalist> time_finalists(const FinalStage& stage,
                                     std::vector<CandidateRecord> finalists,
                                     std::optional<CandidateRecord> reference, int wanted) {
  const RewritingWatch watch(stage.rewriting, stage.hurry ? nullptr : stage.stop,
                             stage.hurry ? kHurriedRewriting_s : kRewriting_s);
  if (stage.hurry) wanted = std::min(wanted, kWhenHurried);
  if (finalists.size() > static_cast<std::size_t>(wanted))
    finalists.resize(static_cast<std::size_t>(wanted));
  std::vector<Entry> entries;
  const auto add = [&](CandidateRecord candidate, Result<EvaluationRequest> request) {
    Entry entry{std::move(candidate), std::move(request), std::nullopt};
    if (entry.request) {
      entries.push_back(std::move(entry));
    } else if (is_lasting(entry.request.error()) && stage.with_refused) {
      Evaluation refused;
      refused.verdict = Verdict::kRefused;
      refused.detail = entry.request.error().message;
      refused.final_stage = true;
      stage.store(entry.candidate, refused);
      stage.warn(fmt::format("finalist {} is refused: {}", entry.name(), refused.detail));
    } else if (!is_lasting(entry.request.error())) {
      stage.warn(
          fmt::format("finalist {} was left out: there was no time to rewrite it for every size",
                      entry.name()));
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
    add(std::move(*reference), std::move(request));
  }

  if (!have_timed(stage, entries)) return {};
  std::vector<Finalist> ranked;
  for (Entry& entry : entries)
    if (entry.evaluation && entry.evaluation->verdict == Verdict::kOk)
      ranked.push_back({std::move(entry.candidate), std::move(*entry.evaluation)});
  std::ranges::stable_sort(ranked, [](const Finalist& a, const Finalist& b) {
    return a.evaluation.measurement.speedup > b.evaluation.measurement.speedup;
  });
  return ranked;
}

}  // namespace hone
