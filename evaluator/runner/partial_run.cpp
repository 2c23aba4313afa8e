#include "evaluator/runner/partial_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "evaluator/check/atomics.h"
#include "evaluator/runner/byte_ranges.h"
#include "evaluator/runner/sample_launches.h"

namespace hone::runner {
namespace {

/// What a byte of host memory that a block made counts as, in warp-instructions: a block of a
/// grid-stride loop touches whole buffers.
constexpr double kUnitsPerByte = 0.02;
/// What the units allow is counted after a block has run: this ends a block that touches far more.
constexpr double kMostBytesPerUnit = 2 / kUnitsPerByte, kLeastMostBytes = 1 << 30;
constexpr double kUnitsPerElement = 1;     // of an input that was made
constexpr double kUnitsForGroups = 20e6;   // to find them, and of one block of them
constexpr std::size_t kMostTrials = 2000;  // of one program

}  // namespace

PartialRun::PartialRun(const protocol::Runnable& runnable, const emulator::Module& module,
                       std::uint64_t seed, double most_units, std::shared_ptr<SharedInputs> inputs,
                       std::uint64_t schedule)
    : runnable_(runnable),
      module_(module),
      seed_(seed),
      inputs_(std::move(inputs)),
      schedule_(schedule),
      units_left_(most_units),
      most_bytes_(most_units > 0 ? static_cast<std::uint64_t>(
                                       std::max(kLeastMostBytes, kMostBytesPerUnit * most_units))
                                 : ~std::uint64_t{0}),
      // What is there before a run is no trace of what the run wrote.
      trials_count_(
          runnable.program.launches.size() == 1 && !check::uses_atomics(runnable.compiled.ptx) &&
          std::ranges::none_of(runnable.program.buffers, [](const ConcreteBuffer& buffer) {
            return buffer.role == Role::kInOut;
          })) {}

Result<std::unique_ptr<PartialRun>> PartialRun::load(const protocol::Runnable& runnable,
                                                     const emulator::Module& module,
                                                     std::uint64_t seed, double most_units,
                                                     std::shared_ptr<SharedInputs> inputs,
                                                     std::uint64_t schedule) {
  std::unique_ptr<PartialRun> run(
      new PartialRun(runnable, module, seed, most_units, std::move(inputs), schedule));
  auto program = run->loaded(EmulatedProgram::Outputs::kUninitialised);
  if (!program) return std::unexpected(program.error());
  run->program_ = std::move(*program);
  run->there_.resize(runnable.program.buffers.size());
  run->made_.resize(runnable.program.buffers.size());
  if (most_units > 0) run->find_groups();
  return run;
}

Result<std::unique_ptr<EmulatedProgram>> PartialRun::loaded(EmulatedProgram::Outputs outputs) {
  auto program = EmulatedProgram::load(runnable_, seed_, outputs, 0, inputs_);
  if (program) (*program)->limit_memory(most_bytes_);
  return program;
}

emulator::RunReport PartialRun::launched(EmulatedProgram& program, std::size_t launch,
                                         const emulator::RunOptions& options) try {
  return program.launch(module_, launch, options);
} catch (const std::bad_alloc&) {
  emulator::RunReport report;
  report.verdict = Verdict::kTimeout;
  return report;
}

void PartialRun::find_groups() {
  const auto& program = runnable_.program;
  if (runnable_.compiled.ptx.find("atom.") == std::string::npos ||
      std::ranges::any_of(program.buffers,
                          [](const ConcreteBuffer& buffer) { return buffer.role == Role::kInOut; }))
    return;
  for (std::size_t i = 0; i < program.launches.size(); ++i) find_groups(i);
  units_left_ -= spent_units_;
  // Nobody else counts with their words.
  if (program.launches.size() == 1 && !groups_.empty()) trials_count_ = true;
}

void PartialRun::find_groups(std::size_t launch) {
  bool unclear = false;  // of some block: nobody saw who else counts with its words
  BlockGroups groups(grid(launch), [&](std::uint64_t block) -> std::vector<std::uint64_t> {
    auto fresh = loaded(EmulatedProgram::Outputs::kUnwritten);
    unclear = unclear || !fresh || spent_units_ > kUnitsForGroups;
    if (unclear) return {};
    const std::vector<std::uint64_t> one = {block};
    emulator::RunOptions options;
    options.check_initialised = options.check_races = false;
    options.share_counters = true;
    options.max_warp_instructions = static_cast<std::uint64_t>(kUnitsForGroups);
    options.blocks = &one;
    const auto report = launched(**fresh, launch, options);
    spent_units_ += units_of(report.counters);
    unclear = report.verdict != Verdict::kOk || report.polled;
    return unclear ? std::vector<std::uint64_t>() : report.counted;
  });
  if (unclear) return;
  const auto extents = groups.extents();
  if (groups.size() < 2 || extents[0] * extents[1] * extents[2] < 2) return;
  groups_.emplace(launch, std::move(groups));
}

/// Do blocks hand on a `__device__` variable? Which of them was to write it, nobody looks for:
/// one launch alone may have it, and in groups of its blocks that count.
bool PartialRun::hands_on_variables(const EmulatedProgram& program, std::size_t launch) {
  if (program.reads_empty_variable() && !groups_.contains(launch)) return true;
  if (runnable_.program.launches.size() == 1) return false;
  for (const auto& [address, written] : program.touched_variables()) {
    VariableUse& use = variables_.try_emplace(address, VariableUse{launch}).first->second;
    use.several = use.several || use.launch != launch;
    use.written = use.written || written;
    if (use.written && (use.several || !groups_.contains(launch))) return true;
  }
  return false;
}

bool PartialRun::fail(std::string why, Verdict verdict) {
  if (why_.empty()) {
    why_ = std::move(why);
    verdict_ = verdict;
  }
  return false;
}

std::array<std::uint64_t, 3> PartialRun::grid(std::size_t launch) const {
  if (const auto groups = groups_.find(launch); groups != groups_.end())
    return groups->second.extents();
  std::array<std::uint64_t, 3> out{};
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = static_cast<std::uint64_t>(runnable_.program.launches[launch].grid[i]);
  return out;
}

std::uint64_t PartialRun::blocks(std::size_t launch) const {
  const auto g = grid(launch);
  return g[0] * g[1] * g[2];
}

bool PartialRun::launch(EmulatedProgram& program, BlockId block, Trial* trial) {
  if (units_left_ <= 0) {
    is_too_long_ = true;
    return fail("it takes too long to emulate");
  }
  const auto groups = groups_.find(block.first);
  const std::vector<std::uint64_t> one = groups != groups_.end()
                                             ? groups->second.members(block.second)
                                             : std::vector<std::uint64_t>{block.second};
  emulator::RunOptions options;
  // What a trial reads may never have been written; what counts must not hang on such memory.
  options.check_initialised = options.check_races = &program == program_.get();
  options.max_warp_instructions = static_cast<std::uint64_t>(units_left_) + 1;
  options.blocks = &one;
  options.schedule_seed = schedule_;
  const std::uint64_t before = program.live_bytes(), made = inputs_->made_elements();
  const auto report = launched(program, block.first, options);
  const double units = units_of(report.counters) +
                       kUnitsPerByte * static_cast<double>(program.live_bytes() - before) +
                       kUnitsPerElement * static_cast<double>(inputs_->made_elements() - made);
  units_left_ -= units;
  spent_units_ += units;
  if (hands_on_variables(program, block.first))
    return fail("its blocks or launches hand on a __device__ variable");
  if (report.verdict == Verdict::kTimeout) {
    is_too_long_ = !report.polled;
    return fail("a block waits for others, or takes too long or too much memory to emulate");
  }
  if (report.verdict != Verdict::kOk) {
    // A block that reads what is not there yet may fault where it never does, and so may one that
    // other blocks tell what to do. Nor is every block found that writes what is read.
    const bool unwritten = !report.findings.empty() &&
                           report.findings.front().kind == emulator::FindingKind::kUninitialised &&
                           !report.findings.front().other.starts_with("shared");
    const bool misled = unwritten || (trial != nullptr && (block.first > 0 || !trials_count_));
    return fail(report.detail, misled ? Verdict::kOk : report.verdict);
  }
  if (report.counters.atomics_global + report.counters.bulk_reductions == 0) return true;
  if (groups == groups_.end() && trial != nullptr) trial->atomics = true;
  for (std::size_t i = 0; groups != groups_.end() && i < made_.size(); ++i)
    if (program.was_added_to(static_cast<int>(i))) added_to_.insert(static_cast<int>(i));
  return true;
}

const PartialRun::Trial& PartialRun::trial(BlockId block) {
  const auto known = trials_.find(block);
  if (known != trials_.end()) return known->second;
  Trial& trial = trials_[block];
  if (!why_.empty()) return trial;
  if (trials_.size() > kMostTrials) {
    fail("which blocks write an element could not be found");
    return trial;
  }
  std::unique_ptr<EmulatedProgram> fresh;
  if (!trials_count_) {
    auto other = loaded(EmulatedProgram::Outputs::kUnwritten);
    if (!other) {
      fail(other.error().message);
      return trial;
    }
    fresh = std::move(*other);
  }
  EmulatedProgram& program = trials_count_ ? *program_ : *fresh;
  const int buffers = static_cast<int>(runnable_.program.buffers.size());
  std::vector<Ranges> before;
  for (int i = 0; i < buffers; ++i) before.push_back(program.written(i));
  trial.ended = launch(program, block, &trial);
  if (!trial.ended) return trial;
  if (trials_count_) ran_.insert(block);
  for (int i = 0; i < buffers; ++i) {
    const auto n = static_cast<std::size_t>(i);
    if (auto ranges = without(program.written(i), before[n]); !ranges.empty())
      trial.writes[i] = std::move(ranges);
    if (auto ranges = program.touched(i); !trials_count_ && !ranges.empty())
      trial.touches[i] = std::move(ranges);
  }
  return trial;
}

bool PartialRun::writes(std::size_t launch, int buffer) {
  const std::uint64_t n = blocks(launch);
  // The first, the last and one in between: guards leave some without work.
  for (const std::uint64_t block : {std::uint64_t{0}, n / 2, n - 1})
    if (trial({launch, block}).writes.contains(buffer)) return true;
  return false;
}

int PartialRun::last_writer(int buffer) {
  const std::size_t n = runnable_.program.launches.size();
  if (n == 1) return 0;
  for (std::size_t i = n; i > 0; --i)
    if (writes(i - 1, buffer)) return static_cast<int>(i - 1);
  return -1;
}

bool PartialRun::need(std::size_t launch, int buffer, const Ranges& ranges,
                      const Ranges& only_read) {
  const ConcreteBuffer& what = runnable_.program.buffers[static_cast<std::size_t>(buffer)];
  const bool begins_empty = what.role == Role::kOut || what.role == Role::kScratch;
  std::vector<std::size_t> writers;
  for (std::size_t earlier = 0; earlier < launch; ++earlier)
    if (writes(earlier, buffer)) writers.push_back(earlier);
  for (const ByteRange& range : ranges) {
    for (std::uint64_t sector = range.begin / kSector; sector * kSector < range.end; ++sector) {
      bool found = false;
      for (const std::size_t writer : writers)
        if (!complete(writer, buffer, sector, found)) return false;
      if (!found && begins_empty && holds(only_read, sector * kSector))
        return fail(
            fmt::format("which blocks write '{}' before it is read could not be found", what.name));
    }
  }
  return true;
}

/// Several blocks may write to one sector, a number each.
bool PartialRun::complete(std::size_t launch, int buffer, std::uint64_t sector, bool& found) {
  const auto [known, is_new] = complete_[{launch, buffer}].try_emplace(sector, false);
  if (!is_new) {
    found = found || known->second;
    return true;
  }
  const ConcreteBuffer& what = runnable_.program.buffers[static_cast<std::size_t>(buffer)];
  const std::uint64_t end =
      std::min((sector + 1) * kSector, static_cast<std::uint64_t>(what.bytes()));
  for (std::uint64_t at = sector * kSector; at < end;) {
    const Owners all = owners(launch, buffer, at);
    for (const std::uint64_t block : all.blocks)
      if (!run_block({launch, block})) return false;
    if (!why_.empty()) return false;
    std::uint64_t next = at + size_of(what.type);
    if (!all.blocks.empty()) {
      found = complete_[{launch, buffer}][sector] = true;
      next = std::max(next, all.piece.end);
    }
    at = next;
  }
  return true;
}

bool PartialRun::run_block(BlockId block) {
  if (!why_.empty()) return false;
  if (!ran_.insert(block).second) return true;
  const auto [number, index] = block;
  if (runnable_.program.launches.size() > 1) {
    const Trial& before = trial(block);
    if (!before.ended) return false;
    for (const auto& [buffer, ranges] : before.touches) {
      const auto own = before.writes.find(buffer);
      const Ranges only_read =
          own == before.writes.end() ? ranges : without(ranges, in_sectors(own->second));
      if (number > 0 && !need(number, buffer, ranges, only_read)) return false;
    }
    for (const auto& [buffer, ranges] : before.touches) {
      auto& there = there_[static_cast<std::size_t>(buffer)];
      for (const ByteRange& range : ranges) {
        for (std::uint64_t at = range.begin / kSector; at * kSector < range.end; ++at) {
          const auto writer = there.find(at);
          if (writer != there.end() && writer->second > number)
            return fail("a later launch uses the same memory for something else");
        }
      }
    }
    for (const auto& [buffer, ranges] : before.writes) {
      auto& there = there_[static_cast<std::size_t>(buffer)];
      for (const ByteRange& range : ranges)
        for (std::uint64_t at = range.begin / kSector; at * kSector < range.end; ++at)
          there[at] = number;
    }
  }
  return launch(*program_, block);
}

PartialRun::Made PartialRun::make(int buffer, std::uint64_t offset) {
  if (whole_) return holds(made(buffer), offset) ? Made::kMade : Made::kNotFound;
  if (!why_.empty()) return Made::kFailed;
  auto& made = made_[static_cast<std::size_t>(buffer)];
  if (holds(made, offset)) return Made::kMade;
  const int writer = last_writer(buffer);
  if (!why_.empty()) return Made::kFailed;
  if (writer < 0) return Made::kNotFound;
  const auto launch = static_cast<std::size_t>(writer);
  const Owners all = owners(launch, buffer, offset);
  if (!why_.empty()) return Made::kFailed;
  if (all.blocks.empty()) return Made::kNotFound;
  for (const std::uint64_t block : all.blocks)
    if (!run_block({launch, block})) return Made::kFailed;
  const Trial& one = trial({launch, all.blocks.front()});
  // What many add to is final where all have added.
  made = united(made, adds_to(buffer, one) ? Ranges{all.piece} : one.writes.at(buffer));
  return why_.empty() ? Made::kMade : Made::kFailed;
}

bool PartialRun::run_whole(std::uint64_t most_instructions) {
  why_.clear();
  verdict_ = Verdict::kOk;
  auto program =
      EmulatedProgram::load(runnable_, seed_, EmulatedProgram::Outputs::kUninitialised, 0, inputs_);
  if (!program) return fail(program.error().message);
  program_ = std::move(*program);
  return run_all_blocks(most_instructions);
}

bool PartialRun::call_again(std::uint64_t seed, std::shared_ptr<SharedInputs> inputs,
                            std::uint64_t most_instructions) {
  seed_ = seed;
  inputs_ = std::move(inputs);
  program_->share(inputs_);
  if (auto renewed = program_->begin_again(seed); !renewed) return fail(renewed.error().message);
  if (whole_) return run_all_blocks(most_instructions);
  trials_.clear();
  layouts_.clear();
  digits_.clear();
  ran_.clear();
  complete_.clear();
  for (auto& there : there_) there.clear();
  for (auto& made : made_) made.clear();
  return true;
}

bool PartialRun::run_all_blocks(std::uint64_t most_instructions) {
  const auto report = program_->run_all(module_, most_instructions, false, schedule_);
  if (report.verdict == Verdict::kTimeout) return fail("it takes too long to emulate");
  if (report.verdict != Verdict::kOk) return fail(report.detail, report.verdict);
  whole_ = true;
  for (std::size_t i = 0; i < made_.size(); ++i) {
    const ConcreteBuffer& buffer = runnable_.program.buffers[i];
    made_[i] = program_->written(static_cast<int>(i));
    if (buffer.role == Role::kInOut) made_[i] = {{0, static_cast<std::uint64_t>(buffer.bytes())}};
  }
  return true;
}

PartialRun::Ranges PartialRun::written_by(int buffer, std::uint64_t block) {
  const int writer = last_writer(buffer);
  if (writer < 0) return {};
  const Trial& one = trial({static_cast<std::size_t>(writer), block});
  const auto ranges = one.writes.find(buffer);
  return ranges == one.writes.end() ? Ranges() : ranges->second;
}

std::uint64_t PartialRun::blocks_that_write(int buffer) {
  const int writer = last_writer(buffer);
  return writer < 0 ? 0 : blocks(static_cast<std::size_t>(writer));
}

std::vector<std::uint64_t> PartialRun::rare_blocks(int buffer) {
  const int writer = last_writer(buffer);
  if (writer < 0 || groups_.contains(static_cast<std::size_t>(writer))) return {};
  const auto config = program_->config(static_cast<std::size_t>(writer));
  return config ? emulator::rare_blocks(module_, *config) : std::vector<std::uint64_t>();
}

PartialRun::Ranges PartialRun::made(int buffer) { return made_[static_cast<std::size_t>(buffer)]; }

}  // namespace hone::runner
