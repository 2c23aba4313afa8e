#include <fmt/core.h>

#include "engine/cli/command.h"
#include "engine/cli/report.h"
#include "engine/results/json.h"

namespace hone::cli {
namespace {

struct Options {
  Common common;
  DatabaseOptions database;
  BoardFilter filter;
};

int run(const Options& options) {
  auto store = options.database.open_existing();
  if (!store) return options.common.fail(store.error());
  auto boards = (*store)->boards(options.filter);
  if (!boards) return options.common.fail(boards.error());
  if (!options.common.json_on_stdout()) {
    if (boards->empty()) fmt::print("no verified results yet; `hone optimize TASK` finds some\n");
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

Registration add_leaderboard(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app =
      root.add_subcommand("leaderboard", "The fastest verified programs per task and device");
  app->add_option("TASK", options->filter.task, "Only this task (name or hash)");
  app->add_option("--device", options->filter.device,
                  "Only this device (cuda:0, emu:sm_90, a name, an architecture)");
  app->add_option("--limit", options->filter.limit, "Rows per board")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  options->database.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
