#include <fmt/core.h>

#include <chrono>

#include "candidates/task_reader.h"
#include "engine/cli/command.h"
#include "engine/cli/interrupt.h"
#include "engine/cli/llm_options.h"
#include "engine/cli/progress.h"
#include "engine/cli/report.h"
#include "engine/results/json.h"
#include "engine/search/bench.h"
#include "engine/search/records.h"

namespace hone::cli {
namespace bench_command {
namespace {

struct Options {
  Common common;
  DeviceOptions device;
  DatabaseOptions database;
  LlmOptions llm;
  std::string folder;
  SearchArguments search;
  bool again = false;
  bool quiet = false;
};

/// One bench: its settings, and how far it has come.
struct Bench {
  Provenance provenance;
  std::string key;
  std::vector<BenchRow> rows;
  std::vector<std::string> unreadable;
  std::size_t taken_over = 0;  ///< rows that were there
  bool interrupted = false;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// `llm`: of which each task is granted budgets of its own; null: none.
Result<void> search(const Options& options, const SearchSettings& settings, const Task& task,
                    const llm::Access* llm, Store& store, Bench& bench) {
  const auto begin = Clock::now();
  auto device = open_device(options.device, task, options.database.missing_layers());
  if (!device) return std::unexpected(device.error());
  bench.provenance = provenance_of(device->spec, device->evaluator->info());
  bench.key = bench_key(bench.provenance, settings, options.llm.words());
  if (!options.again) {
    const auto known = store.bench_row(bench.key, task.hash());
    if (!known) return std::unexpected(known.error());
    if (*known) {
      auto row = bench_row_from_json(**known);
      if (!row) return std::unexpected(row.error());
      if (row->error.empty()) {  // a failure may have been mended
        bench.rows.push_back(std::move(*row));
        ++bench.taken_over;
        return {};
      }
    }
  }
  ProgressPrinter progress(settings.budget, options.quiet);
  SearchOptions search{.settings = settings};
  const llm::Grant granted = llm != nullptr ? llm::grant(*llm, {}, {}) : llm::Grant();
  search.llm = granted.access.get();
  search.stop = &watch_interrupts();
  search.on_progress = [&](const Progress& p) { progress.show(p); };
  search.spent_s = seconds_since(begin);
  auto outcome =
      run_search(task, device->spec, *device->evaluator, *device->rewriting, &store, search);
  progress.finish();
  bench.interrupted = watch_interrupts();
  if (bench.interrupted) return {};
  // A machine at fault says nothing of the task.
  if (!outcome && outcome.error().code != ErrorCode::kTaskFailed &&
      outcome.error().code != ErrorCode::kInvalidInput)
    return std::unexpected(outcome.error());
  if (outcome)
    for (const std::string& warning : outcome->all_warnings())
      fmt::print(stderr, "hone: {}\n", warning);
  BenchRow row = bench_row(task, outcome);
  device->evaluator.reset();  // its children end within the wall time
  row.wall_s = seconds_since(begin);
  if (auto put = store.put_bench_row(bench.key, task, row); !put)
    return std::unexpected(put.error());
  bench.rows.push_back(std::move(row));
  return {};
}

/// Without reasons.
results::ModelUse model_use_of(const std::vector<BenchRow>& rows) {
  results::ModelUse all;
  for (const BenchRow& row : rows) all.add_counts(row.model);
  return all;
}

int run(const Options& options) {
  const Common& common = options.common;
  // Here, not in each task: what a task is refused for says something of the task.
  const auto settings = options.search.settings();
  if (!settings) return common.fail(settings.error());
  const auto llm = options.llm.open();
  if (!llm) return common.fail(llm.error());
  const auto files = find_tasks(options.folder);
  if (!files) return common.fail(files.error());
  if (auto json = common.check_json(); !json) return common.fail(json.error());
  auto store = options.database.open();
  if (!store) return common.fail(store.error());

  std::FILE* out = common.json_on_stdout() ? stderr : stdout;
  Bench bench;
  for (std::size_t i = 0; i < files->size() && !watch_interrupts(); ++i) {
    const auto task = read_task((*files)[i]);
    if (!task) {
      bench.unreadable.push_back(task.error().message);
      fmt::print(stderr, "hone: left out: {}\n", task.error().message);
      continue;
    }
    if (auto done = search(options, *settings, *task, llm->get(), **store, bench); !done)
      return common.fail(done.error());
    if (bench.interrupted) break;
    const BenchRow& row = bench.rows.back();
    fmt::print(out, "[{}/{}] {}: {}\n", i + 1, files->size(), row.best.task,
               row.error.empty()
                   ? fmt::format("{:.2f}x by {}, {} evaluated in {:.1f} s", row.best.speedup,
                                 row.best.origin, row.evaluated, row.wall_s)
                   : fmt::format("{} ({:.1f} s)", row.error, row.wall_s));
    if (row.model.used)
      fmt::print(out, "  language model: {}\n", results::model_use_text(row.model));
    std::fflush(out);
  }
  bench.interrupted |= bench.rows.size() + bench.unreadable.size() < files->size();
  const auto overview = bench_overview(bench.rows, bench.provenance);
  if (!bench.rows.empty()) fmt::print(out, "\n{}", overview_text(overview));
  if (const results::ModelUse all = model_use_of(bench.rows); all.used)
    fmt::print(out, "language model, all tasks: {}\n", results::model_use_text(all));
  if (bench.taken_over > 0)
    fmt::print(out,
               "{} of them were searched before with the same settings; --again searches anew\n",
               bench.taken_over);
  if (bench.interrupted)
    fmt::print(out, "stopped after {} of {} tasks; the same command goes on\n", bench.rows.size(),
               files->size());
  const auto slowest = std::ranges::max_element(bench.rows, {}, &BenchRow::wall_s);
  if (settings->budget.seconds > 0 && slowest != bench.rows.end())
    fmt::print(out, "longest: {}, {:.1f} s of {:.0f} s\n", slowest->best.task, slowest->wall_s,
               settings->budget.seconds);
  nlohmann::json document = {{"bench", bench.key},
                             {"budget", settings->budget.text()},
                             {"seed", settings->seed},
                             {"device", bench.provenance.device},
                             {"finished", !bench.interrupted},
                             {"taken_over", bench.taken_over},
                             {"left_out", bench.unreadable},
                             {"rows", bench.rows},
                             {"model", results::model_use_json(model_use_of(bench.rows))},
                             {"summary", results::overview_json(overview)}};
  document["summary"].erase("rows");
  if (!common.write_json(document)) return kEnvironmentLacks;
  const bool all_well =
      std::ranges::all_of(bench.rows, [](const BenchRow& row) { return row.error.empty(); });
  return all_well && bench.unreadable.empty() && !bench.interrupted ? kDone : kCheckFailed;
}

}  // namespace
}  // namespace bench_command

Registration add_bench(CLI::App& root) {
  using namespace bench_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "bench",
      "Search for every task of a folder, each with the same budget; started again, it goes on");
  app->add_option(
         "DIR", options->folder,
         "A folder with tasks, or one of them: .cu files with a task comment, .json tasks, "
         ".pt2 modules")
      ->required();
  options->device.add_to(*app);
  options->database.add_to(*app);
  options->llm.add_to(*app);
  options->search.add_to(*app, "For each task. ");
  app->add_flag("--again", options->again,
                "Search also the tasks that were searched with these settings before");
  add_quiet_option(*app, options->quiet);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
