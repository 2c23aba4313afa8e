// Options of the commands that search: optimize, bench and submit mean the same by each.
#include <fmt/core.h>

#include "engine/cli/command.h"
#include "engine/search/search_limits.h"
#include "engine/search/strategy/strategy.h"

namespace hone::cli {
namespace {

std::string strategy_help() {
  std::string text = "How the next candidate is chosen";
  for (const StrategyInfo& info : strategies())
    text +=
        fmt::format("{} {}: {}", &info == strategies().data() ? ":" : ";", info.name, info.summary);
  return text;
}

}  // namespace

void add_task_argument(CLI::App& app, std::string& path) {
  app.add_option("TASK", path, "A .cu file with a task comment, or a .json task")->required();
}

void add_candidate_argument(CLI::App& app, std::string& id) {
  app.add_option("CANDIDATE", id, "A candidate's id, or the beginning of it")->required();
}

void add_quiet_option(CLI::App& app, bool& quiet) {
  app.add_flag("--quiet", quiet, "Print no progress");
}

CLI::Validator a_time() {
  const std::map<std::string, double> units = {{"s", 1}, {"m", 60}, {"h", 3600}};
  return CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE, "TIME");
}

CLI::Option* add_off_flag(CLI::App& app, const std::string& name, bool& on,
                          const std::string& help) {
  return app.add_flag_callback(name, [&on] { on = false; }, help);
}

void SearchChoices::add_to(CLI::App& app, const std::string& each) const {
  app.add_option("--budget", *budget,
                 each + "How long to search: a time (60s, 5m, 1h) or a number of evaluations (200)")
      ->type_name("BUDGET")
      ->capture_default_str();
  app.add_option("--seed", *seed,
                 "Chooses what is random in the search; the same seed repeats it exactly on an "
                 "emulated device with a number of evaluations as budget")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--strategy", *strategy, strategy_help())
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--finalists", *finalists,
                 "How many of the fastest candidates are timed again in a fresh process")
      ->check(CLI::Range(1, kMostFinalists))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--without", *disabled,
                 "Rewriters not to use, separated by commas; `hone rules` lists them")
      ->type_name("NAME")
      ->delimiter(',');
  add_off_flag(app, "--no-prescreen", *prescreen,
               "On a GPU: measure also those candidates that the time model expects to be slow");
}

}  // namespace hone::cli
