// One size on the GPU: the shared inputs, the candidate's and the reference's own buffers, and the
// steps that checking and timing are made of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evaluator/device/cuda/gpu.h"
#include "evaluator/device/cuda/loaded_program.h"
#include "evaluator/protocol/measure_messages.h"

namespace hone::runner {

/// Whose fault a failure is.
struct Blamed {
  cuda::Failure failure;
  bool reference = false;
};
template <class T>
using Step = std::expected<T, Blamed>;

/// A program with buffers of its own; inputs are shared with its opponent.
struct Side {
  const protocol::Runnable* runnable = nullptr;
  bool reference = false;
  std::vector<cuda::DeviceBuffer> buffers;  ///< one per buffer; inputs alias the shared ones
  std::vector<bool> owned;
  std::unique_ptr<cuda::LoadedProgram> code;
};

class BenchCase {
 public:
  /// `second` may be the reference again (an admission).
  BenchCase(cuda::Gpu& gpu, const protocol::Runnable& reference, const protocol::Runnable& second,
            bool second_is_reference);
  ~BenchCase();
  BenchCase(const BenchCase&) = delete;
  BenchCase& operator=(const BenchCase&) = delete;

  [[nodiscard]] Step<void> allocate();
  /// Generates the inputs for `seed` and remembers their hashes.
  [[nodiscard]] Step<void> make_inputs(std::uint64_t seed);
  /// Loads the code anew: module variables start fresh.
  [[nodiscard]] Step<void> load(Side& side);

  /// Refills inout, poisons out and scratch, sets the guards.
  [[nodiscard]] Step<void> prepare(Side& side, std::uint8_t poison);
  /// Launches and waits at most `limit_s`.
  [[nodiscard]] Step<void> run(Side& side, double limit_s);
  /// The same with a flushed L2 and events around it; microseconds.
  [[nodiscard]] Step<double> timed_run(Side& side, std::uint8_t poison, double limit_s);
  /// Guards and inputs untouched? Blames `side`.
  [[nodiscard]] Step<void> inspect(Side& side);
  /// Overwrites what the side computed.
  [[nodiscard]] Step<void> wipe(Side& side);
  /// Compares every output of the candidate with the reference's; kWrongResult.
  [[nodiscard]] Step<double> compare(const Tolerance& tolerance);
  /// An output byte that neither side wrote, when they ran with different poisons; "" when none.
  [[nodiscard]] Step<std::string> unwritten(std::uint8_t reference_poison,
                                            std::uint8_t second_poison);

  Side& reference() { return reference_; }
  Side& second() { return second_; }

 private:
  [[nodiscard]] std::vector<cuda::DeviceBuffer> inputs() const;
  [[nodiscard]] Step<void> poison_outputs(Side& side, std::uint8_t poison);
  [[nodiscard]] Step<void> allocate_side(Side& side);
  template <class T>
  Step<T> blame(const Side& side, cuda::Outcome<T> outcome) const;

  cuda::Gpu& gpu_;
  Side reference_, second_;
  std::uint64_t seed_ = 0;
  std::vector<std::uint64_t> input_hashes_;  ///< of inputs()
};

}  // namespace hone::runner
