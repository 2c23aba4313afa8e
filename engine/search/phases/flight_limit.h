// How many candidates may be in flight while a GPU measures: so many that it never idles, and few
// enough that the strategy hears of one soon after it has asked for it. Where each holds the GPU
// for long, others would wait for seconds, all drawn without what it tells.
#pragma once

#include <cstddef>

#include "candidates/measurement.h"

namespace hone::search {

class FlightLimit {
 public:
  /// Never above `most`, where it begins. `gpus` measure at once.
  explicit FlightLimit(std::size_t most, std::size_t gpus = 1)
      : most_(most), now_(most), gpus_(gpus) {}

  /// One was evaluated: `spent` says how long it was compiled and checked, waited for its GPU and
  /// held it.
  void evaluated(const GateSeconds& spent);
  [[nodiscard]] std::size_t now() const { return now_; }

 private:
  std::size_t most_, now_, gpus_;
  int measured_ = 0;
  double prepare_s_ = 0, measure_s_ = 0;  ///< of the first ones, together
};

}  // namespace hone::search
