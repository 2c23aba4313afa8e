// The first phase of a search: reads the task, chooses check sizes that can be afforded, has its
// reference admitted and timed, and finds the roof. It owns what later phases make candidates with.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "candidates/measurement.h"
#include "candidates/task.h"
#include "engine/llm/tried.h"
#include "engine/queue/queue.h"
#include "engine/search/phases/compiling_ahead.h"
#include "engine/search/phases/run.h"
#include "engine/search/requests/check_costs.h"
#include "engine/search/requests/lift_check.h"
#include "engine/search/requests/requests.h"

namespace hone::search {

class Admission {
 public:
  /// As CheckCosts::Ask; the answer may be an Error once nobody wants it.
  using Surveys = std::function<Result<std::vector<Survey>>(const std::vector<ConcreteProgram>&,
                                                            const std::stop_token&)>;
  /// `run` must outlive it. `surveys` may be empty.
  Admission(SearchRun& run, Surveys surveys);

  /// Errors: kInvalidInput, kTaskFailed: the task's; kEnvironment, kInfrastructure.
  [[nodiscard]] Result<void> admit();

  // Of an admitted task:

  /// With check sizes that can be afforded.
  [[nodiscard]] const Task& task() const { return task_; }
  [[nodiscard]] const std::string& task_hash() const { return task_hash_; }
  [[nodiscard]] RequestBuilder& builder() { return *builder_; }
  /// The reference as a candidate, which the final stage times, too.
  [[nodiscard]] CandidateRecord reference() const;
  /// Likewise, for a language model.
  [[nodiscard]] const llm::Tried& reference_tried() const { return reference_tried_; }
  /// Of an evaluated candidate, where the evaluator did not know the roof when it admitted.
  void learn_roof(const Measurement& measurement);
  /// What an earlier process of the same job was told, by program hash.
  [[nodiscard]] std::map<std::string, Evaluation> take_earlier() { return std::move(earlier_); }

 private:
  [[nodiscard]] CheckCosts::Ask asking_for(Surveys surveys) const;
  [[nodiscard]] Result<void> read();
  /// What the user should know of the check sizes.
  [[nodiscard]] Result<std::vector<std::string>> open_builder();
  [[nodiscard]] Result<void> evaluate_reference();
  [[nodiscard]] Error not_in_time(const Error& last) const;
  void judge(const LiftCheck& lift);
  void set_roof(const Measurement& measurement);

  SearchRun& run_;
  Task task_;
  const std::string task_hash_;
  std::stop_source unreadable_;  ///< the source: nobody asks what sizes take
  CheckCosts costs_;
  std::unique_ptr<RequestBuilder> builder_;
  std::optional<CompilingAhead> ahead_;  ///< while the reference is admitted
  std::string reference_hash_;
  EvaluationRequest request_;  ///< the reference's
  llm::Tried reference_tried_;
  std::map<std::string, Evaluation> earlier_;
};

}  // namespace hone::search
