// What hone answers to a mistyped command line, before CLI11 reads it: an option that is not there
// is named first, as what follows it would be taken for an argument.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "engine/cli/spelling.h"
#include "engine/cli/usage.h"

namespace hone::cli {
namespace mistakes {
namespace {

/// What other programs call it; of these the first that there is.
const std::multimap<std::string, std::string, std::less<>> kOtherCommands = {
    {"search", "optimize"}, {"run", "optimize"},      {"tune", "optimize"}, {"list", "leaderboard"},
    {"ls", "leaderboard"},  {"board", "leaderboard"}, {"kill", "cancel"},   {"stop", "cancel"},
    {"status", "jobs"},     {"server", "serve"},      {"web", "serve"},     {"lint", "check"}};
const std::multimap<std::string, std::string, std::less<>> kOtherOptions = {
    {"--arch", "--device"},  {"--gpu", "--device"},     {"--target", "--device"},
    {"--time", "--budget"},  {"--timeout", "--budget"}, {"--iterations", "--budget"},
    {"--database", "--db"},  {"--out", "--output"},     {"--silent", "--quiet"},
    {"--colour", "--color"}, {"--host", "--listen"},    {"--url", "--redis"}};

std::string other_name(const std::multimap<std::string, std::string, std::less<>>& others,
                       const std::string& word, const std::vector<std::string>& names) {
  const auto [begin, end] = others.equal_range(word);
  for (auto one = begin; one != end; ++one)
    if (std::ranges::find(names, one->second) != names.end()) return one->second;
  return nearest(word, names);
}

std::string asked(const std::string& like) {
  return like.empty() ? "" : fmt::format("did you mean {}? ", like);
}

std::string help_of(const CommandUsage& usage) {
  return usage.name.empty() ? "hone help" : "hone help " + usage.name;
}

/// An option of a command that stands before it.
std::string comes_later(const CommandUsage& root, const std::string& name) {
  for (const CommandUsage* command : all_commands(root))
    if (!command->name.empty() && command->option(name) != nullptr)
      return fmt::format("{} comes after its command, as in `{} {}`", name, command->title(), name);
  return "";
}

std::string unknown_option(const CommandUsage& root, const CommandUsage& usage,
                           const std::string& name) {
  if (usage.name.empty()) {
    if (const std::string later = comes_later(root, name); !later.empty()) return later;
  }
  // "-n": which single letter was meant, nobody knows.
  const std::string like =
      name.starts_with("--") ? other_name(kOtherOptions, name, usage.option_names()) : "";
  return fmt::format("{} has no option {}; {}`{}` lists its options",
                     usage.name.empty() ? "hone" : "'" + usage.name + "'", name, asked(like),
                     help_of(usage));
}

class Reader {
 public:
  Reader(const CommandUsage& root, const std::vector<std::string>& words)
      : root_(root), usage_(&root), words_(words) {}

  std::string read() {
    std::string wrong;
    for (; next_ < words_.size() && wrong.empty(); ++next_) {
      const std::string& word = words_[next_];
      if (!only_arguments_ && word == "--") {
        only_arguments_ = true;
      } else if (!only_arguments_ && word.starts_with("--")) {
        wrong = long_option(word);
      } else if (!only_arguments_ && is_short(word)) {
        wrong = short_options(word);
      } else {
        wrong = argument(word);
      }
    }
    if (asks_for_help()) return "";
    return wrong.empty() ? missing() : wrong;
  }

 private:
  /// -1 is a number.
  static bool is_short(const std::string& word) {
    return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.';
  }

  [[nodiscard]] bool asks_for_help() const {
    const auto end = std::ranges::find(words_, "--");
    return std::any_of(words_.begin(), end,
                       [](const std::string& word) { return word == "--help" || word == "-h"; });
  }

  std::string long_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const OptionUsage* option = usage_->option(name);
    if (option == nullptr) return unknown_option(root_, *usage_, name);
    greedy_ = false;
    if (option->is_flag()) return "";
    if (equals != word.npos) return value_of(*option, name, word.substr(equals + 1));
    return next_value(*option, name);
  }

  /// -o FILE, -oFILE, -yu
  std::string short_options(const std::string& word) {
    greedy_ = false;
    for (std::size_t i = 1; i < word.size(); ++i) {
      const std::string name = {'-', word[i]};
      const OptionUsage* option = usage_->option(name);
      if (option == nullptr) return unknown_option(root_, *usage_, name);
      if (option->is_flag()) continue;
      if (i + 1 < word.size()) return value_of(*option, name, word.substr(i + 1));
      return next_value(*option, name);
    }
    return "";
  }

  std::string next_value(const OptionUsage& option, const std::string& name) {
    const bool there = next_ + 1 < words_.size();
    if (!there || usage_->option(words_[next_ + 1]) != nullptr)
      return fmt::format("{} needs a value, {}; `{}` says which", name, option.value,
                         help_of(*usage_));
    greedy_ = option.repeated;
    return value_of(option, name, words_[++next_]);
  }

  std::string value_of(const OptionUsage& option, const std::string& name,
                       const std::string& value) const {
    if (option.choices.empty() || option.repeated) return "";
    if (std::ranges::find(option.choices, value) != option.choices.end()) return "";
    return fmt::format("{} '{}': {}it is one of {}", name, value,
                       asked(nearest(value, option.choices)), fmt::join(option.choices, ", "));
  }

  std::string argument(const std::string& word) {
    if (!usage_->commands.empty()) {
      const CommandUsage* command = usage_->find(word);
      if (command == nullptr) return unknown_command(*usage_, word);
      usage_ = command;
      return "";
    }
    if (greedy_) return "";  // one more value of the option before it
    const auto& taken = usage_->arguments;
    if (arguments_ >= taken.size()) {
      if (!taken.empty() && taken.back().repeated) return "";
      return fmt::format("'{}' is one argument too many; usage: {}", word, usage_->synopsis());
    }
    const OptionUsage& argument = taken[arguments_++];
    if (argument.choices.empty() ||
        std::ranges::find(argument.choices, word) != argument.choices.end())
      return "";
    return fmt::format("{} '{}': {}it is one of {}", argument.value, word,
                       asked(nearest(word, argument.choices)), fmt::join(argument.choices, ", "));
  }

  /// What is missing at the end. Of the arguments only where no option may have taken them.
  [[nodiscard]] std::string missing() const {
    if (!usage_->commands.empty()) {
      const bool version = std::ranges::any_of(
          words_, [](const std::string& word) { return word == "--version" || word == "-V"; });
      if (version) return "";
      return fmt::format("a command is missing; `{}` lists them", help_of(*usage_));
    }
    if (greedy_ || arguments_ >= usage_->arguments.size()) return "";
    const OptionUsage& next = usage_->arguments[arguments_];
    if (!next.required) return "";
    return fmt::format("{} is missing; usage: {}", next.value, usage_->synopsis());
  }

  const CommandUsage& root_;
  const CommandUsage* usage_;
  const std::vector<std::string>& words_;
  std::size_t next_ = 0, arguments_ = 0;
  bool only_arguments_ = false;
  bool greedy_ = false;  ///< the last option takes several values: words may be its own
};

}  // namespace
}  // namespace mistakes

std::string unknown_command(const CommandUsage& above, const std::string& word) {
  const std::string like =
      mistakes::other_name(mistakes::kOtherCommands, word, above.command_names());
  return fmt::format("there is no command '{}'; {}`{}` lists them",
                     (above.name.empty() ? "" : above.name + " ") + word,
                     like.empty() ? "" : fmt::format("did you mean '{}'? ", like),
                     mistakes::help_of(above));
}

std::string mistake_in(const CommandUsage& root, const std::vector<std::string>& words) {
  return mistakes::Reader(root, words).read();
}

}  // namespace hone::cli
