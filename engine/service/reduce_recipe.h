// Takes the steps out of a search's best recipes that do nothing for them, before they are ranked:
//
//   contender ──► without one step (legal at the timed size and at every check size)
//                        │ evaluated like any candidate, through the target's queue
//                        ▼
//                 no slower than the contender, or the same machine code: the shorter one goes on
//
// until no step can go. What has then become one program is one finalist.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/service/contenders.h"
#include "engine/service/requests.h"
#include "engine/service/target.h"

namespace hone {

/// What the reduction works with; all of it outlives the call.
struct ReductionStage {
  const Target& target;
  RequestBuilder& builder;
  std::uint64_t& next_id;  ///< of work in the target's queue
  std::uint64_t seed = 0;  ///< of every evaluation, so that their times compare
  bool modelled = false;   ///< then a time repeats exactly: nothing is lost for a step
  /// Ends it early; what was not reduced by then stays as it is.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::function<bool()> given_up;  ///< likewise
  std::function<void()> report;    ///< called now and then
  /// The time of a program that the search has tried, by hash; 0: it failed. None: not tried.
  std::function<std::optional<double>(const std::string& program_hash)> known;
  /// `base` with another recipe and what that gives.
  std::function<CandidateRecord(const CandidateRecord& base, Recipe, Rewritten)> remake;
};

/// The first `wanted` of `contenders`, reduced, each program once, best first.
[[nodiscard]] std::vector<CandidateRecord> reduce_recipes(const ReductionStage& stage,
                                                          const std::vector<Contender>& contenders,
                                                          int wanted);

}  // namespace hone
