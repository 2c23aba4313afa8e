// Takes the steps out of a search's best recipes that do nothing for them, before they are ranked:
//
//   contender ──► without one step, and without those later ones that are refused then
//                        │ legal at the timed size and at every check size
//                        │ evaluated like any candidate, through the target's queue
//                        ▼
//                 no slower than the contender, or the same machine code: the shorter one goes on
//
// until no step can go, or the time or the evaluations for it are spent. What has then become one
// program is one finalist.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/search/finals/contenders.h"
#include "engine/search/requests/requests.h"
#include "engine/search/target/target.h"

namespace hone {

/// What the reduction works with; all of it outlives the call.
struct ReductionStage {
  const Target& target;
  RequestBuilder& builder;
  std::uint64_t& next_id;  ///< of work in the target's queue
  std::uint64_t seed = 0;  ///< of every evaluation, so that their times compare
  bool modelled = false;   ///< then a time repeats exactly: nothing is lost for a step
  /// With a slow reference: do not measure programs that the time model takes to be far slower than
  /// the fastest, as without a step that replaces a launch.
  bool prescreen = false;
  /// Ends it early; what was not reduced by then stays as it is.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  /// Likewise; what is in flight then is waited for, so that a run repeats exactly. The best
  /// contender's steps are tried first.
  std::int64_t most_evaluations = std::numeric_limits<std::int64_t>::max();
  std::function<bool()> given_up;  ///< likewise
  std::function<void()> report;    ///< called now and then
  /// Told of a contender that nobody had checked, and that did not pass. Empty: nobody listens.
  std::function<void(const Evaluation&)> disproved;
  /// The time of a program that the search has tried, by hash; 0: it failed. None: not tried.
  std::function<std::optional<double>(const std::string& program_hash)> known;
  /// `base` with another recipe and what that gives.
  std::function<CandidateRecord(const CandidateRecord& base, Recipe, Rewritten)> remake;
};

/// How many evaluations the reduction may take of a run whose search has a budget of `budget` of
/// them; 0: no such budget, no such bound. A quarter, because whoever asks for few evaluations
/// wants a short run, and a reduction of long recipes could otherwise cost more than the search.
/// But always one for each of the first `wanted` contenders and one for each of its steps: with
/// less a small budget would leave steps in the recipes that nobody tried to leave out.
[[nodiscard]] std::int64_t evaluations_to_reduce(std::int64_t budget,
                                                 const std::vector<Contender>& contenders,
                                                 int wanted);

/// The first `wanted` of `contenders`, reduced, each program once, best first.
[[nodiscard]] std::vector<CandidateRecord> reduce_recipes(const ReductionStage& stage,
                                                          const std::vector<Contender>& contenders,
                                                          int wanted);

}  // namespace hone
