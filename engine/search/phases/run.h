// One search while it runs: what search_job.cpp (admission, pace, finals) and search_loop.cpp
// (asking, evaluating, telling) share.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/llm/llm_source.h"
#include "engine/search/finals/contenders.h"
#include "engine/search/phases/feeder.h"
#include "engine/search/phases/proposer.h"
#include "engine/search/phases/time_plan.h"
#include "engine/search/prescreen.h"
#include "engine/search/random.h"
#include "engine/search/records.h"
#include "engine/search/requests/check_costs.h"
#include "engine/search/requests/lift_check.h"
#include "engine/search/requests/requests.h"
#include "engine/search/search.h"
#include "engine/search/strategy/strategy.h"
#include "engine/search/target/workers.h"

namespace hone::search_job {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One ask and what became of it.
struct Slot {
  Outcome outcome;
  CandidateRecord candidate;
  std::uint64_t seed = 0;  ///< of its evaluation
  Evaluation evaluation;
  std::uint64_t id = 0;
  bool refused_later = false;  ///< at a check size, when its program was known
  bool done = false;
  bool told_earlier = false;  ///< to an earlier process
  std::string twin;  ///< hash of a program in flight that this one repeats; settled after it
};

/// Whether a language model itself gave the candidate, not a rule tried on what it gave. `heard`
/// from the database.
[[nodiscard]] bool is_models(const CandidateRecord& candidate, const std::vector<RunReply>& heard);

/// "rules", "model", … (CandidateRecord::origin).
[[nodiscard]] std::string origin_of(const Recipe& recipe);

class Search {
 public:
  /// `survey`: see CheckCosts; may be empty.
  Search(const Task& task, Target target, Rewriting& rewriting, Store* store,
         const SearchOptions& options, CheckCosts::Ask survey)
      : given_(task),
        task_(task),
        costs_(given_, std::move(survey)),
        target_(std::move(target)),
        queue_(target_.queue),
        rewriting_(rewriting),
        store_(store),
        options_(options),
        provenance_(provenance_of(target_.device, target_.info)),
        start_(Clock::now() - std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(options.spent_s))),
        plan_(options.settings.budget, provenance_.modelled),
        random_(options.settings.seed),
        prescreen_(options.settings.seed ^ 0x5C3EE17ull),
        task_hash_(task.hash()) {}

  Result<SearchOutcome> run();

 private:
  Result<void> admit();
  Result<void> read();
  void judge(const LiftCheck& lift);
  void set_roof(const EvaluationRequest& request, const Measurement& reference);
  void search();
  void finals();
  [[nodiscard]] std::vector<CandidateRecord> reduced(const std::vector<Contender>& contenders);
  Slot slot_of(Proposed proposed);
  [[nodiscard]] Draft draft_of(const Slot& slot);
  void settle(Slot& slot, Strategy& strategy);
  std::int64_t recall(Strategy& strategy);
  void remember_replies();
  [[nodiscard]] std::unique_ptr<llm::LlmSource> make_model();
  void hear_model();
  void told_model(const Slot& slot);
  void end_model();
  [[nodiscard]] results::ModelUse model_use() const;
  void report(const std::string& phase);
  void stored(const Result<void>& result);
  [[nodiscard]] bool interrupted() const {
    return (options_.stop != nullptr && *options_.stop) || abandoned() || unstored_;
  }
  [[nodiscard]] bool abandoned() const { return options_.abandon != nullptr && *options_.abandon; }
  [[nodiscard]] Result<Evaluation> evaluate_and_wait(EvaluationRequest request, Work::Kind kind);
  [[nodiscard]] Error not_admitted_in_time(const Error& last) const;
  /// Until `end` [s of the plan]; negative: it is over.
  [[nodiscard]] double left_s(double end) const { return end - seconds_since(start_); }

  const Task& given_;
  Task task_;  ///< with check sizes that can be afforded
  CheckCosts costs_;
  const Target target_;
  SearchQueue& queue_;
  Rewriting& rewriting_;
  Store* store_;
  const SearchOptions& options_;
  Provenance provenance_;
  Clock::time_point start_;
  TimePlan plan_;
  Random random_;
  Prescreen prescreen_;
  std::string task_hash_;
  std::unique_ptr<RequestBuilder> builder_;
  std::int64_t run_id_ = 0;
  SearchOutcome outcome_;

  struct Known {
    Verdict verdict = Verdict::kCrash;
    double time_us = 0;
  };
  std::unordered_map<std::string, Known> known_;  // by program hash; told programs
  std::map<std::string, Evaluation> earlier_;     // likewise; what an earlier process was told
  std::unordered_set<std::string> in_flight_;     // hashes of slots in flight
  Contenders best_;
  std::string best_recipe_;
  std::string reference_hash_;
  llm::Tried reference_tried_;  ///< for a model
  EvaluationRequest reference_request_;
  std::uint64_t next_id_ = 0;
  int fruitless_ = 0;
  std::int64_t refused_later_ = 0;
  std::optional<Error> unstored_;          ///< ends a job
  std::unique_ptr<llm::LlmSource> model_;  ///< while the middle of a search runs
  std::size_t taken_by_kind_ = 0;          ///< of a replay, before this search
  std::vector<RunReply> heard_;  ///< from it in this run, earlier processes included; no texts
  int alarms_ = 0;
  /// A service's, by id: their answer may be put back, and a second one come.
  std::map<std::uint64_t, Slot> crashed_;
};

}  // namespace hone::search_job
