// One search: admit the task, ask and evaluate until the budget ends, time the finalists again in
// a fresh process, and name the best. Everything that was found is stored as it is found.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "candidates/measurement.h"
#include "candidates/recipe.h"
#include "candidates/store/store.h"
#include "candidates/task.h"
#include "engine/results/replies.h"
#include "engine/rewriting/rewriting.h"
#include "engine/search/counts.h"
#include "engine/search/finals/finals.h"
#include "engine/search/settings.h"
#include "engine/search/stop_reason.h"
#include "engine/search/target/target.h"
#include "evaluator/evaluator.h"

namespace hone {

namespace llm {
struct Access;
}
namespace ranking {
class TreeModel;
}

/// What a search is at.
enum class Phase {
  kCeilings,  ///< measuring what the GPU reaches, once
  kAdmit,
  kSearch,
  kFinal,
};

struct Progress {
  Counts counts;
  double elapsed_s = 0;
  double reference_time_us = 0;
  double best_time_us = 0;  // quick time; 0: none yet
  std::string best_recipe;  ///< "shared-tile, unroll"
  Phase phase = Phase::kAdmit;
};

struct SearchOptions {
  SearchSettings settings;     ///< what somebody asked for; the rest is the process's
  int workers = 0;             ///< evaluating threads; 0: as many as are in flight
  llm::Access* llm = nullptr;  ///< a language model to ask, too; null: none
  /// That ranks candidates before they are compiled; null: the built-in one of the architecture.
  std::shared_ptr<const ranking::TreeModel> ranking;
  std::function<void(const ReplyRecord&)> on_reply;  ///< what it said, or that it said nothing
  std::function<void(const Progress&)> on_progress;
  const std::atomic<bool>* stop = nullptr;  ///< set by Ctrl-C: finish with what is there
  /// Set when nobody waits for the outcome any more: end at once, without finalists.
  const std::atomic<bool>* abandon = nullptr;
  /// Of a service: the database then keeps what a job's search was told until it ends, and the same
  /// job searched again, by another process, goes on from there. With a language model it does not
  /// repeat what it asked, but goes on with what it knows.
  std::string job;
  double spent_s = 0;  ///< of the budget: by earlier processes, and by this one until now
  /// For how long nobody could store anything, so far [s]: it does not count. Empty: always 0.
  std::function<double()> paused_s;
};

/// How fast the search went and what it waited for.
struct Pace {
  double search_s = 0;   ///< from the first question to the strategy to the last outcome
  double propose_s = 0;  ///< asking and rewriting, over all threads that do
  GateSeconds gates;     ///< over all evaluations, which overlap
  std::int64_t evaluated = 0;
  std::vector<GpuUse> gpus;  ///< of this process, during the search

  [[nodiscard]] double per_second() const { return search_s > 0 ? evaluated / search_s : 0; }
  /// Share of the search in which a GPU's runner had a candidate, of several GPUs the mean; 0 on
  /// emu.
  [[nodiscard]] double gpu_busy() const {
    const auto count = static_cast<double>(gpus.empty() ? 1 : gpus.size());
    return search_s > 0 ? gates.measure / (count * search_s) : 0;
  }
};

struct SearchOutcome {
  double reference_time_us = 0;
  Roof roof;
  Counts counts;
  Pace pace;
  std::vector<Finalist>
      ranked;             ///< verified, fastest first; the reference itself is always among them
  int seemed_faster = 0;  ///< programs that the search thought faster than the reference, ...
  double seemed_speedup = 0;    ///< ... the best of them, ...
  FinalEnds ends;               ///< ... and how they ended
  std::set<std::string> timed;  ///< hashes of all that went through the final stage
  results::ModelUse llm;
  double elapsed_s = 0;
  StopReason stop_reason = StopReason::kBudget;
  std::vector<std::string> warnings;        ///< but those that follow
  std::vector<std::string> final_warnings;  ///< of the final stage: up to one for each finalist
  /// They name the endpoint: for whoever runs the search, not for whoever had it run.
  std::vector<std::string> llm_warnings;
  /// All but those of the final stage.
  [[nodiscard]] std::vector<std::string> search_warnings() const;
  [[nodiscard]] std::vector<std::string> all_warnings() const;
};

/// Errors: those of admission (kInvalidInput, kTaskFailed), kEnvironment, kInfrastructure when it
/// was stopped before there was anything to finish with. `store` may be null.
[[nodiscard]] Result<SearchOutcome> run_search(const Task& task, Target target,
                                               Rewriting& rewriting, Store* store,
                                               const SearchOptions& options);
/// On an evaluator of this process, with the device's ceilings from the store or measured now.
[[nodiscard]] Result<SearchOutcome> run_search(const Task& task, const DeviceSpec& device,
                                               Evaluator& evaluator, Rewriting& rewriting,
                                               Store* store, const SearchOptions& options);

}  // namespace hone
