#include "evaluator/runner/sample_launches.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "evaluator/sass/local_accesses.h"

namespace hone::runner {

using emulator::Counters;

namespace {

constexpr std::uint64_t kSampleTarget =
    2'500'000;  // cost units per timed program, over its launches
constexpr std::uint64_t kSampleLimit = 400'000'000;  // of one launch's sample
/// [warp instructions]; tells of a longer block what an instruction costs.
constexpr std::uint64_t kProbe = 2'000'000;
constexpr std::int64_t kMaxSampledBlocks = 64;
constexpr double kWhole = 0.95;  // one of the sampled blocks may be a tail
/// How what blocks touch grows with their number, as a power: above it each reads its own.
constexpr double kOwnParts = 0.9;

/// What all blocks of the last launch touch of a buffer [B], from what those that ran touched: the
/// second half of them adds little where blocks read the same, and as much as the first half where
/// each reads its own. Where one block ran, nothing tells that others read more.
double reached_bytes(const EmulatedProgram& program, int buffer, const Counters& counters,
                     double scale) {
  const auto touched = static_cast<double>(program.touched_bytes(buffer));
  const auto at_half = static_cast<double>(program.touched_bytes_at_half(buffer));
  if (counters.blocks < 2 || at_half <= 0) return touched;
  const auto blocks = static_cast<double>(counters.blocks);
  const double growth =
      std::log(touched / at_half) / std::log(blocks / static_cast<double>(counters.blocks / 2));
  return touched * std::pow(scale, growth > kOwnParts ? 1 : std::max(growth, 0.0));
}

/// What became of local memory in the machine code: PTX knows of no spills, and of arrays that
/// ptxas then keeps in registers.
void count_machine_code(const sass::Cubin& cubin, const CompiledKernel& kernel,
                        const emulator::RunReport& report, Counters& counters) {
  const auto rounded = [](double v) { return static_cast<std::uint64_t>(std::llround(v)); };
  const auto local = sass::local_accesses(
      cubin, kernel.lowered_name,
      {.by_line = report.line_counts, .warps = static_cast<std::int64_t>(counters.warps)});
  const double moved = static_cast<double>(counters.local_loads + counters.local_stores);
  const double lines = static_cast<double>(counters.local_load_lines + counters.local_store_lines);
  // How many lines an access with an index comes to, the PTX has shown.
  const double spread = moved > 0 ? std::max(1.0, lines / moved) : 1;
  counters.local_loads = rounded(local.loads);
  counters.local_stores = rounded(local.stores);
  counters.local_load_lines = rounded(local.load_lines + spread * local.indexed_loads);
  counters.local_store_lines = rounded(local.store_lines + spread * local.indexed_stores);
  counters.frame_bytes = static_cast<std::uint64_t>(kernel.resources.stack_bytes);
  counters.spilled_in_loops = static_cast<std::uint64_t>(local.words_in_loops);
}

/// One block. What it may take is known once a part of it ran: a limit in units is one in
/// instructions then, and the same everywhere.
emulator::RunReport one_block(EmulatedProgram& program, const emulator::Module& module,
                              std::size_t launch, emulator::RunOptions options, double most_units) {
  options.sample_blocks = 1;
  options.max_warp_instructions = kProbe;
  auto report = program.launch(module, launch, options);
  if (report.verdict != Verdict::kTimeout) return report;
  const double each =
      units_of(report.counters) / static_cast<double>(report.counters.warp_instructions);
  options.max_warp_instructions =
      std::min(kSampleLimit, static_cast<std::uint64_t>(most_units / std::max(1.0, each)));
  if (options.max_warp_instructions <= kProbe) return report;
  return program.launch(module, launch, options);
}

}  // namespace

double units_of(const Counters& c) {
  const auto d = [](std::uint64_t count) { return static_cast<double>(count); };
  return d(c.warp_instructions) + 0.5 * d(c.global_load_sectors + c.global_store_sectors) +
         4 * d(c.local_accesses) + 20 * d(c.atomics_global + c.atomics_shared) +
         3 * d(c.shared_loads + c.shared_stores) + 20 * d(c.tensor);
}

ProgramSample sample_launches(EmulatedProgram& program, const emulator::Module& module,
                              const emulator::Profile& profile, double most_units) {
  ProgramSample result;
  const auto stop = [&](Verdict verdict, std::string detail) {
    result.verdict = verdict;
    result.detail = std::move(detail);
    return result;
  };
  const auto& runnable = program.runnable();
  const auto& launches = runnable.program.launches;
  std::optional<sass::Cubin> cubin;
  if (auto read = sass::Cubin::read(runnable.compiled.cubin)) cubin = std::move(*read);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const auto& launch = launches[i];
    const CompiledKernel* kernel = runnable.compiled.find(launch.kernel);
    const auto config = program.config(i);
    if (kernel == nullptr || !config) return stop(Verdict::kLaunchError, "no such kernel");
    const int registers = kernel->resources.registers > 0 ? kernel->resources.registers : 32;
    const std::int64_t blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
    emulator::RunOptions options;
    options.check_initialised = false;  // earlier launches ran in part only
    options.check_races = false;        // checked in full at the check sizes
    options.max_warp_instructions = kSampleLimit;
    options.profile = &profile;
    options.count_lines = cubin.has_value();
    options.registers = registers;
    // One block tells what a block costs; the sample is then as large as the budget allows.
    options.sample_blocks = 1;
    auto report =
        one_block(program, module, i, options, most_units / static_cast<double>(launches.size()));
    if (report.verdict == Verdict::kOk && blocks > 1) {
      // A sector touched costs the emulator about as much as three plain instructions.
      const auto& c = report.counters;
      const std::uint64_t cost = std::max<std::uint64_t>(
          1, c.warp_instructions + 3 * (c.global_load_sectors + c.global_store_sectors));
      const std::uint64_t target = kSampleTarget / launches.size() / cost;
      options.sample_blocks = std::clamp<std::int64_t>(
          static_cast<std::int64_t>(target), 1, std::min<std::int64_t>(blocks, kMaxSampledBlocks));
      if (options.sample_blocks > 1) report = program.launch(module, i, options);
    }
    if (report.verdict == Verdict::kTimeout && options.sample_blocks < blocks) {
      return stop(most_units < kReferenceSample ? Verdict::kTimeout : Verdict::kUnsupported,
                  "the time model cannot sample this program: " + report.detail +
                      " (a block waits for others, or one block runs too long)");
    }
    if (report.verdict != Verdict::kOk)
      return stop(report.verdict, report.detail + " (at the timed size)");
    if (cubin) count_machine_code(*cubin, *kernel, report, report.counters);
    const double scale = static_cast<double>(blocks) /
                         static_cast<double>(std::max<std::uint64_t>(1, report.counters.blocks));
    const auto& buffers = runnable.program.buffers;
    for (std::size_t k = 0; k < buffers.size(); ++k) {
      const double reached = reached_bytes(program, static_cast<int>(k), report.counters, scale);
      if (reached >= kWhole * static_cast<double>(buffers[k].bytes()))
        result.touched_whole.insert(buffers[k].name);
    }
    result.launches.push_back(
        {report.counters, *config, registers, kernel->resources.static_shared_bytes});
  }
  return result;
}

std::map<std::string, double> to_map(const Counters& c) {
  const auto d = [](std::uint64_t v) { return static_cast<double>(v); };
  return {{"blocks", d(c.blocks)},
          {"blocks_total", d(c.blocks_total)},
          {"warps", d(c.warps)},
          {"warp_instructions", d(c.warp_instructions)},
          {"thread_instructions", d(c.thread_instructions)},
          {"fp32", d(c.fp32)},
          {"fp64", d(c.fp64)},
          {"fp16", d(c.fp16)},
          {"integer", d(c.integer)},
          {"sfu", d(c.sfu)},
          {"conversion", d(c.conversion)},
          {"control", d(c.control)},
          {"shuffle", d(c.shuffle)},
          {"barrier", d(c.barrier)},
          {"global_loads", d(c.global_loads)},
          {"global_stores", d(c.global_stores)},
          {"shared_loads", d(c.shared_loads)},
          {"shared_stores", d(c.shared_stores)},
          {"local_accesses", d(c.local_loads + c.local_stores)},
          {"local_lines", d(c.local_load_lines + c.local_store_lines)},
          {"atomics_global", d(c.atomics_global)},
          {"atomics_shared", d(c.atomics_shared)},
          {"global_load_sectors", d(c.global_load_sectors)},
          {"global_store_sectors", d(c.global_store_sectors)},
          {"l1_wavefronts", d(c.l1_wavefronts)},
          {"shared_wavefronts", d(c.shared_wavefronts)},
          {"l1_miss_sectors", d(c.l1_miss_sectors)},
          {"l2_miss_sectors", d(c.l2_miss_sectors)},
          {"atomic_serialised", d(c.atomic_serialised)},
          {"divergent_branches", d(c.divergent_branches)},
          {"flops", d(c.flops)}};
}

}  // namespace hone::runner
