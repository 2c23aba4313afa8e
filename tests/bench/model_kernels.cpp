// The time model against a GPU, on kernels as somebody wrote them.
//   model_kernels FOLDER --measure cuda:0 --out FILE    # times every task's own program on a GPU
//   model_kernels FOLDER TIMES [--task NAME] [--terms]  # compares the model with such a file
// FOLDER has tasks: .cu files with a task comment. --terms: what the model counted, too.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "candidates/task_reader.h"
#include "engine/rewriting/launch_check.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/requests/requests.h"
#include "tests/bench/modelled_time.h"

namespace hone {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct Options {
  std::string folder, times, measure, out, task, arch = "sm_90";
  bool terms = false;
};

std::vector<fs::path> tasks_of(const Options& options) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(options.folder))
    if (entry.path().extension() == ".cu" &&
        (options.task.empty() || entry.path().stem() == options.task))
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

/// The task's own program at its timed sizes, and what it is checked with.
Result<EvaluationRequest> request_of(const Task& task, const std::string& arch) {
  LocalRewriting rewriting;
  auto builder = RequestBuilder::make(rewriting, task, target_limits(arch), {});
  if (!builder) return std::unexpected(builder.error());
  return (*builder)->for_recipe({}, 1);
}

int measure(const Options& options) {
  const auto device = DeviceSpec::parse(options.measure);
  if (!device) return 2;
  auto evaluator = Evaluator::open(*device, {});
  if (!evaluator) {
    fmt::print(stderr, "{}\n", evaluator.error().message);
    return 2;
  }
  json times = json::object();
  for (const fs::path& file : tasks_of(options)) {
    const std::string name = file.stem();
    const auto task = read_task(file);
    auto request = task ? request_of(*task, options.arch)
                        : Result<EvaluationRequest>(std::unexpected(task.error()));
    auto admitted = request ? (*evaluator)->admit(*request)
                            : Result<Evaluation>(std::unexpected(request.error()));
    if (!admitted) {
      fmt::print("{:32} {}\n", name, admitted.error().message.substr(0, 300));
      std::fflush(stdout);
      continue;
    }
    const double time = admitted->measurement.time_us;
    times[name] = std::round(time * 100) / 100;
    fmt::print("{:32} {:10.2f} us\n", name, time);
    std::fflush(stdout);
    if (!options.out.empty())
      std::ofstream(options.out)
          << json({{"measured_on", (*evaluator)->info().name}, {"times_us", times}}).dump(1)
          << '\n';
  }
  return 0;
}

void print_terms(const Sampled& sampled, const emulator::Profile& profile) {
  for (const auto& l : sampled.launches) {
    const auto t =
        emulator::model(profile, l.counters, l.config, l.registers, l.static_shared_bytes);
    fmt::print("    {} {:.1f} us, {} registers:", l.config.kernel, t.time_us, l.registers);
    for (const auto& term : t.terms) fmt::print(" {} {:.0f},", term.name, term.cycles);
    fmt::print("\n      counted:");
    for (const auto& [key, value] : runner::to_map(l.counters))
      if (value != 0) fmt::print(" {} {:.0f},", key, value);
    fmt::print("\n");
  }
}

int compare(const Options& options) {
  std::ifstream file(options.times);
  const json data = json::parse(file, nullptr, false);
  if (!data.is_object() || !data.contains("times_us")) {
    fmt::print(stderr, "{}: no times\n", options.times);
    return 2;
  }
  const auto* profile = emulator::find_profile(options.arch);
  std::vector<double> measured, modelled, errors;
  double worst = 1;
  fmt::print("{:32} {:>10} {:>10} {:>6}\n", "kernel", "measured", "modelled", "ratio");
  for (const fs::path& path : tasks_of(options)) {
    const std::string name = path.stem();
    if (!data["times_us"].contains(name)) continue;
    const auto task = read_task(path);
    auto request = task ? request_of(*task, options.arch)
                        : Result<EvaluationRequest>(std::unexpected(task.error()));
    if (!request) {
      fmt::print("{:32} {}\n", name, request.error().message);
      continue;
    }
    const Sampled sampled = sample(request->timed.reference, options.arch);
    if (!sampled.failure.empty()) {
      fmt::print("{:32} {}\n", name, sampled.failure);
      continue;
    }
    std::string bound;
    const double time = modelled_us(sampled, *profile, bound);
    const auto truth = data["times_us"][name].get<double>();
    const double ratio = time / truth;
    fmt::print("{:32} {:10.2f} {:10.2f} {:6.2f}  {}\n", name, truth, time, ratio, bound);
    if (options.terms) print_terms(sampled, *profile);
    std::fflush(stdout);
    measured.push_back(truth);
    modelled.push_back(time);
    errors.push_back(std::fabs(ratio - 1));
    worst = std::max({worst, ratio, 1 / ratio});
  }
  if (errors.empty()) return 1;
  fmt::print("{} kernels: median error {:.1f} %, worst factor {:.2f}, rank correlation {:.3f}\n",
             errors.size(), 100 * median(errors), worst, spearman(measured, modelled));
  return 0;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  hone::Options options;
  CLI::App app("Compares modelled with measured times of whole tasks");
  app.add_option("FOLDER", options.folder)->required();
  app.add_option("TIMES", options.times);
  app.add_option("--measure", options.measure, "A device: times the tasks on it");
  app.add_option("--out", options.out, "Where the measured times go");
  app.add_option("--task", options.task);
  app.add_option("--arch", options.arch);
  app.add_flag("--terms", options.terms);
  CLI11_PARSE(app, argc, argv);
  return options.measure.empty() ? hone::compare(options) : hone::measure(options);
}
