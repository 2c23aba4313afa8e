#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "candidates/task_file.h"
#include "candidates/task_reader.h"
#include "engine/cli/command.h"
#include "engine/cli/interrupt.h"
#include "engine/cli/llm_options.h"
#include "engine/cli/progress.h"
#include "engine/cli/report.h"
#include "engine/results/ends.h"
#include "engine/results/json.h"
#include "engine/search/ranking/tree_model.h"
#include "engine/search/search.h"

namespace hone::cli {
namespace optimize_command {
namespace {

struct Options {
  Common common;
  DeviceOptions device;
  DatabaseOptions database;
  LlmOptions llm;
  std::string task;
  SearchArguments search;
  std::string ranking_model;  ///< a file; empty: the built-in one
  bool quiet = false;
};

std::string busy_text(const Pace& pace) {
  if (pace.gpus.size() < 2)
    return fmt::format(", the GPU had one {:.0f} % of the time", 100 * pace.gpu_busy());
  std::string each;
  for (const GpuUse& gpu : pace.gpus)
    each += fmt::format(
        "{}cuda:{} {}", each.empty() ? "" : ", ", gpu.ordinal,
        gpu.lost.empty() ? fmt::format("{:.0f} %", 100 * gpu.busy_s / std::max(1e-9, pace.search_s))
                         : "failed");
  return fmt::format(", the GPUs had one {:.0f} % of the time ({})", 100 * pace.gpu_busy(), each);
}

void print_outcome(const Options& options, const Task& task, const SearchOutcome& outcome,
                   const std::vector<BaselineTime>& baselines, const DeviceSpec& device) {
  const bool modelled = device.modelled();
  const char* word = modelled ? " (modelled)" : "";
  std::FILE* out = options.common.json_on_stdout() ? stderr : stdout;
  const Finalist& best = outcome.ranked.front();
  const Measurement& m = best.evaluation.measurement;
  // The one that the speedup is of: the search's own, of a few runs or blocks, may be another.
  const double reference_us =
      m.reference_time_us > 0 ? m.reference_time_us : outcome.reference_time_us;
  fmt::print(out, "{}: reference {}{}\n", task.name, format_time(reference_us), word);
  if (best.candidate.recipe.empty()) {
    const std::string why = results::ends_text(outcome);
    fmt::print(out, "nothing faster than the reference was found{}{}\n", why.empty() ? "" : "; ",
               why);
  } else {
    fmt::print(out,
               "best {}: {}{}, {:.2f}x [{:.2f}, {:.2f}], {:.1f} % of the roof, max error {:.1e}, "
               "by {}\n",
               best.candidate.id, format_time(m.time_us), word, m.speedup, m.ci95_low, m.ci95_high,
               100 * m.roof_fraction, best.evaluation.max_rel_error, best.candidate.origin);
    for (const Step& step : best.candidate.recipe) fmt::print(out, "  {}\n", to_string(step));
    if (!best.evaluation.note.empty()) fmt::print(out, "  note: {}\n", best.evaluation.note);
  }
  if (!baselines.empty())
    fmt::print(out, "against others on this GPU: {}\n", against_text(baselines, m.time_us));
  const Counts& counts = outcome.counts;
  fmt::print(
      out, "{} proposed, {} duplicates, {}{} evaluated, {} ok{}; {:.1f} s, {}{}\n", counts.proposed,
      counts.duplicate,
      counts.screened ? fmt::format("{} left out by the time model, ", counts.screened) : "",
      counts.evaluated(), counts.verdicts[static_cast<std::size_t>(Verdict::kOk)],
      counts.outpaced
          ? fmt::format(" ({} not checked further: much slower than the best, or time was up)",
                        counts.outpaced)
          : "",
      outcome.elapsed_s, outcome.stop_reason == StopReason::kInterrupted ? "" : "stopped by ",
      to_string(outcome.stop_reason));
  fmt::print(out, "{:.1f} evaluations/s{}\n", outcome.pace.per_second(),
             modelled ? "" : busy_text(outcome.pace));
  if (const results::ModelUse& use = outcome.llm; use.used) {
    fmt::print(out, "language model: {}\n", results::model_use_text(use));
    for (const auto& [reason, count] : use.refusals)
      fmt::print(out, "  refused {}x: {}\n", count, reason);
  }
  if (!best.candidate.recipe.empty()) {
    // Of a candidate that other devices have results of, too, this one's.
    fmt::print(out,
               "see `hone show {0} --device {1}{2}`, `hone diff {0}{2}`, `hone export {0}{2}`\n",
               best.candidate.id, shell_word(device.text()), options.database.as_typed());
  }
}

/// Null: the built-in one.
Result<std::shared_ptr<const ranking::TreeModel>> read_model(const std::string& file) {
  if (file.empty()) return nullptr;
  const auto text = read_text_file(file);
  if (!text) return std::unexpected(text.error());
  auto model = ranking::TreeModel::parse(*text);
  if (!model) return invalid(fmt::format("{}: {}", file, model.error().message));
  return std::make_shared<const ranking::TreeModel>(std::move(*model));
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int run(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  const Common& common = options.common;
  const auto settings = options.search.settings();
  if (!settings) return common.fail(settings.error());
  auto llm = options.llm.open();
  if (!llm) return common.fail(llm.error());
  auto model = read_model(options.ranking_model);
  if (!model) return common.fail(model.error());
  const auto task = read_task(options.task);
  if (!task) return common.fail(task.error());
  if (auto json = common.check_json(); !json) return common.fail(json.error());
  auto device = open_device(options.device, *task, options.database.missing_layers());
  if (!device) return common.fail(device.error());
  auto store = options.database.open();
  if (!store) return common.fail(store.error());

  ProgressPrinter progress(settings->budget, options.quiet);
  SearchOptions search;
  search.settings = *settings;
  search.llm = llm->get();
  search.ranking = std::move(*model);
  search.stop = &watch_interrupts();
  search.on_progress = [&](const Progress& p) { progress.show(p); };
  search.spent_s = seconds_since(begin);
  auto outcome =
      run_search(*task, device->spec, *device->evaluator, *device->rewriting, store->get(), search);
  progress.finish();
  if (!outcome) return common.fail(outcome.error());
  for (const std::string& warning : outcome->all_warnings())
    fmt::print(stderr, "hone: {}\n", warning);
  if (outcome->ranked.empty()) {
    return common.fail(
        {ErrorCode::kTaskFailed, "no finalist, not even the reference, passed the final stage"});
  }
  const bool modelled = device->spec.modelled();
  std::vector<BaselineTime> baselines;  // they are measured: no model is compared with them
  if (!modelled) {
    auto known = (*store)->baselines(task->hash(), device->evaluator->info().name);
    if (!known) return common.fail(known.error());
    baselines = std::move(*known);
  }
  print_outcome(options, *task, *outcome, baselines, device->spec);
  nlohmann::json ranked = nlohmann::json::array();
  for (const Finalist& finalist : outcome->ranked)
    ranked.push_back(results::finalist_json(finalist));
  const double best_time_us = outcome->ranked.front().evaluation.measurement.time_us;
  const nlohmann::json document = {
      {"task", task->name},
      {"task_hash", task->hash()},
      {"device", device->spec.text()},
      {"device_name", device->evaluator->info().name},
      {"toolchain", device->evaluator->info().toolchain},
      {"sandbox", device->evaluator->info().sandbox},
      {"modelled", modelled},
      {"seed", settings->seed},
      {"reference", {{"time_us", outcome->reference_time_us}}},
      {"roof",
       {{"time_us", outcome->roof.time_us},
        {"bytes", outcome->roof.bytes},
        {"flops", outcome->roof.flops}}},
      {"best", results::finalist_json(outcome->ranked.front())},
      {"finalists", ranked},
      {"seemed_faster", results::seemed_faster_json(*outcome)},
      {"speedup_against", results::against_json(baselines, best_time_us)},
      {"counts", results::counts_json(outcome->counts)},
      {"pace", results::pace_json(outcome->pace)},
      {"model", results::model_use_json(outcome->llm)},
      {"stop_reason", to_string(outcome->stop_reason)},
      {"warnings", outcome->all_warnings()},
      {"elapsed_s", outcome->elapsed_s}};
  return common.write_json(document) ? kDone : kEnvironmentLacks;
}

}  // namespace
}  // namespace optimize_command

Registration add_optimize(CLI::App& root) {
  using namespace optimize_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("optimize", "Search for a faster program for a task");
  add_task_argument(*app, options->task);
  options->device.add_to(*app);
  options->database.add_to(*app);
  options->llm.add_to(*app);
  options->search.add_to(*app);
  app->add_option("--ranking-model", options->ranking_model,
                  "Rank candidates with this model, of `hone calibrate --from-db`, in place of the "
                  "built-in one")
      ->type_name("FILE");
  add_quiet_option(*app, options->quiet);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
