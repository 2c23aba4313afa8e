#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "engine/cli/command.h"
#include "engine/cli/table.h"
#include "engine/page/report.h"
#include "engine/results/json.h"
#include "engine/results/replies.h"

namespace hone::cli {
namespace report_command {
namespace {

struct Options {
  Common common;
  DatabaseOptions database;
  std::string job;
  std::string output = "-";
  bool replies = false;
};

/// The runs of a job, or the one run that a number names.
Result<std::vector<RunRecord>> find_runs(const Store& store, const std::string& name) {
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error == std::errc() && end == name.data() + name.size()) {
    auto run = store.find_run(id);
    if (!run) return std::unexpected(run.error());
    return std::vector<RunRecord>{std::move(*run)};
  }
  auto runs = store.runs({.job = name});
  if (runs && (name.empty() || runs->empty()))
    return invalid(fmt::format(
        "there is no run and no job '{}' in this database; `hone report` lists the runs", name));
  if (runs) std::ranges::reverse(*runs);  // the first begun first
  return runs;
}

int list_runs(const Options& options, const Store& store) {
  const auto runs = store.runs({});
  if (!runs) return options.common.fail(runs.error());
  using enum Table::Align;
  Table table;
  table.column("run", kRight);
  for (const char* title : {"task", "device", "began", "status", "job"}) table.column(title, kLeft);
  nlohmann::json document = {{"runs", nlohmann::json::array()}};
  for (const RunRecord& run : *runs) {
    table.add({fmt::format("{}", run.id), run.task_name, run.provenance.device_name, run.started_at,
               run.status, run.job});
    document["runs"].push_back(results::run_json(run));
  }
  if (!options.common.json_on_stdout())
    fmt::print("{}", runs->empty() ? fmt::format("no runs yet; `hone optimize TASK{}` makes one\n",
                                                 options.database.as_typed())
                                   : table.text());
  return options.common.write_json(document) ? kDone : kEnvironmentLacks;
}

/// Instead of the page.
int show_replies(const Options& options, const Store& store, const std::vector<RunRecord>& runs) {
  std::string text;
  nlohmann::json document = {{"runs", nlohmann::json::array()}};
  for (const RunRecord& run : runs) {
    const auto replies = store.replies(run.id);
    if (!replies) return options.common.fail(replies.error());
    const results::ModelUse use = results::model_use(*replies);
    text += fmt::format("run {}, {} on {}: {}\n", run.id, run.task_name, run.provenance.device_name,
                        use.used ? results::model_use_text(use) : "no language model was asked");
    text += results::replies_text(*replies);
    nlohmann::json one = results::run_json(run);
    one["model"] = results::model_use_json(use);
    one["replies"] = nlohmann::json::array();
    for (const RunReply& reply : *replies) one["replies"].push_back(results::reply_json(reply));
    document["runs"].push_back(std::move(one));
  }
  if (options.output != "-" || !options.common.json_on_stdout()) {
    if (auto written = write_text(options.output, text); !written)
      return options.common.fail(written.error());
  }
  return options.common.write_json(document) ? kDone : kEnvironmentLacks;
}

int run(const Options& options) {
  auto store = options.database.open_existing();
  if (!store) return options.common.fail(store.error());
  if (options.job.empty()) return list_runs(options, **store);
  const auto runs = find_runs(**store, options.job);
  if (!runs) return options.common.fail(runs.error());
  if (options.replies) return show_replies(options, **store, *runs);
  const auto html = page::report_html(**store, *open_rewriting(), *runs);
  if (!html) return options.common.fail(html.error());
  const bool inside = options.output == "-" && options.common.json_on_stdout();
  if (!inside) {
    if (auto written = write_text(options.output, *html); !written)
      return options.common.fail(written.error());
  }
  nlohmann::json document = {{"runs", nlohmann::json::array()}, {"output", options.output}};
  for (const RunRecord& one : *runs) {
    const auto replies = (*store)->replies(one.id, false);
    if (!replies) return options.common.fail(replies.error());
    document["runs"].push_back(results::run_json(one));
    document["runs"].back()["model"] = results::model_use_json(results::model_use(*replies));
  }
  if (inside) document["html"] = *html;
  return options.common.write_json(document) ? kDone : kEnvironmentLacks;
}

}  // namespace
}  // namespace report_command

Registration add_report(CLI::App& root) {
  using namespace report_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "report",
      "Write a job or a run as one HTML file: progress, roofline, finalists, family tree");
  app->add_option("JOB", options->job,
                  "A job's id or a run's number; without it the runs are listed");
  app->add_option("-o,--output", options->output, "Write to FILE, or to stdout for '-'")
      ->type_name("FILE|-")
      ->capture_default_str();
  app->add_flag("--replies", options->replies,
                "Write instead, as text, what a language model said and what became of it");
  options->database.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
