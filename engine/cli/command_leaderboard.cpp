#include <fmt/core.h>

#include "engine/cli/command.h"
#include "engine/cli/report.h"
#include "engine/results/json.h"
#include "engine/results/overview.h"

namespace hone::cli {
namespace leaderboard_command {
namespace {

struct Options {
  Common common;
  DatabaseOptions database;
  BoardFilter filter;
  bool all_tasks = false;
  std::string against;
  std::string math;
  bool measured = false;
  bool modelled = false;
};

int run_overview(const Options& options, const Store& store) {
  BoardFilter filter = options.filter;
  filter.limit = 1;
  const auto boards = store.boards(filter);
  if (!boards) return options.common.fail(boards.error());
  const auto searched = store.searched(filter);
  if (!searched) return options.common.fail(searched.error());
  results::BaselineTimes times;
  if (!options.against.empty()) {
    auto read = results::baseline_times(store, *searched, options.against);
    if (!read) return options.common.fail(read.error());
    times = std::move(*read);
  }
  nlohmann::json document = {{"overviews", nlohmann::json::array()}};
  bool first = true;
  for (const results::Overview& overview :
       results::overviews(*boards, *searched, options.against, times)) {
    document["overviews"].push_back(results::overview_json(overview));
    if (!options.common.json_on_stdout())
      fmt::print("{}{}", first ? "" : "\n", overview_text(overview));
    first = false;
  }
  if (first && !options.common.json_on_stdout())
    fmt::print("nothing was searched yet; `hone optimize TASK{}` does\n",
               options.database.as_typed());
  return options.common.write_json(document) ? kDone : kEnvironmentLacks;
}

int run(Options options) {
  if (options.measured || options.modelled) options.filter.modelled = options.modelled;
  if (!options.math.empty()) options.filter.math = parse_math_level(options.math);
  auto store = options.database.open_existing();
  if (!store) return options.common.fail(store.error());
  if (options.all_tasks) return run_overview(options, **store);
  auto boards = (*store)->boards(options.filter);
  if (!boards) return options.common.fail(boards.error());
  if (!options.common.json_on_stdout()) {
    if (boards->empty())
      fmt::print("no verified results yet; `hone optimize TASK{}` finds some\n",
                 options.database.as_typed());
    bool first = true;
    for (const Board& board : *boards) {
      fmt::print("{}{}", first ? "" : "\n", board_text(board));
      first = false;
    }
  }
  nlohmann::json document = {{"boards", nlohmann::json::array()}};
  for (const Board& board : *boards) document["boards"].push_back(results::board_json(board));
  return options.common.write_json(document) ? kDone : kEnvironmentLacks;
}

}  // namespace
}  // namespace leaderboard_command

Registration add_leaderboard(CLI::App& root) {
  using namespace leaderboard_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("leaderboard",
                                      "Show the fastest verified programs of each task and device");
  app->add_option("TASK", options->filter.task, "Only this task: its name or hash");
  app->add_option("--device", options->filter.device,
                  "Only this device: cuda:0 (a GPU of its model), emu:sm_90, a device's name or an "
                  "architecture; default: all")
      ->type_name("DEVICE");
  app->add_option("--limit", options->filter.limit, "At most so many rows of each board")
      ->type_name("N")
      ->check(CLI::Range(1, kMostBoardRows))
      ->capture_default_str();
  app->add_option("--arch", options->filter.arch,
                  "Only this architecture, such as sm_90; default: all")
      ->type_name("ARCH");
  app->add_option(
         "--origin", options->filter.origin,
         "Only what came from one of: rules, tunables, model, model+rules, variant, reference; "
         "default: all")
      ->type_name("ORIGIN");
  app->add_option("--math", options->math,
                  "Only what was held to this level or a better one; default: all")
      ->type_name("LEVEL")
      ->check(CLI::IsMember(math_level_names()));
  auto* measured = app->add_flag("--measured", options->measured, "Only boards of GPUs");
  app->add_flag("--modelled", options->modelled, "Only boards of emulated devices")
      ->excludes(measured);
  auto* all = app->add_flag(
      "--all-tasks", options->all_tasks,
      "One table for each device, with a row for each task, the geometric mean and fast_p");
  app->add_option("--against", options->against,
                  "With --all-tasks: speedups over this baseline, such as cublas or 'torch eager'; "
                  "default: over the reference")
      ->type_name("BASELINE")
      ->needs(all);
  options->database.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
