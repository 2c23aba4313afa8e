// What a search has tried so far, as a language model is shown it. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "candidates/measurement.h"
#include "candidates/recipe.h"

namespace hone::model {

struct Tried {
  Recipe recipe;  ///< empty: the reference
  Verdict verdict = Verdict::kOk;
  std::string detail;  ///< of a failure
  double time_us = 0;  // when ok
  double speedup = 0;  // over the reference
  bool modelled = false;
  std::string bound;  ///< what bounds it, for a person
};

/// In one or a few lines: what bounds it, its share of the roof, what the compiler says of each
/// kernel.
[[nodiscard]] std::string bound_text(const Evaluation& evaluation);

class TriedSet {
 public:
  explicit TriedSet(Tried reference);

  void add(Tried tried);
  [[nodiscard]] Tried best() const;
  /// The fastest whose source holds at any size as far as its recipe tells: the reference, or a
  /// model's program as it was written.
  [[nodiscard]] Tried best_of_any_size() const;
  /// At most `count`, spread over speeds, without the best; the slowest first.
  [[nodiscard]] std::vector<Tried> examples(std::size_t count, std::uint64_t seed) const;

 private:
  static constexpr std::size_t kMost = 256;
  mutable std::mutex mutex_;
  std::vector<Tried> all_;  ///< that are right, the fastest first
};

}  // namespace hone::model
