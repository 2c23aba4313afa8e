// Options of the commands that search: optimize, bench and submit mean the same by each.
#include <fmt/core.h>

#include "engine/cli/command.h"

namespace hone::cli {

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

namespace {

/// Adds one option to a command. `budget` is the budget's text, which settings() reads.
struct Adder {
  CLI::App& app;
  const std::string& each;
  SearchSettings& settings;
  std::string& budget;

  [[nodiscard]] static std::string flag(const SearchOption& option) {
    return fmt::format("--{}", option.name);
  }
  void add(const SearchOption& option, const BudgetField&) const {
    app.add_option(flag(option), budget, each + option.help)
        ->type_name("BUDGET")
        ->capture_default_str();
  }
  void add(const SearchOption& option, const SeedField& field) const {
    app.add_option(flag(option), settings.*field.member, option.help)
        ->type_name("N")
        ->capture_default_str();
  }
  void add(const SearchOption& option, const CountField& field) const {
    app.add_option(flag(option), settings.*field.member, option.help)
        ->check(CLI::Range(field.least, field.most))
        ->type_name("N")
        ->capture_default_str();
  }
  void add(const SearchOption& option, const NameField& field) const {
    app.add_option(flag(option), settings.*field.member, option.help)
        ->type_name("NAME")
        ->capture_default_str();
  }
  void add(const SearchOption& option, const NamesField& field) const {
    app.add_option(flag(option), settings.*field.member, option.help)
        ->type_name("NAME")
        ->delimiter(',');
  }
  void add(const SearchOption& option, const SwitchField& field) const {
    add_off_flag(app, fmt::format("--no-{}", option.name), settings.*field.member,
                 std::string(field.off_help));
  }
};

}  // namespace

void SearchArguments::add_to(CLI::App& app, const std::string& each) {
  const Adder adder{app, each, settings_, budget_};
  for (const SearchOption& option : search_options())
    std::visit([&](const auto& field) { adder.add(option, field); }, option.field);
}

Result<SearchSettings> SearchArguments::settings() const {
  SearchSettings settings = settings_;
  const auto budget = Budget::parse(budget_);
  if (!budget) return std::unexpected(budget.error());
  settings.budget = *budget;
  if (auto valid = check_settings(settings); !valid) return std::unexpected(valid.error());
  return settings;
}

}  // namespace hone::cli
