#include "evaluator/runner/survey.h"

#include <algorithm>
#include <chrono>

#include "evaluator/runner/emulated_program.h"
#include "evaluator/runner/sample_launches.h"

namespace hone::runner {
namespace {

using Clock = std::chrono::steady_clock;

/// Of one launch's sample, in units; a single block may take more.
constexpr double kSampleUnits = 1e6;
constexpr std::int64_t kMostBlocks = 32;
/// Of one block [warp instructions]; one that takes more costs at least this.
constexpr std::uint64_t kLongestBlock = 40'000'000;

struct Launch {
  double units = 0, seconds = 0;
  double scale = 1;  ///< all blocks over those that ran
  Verdict verdict = Verdict::kOk;
};

/// `launch` in part; the program's memory holds the footprint afterwards.
Launch sample(EmulatedProgram& program, const emulator::Module& module, std::size_t index) {
  const auto& launch = program.program().launches[index];
  const std::int64_t blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
  emulator::RunOptions options;
  options.check_initialised = false;  // earlier launches ran in part only
  options.check_races = false;
  options.max_warp_instructions = kLongestBlock;
  options.sample_blocks = 1;
  auto begin = Clock::now();
  auto report = program.launch(module, index, options);
  if (report.verdict == Verdict::kOk && blocks > 1) {
    const double one = std::max(1.0, units_of(report.counters));
    options.sample_blocks = std::clamp<std::int64_t>(static_cast<std::int64_t>(kSampleUnits / one),
                                                     1, std::min(blocks, kMostBlocks));
    if (options.sample_blocks > 1) {
      begin = Clock::now();
      report = program.launch(module, index, options);
    }
  }
  const double scale = report.counters.blocks > 0 ? static_cast<double>(blocks) /
                                                        static_cast<double>(report.counters.blocks)
                                                  : static_cast<double>(blocks);
  Launch result;
  result.scale = scale;
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count() * scale;
  result.units = units_of(report.counters) * scale;
  if (report.verdict == Verdict::kTimeout)
    result.units = std::max(result.units, static_cast<double>(kLongestBlock) * scale);
  // Waiting for other blocks, or too long: what it takes is known to be more than that.
  result.verdict = report.verdict == Verdict::kTimeout ? Verdict::kOk : report.verdict;
  return result;
}

Survey survey_one(const protocol::Runnable& runnable, const emulator::Module& module,
                  std::uint64_t seed) {
  Survey survey;
  auto program = EmulatedProgram::load(runnable, seed, EmulatedProgram::Outputs::kZero);
  if (!program) return survey;
  const auto& buffers = runnable.program.buffers;
  for (std::size_t i = 0; i < runnable.program.launches.size(); ++i) {
    const Launch launch = sample(**program, module, i);
    if (launch.verdict != Verdict::kOk) return survey;
    survey.units += launch.units;
    survey.seconds += launch.seconds;
    for (std::size_t k = 0; k < buffers.size(); ++k) {
      const auto sampled = static_cast<double>((*program)->touched_bytes(static_cast<int>(k)));
      double& most = survey.touched[buffers[k].name];
      most =
          std::max(most, std::min(static_cast<double>(buffers[k].bytes()), sampled * launch.scale));
    }
  }
  survey.known = true;
  return survey;
}

}  // namespace

std::vector<Survey> survey(const protocol::SurveyJob& job, ReferenceRuns& kept) {
  std::vector<Survey> surveys;
  for (const protocol::Runnable& runnable : job.programs) {
    Survey& one = surveys.emplace_back();
    const auto module = kept.module_for(runnable.compiled);
    if (!module) continue;
    one = survey_one(runnable, **module, job.seed);
  }
  return surveys;
}

}  // namespace hone::runner
