#include "engine/rewriting/init/cost.h"

#include <algorithm>

#include "candidates/task_reader.h"
#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/parse.h"

namespace hone::init {
namespace {

// An H100's, about: what a plain kernel reaches.
constexpr double kBytesPerSecond = 2e12;
constexpr double kInstructionsPerSecond = 1.2e13;  // of threads
constexpr double kPerThread = 12;                  // instructions outside loops
constexpr double kPerTrip = 6;                     // of an innermost loop

/// A loop over the grid or the block begins at another element in each thread: its trips are the
/// whole of it over its step.
std::optional<std::int64_t> trips_of(const syntax::KernelInfo& info, const syntax::Loop& loop,
                                     const Bindings& sizes) {
  if (const auto trips = info.trip_count(loop, sizes)) return trips;
  if (loop.upper == nullptr) return std::nullopt;
  const auto upper = info.evaluate(*loop.upper, sizes);
  const auto step = loop.step_expr != nullptr ? info.evaluate(*loop.step_expr, sizes) : loop.step;
  if (!upper || !step || *step < 1) return std::nullopt;
  return (*upper + *step - 1) / *step;
}

}  // namespace

std::optional<double> estimated_us(const std::string& task_text, const std::string& path) {
  const auto task = parse_task(task_text, path);
  if (!task) return std::nullopt;
  const auto concrete = instantiate(task->reference, task->sizes);
  if (!concrete) return std::nullopt;
  double bytes = 0;
  for (const ConcreteBuffer& buffer : concrete->buffers)
    bytes += static_cast<double>(buffer.bytes());
  double instructions = 0;
  const auto unit = syntax::parse(task->reference);
  // Functions are called by their plain names.
  Program plain = task->reference;
  for (Launch& launch : plain.launches) {
    launch.kernel = launch.kernel.substr(0, launch.kernel.find('<'));
    if (const auto scope = launch.kernel.rfind("::"); scope != std::string::npos)
      launch.kernel.erase(0, scope + 2);
  }
  const auto kernels =
      unit ? syntax::analyse(**unit, plain) : Result<std::vector<syntax::KernelInfo>>{};
  for (const ConcreteLaunch& launch : concrete->launches) {
    double threads = 1;
    for (const auto extent : launch.grid) threads *= static_cast<double>(extent);
    for (const auto extent : launch.block) threads *= static_cast<double>(extent);
    double work = kPerThread;
    if (kernels) {
      for (const syntax::KernelInfo& info : *kernels) {
        if (launch.kernel.find(info.function->name) == std::string::npos) continue;
        for (const auto& loop : info.loops) {
          double trips = 1;
          for (const syntax::Loop* one = loop.get(); one != nullptr; one = one->parent)
            trips *= static_cast<double>(
                std::max<std::int64_t>(1, trips_of(info, *one, task->sizes).value_or(1)));
          work += kPerTrip * trips;
        }
      }
    }
    instructions += threads * work;
  }
  return 1e6 * std::max(bytes / kBytesPerSecond, instructions / kInstructionsPerSecond);
}

}  // namespace hone::init
