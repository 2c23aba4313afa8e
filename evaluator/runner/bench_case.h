// One size on the GPU: the shared inputs, the candidate's and the reference's own buffers, and the
// steps that checking and timing are made of.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluator/device/cuda/gpu.h"
#include "evaluator/device/cuda/loaded_program.h"
#include "evaluator/protocol/measure_messages.h"

namespace hone::runner {

inline constexpr std::uint8_t kPoison = 0xFF;       // NaN in every float type, -1 in integers
inline constexpr std::uint8_t kOtherPoison = 0x5A;  // a large number in float types

/// Whose fault a failure is.
struct Blamed {
  cuda::Failure failure;
  bool reference = false;
};
template <class T>
using Step = std::expected<T, Blamed>;

/// Returns the failure of a Step, if it is one.
#define HONE_STEP(expression)                               \
  do {                                                      \
    if (auto hone_step = (expression); !hone_step)          \
      return std::unexpected(std::move(hone_step.error())); \
  } while (false)

/// A program with buffers of its own; inputs are shared with its opponent.
struct Side {
  const protocol::Runnable* runnable = nullptr;
  bool reference = false;
  bool shares_inputs = false;
  std::vector<cuda::DeviceBuffer> buffers;  ///< one per buffer; inputs alias the shared ones
  std::vector<bool> owned;
  std::unique_ptr<cuda::LoadedProgram> code;
};

/// From when on a run is not worth its end: the program is far slower than the best known.
struct SlowerThan {
  double best_us = 0;    ///< what the best known takes
  double between_s = 0;  ///< then nothing more of the program is launched
  double within_s = 0;   ///< then a kernel that runs is not waited for: this process must end
};

class KnownAnswers;

class BenchCase {
 public:
  /// `second` may be the reference again (an admission).
  BenchCase(cuda::Gpu& gpu, const protocol::Runnable& reference, const protocol::Runnable& second,
            bool second_is_reference);
  /// Runs the reference in double on the same inputs, in memory of its own: inputs are as wide.
  /// False where that does not fit or cannot be launched. Its outputs are in precise() until wiped.
  [[nodiscard]] Step<bool> run_precise(const protocol::Runnable& precise, double limit_s);
  /// What the second side's answers are held to. At MathLevel::kTf32, compare() lets it be off as
  /// products of TF32 are.
  void hold_to(MathLevel level) { level_ = level; }
  /// At MathLevel::kTf32: runs the reference, in double where `precise` is there, on inputs rounded
  /// to TF32, in memory of its own. False at other levels, where no input is of f32, where it does
  /// not fit or cannot be launched. Its outputs are in rounded() until wiped.
  [[nodiscard]] Step<bool> run_rounded(const std::optional<protocol::Runnable>& precise,
                                       double limit_s);
  /// Answers of runs in double are then kept there, for the inputs at hand, and looked up first.
  void remember_in(KnownAnswers& answers) { known_ = &answers; }
  ~BenchCase();
  BenchCase(const BenchCase&) = delete;
  BenchCase& operator=(const BenchCase&) = delete;

  [[nodiscard]] Step<void> allocate();
  /// Generates the inputs for `seed` and remembers their hashes; `hashes` false: leaves it to
  /// inspect() to find out what they were.
  [[nodiscard]] Step<void> make_inputs(std::uint64_t seed, bool hashes = true);
  /// The same again: what a candidate may have done to them is gone.
  [[nodiscard]] Step<void> remake_inputs() { return make_inputs(seed_); }
  /// New inputs cost no upload.
  [[nodiscard]] bool makes_inputs() const;
  /// Loads the code anew: module variables start fresh.
  [[nodiscard]] Step<void> load(Side& side);

  /// Refills inout, poisons out and scratch, sets the guards.
  [[nodiscard]] Step<void> prepare(Side& side, std::uint8_t poison);
  /// Launches and waits at most `limit_s`. How long it took, with whatever was in the caches [us].
  /// With `slower` the launches are queued in a few parts, each once the one before it has ended,
  /// and the time is what the GPU spent on them; kSlower where the program is (of a kernel that
  /// runs: context lost).
  Step<double> run(Side& side, double limit_s,
                   const std::optional<SlowerThan>& slower = std::nullopt);
  enum class Cache {
    kCold,  ///< the L2 is flushed
    kWarm,  ///< it holds of inputs and outputs what fits
  };
  /// The same with events around it; microseconds.
  [[nodiscard]] Step<double> timed_run(Side& side, std::uint8_t poison, double limit_s,
                                       Cache cache = Cache::kCold);
  /// The two sides take each other's output buffers: neither is always at the luckier address.
  [[nodiscard]] Step<void> swap_outputs();
  /// Guards and inputs untouched? Blames `side`.
  [[nodiscard]] Step<void> inspect(Side& side);
  /// Overwrites what the side computed.
  [[nodiscard]] Step<void> wipe(Side& side);
  /// How the outputs of two sides agree: all of them, or the first that does not.
  struct Agreement {
    bool ok = true;
    bool comparable = true;  ///< enough of what was wanted is finite
    double max_rel_error = 0, max_finite_error = 0;
    std::string detail;  ///< when not ok
    std::vector<check::Comparison> outputs;
  };
  [[nodiscard]] Step<Agreement> agreement(Side& want, Side& got, const Tolerance& tolerance);
  /// One output, the `buffer`-th buffer of `want`, which agreement() has found in both.
  [[nodiscard]] Step<check::Comparison> compared(Side& want, Side& got, std::size_t buffer,
                                                 const Tolerance& tolerance);
  /// Which outputs of `got` are right in every part, by check::compare_locally: those of `agreed`
  /// that are ok. `own` and `truth`: the reference and the same in double; null: without.
  [[nodiscard]] Step<std::vector<check::LocalComparison>> local_agreement(
      Side& want, Side& got, const Agreement& agreed, const Tolerance& tolerance, Side* own,
      Side* truth);
  /// Were all answers that agreement() compared with the reference's so far its very values?
  [[nodiscard]] bool same_answers() const { return same_answers_; }
  /// What of the side's outputs is not finite, for people; blames it where that is too much.
  [[nodiscard]] Step<std::vector<std::string>> non_finite(Side& side, const Tolerance& tolerance,
                                                          InputSet inputs);
  /// Compares every output of the candidate with the reference's, and one that differs, as a whole
  /// or in a part, with the reference's in double, where there is such a form: a long sum in f32
  /// may itself be off. As check::judge on the task's own inputs.
  /// kWrongResult, also where the run in double does not end well; the largest relative error.
  [[nodiscard]] Step<double> compare(const Tolerance& tolerance,
                                     const std::optional<protocol::Runnable>& precise,
                                     double limit_s);
  /// Of the outputs: equal contents, equal numbers.
  [[nodiscard]] Step<std::vector<std::uint64_t>> output_hashes(Side& side);
  /// An output byte that neither side wrote, when they ran with different poisons; "" when none.
  [[nodiscard]] Step<std::string> unwritten(std::uint8_t reference_poison,
                                            std::uint8_t second_poison);

  Side& reference() { return reference_; }
  Side& second() { return second_; }
  Side& precise() { return precise_; }
  Side& rounded() { return rounded_; }

 private:
  /// run() with `slower`.
  [[nodiscard]] Step<double> run_in_parts(Side& side, double limit_s, const SlowerThan& slower);
  /// As compare(), by the tolerance alone.
  [[nodiscard]] Step<double> compare_by_tolerance(const Tolerance& tolerance,
                                                  const std::optional<protocol::Runnable>& precise,
                                                  double limit_s);
  /// By what TF32 costs at these inputs, as check::judge: the largest relative error; none: wrong
  /// by that, too.
  [[nodiscard]] Step<std::optional<double>> compare_as_tf32(
      const Tolerance& tolerance, const std::optional<protocol::Runnable>& precise, double limit_s);
  /// run_precise() of any form of the reference.
  [[nodiscard]] Step<bool> run_beside(Side& side, const protocol::Runnable& runnable,
                                      double limit_s);
  [[nodiscard]] std::vector<cuda::DeviceBuffer> inputs() const;
  [[nodiscard]] Step<void> fill_inputs();
  /// Inputs of a side that does not share them.
  [[nodiscard]] Step<void> fill_own_inputs(Side& side);
  [[nodiscard]] Step<void> bind(Side& side);
  [[nodiscard]] Step<void> poison_outputs(Side& side, std::uint8_t poison);
  [[nodiscard]] Step<void> allocate_side(Side& side);
  template <class T>
  Step<T> blame(const Side& side, cuda::Outcome<T> outcome) const;

  cuda::Gpu& gpu_;
  Side reference_, second_, precise_, rounded_;
  std::optional<protocol::Runnable> rounded_program_;
  MathLevel level_ = MathLevel::kReduced;
  KnownAnswers* known_ = nullptr;
  std::uint64_t seed_ = 0;
  bool same_answers_ = true;
  std::vector<std::uint64_t> input_hashes_;  ///< of inputs(); empty: not known
  /// Of all hashes here: without it nobody can make other contents with the same hash.
  std::uint64_t hash_key_ = 0;
};

}  // namespace hone::runner
