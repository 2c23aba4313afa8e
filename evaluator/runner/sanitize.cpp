#include "evaluator/runner/sanitize.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include "evaluator/check/finite.h"
#include "evaluator/runner/emulated_program.h"

namespace hone::runner {
namespace {

constexpr std::uint64_t kBudget = 2'000'000'000;  // warp instructions of one launch
constexpr std::size_t kMostFindings = 1000;       // of the whole program
constexpr std::int64_t kMostBytes = 2ll << 30;    // of all schedules at once [B]

/// Does what the finding ended leave nothing sensible for the launches that follow?
bool ends_the_program(const emulator::RunReport& report) {
  for (const auto& f : report.findings)
    if (f.verdict == Verdict::kTimeout || f.verdict == Verdict::kUnsupported) return true;
  return report.verdict == Verdict::kLaunchError;
}

/// One schedule of the whole program.
struct Schedule {
  Verdict verdict = Verdict::kOk;  ///< when nothing could be run
  std::string detail;
  std::vector<emulator::RunReport> reports;  ///< of its launches, up to the last that ran
  std::string stopped;                       ///< "after 60 s, in launch 2 of 3"
  std::string unwritten;                     ///< "it leaves y[768] unwritten"; empty: nothing
  std::map<std::size_t, check::NonFiniteElements> non_finite;  ///< by output, where all is well
};

/// After a finding the outputs say nothing: accesses were left out.
bool ran_well(const EmulatedProgram& program, const Schedule& schedule) {
  return schedule.reports.size() == program.program().launches.size() &&
         std::ranges::all_of(schedule.reports, [](const emulator::RunReport& report) {
           return report.findings.empty() && report.verdict == Verdict::kOk;
         });
}

/// The first element of an output that no launch wrote.
std::string find_unwritten(const EmulatedProgram& program) {
  const auto& buffers = program.program().buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!is_output(buffers[i].role)) continue;
    const std::int64_t hole = program.first_unwritten(static_cast<int>(i));
    if (hole >= 0)
      return fmt::format("it leaves {}[{}] unwritten, an output of {} elements", buffers[i].name,
                         hole / static_cast<std::int64_t>(size_of(buffers[i].type)),
                         buffers[i].elements());
  }
  return {};
}

/// Sets a flag when the time is over.
class TimeLimit {
 public:
  explicit TimeLimit(double seconds)
      : thread_([this, seconds](const std::stop_token& ending) {
          std::unique_lock lock(mutex_);
          const auto at = std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
          wake_.wait_until(lock, ending, at, [] { return false; });
          over_ = !ending.stop_requested();
        }) {}
  [[nodiscard]] const std::atomic<bool>& over() const { return over_; }

 private:
  std::atomic<bool> over_ = false;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: the others are there as long as it runs
};

/// A launch that was told to end is not wrong for that.
void drop_cancelled(emulator::RunReport& report) {
  std::erase_if(report.findings, [](const emulator::Finding& f) {
    return f.kind == emulator::FindingKind::kTimeout && f.what.starts_with("cancelled");
  });
}

Schedule run_schedule(const protocol::SanitizeJob& job, const emulator::Module& module,
                      const emulator::Profile& profile, std::uint64_t schedule_seed, int threads,
                      const std::atomic<bool>& over) {
  Schedule result;
  auto program =
      EmulatedProgram::load(job.runnable, job.seed, EmulatedProgram::Outputs::kUninitialised);
  if (!program) {
    result.verdict = Verdict::kRefused;
    result.detail = program.error().message;
    return result;
  }
  for (std::size_t i = 0; i < job.runnable.program.launches.size(); ++i) {
    emulator::RunOptions options;
    options.counters = false;
    options.max_findings = job.max_findings;
    options.schedule_seed = schedule_seed;
    options.threads = threads;
    options.profile = &profile;
    options.max_warp_instructions = kBudget;
    options.cancel = &over;
    if (!over) result.reports.push_back((*program)->launch(module, i, options));
    if (over) {
      if (result.reports.size() > i) drop_cancelled(result.reports.back());
      result.stopped = fmt::format("after {:.0f} s, in launch {} of {}", job.seconds, i + 1,
                                   job.runnable.program.launches.size());
      return result;
    }
    if (ends_the_program(result.reports.back())) break;
  }
  if (!ran_well(**program, result)) return result;
  result.unwritten = find_unwritten(**program);
  const auto& buffers = job.runnable.program.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (is_output(buffers[i].role) && is_float(buffers[i].type))
      result.non_finite[i] =
          check::non_finite_of((*program)->read(static_cast<int>(i)), buffers[i].type);
  return result;
}

/// Schedules that may run side by side: each has the program's buffers for itself.
std::size_t side_by_side(const protocol::SanitizeJob& job) {
  std::int64_t bytes = 1;
  for (const auto& buffer : job.runnable.program.buffers) bytes += buffer.bytes();
  return std::min({job.schedule_seeds.size(), static_cast<std::size_t>(std::max(1, job.threads)),
                   static_cast<std::size_t>(std::max<std::int64_t>(1, kMostBytes / bytes))});
}

std::vector<Schedule> run_schedules(const protocol::SanitizeJob& job,
                                    const emulator::Module& module,
                                    const emulator::Profile& profile) {
  const TimeLimit limit(job.seconds);
  std::vector<Schedule> all(job.schedule_seeds.size());
  const std::size_t workers = side_by_side(job);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++)
      all[i] = run_schedule(job, module, profile, job.schedule_seeds[i],
                            job.threads / static_cast<int>(std::max<std::size_t>(1, workers)),
                            limit.over());
  };
  std::vector<std::future<void>> helpers;
  try {
    for (std::size_t k = 1; k < workers; ++k)
      helpers.push_back(std::async(std::launch::async, work));
  } catch (const std::system_error&) {  // no more threads here: those that there are do it
  }
  work();
  for (auto& helper : helpers) helper.get();
  return all;
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
  auto schedules = run_schedules(job, **module, *profile);
  // One finding per launch, statement and kind: other schedules repeat most of them.
  std::set<std::tuple<int, int, std::uint32_t, std::string>> known;
  for (std::size_t k = 0; k < schedules.size(); ++k) {
    Schedule& schedule = schedules[k];
    if (schedule.verdict != Verdict::kOk) return stop(schedule.verdict, schedule.detail);
    if (result.stopped.empty()) result.stopped = schedule.stopped;
    for (std::size_t i = 0; i < schedule.reports.size(); ++i) {
      auto& report = schedule.reports[i];
      result.warp_instructions += report.counters.warp_instructions;
      if (k == 0) {
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
        s.kernel = job.runnable.program.launches[i].kernel;
        s.schedule_seed = job.schedule_seeds[k];
        result.findings.push_back(std::move(s));
      }
      if (report.verdict == Verdict::kLaunchError && report.findings.empty())
        return stop(report.verdict, report.detail);
    }
  }
  if (!result.findings.empty() || !result.stopped.empty()) return result;
  for (Schedule& schedule : schedules)
    if (!schedule.unwritten.empty())
      return stop(Verdict::kWrongResult, std::move(schedule.unwritten));
  const ConcreteProgram& program = job.runnable.program;
  const bool own = job.inputs == InputSet::kOwn;
  const NonFinite rule = check::for_inputs({0, 0, job.non_finite}, !own).non_finite;
  for (const auto& [index, found] : schedules.front().non_finite) {
    const ConcreteBuffer& output = program.buffers[index];
    if (found.count == 0) continue;
    if (!check::too_many(found, rule)) {
      result.said.push_back(check::said_of(output, found, job.inputs));
    } else if (own) {
      return stop(Verdict::kWrongResult, check::refusal_of(program, output, found, rule));
    } else {
      result.said.push_back(check::left_out(output, found, job.inputs));
    }
  }
  return result;
}

}  // namespace hone::runner
