// Which candidates are worth the GPU's time, judged by the time model. Learns from what was
// measured how the model errs on this task: a model that ranks it badly has a wide spread and is
// hardly listened to. Owned by the search thread; not thread-safe.
#pragma once

#include <vector>

#include "engine/search/random.h"

namespace hone {

class Prescreen {
 public:
  explicit Prescreen(std::uint64_t seed) : random_(seed) {}

  /// A candidate was modelled and measured [us], both > 0.
  void learn(double modelled_us, double measured_us);

  /// Modelled time [us] above which a candidate is not worth measuring when the best so far takes
  /// `best_us`; 0: measure it whatever the model says. Every tenth time it is 0, so that what the
  /// model is wrong about is found too.
  [[nodiscard]] double threshold_us(double best_us);

  /// What the model's time means on this task [us].
  [[nodiscard]] double expected_us(double modelled_us) const;

 private:
  struct Trust {
    double offset = 0;  // median of ln(measured / modelled)
    double spread = 0;  // of the same: 1.48 x its median absolute deviation
    bool enough = false;
  };
  /// Of the candidates that took at most three times `best_us`, where there are enough of those.
  [[nodiscard]] Trust trust(double best_us) const;

  struct Sample {
    double measured_us = 0;
    double ratio = 0;  // ln(measured / modelled)
  };
  std::vector<Sample> samples_;
  Random random_;
};

}  // namespace hone
