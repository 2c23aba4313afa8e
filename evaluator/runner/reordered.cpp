#include "evaluator/runner/reordered.h"

#include "evaluator/check/compare.h"
#include "evaluator/runner/emulated_program.h"
#include "evaluator/runner/emulated_reply.h"

namespace hone::runner {

protocol::EmulateReply run_reordered(const protocol::Runnable& runnable,
                                     const emulator::Module& module, const protocol::Case& one,
                                     const OutputBytes& want, const Tolerance& tolerance,
                                     std::uint64_t budget, std::uint64_t schedule) {
  const bool is_reference = !one.candidate;
  auto program =
      EmulatedProgram::load(runnable, one.seed, EmulatedProgram::Outputs::kUninitialised);
  if (!program) return reply(Verdict::kRefused, program.error().message, is_reference);
  const auto report = (*program)->run_all(module, budget, false, schedule);
  if (report.verdict != Verdict::kOk)
    return reply(report.verdict, report.detail + " (with blocks and warps in another order)",
                 is_reference);
  for (const auto& buffer : one.reference.program.buffers) {
    const auto first = want.find(buffer.name);
    if (first == want.end()) continue;
    const auto other = (*program)->read((*program)->index_of(buffer.name));
    if (other == first->second) continue;
    const auto comparison = check::compare(first->second, other, buffer.type, tolerance);
    if (!comparison) return reply(Verdict::kWrongResult, comparison.error().message, is_reference);
    if (!comparison->ok())
      return reply(Verdict::kWrongResult,
                   "the answer depends on the order in which blocks and warps run: " +
                       check::describe(*comparison, buffer.name, buffer.type, buffer.elements()) +
                       ", where \"want\" is grid order",
                   is_reference);
  }
  return reply(Verdict::kOk, "");
}

}  // namespace hone::runner
