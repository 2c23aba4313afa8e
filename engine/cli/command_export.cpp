#include <fmt/core.h>

#include "candidates/export/export.h"
#include "engine/cli/command.h"

namespace hone::cli {
namespace export_command {
namespace {

struct Options {
  Common common;
  DatabaseOptions database;
  std::vector<std::string> candidates;
  std::string format = "cu";
  std::string output = "-";
};

int run(const Options& options) {
  const auto format = parse_export_format(options.format);
  if (!format) return options.common.fail({ErrorCode::kInternal, "an unknown format"});
  auto store = options.database.open_existing();
  if (!store) return options.common.fail(store.error());
  std::vector<BoardRow> rows;
  nlohmann::json ids = nlohmann::json::array();
  for (const std::string& candidate : options.candidates) {
    auto row = (*store)->find_candidate(candidate);
    if (!row) return options.common.fail(row.error());
    const Evaluation& e = row->evaluation;
    if (e.verdict != Verdict::kOk && *format != ExportFormat::kJson)
      return options.common.fail(
          {ErrorCode::kInvalidInput,
           fmt::format("candidate {} is not for use: it ended as {}{}{}; --format json has it all",
                       row->candidate.id, to_string(e.verdict), e.detail.empty() ? "" : ": ",
                       e.detail)});
    if (!e.final_stage)
      fmt::print(stderr, "hone: candidate {} did not go through the final stage\n",
                 row->candidate.id);
    ids.push_back(row->candidate.id);
    rows.push_back(std::move(*row));
  }
  auto task = (*store)->find_task(rows.at(0).candidate.task_hash);
  if (!task) return options.common.fail(task.error());
  const auto rewriting = open_rewriting();
  if (*format == ExportFormat::kTorch || *format == ExportFormat::kCupy) {
    // What is C++ in a Python module.
    for (BoardRow& row : rows) {
      row.candidate.program.source = rewriting->formatted(row.candidate.program.source);
    }
    task->reference.source = rewriting->formatted(task->reference.source);
  }
  auto text = export_candidates(*format, rows, *task);
  if (!text) return options.common.fail(text.error());
  if (is_cpp(*format)) *text = rewriting->formatted(*text);
  if (options.output == "-" && options.common.json_on_stdout()) {
    // The text travels inside the document.
  } else if (auto written = write_text(options.output, *text); !written) {
    return options.common.fail(written.error());
  }
  return options.common.write_json({{"candidate", ids.at(0)},
                                    {"candidates", ids},
                                    {"format", options.format},
                                    {"text", *text}})
             ? kDone
             : kEnvironmentLacks;
}

}  // namespace
}  // namespace export_command

Registration add_export(CLI::App& root) {
  using namespace export_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("export", "Write a candidate as source for a project");
  app->add_option(
         "CANDIDATE", options->candidates,
         "A candidate's id, or the beginning of it. Several, of one task and found on different "
         "architectures: one file that chooses by the device")
      ->required();
  app->add_option(
         "--format", options->format,
         "cu: one file with the kernels and a launcher; hpp: a header whose launch "
         "function runs the reference at other sizes; torch: a Python module with a "
         "PyTorch operator; cupy: a Python module for CuPy; json: all that is known. `hone "
         "evaluate` takes cu and hpp back")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"cu", "hpp", "torch", "cupy", "json"}))
      ->capture_default_str();
  app->add_option("-o,--output", options->output, "Write to FILE, or to stdout for '-'")
      ->type_name("FILE|-")
      ->capture_default_str();
  options->database.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
