// The emulate mode of hone-runner: checks a candidate against its reference on the emulated GPU and
// models its time. Deterministic: the same request gives the same reply.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "evaluator/check/compare.h"
#include "evaluator/check/fakes.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/protocol/messages.h"

namespace hone::runner {

class Emulate {
 public:
  [[nodiscard]] protocol::EmulateReply handle(const protocol::EmulateRequest& request);

 private:
  /// What the reference did at one size with one seed.
  struct ReferenceRun {
    Verdict verdict = Verdict::kOk;
    std::string detail;
    std::map<std::string, std::vector<std::uint8_t>> outputs;  ///< out and inout buffers by name
    std::map<std::string, ScalarType> types;                   ///< of outputs
    std::map<std::string, std::int64_t> unwritten;  ///< first byte left unwritten, by buffer
    bool all_finite = true;
    std::uint64_t warp_instructions = 0;
    std::size_t bytes = 0;  // held in `outputs` [B]
  };
  using SharedRun = std::shared_ptr<const ReferenceRun>;
  using SharedModule = std::shared_ptr<const emulator::Module>;

  [[nodiscard]] Result<SharedModule> module_for(const CompiledProgram& compiled);
  /// Of the reference, or of the same in double.
  [[nodiscard]] SharedRun reference_run(const protocol::Runnable& reference, std::uint64_t seed,
                                        std::uint64_t budget);
  [[nodiscard]] ReferenceRun run_reference(const protocol::Runnable& reference, std::uint64_t seed,
                                           std::uint64_t budget);
  /// The reference in double, where there is one that works.
  [[nodiscard]] SharedRun precise_run(const protocol::Case& one);
  /// Is `got` right? Against the reference, and where that fails against the reference in double.
  [[nodiscard]] Result<check::Comparison> compare(const protocol::Case& one,
                                                  const ReferenceRun& reference,
                                                  const ConcreteBuffer& buffer,
                                                  const std::vector<std::uint8_t>& got,
                                                  const protocol::EmulateRequest& request);
  /// `reorder`: under other schedules of blocks and warps too, which must give the same answer.
  [[nodiscard]] protocol::EmulateReply admit(const protocol::Case& one, const Tolerance& tolerance,
                                             bool reorder, check::Fakes& fakes);
  /// Where an expected buffer is not what the reference left; empty: nowhere.
  [[nodiscard]] std::string unexpected_place(
      const protocol::Case& one, const std::map<int, std::vector<std::uint8_t>>& outputs,
      const Tolerance& tolerance);
  /// Sets `unusable` when a made-up case says nothing.
  [[nodiscard]] protocol::EmulateReply check(const protocol::Case& one,
                                             const protocol::EmulateRequest& request, bool reorder,
                                             bool& unusable);
  [[nodiscard]] protocol::EmulateReply model(const protocol::Case& one,
                                             const emulator::Profile& profile);
  /// Of the request; null: unknown architecture, or a profile that is none.
  [[nodiscard]] const emulator::Profile* profile_for(const protocol::EmulateRequest& request);

  int threads_ = 1;           ///< of the request in hand
  std::string profile_text_;  ///< what profile_ was read from
  emulator::Profile profile_;

  // Oldest first; bounded by count and, for runs, by bytes.
  std::list<std::pair<std::string, SharedRun>> runs_;
  std::list<std::pair<std::string, SharedModule>> modules_;
};

}  // namespace hone::runner
