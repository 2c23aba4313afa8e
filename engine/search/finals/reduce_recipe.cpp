#include "engine/search/finals/reduce_recipe.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "rewriters/llm/model_steps.h"

namespace hone {
namespace {

/// Of a measured time in the quick stage: what a step must win to stay.
constexpr double kNoise = 0.01;
/// Of a modelled time, which depends a little on the blocks that are drawn.
constexpr double kModelledNoise = 0.002;
/// A program that the search found so much slower is not looked at again: on other inputs, or at
/// another moment, it would not be as fast either.
constexpr double kClearlySlower = 0.05;
/// A budget in evaluations over this is for the reduction.
constexpr std::int64_t kPartOfBudget = 4;

class Reducer {
 public:
  explicit Reducer(const ReductionStage& stage) : stage_(stage) {}

  /// Those that are still there afterwards, as they then are.
  std::vector<Contender> run(std::vector<Contender> contenders);

 private:
  /// A program and what became of it with the stage's seed.
  struct Trial {
    CandidateRecord candidate;
    std::optional<Evaluation> evaluation;
  };
  /// One of the contenders on its way down.
  struct Path {
    Contender now;
    double limit_us = 0;  ///< what it may cost
    bool done = false;
  };

  [[nodiscard]] bool out_of_time() const {
    return stage_.given_up() || std::chrono::steady_clock::now() >= stage_.deadline;
  }
  [[nodiscard]] bool spent() const { return evaluations_ >= stage_.most_evaluations; }
  [[nodiscard]] double allowance() const { return 1 + (stage_.modelled ? kModelledNoise : kNoise); }
  void try_all(const std::vector<std::string>& hashes);
  [[nodiscard]] Result<EvaluationRequest> request_for(const CandidateRecord& candidate) const;
  [[nodiscard]] Recipe without(const Recipe& recipe, std::size_t place) const;
  [[nodiscard]] std::vector<std::string> shorter_than(const Path& path);
  bool step(Path& path, const std::vector<std::string>& shorter);
  /// Null: it failed, or was not tried.
  [[nodiscard]] const Evaluation* passed(const std::string& hash) const;
  /// Tried, and found wrong; null: not.
  [[nodiscard]] const Evaluation* disproof(const std::string& hash) const;

  const ReductionStage& stage_;
  std::map<std::string, Trial> trials_;  ///< by program hash
  std::int64_t evaluations_ = 0;         ///< asked for until now
};

Result<EvaluationRequest> Reducer::request_for(const CandidateRecord& candidate) const {
  auto request =
      stage_.builder.for_rewritten(candidate.program, candidate.recipe, stage_.seed, Stage::kQuick);
  if (request && stage_.prescreen) request->screen_above_us = std::numeric_limits<double>::max();
  if (request && stage_.modelled && !stage_.builder.checks_edits_as_timed(candidate.recipe))
    return refused("an edit that no check runs as it is timed");
  return request;
}

void Reducer::try_all(const std::vector<std::string>& hashes) {
  SearchQueue& queue = stage_.target.queue;
  std::map<std::uint64_t, Trial*> pending;
  auto next = hashes.begin();
  while (next != hashes.end() || !pending.empty()) {
    if (out_of_time()) {
      queue.cancel();
      while (queue.next_result(std::chrono::milliseconds(0))) continue;
      queue.resume();
      return;
    }
    if (spent()) next = hashes.end();
    if (next != hashes.end() && pending.size() < std::max<std::size_t>(1, stage_.target.window)) {
      Trial& trial = trials_.at(*next++);
      if (trial.evaluation) continue;
      auto request = request_for(trial.candidate);
      if (!request) {
        trial.evaluation.emplace().verdict = Verdict::kRefused;
        continue;
      }
      ++evaluations_;
      const std::uint64_t id = stage_.next_id++;
      if (queue.submit({id, std::move(*request)})) pending[id] = &trial;
      continue;
    }
    stage_.report();
    auto done = queue.next_result(std::chrono::milliseconds(50));
    if (!done) continue;
    const auto asked = pending.find(done->id);
    if (asked == pending.end()) continue;
    if (done->evaluation) asked->second->evaluation = std::move(*done->evaluation);
    pending.erase(asked);
  }
}

/// `recipe` without the step at `place`. A later step that is refused then goes with it: a factor
/// of 2 in place of one of 4, say, changes nothing where nobody asked for 4.
Recipe Reducer::without(const Recipe& recipe, std::size_t place) const {
  Recipe shorter(recipe.begin(), recipe.begin() + static_cast<std::ptrdiff_t>(place));
  for (std::size_t later = place + 1; later < recipe.size(); ++later) {
    shorter.push_back(recipe[later]);
    if (!stage_.builder.space().replays(shorter)) shorter.pop_back();
  }
  return shorter;
}

/// Hashes of the programs without one of the steps, as far as they are legal and may be as fast.
std::vector<std::string> Reducer::shorter_than(const Path& path) {
  const Recipe& recipe = path.now.candidate.recipe;
  std::vector<std::string> hashes;
  for (std::size_t i = 0; recipe.size() > 1 && i < recipe.size(); ++i) {
    Recipe shorter = without(recipe, i);
    if (shorter.empty()) continue;
    auto made = stage_.builder.space().rewritten(shorter);
    if (!made) continue;
    const std::string hash = made->hash;
    const auto known = stage_.known(hash);
    if (known && (*known <= 0 || *known > path.limit_us * (1 + kClearlySlower))) continue;
    const auto tried = trials_.find(hash);
    if (tried == trials_.end() || shorter.size() < tried->second.candidate.recipe.size())
      trials_[hash].candidate =
          stage_.remake(path.now.candidate, std::move(shorter), std::move(*made));
    hashes.push_back(hash);
  }
  return hashes;
}

const Evaluation* Reducer::passed(const std::string& hash) const {
  const auto found = trials_.find(hash);
  if (found == trials_.end() || !found->second.evaluation) return nullptr;
  const Evaluation& evaluation = *found->second.evaluation;
  const bool ok = evaluation.verdict == Verdict::kOk && !evaluation.screened &&
                  !evaluation.outpaced && evaluation.measurement.time_us > 0;
  return ok ? &evaluation : nullptr;
}

const Evaluation* Reducer::disproof(const std::string& hash) const {
  const auto found = trials_.find(hash);
  if (found == trials_.end() || !found->second.evaluation) return nullptr;
  const Evaluation& evaluation = *found->second.evaluation;
  return evaluation.verdict == Verdict::kOk ? nullptr : &evaluation;
}

/// To the best of those without one step, if it costs nothing.
bool Reducer::step(Path& path, const std::vector<std::string>& shorter) {
  std::optional<Contender> best;
  for (const std::string& hash : shorter) {
    const Evaluation* evaluation = passed(hash);
    if (evaluation == nullptr) continue;
    Contender without = contender_of(trials_.at(hash).candidate, *evaluation);
    const bool same_code = !without.code_hash.empty() && without.code_hash == path.now.code_hash;
    if (!same_code && without.time_us > path.limit_us) continue;
    if (!best || goes_before(without, *best)) best = std::move(without);
  }
  if (!best) return false;
  path.now = std::move(*best);
  return true;
}

std::vector<Contender> Reducer::run(std::vector<Contender> contenders) {
  // All times of one seed: a task's inputs may decide how long it takes.
  std::vector<std::string> hashes;
  for (const Contender& contender : contenders) {
    const std::string& hash = contender.candidate.program_hash;
    trials_.try_emplace(hash, contender.candidate, std::nullopt);
    if (contender.candidate.recipe.size() > 1) hashes.push_back(hash);
  }
  try_all(hashes);
  std::vector<Path> paths;
  for (Contender& contender : contenders) {
    const Evaluation* evaluation = passed(contender.candidate.program_hash);
    if (evaluation == nullptr && !contender.checked) {
      if (const Evaluation* proof = disproof(contender.candidate.program_hash)) {
        if (stage_.disproved) stage_.disproved(*proof);
        continue;
      }
    }
    if (evaluation != nullptr) contender = contender_of(contender.candidate, *evaluation);
    const double limit_us = contender.time_us * allowance();
    paths.push_back({std::move(contender), limit_us, evaluation == nullptr});
  }
  while (!out_of_time() && !spent() && !std::ranges::all_of(paths, &Path::done)) {
    std::vector<std::vector<std::string>> shorter(paths.size());
    std::vector<std::string> wanted;  // each once; the best contender's first
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (paths[i].done) continue;
      shorter[i] = shorter_than(paths[i]);
      for (const std::string& hash : shorter[i])
        if (std::ranges::find(wanted, hash) == wanted.end()) wanted.push_back(hash);
    }
    try_all(wanted);
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (!paths[i].done) paths[i].done = !step(paths[i], shorter[i]);
  }
  std::vector<Contender> reduced;
  for (Path& path : paths) reduced.push_back(std::move(path.now));
  return reduced;
}

}  // namespace

std::int64_t evaluations_to_reduce(std::int64_t budget, const std::vector<Contender>& contenders,
                                   int wanted) {
  if (budget <= 0) return std::numeric_limits<std::int64_t>::max();
  std::int64_t least = 0;
  for (const Contender& contender : contenders | std::views::take(std::max(0, wanted)))
    least += 1 + std::ssize(contender.candidate.recipe);
  return std::max(budget / kPartOfBudget, least);
}

std::vector<CandidateRecord> reduce_recipes(const ReductionStage& stage,
                                            const std::vector<Contender>& contenders, int wanted) {
  const auto enough = static_cast<std::size_t>(std::max(0, wanted));
  Reducer reducer(stage);
  Contenders left;
  std::set<std::string> programs;
  // Reduced ones may become the same: then the next ones take their places.
  for (auto next = contenders.begin(); next != contenders.end() && left.ranked().size() < enough;) {
    const auto missing = static_cast<std::ptrdiff_t>(enough - left.ranked().size());
    const auto end = next + std::min(missing, contenders.end() - next);
    for (Contender& reduced : reducer.run({next, end}))
      if (programs.insert(reduced.candidate.program_hash).second) left.add(std::move(reduced));
    next = end;
  }
  std::vector<Contender> ranked = left.ranked();
  keep_a_checked_one(ranked, contenders, enough);
  std::vector<CandidateRecord> finalists;
  for (const Contender& contender : ranked) finalists.push_back(contender.candidate);
  return finalists;
}

}  // namespace hone
