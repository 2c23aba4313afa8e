#include "engine/cli/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>

namespace hone::cli {
namespace {

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

/// The name by which another option is spoken of.
std::string first_name(const CLI::Option& option) {
  const auto names = names_of(option);
  return names.empty() ? option.get_name(true) : names.front();
}

/// What CLI11 says of an option's validators, in their order: "{a,b}", "INT in [1 - 64]".
std::vector<std::string> validators_of(CLI::Option& option) {
  std::vector<std::string> texts;
  for (int i = 0;; ++i) {
    try {
      texts.push_back(option.get_validator(i)->get_description());
    } catch (const CLI::OptionNotFound&) {  // there are no more
      return texts;
    }
  }
}

/// The word for a value, lists and limits: CLI11 puts all of it into the type's name.
void read_type(CLI::Option& option, OptionUsage& usage) {
  static const std::regex range(R"(\w+ in \[(\S+) - (\S+)\])");
  std::string rest;
  for (const std::string& text : validators_of(option)) {
    if (!text.empty()) rest += ":" + text;
    std::smatch match;
    if (text.size() > 2 && text.front() == '{' && text.back() == '}') {
      usage.choices = CLI::detail::split(text.substr(1, text.size() - 2), ',');
    } else if (std::regex_match(text, match, range)) {
      usage.range = fmt::format("{} to {}", match[1].str(), match[2].str());
    }
  }
  const std::string type = option.get_type_name();
  usage.value =
      option.get_positional() ? option.get_name(true) : type.substr(0, type.size() - rest.size());
}

OptionUsage option_usage(CLI::Option& option) {
  OptionUsage usage;
  usage.names = names_of(option);
  usage.help = option.get_description();
  usage.required = option.get_required();
  if (option.get_group() != "Options") usage.group = option.get_group();
  if (option.get_items_expected_max() > 0) {
    read_type(option, usage);
    usage.default_text = option.get_default_str();
    usage.repeated = option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
  }
  for (const CLI::Option* other : option.get_needs()) usage.needs.push_back(first_name(*other));
  for (const CLI::Option* other : option.get_excludes())
    usage.excludes.push_back(first_name(*other));
  return usage;
}

}  // namespace

std::string OptionUsage::name() const { return names.empty() ? value : names.front(); }

std::string CommandUsage::title() const { return name.empty() ? "hone" : "hone " + name; }

std::string CommandUsage::last_name() const {
  return name.substr(name.find_last_of(' ') + 1);  // npos + 1 is 0
}

std::string CommandUsage::synopsis() const {
  std::string text = title();
  if (!commands.empty()) return text + " COMMAND [OPTIONS] [ARGUMENTS]";
  if (std::ranges::any_of(options, [](const auto& option) { return option.name() != "--help"; }))
    text += " [OPTIONS]";
  for (const OptionUsage& argument : arguments) {
    const std::string word = argument.value + (argument.repeated ? "..." : "");
    text += argument.required ? " " + word : " [" + word + "]";
  }
  return text;
}

const CommandUsage* CommandUsage::find(std::string_view command) const {
  const auto found = std::ranges::find_if(
      commands, [&](const CommandUsage& one) { return one.last_name() == command; });
  return found == commands.end() ? nullptr : &*found;
}

const OptionUsage* CommandUsage::option(std::string_view wanted) const {
  const auto found = std::ranges::find_if(options, [&](const OptionUsage& one) {
    return std::ranges::find(one.names, wanted) != one.names.end();
  });
  return found == options.end() ? nullptr : &*found;
}

std::vector<std::string> CommandUsage::command_names() const {
  std::vector<std::string> names;
  for (const CommandUsage& command : commands) names.push_back(command.last_name());
  return names;
}

std::vector<std::string> CommandUsage::option_names() const {
  std::vector<std::string> names;
  for (const OptionUsage& option : options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

CommandUsage usage_of(CLI::App& app, const std::string& name) {
  CommandUsage usage;
  usage.name = name;
  usage.help = app.get_description();
  for (CLI::Option* option : app.get_options()) {
    auto& list = option->get_positional() ? usage.arguments : usage.options;
    list.push_back(option_usage(*option));
  }
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    usage.commands.push_back(
        usage_of(*command, (name.empty() ? "" : name + " ") + command->get_name()));
  return usage;
}

std::vector<const CommandUsage*> all_commands(const CommandUsage& root) {
  std::vector<const CommandUsage*> all = {&root};
  for (const CommandUsage& command : root.commands)
    for (const CommandUsage* one : all_commands(command)) all.push_back(one);
  return all;
}

ValueKind kind_of(const OptionUsage& option) {
  if (!option.choices.empty()) return ValueKind::kChoice;
  if (option.value == "COMMAND") return ValueKind::kCommand;
  if (option.value == "DIR") return ValueKind::kFolder;
  for (const char* word : {"FILE", "FILE|-", "TASK", "VARIANT", "MODULE"})
    if (option.value == word) return ValueKind::kFile;
  return ValueKind::kOther;
}

std::string notes_on(const OptionUsage& option) {
  std::vector<std::string> notes;
  const bool told = std::ranges::all_of(option.choices, [&](const std::string& choice) {
    return option.help.find(choice) != std::string::npos;
  });
  if (!told) notes.push_back(fmt::format("one of {}", fmt::join(option.choices, ", ")));
  if (!option.range.empty()) notes.push_back(option.range);
  if (!option.default_text.empty()) notes.push_back("default: " + option.default_text);
  const bool said = option.help.find("repeated") != std::string::npos ||
                    option.help.find("commas") != std::string::npos;
  if (option.repeated && !said && !option.names.empty()) notes.emplace_back("several may be given");
  if (!option.needs.empty())
    notes.push_back(fmt::format("needs {}", fmt::join(option.needs, ", ")));
  if (!option.excludes.empty())
    notes.push_back(fmt::format("not with {}", fmt::join(option.excludes, ", ")));
  return fmt::format("{}", fmt::join(notes, "; "));
}

const std::vector<std::pair<std::string, std::string>>& exit_statuses() {
  static const std::vector<std::pair<std::string, std::string>> statuses = {
      {"0", "Done"},
      {"1",
       "A task or a candidate failed its checks, a job that was watched failed or was cancelled, "
       "one "
       "to be cancelled had ended, or a database has faults"},
      {"2", "Wrong usage or input"},
      {"3", "The environment lacks something, or failed: a disk, a server, a process"}};
  return statuses;
}

const std::vector<std::pair<std::string, std::string>>& environment_variables() {
  static const std::vector<std::pair<std::string, std::string>> variables = {
      {"HONE_REDIS",
       "The Redis server of the commands that speak to one, where --redis is not given"},
      {"HONE_REDIS_PASSWORD", "Its password, where the URL has none"},
      {"HONE_LLM_KEY",
       "The key of the language model's endpoint, where --llm-key-file is not given"},
      {"NO_COLOR", "Set to anything but nothing: no colours, unless --color always asks for them"},
      {"COLUMNS", "How wide a side-by-side diff is where stdout is no terminal"},
      {"XDG_DATA_HOME", "The results database is hone/hone.db in it; default: ~/.local/share"},
      {"XDG_CACHE_HOME", "Compiled programs are kept in hone in it; default: ~/.cache"},
      {"CUDA_HOME", "A CUDA toolkit, looked at before /usr/local/cuda"}};
  return variables;
}

}  // namespace hone::cli
