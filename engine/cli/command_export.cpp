#include <fmt/core.h>

#include "engine/cli/command.h"
#include "engine/service/export_cuda.h"

namespace hone::cli {
namespace {

struct Options {
  Common common;
  DatabaseOptions database;
  std::string candidate;
  std::string format = "cu";
  std::string output = "-";
};

int run(const Options& options) {
  auto store = options.database.open_existing();
  if (!store) return options.common.fail(store.error());
  auto row = (*store)->find_candidate(options.candidate);
  if (!row) return options.common.fail(row.error());
  auto task = (*store)->find_task(row->candidate.task_hash);
  if (!task) return options.common.fail(task.error());
  auto text = export_cuda(*row, *task, *open_rewriting());
  if (!text) return options.common.fail(text.error());
  if (options.output == "-" && options.common.json_on_stdout()) {
    // The text travels inside the document.
  } else if (auto written = write_text(options.output, *text); !written) {
    return options.common.fail(written.error());
  }
  return options.common.write_json(
             {{"candidate", row->candidate.id}, {"format", options.format}, {"text", *text}})
             ? kDone
             : kEnvironmentLacks;
}

}  // namespace

Registration add_export(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("export", "A candidate as source to paste into a project");
  app->add_option("CANDIDATE", options->candidate, "Its id, or the beginning of it")->required();
  app->add_option("--format", options->format, "cu: one file with the kernels and a launcher")
      ->check(CLI::IsMember({"cu"}))
      ->capture_default_str();
  app->add_option("-o,--output", options->output, "File to write, or - for stdout")
      ->capture_default_str();
  options->database.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
