#include "evaluator/runner/sanitize.h"

#include <set>
#include <tuple>

#include "evaluator/runner/emulated_program.h"

namespace hone::runner {
namespace {

constexpr std::uint64_t kBudget = 2'000'000'000;  // warp instructions of one launch
constexpr std::size_t kMostFindings = 1000;       // of the whole program

/// Does what the finding ended leave nothing sensible for the launches that follow?
bool ends_the_program(const emulator::RunReport& report) {
  for (const auto& f : report.findings)
    if (f.verdict == Verdict::kTimeout || f.verdict == Verdict::kUnsupported) return true;
  return report.verdict == Verdict::kLaunchError;
}

}  // namespace

SanitizeResult sanitize(const protocol::SanitizeJob& job) {
  SanitizeResult result;
  const auto stop = [&](Verdict verdict, std::string detail) {
    result.verdict = verdict;
    result.detail = std::move(detail);
    return result;
  };
  const auto* profile = emulator::find_profile(job.arch);
  if (profile == nullptr) return stop(Verdict::kUnsupported, "no emulated device " + job.arch);
  const auto module = emulator::Module::parse(job.runnable.compiled.ptx);
  if (!module) return stop(Verdict::kUnsupported, module.error().message);
  // One finding per launch, statement and kind: other schedules repeat most of them.
  std::set<std::tuple<int, int, std::uint32_t, std::string>> known;
  for (const std::uint64_t schedule : job.schedule_seeds) {
    auto program =
        EmulatedProgram::load(job.runnable, job.seed, EmulatedProgram::Outputs::kUninitialised);
    if (!program) return stop(Verdict::kRefused, program.error().message);
    const auto& launches = job.runnable.program.launches;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      emulator::RunOptions options;
      options.counters = false;
      options.max_findings = job.max_findings;
      options.schedule_seed = schedule;
      options.profile = profile;
      options.max_warp_instructions = kBudget;
      auto report = (*program)->launch(**module, i, options);
      result.warp_instructions += report.counters.warp_instructions;
      if (schedule == job.schedule_seeds.front()) {
        result.output += report.output;
        result.output_cut = result.output_cut || report.output_cut;
        if (result.output.size() > (1U << 20)) {
          result.output.resize(1U << 20);
          result.output_cut = true;
        }
      }
      for (auto& f : report.findings) {
        const std::string what = f.place.ptx_line ? std::string() : f.what;
        if (!known.insert({static_cast<int>(i), static_cast<int>(f.kind), f.place.ptx_line, what})
                 .second ||
            result.findings.size() >= kMostFindings)
          continue;
        SanitizeFinding s;
        s.finding = std::move(f);
        s.launch = static_cast<int>(i);
        s.kernel = launches[i].kernel;
        s.schedule_seed = schedule;
        result.findings.push_back(std::move(s));
      }
      if (report.verdict == Verdict::kLaunchError && report.findings.empty())
        return stop(report.verdict, report.detail);
      if (ends_the_program(report)) break;
    }
  }
  return result;
}

}  // namespace hone::runner
