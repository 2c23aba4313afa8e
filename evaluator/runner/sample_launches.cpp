#include "evaluator/runner/sample_launches.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "evaluator/runner/block_groups.h"
#include "evaluator/sass/local_accesses.h"
#include "evaluator/sass/machine_counts.h"
#include "evaluator/sass/timeline.h"

namespace hone::runner {

using emulator::Counters;

namespace {

// What the sample of a program is to cost, over its launches, and how many blocks it has at most.
constexpr std::uint64_t kSampleTarget = 2'500'000, kThoroughTarget = 40'000'000;
constexpr std::uint64_t kMostSampledBlocks = 64, kMostThoroughBlocks = 1024;
constexpr std::uint64_t kSampleLimit = 400'000'000;  // of one launch's sample [warp instructions]
/// Of blocks that data set apart: what they take is known only when they end.
constexpr std::uint64_t kMostBeside = 120'000'000;  // of one launch [warp instructions]
/// [warp instructions]; tells of a longer block what an instruction costs.
constexpr std::uint64_t kProbe = 2'000'000;
constexpr double kPartProbed = 0.125;  // of what a block may take, at most
/// What a launch may take whose blocks wait for one another and run in full [warp instructions].
constexpr std::uint64_t kMostWaiting = 100'000'000, kMostWaitingThorough = 180'000'000;
/// Blocks that tell a thorough sample what the others take, as far as one says that there are more.
constexpr std::uint64_t kSecondProbe = 8;
/// Of one block: then it is the only one [warp instructions].
constexpr std::uint64_t kVeryMuch = 40'000'000;
/// How often a program is sampled again because its blocks turn out to wait or to count.
constexpr int kMostAttempts = 8;
/// A thorough sample that took so much less than it was to is taken again.
constexpr std::uint64_t kTooSmall = 4;
constexpr double kLittle = 0.5;  // of an output, by all blocks: others may write the rest
constexpr double kWhole = 0.95;  // one of the sampled blocks may be a tail
/// Of what a launch reads in a buffer that is no input, so much is to be written before it or by
/// it.
constexpr double kLeastRead = 0.25;
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

/// What the machine code issues. PTX knows of no spills, and of arrays that ptxas then keeps in
/// registers.
void count_machine_code(const sass::Cubin& cubin, const CompiledKernel& kernel,
                        const emulator::RunReport& report, const emulator::Profile& profile,
                        Counters& counters) {
  const auto rounded = [](double v) { return static_cast<std::uint64_t>(std::llround(v)); };
  const sass::PtxCounts ptx = {.by_line = report.line_counts,
                               .warps = static_cast<std::int64_t>(counters.warps)};
  const auto local = sass::local_accesses(cubin, kernel.lowered_name, ptx);
  const double moved = static_cast<double>(counters.local_loads + counters.local_stores);
  const double lines = static_cast<double>(counters.local_load_lines + counters.local_store_lines);
  // How many lines an access with an index comes to, the PTX has shown.
  const double spread = moved > 0 ? std::max(1.0, lines / moved) : 1;
  counters.local_loads = rounded(local.loads);
  counters.local_stores = rounded(local.stores);
  counters.local_load_lines = rounded(local.load_lines + spread * local.indexed_loads);
  counters.local_store_lines = rounded(local.store_lines + spread * local.indexed_stores);
  counters.local_indexed_lines = rounded(spread * (local.indexed_loads + local.indexed_stores));
  counters.frame_bytes = static_cast<std::uint64_t>(kernel.resources.stack_bytes);
  if (const auto machine =
          sass::machine_counts(cubin, kernel.lowered_name, ptx, report.line_branches)) {
    const Counters& estimated = report.estimated;
    const double in_ptx = static_cast<double>(
        std::min(counters.local_accesses, counters.local_loads + counters.local_stores));
    counters.issued = rounded(machine->issued + in_ptx) + estimated.issued;
    counters.pipe_alu = rounded(machine->alu) + estimated.pipe_alu;
    counters.pipe_fma = rounded(machine->fma) + estimated.pipe_fma;
    counters.pipe_imad = rounded(machine->imad) + estimated.pipe_imad;
    counters.pipe_xu = rounded(machine->xu) + estimated.pipe_xu;
    counters.pipe_fp64 = rounded(machine->fp64) + estimated.pipe_fp64;
    counters.uniform_constants = rounded(machine->uniform_constants);
    counters.code_far = rounded(machine->code_far);
    counters.code_farther = rounded(machine->code_farther);
    const sass::Latencies latencies = {.l1 = profile.l1_latency,
                                       .shared = profile.shared_latency,
                                       .l2 = profile.l2_latency,
                                       .special = profile.sfu_latency,
                                       .conversion = profile.conversion_latency,
                                       .shuffle = profile.shuffle_latency,
                                       .fp64 = profile.fp64_latency,
                                       .tensor = profile.tensor_latency,
                                       .barrier = profile.barrier_cycles,
                                       .by_line = report.line_latencies};
    if (const auto cycles = sass::warp_cycles(cubin, kernel.lowered_name, ptx, latencies))
      counters.machine_path_sum = rounded(*cycles);
  }
  counters.spilled_in_loops = static_cast<std::uint64_t>(local.words_in_loops);
}

class Sampling {
 public:
  Sampling(const protocol::Runnable& runnable, std::uint64_t seed, const emulator::Module& module,
           const emulator::Profile& profile, const SampleOptions& options)
      : runnable_(runnable), seed_(seed), module_(module), profile_(profile), options_(options) {
    if (auto read = sass::Cubin::read(runnable.compiled.cubin)) cubin_ = std::move(*read);
  }

  ProgramSample run() {
    ProgramSample sample = tried(0);
    if (sample.verdict != Verdict::kOk || !sample.follows) return sample;
    double units = 0;
    for (std::size_t i = 0; i < *sample.follows; ++i) {
      const Counters& c = sample.launches[i].counters;
      units += units_of(c) * scale_of(c);
    }
    if (units > options_.most_in_full) return sample;
    return tried(*sample.follows);
  }

 private:
  static double scale_of(const Counters& c) {
    return static_cast<double>(c.blocks_total) /
           static_cast<double>(std::max<std::uint64_t>(1, c.blocks));
  }
  static bool is_part(const Counters& c) { return c.blocks < c.blocks_total; }
  /// How a launch is sampled. The first way that works is taken.
  enum class Way {
    kShared,  ///< blocks all over the grid; counters rise for those that are left out
    kGroups,  ///< all blocks that count with the same words, together
    kAlone,   ///< blocks all over the grid, as if there were no others
    kFirst,   ///< the first blocks of the grid: each waits for the one before it
    kAll,     ///< in full: they wait for one another
  };
  struct Plan {
    Way way = Way::kShared;
    std::uint64_t blocks = 0;  ///< 0: as many as one of them lets expect
    bool counts = false;       ///< with words of global memory
    bool grouped = false;      ///< groups of blocks were tried
  };
  ProgramSample tried(std::size_t in_full);
  /// Takes another way where this one did not work; false: it did, or there is none.
  bool changes_plan(Plan& plan, const emulator::RunReport& report) const;
  /// Outputs stay unwritten that whole groups of blocks may write.
  bool tries_groups(const ProgramSample& sample);
  BlockGroups groups_of(std::size_t launch, emulator::RunOptions options);
  [[nodiscard]] std::vector<std::uint64_t> blocks_of_groups(const BlockGroups& groups,
                                                            std::uint64_t cost) const;
  [[nodiscard]] std::uint64_t target() const {
    return (options_.thorough ? kThoroughTarget : kSampleTarget) /
           runnable_.program.launches.size();
  }
  /// The first `in_full` launches to their end, of the others a part.
  ProgramSample all(std::size_t in_full);
  emulator::RunReport whole(std::size_t launch, emulator::RunOptions options);
  emulator::RunReport part(std::size_t launch, emulator::RunOptions options);
  /// One block. What it may take is known once a part of it ran: a limit in units is one in
  /// instructions then, and the same everywhere.
  emulator::RunReport one_block(std::size_t launch, emulator::RunOptions options);
  std::optional<emulator::BranchHints> branch_hints(const std::string& kernel) const;
  /// Adds what the last launch touched and wrote.
  void note_buffers(std::size_t launch, const Counters& counters, ProgramSample& sample);

  const protocol::Runnable& runnable_;
  const std::uint64_t seed_;
  const emulator::Module& module_;
  const emulator::Profile& profile_;
  const SampleOptions options_;
  std::optional<sass::Cubin> cubin_;
  std::unique_ptr<EmulatedProgram> program_;
  std::vector<Plan> plans_;  ///< by launch
  bool again_ = false;       ///< a plan has changed
  struct Written {
    std::uint64_t now = 0;  ///< by what ran so far [B]
  };
  std::vector<Written> written_;  ///< by buffer
};

std::optional<emulator::BranchHints> Sampling::branch_hints(const std::string& kernel) const {
  if (!cubin_) return std::nullopt;
  auto kept = sass::kept_branches(*cubin_, kernel);
  if (!kept) return std::nullopt;
  emulator::BranchHints hints{.unrolled = {}, .kept = std::move(*kept)};
  for (const auto& [first, last] : emulator::inner_loops(module_, kernel))
    if (const auto times = sass::unrolled(*cubin_, kernel, {first, last}))
      hints.unrolled[last] = *times;
  return hints;
}

emulator::RunReport Sampling::one_block(std::size_t launch, emulator::RunOptions options) {
  options.sample_blocks = 1;
  const std::uint64_t probe = std::min(
      kProbe, static_cast<std::uint64_t>(std::max(1.0, kPartProbed * options_.most_units)));
  options.max_warp_instructions = probe;
  auto report = program_->launch(module_, launch, options);
  if (report.verdict != Verdict::kTimeout) return report;
  const double each =
      units_of(report.counters) / static_cast<double>(report.counters.warp_instructions);
  const double most = options_.most_units / static_cast<double>(runnable_.program.launches.size());
  options.max_warp_instructions =
      std::min(kSampleLimit, static_cast<std::uint64_t>(most / std::max(1.0, each)));
  if (options.max_warp_instructions <= probe) return report;
  return program_->launch(module_, launch, options);
}

/// A sector touched costs the emulator about as much as three plain instructions.
std::uint64_t cost_of(const Counters& c) {
  return std::max<std::uint64_t>(
      1, c.warp_instructions + 3 * (c.global_load_sectors + c.global_store_sectors));
}

/// One block tells what a block costs; the sample is then as large as the budget allows. Where
/// blocks are unlike that one, it is taken again.
emulator::RunReport Sampling::part(std::size_t launch, emulator::RunOptions options) {
  Plan& plan = plans_[launch];
  options.sample_seed = options_.seed;
  options.restore_counters = true;
  auto report = one_block(launch, options);
  options.restore_counters = false;
  plan.counts = plan.counts || !report.counted.empty();
  const Counters& probe = report.counters;
  const std::uint64_t total = probe.blocks_total, cost = cost_of(probe);
  if (report.verdict != Verdict::kOk || total < 2) return report;
  const std::uint64_t most =
      std::min<std::uint64_t>(total, options_.thorough ? kMostThoroughBlocks : kMostSampledBlocks);
  options.max_warp_instructions = std::min(
      kSampleLimit, static_cast<std::uint64_t>(std::max<double>(kProbe, options_.most_units)));
  // The same for a reference and what is compared with it.
  if (options_.thorough) options.max_warp_instructions = 2 * kThoroughTarget;
  if (plan.way == Way::kGroups) {
    const auto blocks = blocks_of_groups(groups_of(launch, options), cost);
    options.blocks = &blocks;
    options.share_counters = false;
    return program_->launch(module_, launch, options);
  }
  // So that two programs that differ little are sampled at the same places.
  const auto rounded = [&](std::uint64_t blocks) {
    const std::uint64_t least = cost > kVeryMuch ? 1 : std::min(most, options_.least_blocks);
    blocks = std::clamp<std::uint64_t>(blocks, least, most);
    return options_.thorough && blocks < most ? std::bit_floor(blocks) : blocks;
  };
  std::uint64_t mean = cost;
  if (options_.thorough && plan.blocks == 0 && target() / cost > kSecondProbe &&
      most > kSecondProbe) {
    options.sample_blocks = kSecondProbe;
    options.restore_counters = true;
    const auto several = program_->launch(module_, launch, options);
    options.restore_counters = false;
    if (several.verdict == Verdict::kOk && several.counters.blocks > 0)
      mean = std::max<std::uint64_t>(1, cost_of(several.counters) / several.counters.blocks);
  }
  if (const CompiledKernel* kernel =
          runnable_.compiled.find(runnable_.program.launches[launch].kernel))
    options.by_data = emulator::decides_by_data(module_, kernel->lowered_name) ? kMostBeside : 0;
  bool resized = plan.blocks > 0;
  std::uint64_t blocks = resized ? plan.blocks : rounded(target() / mean);
  std::vector<std::uint64_t> first;
  while (true) {
    if (plan.way == Way::kFirst) {
      first.resize(blocks);
      std::iota(first.begin(), first.end(), std::uint64_t{0});
      options.blocks = &first;
    }
    options.sample_blocks = static_cast<std::int64_t>(blocks);
    // By itself it has ended within this.
    if (blocks == 1) options.max_warp_instructions = kSampleLimit;
    if (blocks > 1 || plan.way == Way::kFirst || options.by_data != 0 || report.outlasted)
      report = program_->launch(module_, launch, options);
    if (report.outlasted) {
      if (options_.most_units < SampleOptions().most_units) return report;
      options.by_data = 0;  // of a reference it is enough to know the others
      continue;
    }
    const Counters& c = report.counters;
    plan.counts = plan.counts || !report.counted.empty();
    std::uint64_t other = blocks;
    if (report.verdict == Verdict::kTimeout && !report.polled && blocks > 1) {
      other = rounded(target() * (c.blocks + 1) / (2 * std::max<std::uint64_t>(1, cost_of(c))));
      other = std::min(other, std::bit_floor(std::max<std::uint64_t>(1, blocks / 2)));
    } else if (report.verdict == Verdict::kOk && options_.thorough && !resized && !report.polled &&
               kTooSmall * cost_of(c) < target()) {
      other = rounded(blocks * target() / cost_of(c));
      if (other < 2 * blocks) other = blocks;
    }
    if (other == blocks) return report;
    blocks = other;
    resized = true;
    if (plan.counts) {  // where it went on from there, it would not begin as it does
      plan.blocks = blocks;
      again_ = true;
      return report;
    }
  }
}

BlockGroups Sampling::groups_of(std::size_t launch, emulator::RunOptions options) {
  options.share_counters = options.restore_counters = true;
  BlockGroups::Grid grid{};
  std::ranges::copy(runnable_.program.launches[launch].grid, grid.begin());
  return {grid, [&](std::uint64_t block) {
            const std::vector<std::uint64_t> one = {block};
            options.blocks = &one;
            return program_->launch(module_, launch, options).counted;
          }};
}

/// As many groups as the budget allows, one in each part of all of them.
std::vector<std::uint64_t> Sampling::blocks_of_groups(const BlockGroups& groups,
                                                      std::uint64_t cost) const {
  const auto extents = groups.extents();
  const std::uint64_t all = extents[0] * extents[1] * extents[2];
  const std::uint64_t most = options_.thorough ? kMostThoroughBlocks : kMostSampledBlocks;
  const std::uint64_t n =
      std::clamp<std::uint64_t>(std::min(target() / cost, most) / groups.size(), 1, all);
  std::mt19937_64 random(options_.seed);
  std::set<std::uint64_t> blocks;
  for (std::uint64_t k = 0; k < n; ++k) {
    const std::uint64_t begin = all * k / n, end = std::max(begin + 1, all * (k + 1) / n);
    const auto members = groups.members(begin + random() % (end - begin));
    blocks.insert(members.begin(), members.end());
  }
  return {blocks.begin(), blocks.end()};
}

emulator::RunReport Sampling::whole(std::size_t launch, emulator::RunOptions options) {
  options.max_warp_instructions =
      std::max(kProbe, static_cast<std::uint64_t>(2 * options_.most_in_full));
  if (plans_[launch].way == Way::kAll)
    options.max_warp_instructions = options_.thorough ? kMostWaitingThorough : kMostWaiting;
  return program_->launch(module_, launch, options);
}

void Sampling::note_buffers(std::size_t launch, const Counters& counters, ProgramSample& sample) {
  const double scale = scale_of(counters);
  const auto& buffers = runnable_.program.buffers;
  bool reads_earlier = false;
  std::string unwritten;
  for (std::size_t k = 0; k < buffers.size(); ++k) {
    const int index = static_cast<int>(k);
    const auto bytes = static_cast<double>(buffers[k].bytes());
    const double reached = reached_bytes(*program_, index, counters, scale);
    if (reached >= kWhole * bytes) sample.touched_whole.insert(buffers[k].name);
    Written& written = written_[k];
    reads_earlier = reads_earlier || (written.now > 0 && reached > 0);
    if (buffers[k].role == Role::kIn) continue;
    const std::uint64_t now = program_->written_bytes(index);
    if (is_output(buffers[k].role))
      sample.written[buffers[k].name] += scale * static_cast<double>(now - written.now) / bytes;
    written.now = now;
    if (buffers[k].role != Role::kInOut && written.now == 0 && reached > 0)
      unwritten = buffers[k].name;
  }
  if (unwritten.empty() && program_->reads_empty_variable()) unwritten = "a __device__ variable";
  if (launch > 0 &&
      (!unwritten.empty() ||
       (reads_earlier && emulator::follows_data(module_, sample.launches.back().config.kernel))))
    sample.follows = launch;
  if (!unwritten.empty()) sample.unwritten = unwritten;
}

bool Sampling::changes_plan(Plan& plan, const emulator::RunReport& report) const {
  const bool waits = report.polled && is_part(report.counters);
  const bool failed =
      report.verdict == Verdict::kFault || (report.verdict == Verdict::kTimeout && report.polled);
  const Way before = plan.way;
  switch (plan.way) {
    case Way::kShared:
      // Where counters rise for blocks that did not run, a list may seem longer than it is, and who
      // waits for those blocks does not see what they would have taken.
      if (failed || waits) plan.way = Way::kAlone;
      break;
    case Way::kGroups:
      if (report.verdict != Verdict::kOk) plan.way = Way::kShared;
      break;
    case Way::kAlone:
      if (failed && report.polled) plan.way = Way::kFirst;
      break;
    case Way::kFirst:
      if (failed) plan.way = Way::kAll;
      break;
    case Way::kAll:
      break;
  }
  if (plan.way != before) plan.blocks = 0;
  return plan.way != before;
}

bool Sampling::tries_groups(const ProgramSample& sample) {
  const bool little = std::ranges::any_of(
      sample.written, [](const auto& written) { return written.second < kLittle; });
  if (!little) return false;
  bool some = false;
  for (Plan& plan : plans_) {
    if (plan.way != Way::kShared || !plan.counts || plan.grouped) continue;
    plan.way = Way::kGroups;
    plan.grouped = true;
    plan.blocks = 0;
    some = true;
  }
  return some;
}

ProgramSample Sampling::tried(std::size_t in_full) {
  plans_.resize(runnable_.program.launches.size());
  ProgramSample sample;
  for (int k = 0; k < kMostAttempts; ++k) {
    again_ = false;
    sample = all(in_full);
    if (!again_ && (sample.verdict != Verdict::kOk || !tries_groups(sample))) return sample;
  }
  sample.verdict = Verdict::kUnsupported;
  sample.detail = "the time model cannot sample this program: its blocks wait for one another";
  return sample;
}

ProgramSample Sampling::all(std::size_t in_full) {
  ProgramSample result;
  const auto stop = [&](Verdict verdict, std::string detail) {
    result.verdict = verdict;
    result.detail = std::move(detail);
    return result;
  };
  auto program = EmulatedProgram::load(runnable_, seed_, EmulatedProgram::Outputs::kZero);
  if (!program) return stop(Verdict::kRefused, program.error().message);
  program_ = std::move(*program);
  const auto& launches = runnable_.program.launches;
  written_.assign(runnable_.program.buffers.size(), {});
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const CompiledKernel* kernel = runnable_.compiled.find(launches[i].kernel);
    const auto config = program_->config(i);
    if (kernel == nullptr || !config) return stop(Verdict::kLaunchError, "no such kernel");
    const int registers = kernel->resources.registers > 0 ? kernel->resources.registers : 32;
    emulator::RunOptions options;
    options.check_initialised = false;  // earlier launches ran in part only
    options.check_races = false;        // checked in full at the check sizes
    options.profile = &profile_;
    options.count_lines = cubin_.has_value();
    options.waits_in_time = true;
    options.registers = registers;
    if (i < options_.also.size()) options.also = static_cast<std::int64_t>(options_.also[i]);
    const bool in_part = i >= in_full && plans_[i].way != Way::kAll;
    options.share_counters = in_part && plans_[i].way == Way::kShared;
    const auto hints = branch_hints(config->kernel);
    if (hints) options.branches = &*hints;
    auto report = in_part ? part(i, options) : whole(i, options);
    if (again_ || (i >= in_full && changes_plan(plans_[i], report))) {
      again_ = true;
      return result;
    }
    const bool waits = report.polled || plans_[i].way != Way::kShared;
    if (report.verdict == Verdict::kTimeout && (waits || i < in_full || is_part(report.counters))) {
      // Who is slow is no faster than what it is compared with. Who waits may be.
      return stop(
          !waits && options_.most_units < SampleOptions().most_units ? Verdict::kTimeout
                                                                     : Verdict::kUnsupported,
          "the time model cannot sample this program: " + report.detail +
              (waits ? " (its blocks wait for one another)" : " (one block runs too long)"));
    }
    if (report.verdict == Verdict::kFault && in_part && waits && plans_[i].way != Way::kShared &&
        (report.polled || plans_[i].counts))
      return stop(Verdict::kUnsupported,
                  "the time model cannot sample this program, whose blocks count on one another: " +
                      report.detail);
    if (report.verdict != Verdict::kOk)
      return stop(report.verdict, report.detail + " (at the timed size)");
    if (cubin_) count_machine_code(*cubin_, *kernel, report, profile_, report.counters);
    result.launches.push_back(
        {report.counters, *config, registers, kernel->resources.static_shared_bytes});
    note_buffers(i, report.counters, result);
  }
  if (in_full > 0) result.follows.reset();
  return result;
}

}  // namespace

SampleOptions candidate_sample(bool is_final) {
  return {.most_units = 50e6, .most_in_full = is_final ? 60e6 : 15e6, .thorough = is_final};
}

double sampling_error(const Counters& c) {
  constexpr std::uint64_t kFewBends = 3;
  if (c.blocks >= c.blocks_total || c.warp_instructions == 0) return 0;
  const auto d = [](std::uint64_t count) { return static_cast<double>(count); };
  const double n = d(c.blocks), left_out = 1 - n / d(c.blocks_total);
  // Six times the variance of a run, whatever the trend along the grid.
  const auto variance = [&](std::uint64_t runs, std::uint64_t bends, std::uint64_t squared) {
    return bends == 0 ? 0 : d(squared) / (6 * d(bends)) / d(runs) * left_out;
  };
  const double spread = c.run_bends >= std::min(kFewBends, c.mixed_bends)
                            ? variance(c.runs, c.run_bends, c.run_bends_squared)
                            : variance(c.mixed_runs, c.mixed_bends, c.mixed_bends_squared);
  return std::sqrt(d(c.unlike_grid) * d(c.unlike_grid) + spread) / (d(c.warp_instructions) / n);
}

double units_of(const Counters& c) {
  const auto d = [](std::uint64_t count) { return static_cast<double>(count); };
  return d(c.warp_instructions) + 0.5 * d(c.global_load_sectors + c.global_store_sectors) +
         4 * d(c.local_accesses) + 20 * d(c.atomics_global + c.atomics_shared) +
         3 * d(c.shared_loads + c.shared_stores) + 20 * d(c.tensor);
}

ProgramSample sample_launches(const protocol::Runnable& runnable, std::uint64_t seed,
                              const emulator::Module& module, const emulator::Profile& profile,
                              const SampleOptions& options) {
  return Sampling(runnable, seed, module, profile, options).run();
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
          {"constant_cycles", d(c.constant_cycles)},
          {"uniform_constants", d(c.uniform_constants)},
          {"hot_sectors", d(c.hot_sectors)},
          {"remote_bytes", d(c.remote_bytes)},
          {"match_values", d(c.match_values)},
          {"turns", d(c.turns)},
          {"turns_held", d(c.turns_held)},
          {"critical_path_sum", d(c.critical_path_sum)},
          {"given_path_sum", d(c.given_path_sum)},
          {"warp_path_sum", d(c.warp_path_sum)},
          {"machine_path_sum", d(c.machine_path_sum)},
          {"issued", d(c.issued)},
          {"code_far", d(c.code_far)},
          {"code_farther", d(c.code_farther)},
          {"flops", d(c.flops)}};
}

}  // namespace hone::runner
