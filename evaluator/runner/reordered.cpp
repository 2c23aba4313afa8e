#include "evaluator/runner/reordered.h"

#include <algorithm>
#include <array>
#include <utility>

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

namespace {

struct Parallel {
  bool blocks = false, warps = false;
};

/// Of a check's program, in any launch.
Parallel several_of(const protocol::Case& one) {
  constexpr std::int64_t kWarp = 32;
  Parallel several;
  for (const auto& launch : (one.candidate ? *one.candidate : one.reference).program.launches) {
    several.blocks = several.blocks || launch.grid[0] * launch.grid[1] * launch.grid[2] > 1;
    several.warps = several.warps || launch.block[0] * launch.block[1] * launch.block[2] > kWarp;
  }
  return several;
}

}  // namespace

std::size_t check_to_reorder(const std::vector<protocol::Case>& checks, ReferenceRuns& references,
                             std::uint64_t most) {
  // Several blocks before several warps before much work; what is too much, after what is not.
  using Rank = std::array<std::uint64_t, 3>;
  const auto rank = [&](const protocol::Case& one) -> Rank {
    if (one.in_part) return {};
    const auto [blocks, warps] = several_of(one);
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

std::set<std::size_t> further_to_reorder(const std::vector<protocol::Case>& checks,
                                         ReferenceRuns& references) {
  constexpr std::uint64_t kMostInAll = 60'000'000;  // [warp instructions of the reference]
  std::vector<std::pair<std::uint64_t, std::size_t>> by_work;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const auto& one = checks[i];
    const auto [blocks, warps] = several_of(one);
    if (!one.candidate || one.in_part || one.inputs != InputSet::kOwn || (!blocks && !warps))
      continue;
    const auto module = references.module_for(one.candidate->compiled);
    if (!module || !emulator::has_ordered_accesses(**module)) continue;
    const auto run = references.run(one);
    if (run->verdict == Verdict::kOk) by_work.emplace_back(run->warp_instructions, i);
  }
  std::ranges::sort(by_work);
  std::set<std::size_t> chosen;
  std::uint64_t work = 0;
  for (const auto& [own, i] : by_work)
    if ((work += own) <= kMostInAll || chosen.empty()) chosen.insert(i);
  return chosen;
}

}  // namespace hone::runner
