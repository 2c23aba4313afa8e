// The last phase of a search: takes the steps without effect out of the best recipes, times the
// finalists again in fresh processes beside the reference, and ranks them.
#pragma once

#include <vector>

#include "engine/search/finals/contenders.h"
#include "engine/search/phases/admission.h"
#include "engine/search/phases/run.h"

namespace hone::search {

class Finish {
 public:
  /// Both must outlive it.
  Finish(SearchRun& run, Admission& admission) : run_(run), admission_(admission) {}
  /// Fills in the outcome's `ranked` and `timed`.
  void run();

 private:
  [[nodiscard]] std::vector<Contender> contenders();
  [[nodiscard]] std::vector<CandidateRecord> finalists();
  [[nodiscard]] std::vector<CandidateRecord> reduced(const std::vector<Contender>& contenders);

  SearchRun& run_;
  Admission& admission_;
};

}  // namespace hone::search
