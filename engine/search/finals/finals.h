// The end of a search: what was fastest is timed again in fresh processes, on inputs and at sizes
// that nobody has seen, and ranked.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "candidates/measurement.h"
#include "candidates/store/store.h"
#include "engine/rewriting/rewriting.h"
#include "engine/search/finals/ends.h"
#include "engine/search/random.h"
#include "engine/search/requests/requests.h"
#include "engine/search/target/target.h"

namespace hone {

struct Finalist {
  CandidateRecord candidate;
  Evaluation evaluation;  ///< of the final stage
};

struct Finals {
  std::vector<Finalist> ranked;  ///< those that passed, fastest first
  FinalEnds ends;                ///< of the finalists, without the reference
};

/// What time_finalists() works with; all of it outlives the call.
struct FinalStage {
  const Target& target;
  Rewriting& rewriting;
  RequestBuilder& builder;
  Random& random;             ///< for the seeds
  std::uint64_t& next_id;     ///< of work in the target's queue
  bool hurry = false;         ///< the user waits: two finalists, and less time to rewrite them
  bool with_refused = false;  ///< what cannot be made at every size is stored as refused
  const std::atomic<bool>* stop = nullptr;
  /// Of the time for all of it [s]; not above 0: it is over. What is not timed by then is stored as
  /// timed out, with that reason. Empty: there is no limit.
  std::function<double()> left_s;
  /// And then, while none but the reference has passed [s].
  double for_the_first_s = 0;
  /// Once the best and the reference are timed: does nobody wait for the others? Empty: all do.
  std::function<bool()> enough;
  std::function<void()> report;    ///< called now and then
  std::function<bool()> given_up;  ///< then nobody wants the outcome
  std::function<void(CandidateRecord&, const Evaluation&)> store;  ///< gives the candidate its id
  std::function<void(std::string)> warn;
};

/// The final stage of the first `wanted` of `finalists` and of `reference`, if any, on as many
/// devices at once as the target has. Where it has several workers, two must agree on each. Given
/// up: nothing.
[[nodiscard]] Finals time_finalists(const FinalStage& stage, std::vector<CandidateRecord> finalists,
                                    std::optional<CandidateRecord> reference, int wanted);

}  // namespace hone
