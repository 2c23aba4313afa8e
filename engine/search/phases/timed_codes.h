// What the quick stage of one search has timed, by machine code. A candidate whose machine code was
// timed before is checked and told that time: it is not timed again. Different recipes often come
// to one machine code, as the compiler does by itself what a rule does. One thread.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "engine/search/phases/candidate.h"
#include "engine/search/phases/journal.h"
#include "evaluator/evaluator.h"

namespace hone::search {

class TimedCodes {
 public:
  /// For a request; what is learned later does not change it. So on an emulated device it is known
  /// by the order of asking which candidate is timed, and a seed repeats a search.
  [[nodiscard]] std::shared_ptr<const KnownTimes> times();
  /// A candidate that is told. What was timed and is right is the first of its code.
  void learn(const Candidate& candidate);
  /// Gives an evaluation that was not timed the measurement of the first one, and a note of it.
  void complete(Evaluation& evaluation, const Journal& journal) const;

 private:
  struct First {
    CandidateRecord candidate;  ///< its hashes alone
    Measurement measurement;
    std::string note;
    double max_rel_error = 0, reference_error = 0;
  };
  std::unordered_map<std::string, First> firsts_;  ///< by Evaluation::timing_key
  std::shared_ptr<const KnownTimes> times_;        ///< null: none yet
};

}  // namespace hone::search
