// One launch: limits, which blocks run, the SM's cache, and the sums.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evaluator/device/emulator/ptx/cost.h"
#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/block_kinds.h"
#include "evaluator/device/emulator/sim/data_kinds.h"
#include "evaluator/device/emulator/sim/grid.h"
#include "evaluator/device/emulator/sim/parallel.h"
#include "evaluator/device/emulator/sim/traits.h"

namespace hone::emulator {
namespace {

/// Of a sample whose blocks take turns: it may wait for a block that was left out.
constexpr std::uint64_t kMostInTurns = 30'000'000;  // [warp instructions]

std::string check_limits(const Kernel& kernel, const LaunchConfig& launch, const Profile& profile) {
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const std::uint64_t blocks = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  if (threads == 0 || blocks == 0) return "a launch needs at least one block and one thread";
  if (threads > static_cast<std::uint64_t>(profile.max_threads_per_block) ||
      launch.block[0] > 1024 || launch.block[1] > 1024 || launch.block[2] > 64)
    return fmt::format("a block of {}x{}x{} threads is more than the device takes ({})",
                       launch.block[0], launch.block[1], launch.block[2],
                       profile.max_threads_per_block);
  if (kernel.max_threads > 0 && threads > static_cast<std::uint64_t>(kernel.max_threads))
    return fmt::format("a block of {} threads, but the kernel was compiled for at most {}", threads,
                       kernel.max_threads);
  if (launch.grid[0] > 0x7FFFFFFFu || launch.grid[1] > 65535 || launch.grid[2] > 65535)
    return fmt::format("a grid of {}x{}x{} blocks is more than the device takes", launch.grid[0],
                       launch.grid[1], launch.grid[2]);
  const std::int64_t shared =
      std::int64_t{kernel.static_shared_bytes} + launch.dynamic_shared_bytes;
  if (kernel.static_shared_bytes > 48 * 1024)
    return fmt::format("{} B of static shared memory, at most 49152", kernel.static_shared_bytes);
  if (shared > profile.shared_per_block)
    return fmt::format("{} B of shared memory per block, the device has {}", shared,
                       profile.shared_per_block);
  const auto& cluster = launch.cluster;
  for (int i = 0; i < 3; ++i)
    if (cluster[i] == 0 || launch.grid[i] % cluster[i] != 0)
      return fmt::format("a grid of {}x{}x{} blocks in clusters of {}x{}x{}", launch.grid[0],
                         launch.grid[1], launch.grid[2], cluster[0], cluster[1], cluster[2]);
  if (const std::uint64_t n = std::uint64_t{cluster[0]} * cluster[1] * cluster[2]; n > 16)
    return fmt::format("a cluster of {} blocks, at most 16", n);
  if (launch.parameters.size() < static_cast<std::size_t>(kernel.parameter_bytes))
    return fmt::format("the kernel takes {} B of parameters, {} were given", kernel.parameter_bytes,
                       launch.parameters.size());
  return {};
}

/// Runs of neighbours, since those share what they read. Without a seed they are spaced evenly, the
/// grid's edges among them; with one there is a run anywhere in each of as many equal parts.
std::vector<std::uint64_t> choose_blocks(std::uint64_t total, std::int64_t sample,
                                         std::uint64_t seed) {
  std::vector<std::uint64_t> ids;
  Dice dice(seed);
  if (sample <= 0 || static_cast<std::uint64_t>(sample) >= total) {
    ids.resize(total);
    for (std::uint64_t i = 0; i < total; ++i) ids[i] = i;
    return ids;
  }
  const auto n = static_cast<std::uint64_t>(sample);
  const std::uint64_t run = n >= 16 ? 4 : n >= 4 ? 2 : 1;
  const std::uint64_t runs = (n + run - 1) / run;
  for (std::uint64_t r = 0; r < runs; ++r) {
    const auto part = [&](std::uint64_t k) {
      return static_cast<std::uint64_t>(static_cast<unsigned __int128>(total) * k / runs);
    };
    const std::uint64_t room = part(r + 1) - part(r) - std::min(part(r + 1) - part(r), run);
    const std::uint64_t first =
        seed != 0   ? part(r) + dice.below(room + 1)
        : runs == 1 ? (total - run) / 2
                    : static_cast<std::uint64_t>(static_cast<unsigned __int128>(total - run) * r /
                                                 (runs - 1));
    for (std::uint64_t k = 0; k < run && ids.size() < n; ++k)
      if (ids.empty() || first + k > ids.back()) ids.push_back(first + k);
  }
  return ids;
}

/// The clusters that hold these blocks.
std::vector<std::uint64_t> clusters_of(const std::vector<std::uint64_t>& blocks,
                                       std::uint64_t total, std::uint64_t in_cluster) {
  std::vector<std::uint64_t> ids;
  for (const std::uint64_t block : blocks) {
    const std::uint64_t id = block / in_cluster;
    if (block < total && (ids.empty() || id > ids.back())) ids.push_back(id);
  }
  return ids;
}

std::vector<std::uint64_t> blocks_of(const std::vector<std::uint64_t>& clusters,
                                     std::uint64_t in_cluster) {
  std::vector<std::uint64_t> blocks;
  for (const std::uint64_t c : clusters)
    for (std::uint64_t k = 0; k < in_cluster; ++k) blocks.push_back(c * in_cluster + k);
  return blocks;
}

/// Of several draws the one whose kinds of blocks have most nearly the shares that they have of the
/// grid. `clusters` is the first of them.
void draw_alike(std::vector<std::uint64_t>& clusters, const BlockKinds& kinds, std::uint64_t total,
                std::uint64_t in_cluster, std::int64_t sample, std::uint64_t seed) {
  constexpr int kDraws = 32;
  double least = kinds.distance(blocks_of(clusters, in_cluster));
  Dice dice(seed);
  for (int k = 1; k < kDraws && least > 0; ++k) {
    auto drawn = choose_blocks(total / in_cluster, sample, dice.next() | 1);
    const double distance = kinds.distance(blocks_of(drawn, in_cluster));
    if (distance >= least) continue;
    least = distance;
    clusters = std::move(drawn);
  }
}

/// Sums the per-instruction counts into classes.
void classify(RunState& run) {
  Counters& c = run.counters;
  for (std::size_t f = 0; f < run.executions.size(); ++f) {
    const auto& code = run.module->functions[f].code;
    const auto& ops = run.module->functions[f].ops;
    std::uint64_t n = 0;
    std::uint64_t lanes = 0;
    for (std::size_t i = 0; i < run.executions[f].size(); ++i) {
      // A run of straight code was counted where it was entered.
      if (i == 0 || ops[i - 1].run <= 1 || run.options->schedule_seed != 0) n = lanes = 0;
      n += run.executions[f][i];
      lanes += run.lanes[f][i];
      if (n == 0 || code[i].helper) continue;
      c.warp_instructions += n;
      c.thread_instructions += lanes;
      c.flops += lanes * code[i].flops;
      const Cost cost = cost_of(code[i]);
      c.issued += n * cost.issue;
      c.pipe_alu += n * cost.alu;
      c.pipe_fma += n * cost.fma;
      c.pipe_imad += n * cost.imad;
      c.pipe_xu += n * cost.xu;
      c.pipe_fp64 += n * cost.fp64;
      switch (code[i].cls) {
        case Class::kFp32:
          c.fp32 += n;
          break;
        case Class::kFp64:
          c.fp64 += n;
          break;
        case Class::kFp16:
          c.fp16 += n;
          break;
        case Class::kInteger:
          c.integer += n;
          break;
        case Class::kSfu:
          c.sfu += n;
          break;
        case Class::kConversion:
          c.conversion += n;
          break;
        case Class::kControl:
          c.control += n;
          break;
        case Class::kShuffle:
          c.shuffle += n;
          break;
        case Class::kBarrier:
          c.barrier += n;
          break;
        case Class::kOther:
          c.other += n;
          break;
        case Class::kMemory:
          break;  // counted by space
        case Class::kTensor:
          count_tensor(c, run.module->functions[f].tensors[code[i].imm], n, *run.profile);
          break;
      }
    }
  }
  c.l1_wavefronts = (run.l1_wavefronts_x10 + 9) / 10;
}

/// Executions by PTX line.
std::vector<std::int64_t> count_lines(const RunState& run) {
  std::vector<std::int64_t> counts;
  for (std::size_t f = 0; f < run.executions.size(); ++f) {
    const auto& code = run.module->functions[f].code;
    const auto& ops = run.module->functions[f].ops;
    std::int64_t n = 0;
    for (std::size_t i = 0; i < run.executions[f].size(); ++i) {
      if (i == 0 || ops[i - 1].run <= 1 || run.options->schedule_seed != 0) n = 0;
      n += static_cast<std::int64_t>(run.executions[f][i]);
      if (code[i].helper || code[i].place >= run.module->places.size()) continue;
      const std::uint32_t line = run.module->places[code[i].place].ptx_line;
      if (line >= counts.size()) counts.resize(line + 1, -1);
      counts[line] = std::max(counts[line], n);
    }
  }
  return counts;
}

/// How much of what the emulator took for the DRAM's part of a latency is: what a sample touches
/// first comes from there, but of a whole grid only a part does. Where all SMs ask at once, that
/// takes longer than for one load alone.
double part_of_dram(const RunState& run) {
  constexpr double kLoaded = 1.7;
  const double missing = run.touched_sectors > 0
                             ? std::min(1.0, static_cast<double>(run.counters.l2_miss_sectors) /
                                                 static_cast<double>(run.touched_sectors))
                             : 0;
  return kLoaded * missing;
}

/// By PTX line, of loads and atomics.
std::vector<float> line_latencies(const RunState& run, const std::vector<std::int64_t>& counts) {
  std::vector<float> latencies(counts.size(), 0);
  const double l2 = run.profile->l2_latency;
  const double of_dram = part_of_dram(run);
  for (std::size_t f = 0; f < run.waited.size(); ++f) {
    const auto& code = run.module->functions[f].code;
    for (std::size_t i = 0; i < run.waited[f].size(); ++i) {
      if (run.waited[f][i] == 0 || code[i].place >= run.module->places.size()) continue;
      const std::uint32_t line = run.module->places[code[i].place].ptx_line;
      if (line < counts.size() && counts[line] > 0)
        latencies[line] = static_cast<float>(static_cast<double>(run.waited[f][i]) /
                                             static_cast<double>(counts[line]));
      if (line < counts.size() && latencies[line] > l2)
        latencies[line] = static_cast<float>(l2 + of_dram * (latencies[line] - l2));
    }
  }
  return latencies;
}

/// Of the word that most lanes took turns at.
void count_turns(RunState& run) {
  const Turns* most = nullptr;
  for (const auto& [word, turns] : run.turns) {
    const auto better = [&](const Turns& a, const Turns& b) {
      return a.several != b.several ? a.several : a.lanes > b.lanes;
    };
    if (most == nullptr || better(turns, *most)) most = &turns;
  }
  if (most == nullptr) return;
  Counters& c = run.counters;
  c.turns = most->lanes;
  c.turns_released = most->released;
  c.turns_held = most->held;
  c.turns_shared = most->several || c.blocks == 1 ? 1 : 0;
}

/// Of kinds that the sample has none of, `rare` is what one of their blocks takes at most.
void count_unlike(RunState& run, const Counters& rare) {
  if (run.kinds == nullptr || run.counters.blocks == 0) return;
  double off = 0;
  for (std::size_t k = 0; k < run.kinds->count(); ++k) {
    const auto found = run.block_runs.find(static_cast<std::uint8_t>(k));
    const bool sampled = found != run.block_runs.end();
    const double mean = sampled ? found->second.all_sum / found->second.all_blocks
                                : static_cast<double>(rare.most_of_a_block);
    const double share =
        sampled ? found->second.all_blocks / static_cast<double>(run.counters.blocks) : 0;
    off += (share - run.kinds->share(k)) * mean;
  }
  run.counters.unlike_grid = static_cast<std::uint64_t>(std::abs(off));
}

/// The line that most stores went to, if they are those of many blocks, or it had only one.
void count_hot_line(RunState& run) {
  Counters& c = run.counters;
  for (const HotLine& hot : run.hot) {
    if (hot.sectors <= c.hot_sectors) continue;
    const bool shared = 2 * hot.blocks >= c.blocks;
    c.hot_sectors = hot.sectors;
    c.hot_shared = shared ? 1 : 0;
  }
}

/// By place: how the branches of a module hold up their warp.
std::vector<std::uint8_t> syncs_of(const ModuleImpl& module, const BranchHints& hints) {
  std::vector<std::uint8_t> syncs(module.places.size(), kSyncUnknown);
  for (const Function& f : module.functions) {
    for (std::size_t i = 0; i < f.code.size(); ++i) {
      const Inst& in = f.code[i];
      if (in.kind != Kind::kBranch || in.helper) continue;
      const std::uint32_t line = module.places[in.place].ptx_line;
      if (in.target <= static_cast<std::int32_t>(i)) {
        if (const auto known = hints.unrolled.find(line); known != hints.unrolled.end())
          syncs[in.place] = static_cast<std::uint8_t>(std::clamp(known->second, 1, 254));
      } else if (in.guarded) {
        syncs[in.place] = hints.kept.contains(line) ? 1 : 0;
      }
    }
  }
  return syncs;
}

/// Of the instructions that have a subroutine for rare operands.
void note_estimates(const RunState& run, RunReport& report) {
  report.line_branches.assign(report.line_counts.size(), 0);
  for (std::size_t f = 0; f < run.executions.size(); ++f) {
    for (const Inst& in : run.module->functions[f].code) {
      const Cost cost = cost_of(in);
      if (!cost.branches || in.helper || in.place >= run.module->places.size()) continue;
      const std::uint32_t line = run.module->places[in.place].ptx_line;
      if (line >= report.line_counts.size() || report.line_branches[line] != 0) continue;
      report.line_branches[line] = 1;
      const auto n =
          static_cast<std::uint64_t>(std::max<std::int64_t>(0, report.line_counts[line]));
      report.estimated.issued += n * cost.issue;
      report.estimated.pipe_alu += n * cost.alu;
      report.estimated.pipe_fma += n * cost.fma;
      report.estimated.pipe_imad += n * cost.imad;
      report.estimated.pipe_xu += n * cost.xu;
      report.estimated.pipe_fp64 += n * cost.fp64;
    }
  }
}

/// DRAM sectors for the blocks that ran: what the whole grid would touch once, plus what falls out
/// of L2 between waves. The footprint of the grid is extrapolated from how it grew over the second
/// half of the sample (a power law: 0 when all blocks read the same, 1 when each reads its own).
std::uint64_t estimate_dram(const RunState& run, std::uint64_t half_blocks, int resident) {
  const Counters& c = run.counters;
  if (c.blocks == 0) return 0;
  const auto ran = static_cast<double>(c.blocks);
  const auto total = static_cast<double>(c.blocks_total);
  const double scale = total / ran;
  const double wave = std::min(total, static_cast<double>(run.profile->sm_count) * resident);
  double footprint = 0;
  double per_wave = 0;
  double there = 0;  // left by launches before
  for (const auto& a : run.memory->allocations) {
    if (a->touched == 0) continue;
    const auto unique = static_cast<double>(a->touched);
    double growth = 1;
    if (a->touched_at_half > 0 && half_blocks > 0 && c.blocks > half_blocks)
      growth = std::log(unique / static_cast<double>(a->touched_at_half)) /
               std::log(ran / static_cast<double>(half_blocks));
    growth = std::clamp(growth, 0.0, 1.0);
    const double whole = static_cast<double>(a->bytes) / 32 + 1;
    a->leaves = std::min(whole, unique * std::pow(scale, growth));
    footprint += a->leaves;
    there += a->leaves * std::min(1.0, a->left / whole);
    per_wave += std::min(whole, unique * std::pow(wave / ran, growth));
  }
  const auto traffic = static_cast<double>(run.traffic_sectors);
  const double l2_sectors = static_cast<double>(run.profile->l2_bytes) / 32;
  double dram = footprint - there;
  if (footprint > l2_sectors) {
    const double spilled = std::min(traffic * scale, total / wave * per_wave);
    dram += std::max(0.0, spilled - footprint) * (1 - l2_sectors / footprint);
  }
  // DRAM gives 64 B at once.
  const double halves = run.touched_sectors > 0 ? static_cast<double>(run.lone_sectors) /
                                                      static_cast<double>(run.touched_sectors)
                                                : 0;
  return static_cast<std::uint64_t>(std::min(dram / scale, traffic) * (1 + halves));
}

/// Uses of uninitialised memory that no race explains.
void settle_held(RunState& state) {
  if (state.held.empty() || state.raced) return;
  if (!state.findings.collects()) {
    Held& h = state.held.front();  // whatever ended the run came of it
    state.failure = {h.finding.verdict, text_of(h.finding)};
    state.findings = FindingList();
    state.findings.add(std::move(h.finding), h.place);
    return;
  }
  for (Held& h : state.held)
    if (!state.findings.again(h.finding.kind, h.place, h.finding.count))
      state.findings.add(std::move(h.finding), h.place);
}

/// What ended the run may have no one place: blocks that wait for one another.
void collect_findings(RunState& state, RunReport& report) {
  const bool collects = state.findings.collects();
  report.findings = state.findings.take();
  auto& found = report.findings;
  if (report.verdict != Verdict::kOk && (found.empty() || report.verdict == Verdict::kTimeout)) {
    Finding f;
    f.kind = report.verdict == Verdict::kTimeout ? FindingKind::kTimeout : FindingKind::kOther;
    f.verdict = report.verdict;
    f.what = report.detail;
    f.kernel = state.launch->kernel;
    f.has_thread = false;
    if (found.empty() || found.back().kind != FindingKind::kTimeout)
      found.push_back(std::move(f));
    else if (found.size() == 1 && text_of(found.back()) != report.detail)
      found.back().what = report.detail;
  }
  if (!collects || found.empty()) return;
  report.verdict = found.front().verdict;
  report.detail = text_of(found.front());
}

}  // namespace

RunReport run(const Module& base, const LaunchConfig& asked, Memory& memory,
              const RunOptions& asked_options) {
  RunOptions options = asked_options;
  const auto& module = static_cast<const ModuleImpl&>(base);
  RunReport report;
  const Profile* profile = options.profile ? options.profile : find_profile("sm_90");
  int index = -1;
  for (std::size_t i = 0; i < module.kernels_.size(); ++i)
    if (module.kernels_[i].name == asked.kernel) index = static_cast<int>(i);
  if (index < 0) {
    report.verdict = Verdict::kLaunchError;
    report.detail = fmt::format("the module has no kernel '{}'", asked.kernel);
    return report;
  }
  const Kernel& kernel = module.kernels_[index];
  LaunchConfig launch = asked;
  if (kernel.cluster[0] != 0) {
    if (launch.cluster == std::array<std::uint32_t, 3>{1, 1, 1}) launch.cluster = kernel.cluster;
    if (launch.cluster != kernel.cluster) {
      report.verdict = Verdict::kLaunchError;
      report.detail =
          fmt::format("clusters other than the kernel requires, kernel {}", kernel.name);
      return report;
    }
  }
  if (std::string why = check_limits(kernel, launch, *profile); !why.empty()) {
    report.verdict = Verdict::kLaunchError;
    report.detail = fmt::format("{}, kernel {}", why, kernel.name);
    return report;
  }
  memory.impl().place_globals(module);
  const int threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
  const auto shared = static_cast<std::int64_t>(kernel.static_shared_bytes) +
                      static_cast<std::int64_t>(launch.dynamic_shared_bytes);
  const int resident =
      std::max(1, occupancy(*profile, threads, options.registers, shared).blocks_per_sm);
  const std::uint64_t total = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  const std::uint64_t in_cluster =
      std::uint64_t{launch.cluster[0]} * launch.cluster[1] * launch.cluster[2];
  const auto sample = (options.sample_blocks + static_cast<std::int64_t>(in_cluster) - 1) /
                      static_cast<std::int64_t>(in_cluster);
  std::vector<std::uint64_t> clusters =
      options.blocks ? clusters_of(*options.blocks, total, in_cluster)
                     : choose_blocks(total / in_cluster, sample, asked_options.sample_seed);
  const int function = module.kernel_functions[index];
  const Traits traits = traits_of(module, function);
  if (options.share_counters && traits.counts && clusters.size() > 1) {
    options.schedule_seed = options.sample_seed | 1;
    options.max_warp_instructions = std::min(options.max_warp_instructions, kMostInTurns);
  }

  // What a sample would miss, alone and first: what is touched is what the sample touches.
  Counters rare;
  std::optional<BlockKinds> kinds;
  if (options.counters && options.sample_blocks > 0 && !options.blocks &&
      clusters.size() * in_cluster < total) {
    kinds = BlockKinds::of(module, function, launch);
    std::vector<std::uint64_t> missed;
    if (kinds) {
      if (const std::uint64_t seed = asked_options.sample_seed; seed != 0)
        draw_alike(clusters, *kinds, total, in_cluster, sample, seed);
      missed = kinds->missed_by(blocks_of(clusters, in_cluster));
    }
    if (options.by_data != 0) {
      const auto by_data =
          missed_by_data(module, function, launch, memory.impl(), blocks_of(clusters, in_cluster));
      missed.insert(missed.end(), by_data.begin(), by_data.end());
    }
    if (options.also >= 0) missed.push_back(static_cast<std::uint64_t>(options.also));
    std::ranges::sort(missed);
    const auto twice = std::ranges::unique(missed);
    missed.erase(twice.begin(), twice.end());
    if (!missed.empty()) {
      RunOptions of_missed = asked_options;
      of_missed.blocks = &missed;
      of_missed.sample_blocks = 0;
      of_missed.restore_counters = true;
      if (options.by_data != 0) of_missed.max_warp_instructions = options.by_data * missed.size();
      RunReport seen = run(base, asked, memory, of_missed);
      if (options.by_data != 0 && seen.verdict == Verdict::kTimeout && !seen.polled) {
        seen.outlasted = true;
        return seen;
      }
      if (seen.verdict == Verdict::kOk && !seen.polled) rare = seen.counters;
    }
  }

  const auto attempt = [&](Tracking tracking, RunState& state, bool parallel) {
    ++memory.impl().epoch;
    for (auto& a : memory.impl().allocations) {
      a->touched = a->touched_at_half = 0;
      a->was_written = a->written;
    }
    state.module = &module;
    state.launch = &launch;
    state.memory = &memory.impl();
    state.options = &options;
    if (options.branches && options.counters) state.syncs = syncs_of(module, *options.branches);
    state.chosen = clusters.size() * in_cluster;
    state.blocks_in_grid = total;
    state.kinds = kinds ? &*kinds : nullptr;
    state.findings = FindingList(options.max_findings);
    state.profile = profile;
    state.resident = static_cast<std::uint64_t>(resident);
    state.function = function;
    const std::uint32_t align = module.dynamic_alignment;
    state.static_shared =
        (static_cast<std::uint32_t>(kernel.static_shared_bytes) + align - 1) / align * align;
    state.shared_bytes = launch.dynamic_shared_bytes
                             ? state.static_shared + launch.dynamic_shared_bytes
                             : static_cast<std::uint32_t>(kernel.static_shared_bytes);
    for (const Function& f : module.functions) {
      state.executions.emplace_back(options.counters ? f.code.size() : 0);
      state.lanes.emplace_back(options.counters ? f.code.size() : 0);
      state.waited.emplace_back(options.counters ? f.code.size() : 0);
    }
    if (options.counters) {
      // Co-resident blocks share the cache: each gets its part, and finds what others loaded.
      const std::int64_t carve = std::min<std::int64_t>(
          profile->shared_per_sm,
          (std::int64_t{state.shared_bytes} + profile->shared_reserved) * resident);
      state.sm_l1_bytes = std::max<std::int64_t>(4096, profile->l1_bytes - carve);
      state.blocks_of_sm = (total + static_cast<std::uint64_t>(profile->sm_count) - 1) /
                           static_cast<std::uint64_t>(profile->sm_count);
      state.sm_is_warm = state.blocks_of_sm >= 2 * static_cast<std::uint64_t>(resident);
      const auto together = static_cast<std::int64_t>(
          std::min<std::uint64_t>(static_cast<std::uint64_t>(resident), state.blocks_of_sm));
      state.l1_bytes = std::max<std::int64_t>(4096, (profile->l1_bytes - carve) / together);
    }
    state.counters.blocks_total = total;
    state.tracking = tracking;
    state.granule_shift = traits.granule_shift;
    if (options.waits_in_time && options.counters) state.words.emplace();
    state.order.in_cluster = static_cast<std::uint32_t>(in_cluster);
    std::uint64_t half_blocks = 0;
    if (parallel) {
      report.threads = run_parallel(state, clusters);
      if (report.threads == 0) return false;
    } else {
      report.threads = 1;
      Grid grid(state, clusters, static_cast<std::uint64_t>(profile->sm_count) * resident);
      grid.run();
      if (state.met) return false;
      half_blocks = grid.half_blocks();
      if (state.waits_for_blocks) state.counters.waited_cycles = grid.end_of_all();
    }
    settle_held(state);
    if (options.restore_counters)
      for (const auto& [address, counter] : state.shared_counters)
        (void)memory.write(address, &counter.before, static_cast<std::uint64_t>(counter.bytes));
    classify(state);
    if (!options.counters) state.counters.warp_instructions = state.executed;
    state.counters.l2_miss_sectors = estimate_dram(state, half_blocks, resident);
    const auto by_dram = static_cast<double>(state.given_by_dram);
    const double longer = (part_of_dram(state) - 1) * by_dram;
    const auto more = static_cast<std::int64_t>(longer);
    state.counters.given_path_sum += static_cast<std::uint64_t>(more);
    state.counters.critical_path_sum += static_cast<std::uint64_t>(more);
    count_turns(state);
    count_hot_line(state);
    count_unlike(state, rare);
    report.counters = state.counters;
    Counters& c = report.counters;
    c.critical_path_cycles = std::max(c.critical_path_cycles, rare.critical_path_cycles);
    keep_longest(c, rare.most_of_a_block, rare.longest_block);
    if (options.counters && options.count_lines) {
      report.line_counts = count_lines(state);
      report.line_latencies = line_latencies(state, report.line_counts);
      note_estimates(state, report);
    }
    report.polled = state.polled;
    report.counted.clear();
    for (const auto& [address, counter] : state.shared_counters) report.counted.push_back(address);
    std::ranges::sort(report.counted);
    report.verdict = state.failure.verdict;
    report.detail = std::move(state.failure.detail);
    report.output = std::move(state.output);
    report.output_cut = state.output_cut;
    collect_findings(state, report);
    return true;
  };
  // Whatever an attempt could not decide, the next one does, from the same memory.
  auto state = std::make_unique<RunState>();
  const auto again = [&] {
    roll_back(memory.impl());
    state = std::make_unique<RunState>();
  };
  if (may_run_parallel(options, traits, launch, clusters.size())) {
    if (attempt(Tracking::kMarks, *state, true)) return report;
    again();
  }
  // Cheap marks first; who met whom, and whether that was a race, only a second run tells.
  // A block that runs alone meets nobody.
  const bool alone = total == 1 || (clusters.size() * in_cluster == 1 && !traits.communicates);
  const Tracking tracking = !options.check_races || alone ? Tracking::kOff
                            : traits.communicates         ? Tracking::kStamps
                                                          : Tracking::kMarks;
  if (!attempt(tracking, *state, false)) {
    again();
    attempt(Tracking::kStamps, *state, false);
  }
  return report;
}

}  // namespace hone::emulator
