// The reference's answers on a few contents, so that it need not run for every candidate.
//
// They stay in the GPU's memory while candidates run, masked: each is combined with a stream of
// numbers whose key this process alone knows. A candidate that reads memory which is not its own
// finds nothing there that it could copy.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "evaluator/device/cuda/gpu.h"
#include "evaluator/runner/bench_case.h"

namespace hone::runner {

/// Single-threaded, as its GPU is.
class KnownAnswers {
 public:
  /// Keeps at most `most_bytes`; the oldest go first.
  KnownAnswers(cuda::Gpu& gpu, std::uint64_t most_bytes);
  ~KnownAnswers() { forget(); }
  KnownAnswers(const KnownAnswers&) = delete;
  KnownAnswers& operator=(const KnownAnswers&) = delete;

  /// What the reference, or its form in double, has just computed from the contents of `seed`.
  /// Nothing is kept where there is no room.
  [[nodiscard]] Step<void> keep(const Side& side, std::uint64_t seed);
  /// Writes it into the side's outputs. False: it is not known.
  [[nodiscard]] Step<bool> recall(const Side& side, std::uint64_t seed);
  /// Gives all of the memory back.
  void forget();

 private:
  struct Answer {
    std::string program;  ///< Runnable::key
    std::uint64_t seed = 0;
    std::array<std::uint64_t, 2> key = {};
    std::vector<cuda::DeviceBuffer> outputs;  ///< masked
    std::uint64_t bytes = 0;
  };
  void drop_oldest();

  cuda::Gpu& gpu_;
  const std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::deque<Answer> answers_;  ///< oldest first
};

}  // namespace hone::runner
