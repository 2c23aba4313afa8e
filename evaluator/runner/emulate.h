// The emulate mode of hone-runner: checks a candidate against its reference on the emulated GPU and
// models its time. Deterministic: the same request gives the same reply.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "evaluator/check/compare.h"
#include "evaluator/check/finite.h"
#include "evaluator/check/judge.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/further_checks.h"
#include "evaluator/protocol/messages.h"
#include "evaluator/runner/emulated_program.h"
#include "evaluator/runner/reference_runs.h"
#include "evaluator/runner/reordered.h"
#include "evaluator/runner/sample_launches.h"

namespace hone::runner {

class Emulate {
 public:
  [[nodiscard]] protocol::EmulateReply handle(const protocol::EmulateRequest& request);

 private:
  /// Of a request that was divided; see protocol::Part.
  [[nodiscard]] protocol::EmulateReply handle_part(const protocol::EmulateRequest& request);
  /// What follows once all checks are ok; `max_rel_error`: of them.
  [[nodiscard]] protocol::EmulateReply after_checks(const protocol::EmulateRequest& request,
                                                    const std::vector<int>& unusable,
                                                    double max_rel_error);
  [[nodiscard]] std::vector<KnownReference> known_references(
      const protocol::EmulateRequest& request);
  [[nodiscard]] KnownReference known_reference(const protocol::Case& one, bool looks_further);
  /// Is `got` right? Against the reference, and where that fails against the reference in double.
  [[nodiscard]] Result<check::Judgement> judge(const protocol::Case& one,
                                               const ReferenceRun& reference,
                                               const ConcreteBuffer& buffer,
                                               const std::vector<std::uint8_t>& got,
                                               const protocol::EmulateRequest& request);
  // Of an admission, in emulate_admission.cpp.

  /// The reference alone; see protocol::Part.
  [[nodiscard]] protocol::EmulateReply admission_part(const protocol::Case& one,
                                                      const protocol::EmulateRequest& request);
  /// In grid order: what is wrong with it at this size.
  [[nodiscard]] protocol::EmulateReply admit(const protocol::Case& one, const Tolerance& tolerance);
  /// Under another schedule of blocks and warps, which must give the same answer; `exact`: to the
  /// bit.
  [[nodiscard]] protocol::EmulateReply reorder_reference(const protocol::Case& one,
                                                         const Tolerance& tolerance, bool exact,
                                                         int schedule);
  /// On made-up inputs: it is only said what is not finite.
  [[nodiscard]] protocol::EmulateReply look(const protocol::Case& one, NonFinite non_finite);
  /// Is what it leaves what was found in another way?
  [[nodiscard]] protocol::EmulateReply compare_expected(const protocol::Case& one,
                                                        const Tolerance& tolerance);
  /// What is asked of a candidate beside one right answer.
  struct Further {
    bool again = false;           ///< called again, where it keeps something, it is right again
    bool often = false;           ///< until what it keeps repeats
    bool briefly = false;         ///< else twice, where it wrote a `__device__` variable
    std::uint64_t schedules = 0;  ///< other orders of blocks and warps, which change nothing
    std::uint64_t order = 0;      ///< or this one of them alone; 0: none
    bool timed = false;           ///< the timed sizes and inputs: sets longest_blocks_
  };
  /// Sets `unusable` when a made-up case says nothing.
  [[nodiscard]] protocol::EmulateReply check(const protocol::Case& one,
                                             const protocol::EmulateRequest& request,
                                             Further further, bool& unusable);
  /// With one draw of contents.
  [[nodiscard]] protocol::EmulateReply check_once(const protocol::Case& one,
                                                  const protocol::EmulateRequest& request,
                                                  Further further, bool& unusable,
                                                  bool& perhaps_by_chance);
  /// Of a run that ended well. Fills `outputs`; `perhaps_by_chance`: see check::Comparison.
  [[nodiscard]] protocol::EmulateReply compare_outputs(
      const protocol::Case& one, const ReferenceRun& reference, const EmulatedProgram& program,
      const protocol::EmulateRequest& request, OutputBytes& outputs, bool& perhaps_by_chance);
  enum class Calls { kTwo, kFew, kOften };
  /// Three times more in the same memory, as users call it: with a few elements changed, with other
  /// contents, and with the first ones; kTwo: with the last two alone; kOften: on and on so, until
  /// it keeps what it kept before.
  [[nodiscard]] protocol::EmulateReply run_again(const protocol::Case& one,
                                                 EmulatedProgram& program,
                                                 const emulator::Module& module,
                                                 const protocol::EmulateRequest& request,
                                                 std::uint64_t budget, Calls calls,
                                                 bool& perhaps_by_chance);
  /// Once more in the same memory, with inputs that differ from the last call's a little.
  [[nodiscard]] protocol::EmulateReply run_nearby(const protocol::Case& one,
                                                  EmulatedProgram& program,
                                                  const emulator::Module& module,
                                                  const protocol::EmulateRequest& request,
                                                  std::uint64_t budget, bool& perhaps_by_chance);
  /// What is asked of a program that counts its calls: a candidate, what the last calls with the
  /// first contents left, and what they cost.
  struct Counting {
    const EmulatedProgram& program;
    std::vector<std::uint32_t> before[3];  ///< state_words(), every third call, the last one last
    int calls = 0;                         ///< when that was left
    std::uint64_t cost = 1;                ///< of one call [warp instructions]
  };
  /// Where what it keeps grows by the same with each call: right after some thousand calls, too? As
  /// if they had been made, and, where that is wrong, when they have been.
  [[nodiscard]] protocol::EmulateReply after_many_calls(const protocol::Case& one,
                                                        const Counting& counting,
                                                        const emulator::Module& module,
                                                        const protocol::EmulateRequest& request,
                                                        std::uint64_t budget);
  /// The checks' sizes one after the other with the `__device__` variables that the call before
  /// left, as long as that is cheap: a program is loaded once and called with many sizes.
  [[nodiscard]] protocol::EmulateReply call_at_other_sizes(const protocol::EmulateRequest& request,
                                                           const std::vector<int>& unusable);
  /// At a size that `unusable` leaves: with numbers among the inputs that the
  /// candidate's code names and the reference's does not, as it may treat them apart.
  [[nodiscard]] protocol::EmulateReply check_own_numbers(const protocol::EmulateRequest& request,
                                                         const std::vector<int>& unusable);
  /// One too large to run in full: at some places, as the timed size.
  [[nodiscard]] protocol::EmulateReply check_in_part(const protocol::Case& one,
                                                     const protocol::EmulateRequest& request,
                                                     bool& unusable);
  /// The candidate at its timed sizes, on the task's inputs and on others: in full where that is
  /// cheap, else at request.places. `units`: of all its blocks; `usable`: inputs that say
  /// something; `own`: on the task's own as well.
  [[nodiscard]] protocol::EmulateReply compare_timed(const protocol::EmulateRequest& request,
                                                     double units, std::vector<InputSet> usable,
                                                     bool own);
  /// `units`: what all blocks of the program would take to emulate.
  [[nodiscard]] protocol::EmulateReply model(const protocol::EmulateRequest& request,
                                             const emulator::Profile& profile, double& units);
  /// Once more where a block that ran in full is much longer than all that `modelled` knows of.
  [[nodiscard]] protocol::EmulateReply with_longest_blocks(protocol::EmulateReply modelled,
                                                           const protocol::EmulateRequest& request,
                                                           const emulator::Profile& profile);
  [[nodiscard]] std::string cannot_stand_for_all(const ProgramSample& sample,
                                                 const protocol::Case& one,
                                                 const emulator::Profile& profile,
                                                 const SampleOptions& options);
  /// Of the request; null: unknown architecture, or a profile that is none.
  [[nodiscard]] const emulator::Profile* profile_for(const protocol::EmulateRequest& request);

  int threads_ = 1;  ///< of the request in hand
  /// Of its candidate, by launch, where it ran in full at the timed size.
  std::vector<EmulatedProgram::LongestBlock> longest_blocks_;
  std::vector<std::uint64_t> longest_modelled_;  ///< likewise, of the sample [warp instructions]
  bool wrote_variables_ = false;                 ///< the candidate, at a check size
  bool same_bits_ = true;     ///< of all its answers so far, where that is asked for
  std::string profile_text_;  ///< what profile_ was read from
  emulator::Profile profile_;
  ReferenceRuns kept_;
};

}  // namespace hone::runner
