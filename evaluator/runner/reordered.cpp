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

std::size_t check_to_reorder(const std::vector<protocol::Case>& checks, ReferenceRuns& references,
                             std::uint64_t most) {
  constexpr std::int64_t kWarp = 32;
  // Several blocks before several warps before much work; what is too much, after what is not.
  using Rank = std::array<std::uint64_t, 3>;
  const auto rank = [&](const protocol::Case& one) -> Rank {
    if (one.in_part) return {};
    bool blocks = false, warps = false;
    for (const auto& launch : (one.candidate ? *one.candidate : one.reference).program.launches) {
      blocks = blocks || launch.grid[0] * launch.grid[1] * launch.grid[2] > 1;
      warps = warps || launch.block[0] * launch.block[1] * launch.block[2] > kWarp;
    }
    const auto run = references.run(one);
    const std::uint64_t work = run->warp_instructions;
    const bool usable = run->verdict == Verdict::kOk;
    return {usable ? std::uint64_t{1} + (work <= most ? 1 : 0) : 0,
            std::uint64_t{2} * (blocks ? 1 : 0) + (warps ? 1 : 0), work <= most ? work : ~work};
  };
  std::size_t best = 0;
  Rank highest{};
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Rank own = rank(checks[i]);
    if (own > highest) {
      highest = own;
      best = i;
    }
  }
  return best;
}

}  // namespace hone::runner
