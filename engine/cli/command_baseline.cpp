// hone baseline: what others take for a task: PyTorch's times from a file, cuBLAS's measured here.
#include <fmt/core.h>

#include <algorithm>

#include "candidates/task_reader.h"
#include "engine/baselines/baseline_import.h"
#include "engine/baselines/library_baseline.h"
#include "engine/cli/command.h"
#include "engine/results/json.h"

namespace hone::cli {
namespace baseline_command {
namespace {

struct Options {
  Common common;
  DatabaseOptions database;
  std::vector<std::string> tasks;
  std::vector<std::string> files;
  std::string device = "cuda:0";
  std::uint64_t seed = 1;
  sandbox::Mode sandbox = sandbox::Mode::kBestEffort;
};

/// What happened to one kind of one task.
struct Line {
  std::string task;
  BaselineTime time;
  Evaluation evaluation;  ///< verdict ok, and no more, for what came from a file
};

void print(const Options& options, const std::vector<Line>& lines) {
  std::FILE* out = options.common.json_on_stdout() ? stderr : stdout;
  fmt::print(out, "{:<22}  {:<14}  {:>11}  {:>23}  {:<9}  {}\n", "task", "baseline", "time",
             "95 % interval", "precision", "on");
  for (const Line& line : lines) {
    if (line.evaluation.verdict != Verdict::kOk) {
      fmt::print(out, "{:<22}  {:<14}  {}: {}\n", line.task, line.time.kind,
                 to_string(line.evaluation.verdict), line.evaluation.detail);
      continue;
    }
    fmt::print(out, "{:<22}  {:<14}  {:>11}  {:>10} - {:>10}  {:<9}  {} ({})\n", line.task,
               line.time.kind, format_time(line.time.time_us), format_time(line.time.ci95_low),
               format_time(line.time.ci95_high), line.time.precision, line.time.device_name,
               line.time.versions);
  }
}

nlohmann::json to_json(const Line& line) {
  nlohmann::json json = {{"task", line.task},
                         {"kind", line.time.kind},
                         {"verdict", to_string(line.evaluation.verdict)},
                         {"detail", line.evaluation.detail}};
  if (line.evaluation.verdict != Verdict::kOk) return json;
  json.update(results::baseline_json(line.time));
  const Measurement& m = line.evaluation.measurement;
  if (m.reference_time_us > 0) {
    json["reference_time_us"] = m.reference_time_us;
    json["max_rel_error"] = line.evaluation.max_rel_error;
  }
  return json;
}

/// The results of the files that are of these very tasks.
Result<std::vector<Line>> import(const Options& options, const std::vector<Task>& tasks,
                                 Store& store) {
  std::vector<Line> lines;
  for (const std::string& file : options.files) {
    auto found = read_baselines(file);
    if (!found) return std::unexpected(found.error());
    for (ImportedBaseline& one : *found) {
      const bool wanted = std::ranges::any_of(
          tasks, [&](const Task& task) { return task.hash() == one.task_hash; });
      if (!wanted) continue;
      Evaluation passed;
      passed.verdict = Verdict::kOk;
      lines.push_back({one.task, std::move(one.time), std::move(passed)});
      if (auto put = store.put_baseline(one.task_hash, lines.back().time); !put)
        return std::unexpected(put.error());
    }
    for (const Task& task : tasks) {
      const auto of_name = [&](const ImportedBaseline& one) { return one.task == task.name; };
      const auto of_hash = [&](const ImportedBaseline& one) {
        return one.task_hash == task.hash();
      };
      if (std::ranges::any_of(*found, of_hash)) continue;
      const std::string what =
          std::ranges::any_of(*found, of_name)
              ? fmt::format(
                    "{}: its times of '{}' are of another version of the task; measure "
                    "again with baselines/torch_baseline.py",
                    file, task.name)
              : fmt::format("{}: holds no time of the task '{}'", file, task.name);
      if (tasks.size() == 1) return invalid(what);
      fmt::print(stderr, "hone: {}\n", what);
    }
  }
  return lines;
}

Result<std::vector<Line>> measure(const Options& options, const std::vector<Task>& tasks,
                                  Store& store) {
  std::vector<const Task*> products;
  for (const Task& task : tasks) {
    const auto product = check_matmul(task);
    if (product) products.push_back(&task);
    if (!product && tasks.size() == 1) return std::unexpected(product.error());
    if (!product) fmt::print(stderr, "hone: left out: {}\n", product.error().message);
  }
  if (products.empty()) return invalid("none of these tasks is a matrix product for cuBLAS");
  const auto spec = DeviceSpec::parse_one(options.device);
  if (!spec) return std::unexpected(spec.error());
  EvaluatorOptions evaluator;
  evaluator.sandbox = options.sandbox;
  evaluator.warn = warn_on_stderr;
  evaluator.tell_missing_layers = options.database.missing_layers() == MissingLayers::kTold;
  for (const Task* task : products)
    for (auto& file : task->input_files()) evaluator.input_files.push_back(std::move(file));
  auto bench = LibraryBench::open(spec->ordinal, evaluator);
  if (!bench) return std::unexpected(bench.error());
  std::vector<Line> lines;
  for (const Task* task : products) {
    auto outcomes = measure_libraries(*task, **bench, spec->text(), options.seed);
    if (!outcomes) return std::unexpected(outcomes.error());
    for (LibraryOutcome& outcome : *outcomes) {
      if (outcome.evaluation.verdict == Verdict::kOk) {
        if (auto put = store.put_baseline(task->hash(), outcome.time); !put)
          return std::unexpected(put.error());
      }
      lines.push_back({task->name, std::move(outcome.time), std::move(outcome.evaluation)});
    }
  }
  return lines;
}

int run(const Options& options) {
  const Common& common = options.common;
  const auto spec = DeviceSpec::parse_one(options.device);
  if (!spec) return common.fail(spec.error());
  if (spec->modelled()) {
    return common.fail({ErrorCode::kInvalidInput,
                        "baselines are measured, never modelled: --device takes cuda:N here"});
  }
  std::vector<Task> tasks;
  for (const std::string& file : options.tasks) {
    auto task = read_task(file);
    if (!task) return common.fail(task.error());
    tasks.push_back(std::move(*task));
  }
  if (auto json = common.check_json(); !json) return common.fail(json.error());
  auto store = options.database.open();
  if (!store) return common.fail(store.error());
  for (const Task& task : tasks) {
    if (auto put = (*store)->put_task(task); !put) return common.fail(put.error());
  }
  const auto lines =
      options.files.empty() ? measure(options, tasks, **store) : import(options, tasks, **store);
  if (!lines) return common.fail(lines.error());
  print(options, *lines);
  nlohmann::json document = {{"baselines", nlohmann::json::array()}};
  bool all = !lines->empty();
  for (const Line& line : *lines) {
    document["baselines"].push_back(to_json(line));
    all = all && line.evaluation.verdict == Verdict::kOk;
  }
  if (!common.write_json(document)) return kEnvironmentLacks;
  return all ? kDone : kCheckFailed;
}

}  // namespace
}  // namespace baseline_command

Registration add_baseline(CLI::App& root) {
  using namespace baseline_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "baseline",
      "Store how long PyTorch or cuBLAS takes for a task; the leaderboard compares with it");
  app->add_option(
         "TASK", options->tasks,
         ".cu files with a task comment, or .json tasks; cuBLAS is measured for matrix products")
      ->required();
  app->add_option(
         "--from", options->files,
         "Measure nothing: take the times from a file that torch_baseline.py wrote; may be "
         "repeated")
      ->type_name("FILE");
  app->add_option("--device", options->device, "The GPU to measure cuBLAS on: cuda:N")
      ->type_name("DEVICE")
      ->capture_default_str();
  app->add_option("--seed", options->seed, "Chooses the inputs")
      ->type_name("N")
      ->capture_default_str();
  add_sandbox_option(*app, options->sandbox);
  options->database.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
