// The language model beside one search: asked by its strategy, heard and told with every outcome,
// and what came of it. Without a model it keeps what one said to an earlier process.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "candidates/store/store.h"
#include "engine/llm/llm_source.h"
#include "engine/results/replies.h"
#include "engine/search/phases/admission.h"
#include "engine/search/phases/candidate.h"
#include "engine/search/phases/run.h"

namespace hone::search {

/// Whether a language model itself gave the candidate, not a rule tried on what it gave. `heard`
/// from the database.
[[nodiscard]] bool is_models(const CandidateRecord& candidate, const std::vector<RunReply>& heard);

/// How much of the time in which a model's proposals can still be measured is over, 0 to 1, by
/// which its money is paced. As planned at the time of the call; `clock` must outlive it. Empty:
/// there is no such time.
[[nodiscard]] std::function<double()> pace_of(const SearchClock& clock);

class LlmSide {
 public:
  explicit LlmSide(SearchRun& run) : run_(run) {}

  /// What it said to earlier processes of the same job.
  void remember();
  /// Replies in this run, earlier processes included; without their texts.
  [[nodiscard]] const std::vector<RunReply>& heard() const { return heard_; }
  /// It is asked now, or was: then a search does not repeat what an earlier process asked.
  [[nodiscard]] bool has_a_say() const { return run_.options.llm != nullptr || !heard_.empty(); }

  /// Null where the search has none. From then on it may be asked.
  [[nodiscard]] RecipeSource* open(Admission& admission);
  /// A reply may come, or waits to be tried.
  [[nodiscard]] bool pending() const { return source_ != nullptr && source_->pending(); }
  /// Stores what it said meanwhile: before any candidate that came of it is.
  void listen();
  /// What became of a recipe, whoever asked for it.
  void told(const Candidate& candidate);
  /// Nothing more is asked.
  void close();
  /// When all is told, of the whole run.
  [[nodiscard]] results::ModelUse use();

 private:
  SearchRun& run_;
  std::vector<RunReply> heard_;
  std::unique_ptr<llm::LlmSource> source_;
  std::size_t taken_by_kind_ = 0;  ///< of a replay, before this search
};

}  // namespace hone::search
