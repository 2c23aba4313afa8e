// The third phase of a search: asks the strategy, has candidates rewritten at the check sizes and
// evaluated, and tells outcomes, until there is a reason to stop.
//
//   Proposer ─► window of Candidates ─► Feeder ─► the target's queue ─► evaluators
//      ▲                 ▲                                                   │
//   Strategy ◄─ Teller ◄─┴──────────────── receive() ◄───────────────────────┘
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/search/phases/admission.h"
#include "engine/search/phases/feeder.h"
#include "engine/search/phases/flight_limit.h"
#include "engine/search/phases/opening.h"
#include "engine/search/phases/proposer.h"
#include "engine/search/phases/run.h"
#include "engine/search/phases/telling.h"
#include "engine/search/phases/timed_codes.h"

namespace hone::search {

class Exploration {
 public:
  /// All must outlive it.
  Exploration(SearchRun& run, Admission& admission, LlmSide& llm, Opening& opening);
  /// Until there is a reason to stop, which the outcome has then. Nothing is in flight afterwards.
  void run();

 private:
  /// Why and how it stops.
  struct Stop {
    StopReason reason;
    /// What has not ended is dropped. Otherwise it is awaited as long as there is time: a modelled
    /// search that is repeated then knows the same.
    bool at_once;
  };

  void look_for_an_end();
  [[nodiscard]] std::optional<Stop> reason_to_stop() const;
  [[nodiscard]] bool exhausted() const;
  [[nodiscard]] bool roof_reached() const;
  [[nodiscard]] bool patience_is_over() const;
  [[nodiscard]] bool time_is_up() const;
  [[nodiscard]] bool evaluations_spent() const;
  [[nodiscard]] bool cancelling() const;

  void ask();
  [[nodiscard]] bool may_ask() const;
  [[nodiscard]] std::size_t window_size() const;
  void take(Proposed proposed);
  [[nodiscard]] Candidate candidate_of(Proposed proposed);
  void evaluate(const Candidate& candidate);

  void tell_or_wait();
  [[nodiscard]] bool is_ready(const Candidate& candidate) const;
  void tell(const Candidate& candidate);
  bool receive(std::chrono::milliseconds timeout);
  void count_pioneer(const Candidate& candidate);
  void hear_again(Done done);
  void end();
  void tell_the_rest();

  SearchRun& run_;
  Admission& admission_;
  LlmSide& llm_;
  Opening& opening_;
  const Clock::time_point start_ = Clock::now();
  Feeder feeder_;
  Proposer proposer_;
  FlightLimit limit_;                      ///< of a GPU
  const std::vector<GpuUse> gpus_before_;  ///< what they had done when it began
  const bool several_gpus_ = gpus_before_.size() > 1;
  TimedCodes timed_;
  Telling::Window window_;
  std::optional<Stop> stop_;
  /// When it found its best, of which patience is measured.
  struct {
    std::int64_t evaluated = 0;
    double elapsed_s = 0;
  } last_gain_;
  std::int64_t asked_to_evaluate_;
  std::int64_t finished_ = 0;
  std::size_t pioneers_left_;  ///< of what the strategy sends ahead: without an answer
  /// A service's, by id: their answer may be put back, and a second one come.
  std::map<std::uint64_t, Candidate> crashed_;
};

}  // namespace hone::search
