// A candidate and what it is compared with, as the page and the API need it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "candidates/store/store.h"
#include "engine/results/roofline.h"
#include "engine/web/context.h"

namespace hone::web {

struct CandidateData {
  BoardRow row;
  Task task;
  std::vector<RunOfCandidate> runs;  ///< that found it, the first one first
  std::vector<FinalResult> finals;
  bool parent_is_here = false;  ///< what it was derived from is in the database
  std::string before_name;      ///< "reference", or the other candidate's id
  std::string before;           ///< its source, without a task's comment
  std::optional<results::Roofline> roofline;
};

/// `against`: another candidate's id; empty: the reference. `device`: from whose board it comes, as
/// Store::find_candidate() takes it; empty: any.
[[nodiscard]] std::expected<CandidateData, Failure> read_candidate(Context& context,
                                                                   const std::string& id,
                                                                   const std::string& against,
                                                                   const std::string& device = "");

}  // namespace hone::web
