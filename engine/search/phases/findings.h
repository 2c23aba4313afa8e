// What one search has learned of programs: which were told with what outcome, which are in flight,
// which are the fastest, and what the time model is worth. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "engine/search/counts.h"
#include "engine/search/finals/contenders.h"
#include "engine/search/phases/candidate.h"
#include "engine/search/prescreen.h"

namespace hone::search {

class Findings {
 public:
  struct Known {
    Verdict verdict = Verdict::kCrash;
    double time_us = 0;
  };

  /// `seed` of the search.
  explicit Findings(std::uint64_t seed) : prescreen(seed ^ 0x5C3EE17ull) {}

  /// The task's own program, which no strategy need try.
  void know_reference(const std::string& hash, double time_us);
  [[nodiscard]] double reference_time_us() const { return reference_time_us_; }

  /// Of a program that was told; none: it was not.
  [[nodiscard]] std::optional<Known> known(const std::string& hash) const;
  [[nodiscard]] bool in_flight(const std::string& hash) const { return in_flight_.contains(hash); }
  [[nodiscard]] bool nothing_in_flight() const { return in_flight_.empty(); }
  void begin(const Candidate& candidate) { in_flight_.insert(candidate.hash()); }
  /// Its evaluation is given up: it counts for nothing, and may be asked for again.
  void forget(const Candidate& candidate);

  /// Enters what became of a candidate, all but a cancelled one. Returns what the strategy is told.
  [[nodiscard]] Outcome enter(const Candidate& candidate);
  /// Takes back that the evaluation of `candidate` crashed: a second answer came.
  void take_back_crash() { --counts.verdicts[static_cast<std::size_t>(Verdict::kCrash)]; }

  [[nodiscard]] const Contenders& best() const { return best_; }
  /// For a person: "shared-tile, unroll".
  [[nodiscard]] const std::string& best_recipe() const { return best_recipe_; }
  /// Of the fastest program that was found, else the reference's.
  [[nodiscard]] double time_to_beat_us() const;
  /// Asks in a row that brought no new program.
  [[nodiscard]] int fruitless() const { return fruitless_; }
  /// Candidates that were refused at a check size.
  [[nodiscard]] std::int64_t refused_later() const { return refused_later_; }

  Counts counts;
  Prescreen prescreen;

 private:
  void enter_repeated(const Candidate& candidate, Outcome& outcome);
  void enter_screened(const Candidate& candidate, Outcome& outcome);
  void enter_evaluated(const Candidate& candidate, Outcome& outcome);
  void tell(const Candidate& candidate, const Outcome& outcome);

  double reference_time_us_ = 0;
  std::unordered_map<std::string, Known> known_;  ///< by program hash
  std::unordered_set<std::string> in_flight_;     ///< hashes
  Contenders best_;
  std::string best_recipe_;
  int fruitless_ = 0;
  std::int64_t refused_later_ = 0;
};

}  // namespace hone::search
