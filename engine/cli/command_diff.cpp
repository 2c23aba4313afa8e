#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "candidates/task_reader.h"
#include "engine/cli/command.h"
#include "engine/results/diff_text.h"
#include "engine/results/side_by_side.h"
#include "engine/results/text_diff.h"

namespace hone::cli {
namespace diff_command {
namespace {

struct Options {
  Common common;
  DatabaseOptions database;
  std::string candidate;
  std::string other;
  bool side_by_side = false;
  bool unified = false;
  std::string colour = "auto";
};

constexpr int kWideEnough = 120;  // columns, for two sources beside each other
constexpr int kNoTerminal = 160;  // columns, where there is none to ask

/// Columns of the terminal; $COLUMNS says it where stdout is none.
int columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* said = std::getenv("COLUMNS");
  const int number = said == nullptr ? 0 : std::atoi(said);
  return number > 0 ? number : kNoTerminal;
}

void print_unified(const std::string& diff, bool colour) {
  if (!colour) {
    fmt::print("{}", diff);
    return;
  }
  std::istringstream stream(diff);
  for (std::string line; std::getline(stream, line);) {
    const char* escape = line.starts_with("@@")  ? "\033[36m"
                         : line.starts_with('+') ? "\033[32m"
                         : line.starts_with('-') ? "\033[31m"
                                                 : "";
    fmt::print("{}{}{}\n", escape, line, *escape == 0 ? "" : "\033[0m");
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
    before = without_task_comment(task->reference.source);
  } else {
    auto other = (*store)->find_candidate(options.other);
    if (!other) return options.common.fail(other.error());
    before = without_task_comment(other->candidate.program.source);
    before_name = other->candidate.id;
  }
  const auto rewriting = open_rewriting();
  before = rewriting->formatted(before);
  const std::string after =
      rewriting->formatted(without_task_comment(row->candidate.program.source));
  const std::string diff = unified_diff(before, after, before_name, row->candidate.id);
  if (!options.common.json_on_stdout()) {
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    const bool colour =
        options.colour == "always" || (options.colour == "auto" && colours_by_default());
    const int width = columns();
    const bool beside =
        options.side_by_side || (!options.unified && terminal && width >= kWideEnough);
    if (diff.empty()) {
      fmt::print(stderr, "the sources are the same\n");
    } else if (beside) {
      fmt::print("{}",
                 results::side_by_side_text(results::side_by_side(before, after), before_name,
                                            row->candidate.id, {.width = width, .colour = colour}));
    } else {
      print_unified(diff, colour);
    }
  }
  return options.common.write_json(
             {{"before", before_name}, {"after", row->candidate.id}, {"diff", diff}})
             ? kDone
             : kEnvironmentLacks;
}

}  // namespace
}  // namespace diff_command

Registration add_diff(CLI::App& root) {
  using namespace diff_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "diff", "Show what a candidate changed, against the reference or another candidate");
  add_candidate_argument(*app, options->candidate);
  app->add_option("OTHER", options->other,
                  "Compare with this candidate, an id, instead of the reference");
  auto* beside =
      app->add_flag("--side-by-side,-y", options->side_by_side,
                    "Print the two beside each other, also where stdout is no wide terminal");
  app->add_flag("--unified,-u", options->unified, "Print a unified diff, as patch(1) takes it")
      ->excludes(beside);
  app->add_option("--color", options->colour,
                  "When to print colours: auto (on a terminal, without $NO_COLOR), always or never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  options->database.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
