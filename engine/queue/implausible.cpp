// What no honest evaluator reports. What one does report: evaluator/gates.cpp,
// EvaluatorImpl::set_modelled and set_measured, evaluator/runner/measure.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "engine/queue/messages_detail.h"
#include "engine/queue/messages_result.h"
#include "engine/queue/numbers.h"
#include "evaluator/timing/statistics.h"

namespace hone::queue {
namespace {

using Why = std::optional<std::string>;

constexpr std::size_t kMaxSamples = 100'000;  // as of a runner
constexpr std::size_t kMaxCounters = 256;
constexpr std::size_t kMaxKernels = detail::kMaxLaunches;
constexpr int kMaxBytes = 1 << 30;  // spilt, of a stack, of shared memory [B]
constexpr int kMaxRegisters = 1024;
constexpr double kRounding = 1e-6;
/// The bootstrap's interval need not hold the ratio of the medians where samples lie in two heaps.
constexpr double kBesideInterval = 1.5;
/// The roof is a yardstick: outputs may stay in the L2 cache, a program need not read inputs whole,
/// and `flops` is the task's word. What surely cannot be is the evaluator's alarm.
constexpr double kMostOfRoof = 4;

bool close(double a, double b) {
  return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

struct Number {
  const char* name;
  double value;
};

Why wrong(std::span<const Number> numbers, double most) {
  for (const auto& [name, value] : numbers) {
    if (std::isfinite(value) && value >= 0 && value <= most) continue;
    return fmt::format("{} is {}", name, value);
  }
  return std::nullopt;
}

Why wrong_resources(const KernelResources& r) {
  const Number bytes[] = {{"spill_bytes", 1.0 * r.spill_bytes},
                          {"stack_bytes", 1.0 * r.stack_bytes},
                          {"static_shared_bytes", 1.0 * r.static_shared_bytes},
                          {"max_threads", 1.0 * r.max_threads}};
  if (auto why = wrong(bytes, kMaxBytes)) return why;
  const Number registers[] = {{"registers", 1.0 * r.registers}};
  if (auto why = wrong(registers, kMaxRegisters)) return why;
  const Number occupancy[] = {{"occupancy", r.occupancy}};
  return wrong(occupancy, 1 + kRounding);
}

Why wrong_samples(const char* name, const std::vector<double>& samples) {
  if (samples.size() > kMaxSamples) return fmt::format("there are {} {}", samples.size(), name);
  for (const double sample : samples) {
    const Number one[] = {{name, sample}};
    if (auto why = wrong(one, detail::kMaxDuration)) return why;
  }
  return std::nullopt;
}

Why contradicting(const Measurement& m) {
  if (m.time_us <= 0 || m.reference_time_us <= 0)
    return fmt::format("ok with a time of {} us and a reference's of {} us", m.time_us,
                       m.reference_time_us);
  const double speedup = m.reference_time_us / m.time_us;
  if (!close(m.speedup, speedup))
    return fmt::format("a speedup of {}, but the times give {}", m.speedup, speedup);
  if (m.ci95_low <= 0 || m.ci95_low > m.ci95_high || m.ci95_low > kBesideInterval * speedup ||
      kBesideInterval * m.ci95_high < speedup)
    return fmt::format("a speedup of {} in [{}, {}]", m.speedup, m.ci95_low, m.ci95_high);
  const auto contradicts = [](const std::vector<double>& samples, double time) {
    return !samples.empty() && !close(timing::median(samples), time);
  };
  if (contradicts(m.samples_us, m.time_us))
    return fmt::format("a time of {} us, but the samples' median is {}", m.time_us,
                       timing::median(m.samples_us));
  if (contradicts(m.reference_samples_us, m.reference_time_us))
    return fmt::format("a reference's time of {} us, but the samples' median is {}",
                       m.reference_time_us, timing::median(m.reference_samples_us));
  if (m.roof_fraction > kMostOfRoof)
    return fmt::format("{:.2f} times as fast as the roof", m.roof_fraction);
  if ((m.warm_time_us > 0) != (m.reference_warm_time_us > 0)) return "one warm time of two";
  if (static_cast<std::size_t>(m.outliers) > m.samples_us.size() + m.reference_samples_us.size())
    return fmt::format("{} outliers among fewer samples", m.outliers);
  return std::nullopt;
}

}  // namespace

Why detail::wrong_number(const Evaluation& e) {
  const Measurement& m = e.measurement;
  const Number numbers[] = {{"max_rel_error", e.max_rel_error},
                            {"reference_error", e.reference_error},
                            {"speedup", m.speedup},
                            {"ci95[0]", m.ci95_low},
                            {"ci95[1]", m.ci95_high},
                            {"roof_fraction", m.roof_fraction},
                            {"outliers", 1.0 * m.outliers},
                            {"discarded", 1.0 * m.discarded},
                            {"clock_mhz", m.clock_mhz}};
  if (auto why = wrong(numbers, std::numeric_limits<double>::max())) return why;
  const Number durations[] = {{"time_us", m.time_us},
                              {"reference_time_us", m.reference_time_us},
                              {"warm_time_us", m.warm_time_us},
                              {"reference_warm_time_us", m.reference_warm_time_us},
                              {"modelled_us", e.modelled_us},
                              {"elapsed_s", e.elapsed_s},
                              {"gates.compile", e.gates.compile},
                              {"gates.check", e.gates.check},
                              {"gates.wait", e.gates.wait},
                              {"gates.measure", e.gates.measure}};
  if (auto why = wrong(durations, kMaxDuration)) return why;
  if (auto why = wrong_samples("samples_us", m.samples_us)) return why;
  if (auto why = wrong_samples("reference_samples_us", m.reference_samples_us)) return why;
  if (m.counters.size() > kMaxCounters) return fmt::format("{} counters", m.counters.size());
  for (const auto& [name, value] : m.counters)
    if (!std::isfinite(value)) return fmt::format("a counter is {}", value);
  if (e.resources.size() > kMaxKernels) return fmt::format("{} kernels", e.resources.size());
  for (const KernelResources& resources : e.resources)
    if (auto why = wrong_resources(resources)) return why;
  return std::nullopt;
}

Why implausible(const Evaluation& e, bool modelled) {
  const Measurement& m = e.measurement;
  if (auto why = detail::wrong_number(e)) return why;
  if (e.faster_than_roof && e.verdict != Verdict::kTampering)
    return fmt::format("'{}', and an alarm", to_string(e.verdict));
  if ((e.screened || e.outpaced || e.verdict == Verdict::kSlower) && (modelled || e.final_stage))
    return "cut short where nothing is";
  if (e.screened) {
    if (e.verdict != Verdict::kOk || m.time_us > 0 || e.modelled_us <= 0)
      return "left out by the time model, and not";
    return std::nullopt;
  }
  if ((e.verdict == Verdict::kOk || m.time_us > 0) && m.modelled != modelled)
    return m.modelled ? "modelled by a device that measures" : "measured by a device that models";
  return e.verdict == Verdict::kOk ? contradicting(m) : std::nullopt;
}

}  // namespace hone::queue
