#include <fmt/core.h>
#include <unistd.h>

#include <sstream>

#include "engine/cli/command.h"
#include "engine/service/text_diff.h"

namespace hone::cli {
namespace {

struct Options {
  Common common;
  DatabaseOptions database;
  std::string candidate;
  std::string other;
};

void print_coloured(const std::string& diff) {
  std::istringstream stream(diff);
  for (std::string line; std::getline(stream, line);) {
    const char* colour = line.starts_with("@@")  ? "\033[36m"
                         : line.starts_with('+') ? "\033[32m"
                         : line.starts_with('-') ? "\033[31m"
                                                 : "";
    fmt::print("{}{}{}\n", colour, line, *colour == 0 ? "" : "\033[0m");
  }
}

int run(const Options& options) {
  auto store = options.database.open_existing();
  if (!store) return options.common.fail(store.error());
  auto row = (*store)->find_candidate(options.candidate);
  if (!row) return options.common.fail(row.error());
  std::string before_name = "reference";
  std::string before;
  if (options.other.empty()) {
    auto task = (*store)->find_task(row->candidate.task_hash);
    if (!task) return options.common.fail(task.error());
    before = task->reference.source;
  } else {
    auto other = (*store)->find_candidate(options.other);
    if (!other) return options.common.fail(other.error());
    before = other->candidate.program.source;
    before_name = other->candidate.id;
  }
  const auto rewriting = open_rewriting();
  const std::string diff = unified_diff(rewriting->formatted(before),
                                        rewriting->formatted(row->candidate.program.source),
                                        before_name, row->candidate.id);
  if (!options.common.json_on_stdout()) {
    if (diff.empty()) {
      fmt::print(stderr, "the sources are the same\n");
    } else if (isatty(STDOUT_FILENO) != 0) {
      print_coloured(diff);
    } else {
      fmt::print("{}", diff);
    }
  }
  return options.common.write_json(
             {{"before", before_name}, {"after", row->candidate.id}, {"diff", diff}})
             ? kDone
             : kEnvironmentLacks;
}

}  // namespace

Registration add_diff(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app =
      root.add_subcommand("diff", "What a candidate changed, against the reference or another");
  app->add_option("CANDIDATE", options->candidate, "Its id, or the beginning of it")->required();
  app->add_option("OTHER", options->other, "Compare with this candidate instead of the reference");
  options->database.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
