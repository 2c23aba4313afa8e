// One answer of the strategy on its way through a search:
//
//                ┌─► kRefused                            it does not replay at the timed sizes
//                ├─► kRepeated                           its program was asked for before
//   a proposal ──┼─► kRemembered                         an earlier process was told its evaluation
//                └─► kEvaluating ─┬─► kEvaluated
//                                 ├─► kRefusedLater      it does not replay at a check size
//                                 └─► kCancelled         the search gave up its evaluation
//
// All but a cancelled one are told to the strategy, each once.
#pragma once

#include <cstdint>

#include "candidates/measurement.h"
#include "candidates/result.h"
#include "candidates/store/store.h"
#include "engine/search/strategy/strategy.h"

namespace hone::search {

struct Candidate {
  enum class State {
    kRefused,
    kRepeated,
    kRemembered,
    kEvaluating,
    kEvaluated,
    kRefusedLater,
    kCancelled,
  };
  State state = State::kRefused;
  std::uint64_t id = 0;     ///< of its evaluation
  std::uint64_t order = 0;  ///< number of the strategy's ask; 0: the first
  Recipe recipe;
  CandidateRecord record;  ///< empty while refused; the hash alone while repeated
  std::uint64_t seed = 0;  ///< of its evaluation
  Evaluation evaluation;   ///< once there is one; of a refusal its verdict and why
  bool stranger = false;   ///< see Outcome

  [[nodiscard]] const std::string& hash() const { return record.program_hash; }
  [[nodiscard]] bool is(State other) const { return state == other; }
  /// An evaluation by evaluators, of this process or an earlier one.
  [[nodiscard]] bool has_evaluation() const {
    return is(State::kEvaluated) || is(State::kRemembered);
  }
  /// Takes what the queue answered. `given_up`: the search cancels what is in flight.
  void answer(Result<Evaluation> answered, bool given_up);
};

/// "rules", "model", … (CandidateRecord::origin).
[[nodiscard]] std::string origin_of(const Recipe& recipe);
/// Of rewriters, for a person: "shared-tile, unroll".
[[nodiscard]] std::string names_of(const Recipe& recipe);
/// The user's own values of macros, which no rule vouches for.
[[nodiscard]] bool has_tunables(const Recipe& recipe);

}  // namespace hone::search
