// What a search has tried so far, as a language model is shown it. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "candidates/measurement.h"
#include "candidates/recipe.h"

namespace hone::llm {

struct Tried {
  Recipe recipe;  ///< empty: the reference
  Verdict verdict = Verdict::kOk;
  std::string detail;  ///< of a failure
  double time_us = 0;  // when ok
  double speedup = 0;  // over the reference
  bool modelled = false;
  std::string bound;  ///< what bounds it, for a person
};

/// A failure that its author can learn from; no broken machine, nor one that nobody waited for.
[[nodiscard]] bool can_be_mended(Verdict verdict);

/// The reference, as it was admitted.
[[nodiscard]] Tried tried_reference(const Evaluation& admitted, bool modelled);
[[nodiscard]] Tried tried_of(const Recipe& recipe, const Evaluation& evaluation);

/// In one or a few lines: what bounds it, its share of the roof, what the compiler says of each
/// kernel.
[[nodiscard]] std::string bound_text(const Evaluation& evaluation);

class TriedSet {
 public:
  explicit TriedSet(Tried reference);

  /// Of those that failed only what can be mended is kept.
  void add(Tried tried);
  [[nodiscard]] Tried best() const;
  /// At most `count`, without the best: one that failed, where there is one, then right ones spread
  /// over speeds, the slowest first.
  [[nodiscard]] std::vector<Tried> examples(std::size_t count, std::uint64_t seed) const;

 private:
  void add_right(Tried tried);
  void add_failed(Tried tried);

  static constexpr std::size_t kMost = 256, kMostFailed = 32;
  mutable std::mutex mutex_;
  std::vector<Tried> right_;  ///< the fastest first
  std::deque<Tried> failed_;  ///< that a model can learn from, the newest first
};

}  // namespace hone::llm
