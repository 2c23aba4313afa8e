// Tells the outcome of a candidate to all who learn from it: the findings, the database, a language
// model and the strategy.
#pragma once

#include "engine/search/phases/candidate.h"
#include "engine/search/phases/llm_side.h"
#include "engine/search/phases/run.h"
#include "engine/search/strategy/strategy.h"

namespace hone::search {

class Teller {
 public:
  /// All must outlive it.
  Teller(SearchRun& run, LlmSide& llm, Strategy& strategy)
      : run_(run), llm_(llm), strategy_(strategy) {}
  /// All states but kEvaluating and kCancelled. One thread.
  void tell(const Candidate& candidate);

 private:
  void warn_of_alarm(const Candidate& candidate);

  SearchRun& run_;
  LlmSide& llm_;
  Strategy& strategy_;
  bool alarmed_ = false;
};

}  // namespace hone::search
