// What checks have in common and is made once: parsed modules, and what references did at one size
// with one seed. One owner, one thread.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "evaluator/check/finite.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/protocol/messages.h"

namespace hone::runner {

class EmulatedProgram;

/// Of a reference at one check size [warp instructions]; a core runs 50-150 million a second.
inline constexpr std::uint64_t kReferenceBudget = 1'500'000'000;

/// What the reference did at one size with one seed.
struct ReferenceRun {
  Verdict verdict = Verdict::kOk;
  std::string detail;
  std::map<std::string, std::vector<std::uint8_t>> outputs;  ///< out and inout buffers by name
  std::map<std::string, ScalarType> types;                   ///< of outputs
  std::map<std::string, std::int64_t> unwritten;  ///< first byte left unwritten, by buffer
  std::map<std::string, check::NonFiniteElements> non_finite;  ///< by output
  std::uint64_t warp_instructions = 0;
  double operations = 0;  ///< floating-point, for each element of its outputs
  std::size_t bytes = 0;  // held in `outputs` [B]
};
/// Comparing with this answer to made-up inputs or sizes says nothing: the reference failed, too
/// much of the answer is not finite, or, on made-up inputs, it left a part unwritten.
[[nodiscard]] bool says_nothing(const ReferenceRun& run, const protocol::Case& one,
                                NonFinite non_finite);
using SharedRun = std::shared_ptr<const ReferenceRun>;
using SharedModule = std::shared_ptr<const emulator::Module>;

/// An element of an input that is not what its fill gives.
struct Replaced {
  std::string buffer;
  std::uint64_t element = 0, bits = 0;
  std::size_t size = 0;  ///< of the element [B]
};
/// Before a program runs; one that has no such buffer does not read it. False: no such element.
[[nodiscard]] bool replace(EmulatedProgram& program, const std::vector<Replaced>& elements);

class ReferenceRuns {
 public:
  /// Of any program. kInvalidInput: not PTX.
  [[nodiscard]] Result<SharedModule> module_for(const CompiledProgram& compiled);
  /// Of the reference, or of the same in double.
  [[nodiscard]] SharedRun run(const protocol::Runnable& reference, std::uint64_t seed,
                              std::uint64_t budget, std::uint64_t changes = 0);
  /// On inputs of which some elements are replaced; nothing is kept of it.
  [[nodiscard]] ReferenceRun run_replaced(const protocol::Runnable& reference, std::uint64_t seed,
                                          std::uint64_t budget,
                                          const std::vector<Replaced>& replaced);
  /// Of a check's reference. Inputs that the task does not list may make it run on and on: there it
  /// may take a few times as long as on the task's own.
  [[nodiscard]] SharedRun run(const protocol::Case& one);
  /// Takes as known, and nothing else, how much work (0: not known) references of this PTX are on
  /// their task's own inputs: then what was asked before decides nothing.
  void assume_work(const std::string& ptx, std::uint64_t work);
  /// The reference in double; null where there is none that works.
  [[nodiscard]] SharedRun precise(const protocol::Case& one);
  /// The reference where its inputs have fewer bits, see with_coarse_inputs; null where they have
  /// no more, or it does not work.
  [[nodiscard]] SharedRun coarse(const protocol::Case& one);
  /// The reference, in double where that works, with its inputs rounded to TF32, see
  /// with_tf32_inputs; null where none is of f32, or it does not work.
  [[nodiscard]] SharedRun rounded(const protocol::Case& one);

 private:
  [[nodiscard]] ReferenceRun run_afresh(const protocol::Runnable& reference, std::uint64_t seed,
                                        std::uint64_t budget, std::uint64_t changes,
                                        const std::vector<Replaced>& replaced = {});

  // Oldest first; bounded by count and, for runs, by bytes.
  std::list<std::pair<std::string, SharedRun>> runs_;
  std::list<std::pair<std::string, SharedModule>> modules_;
  /// The most warp instructions that references took on their tasks' own inputs, by PTX.
  std::list<std::pair<std::string, std::uint64_t>> work_;
};

}  // namespace hone::runner
