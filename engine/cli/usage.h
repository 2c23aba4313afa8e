// The command line as data: what help texts, completions, the man page and the answers to mistakes
// are made from. It is read from what the commands registered, so nothing is listed twice.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace hone::cli {

/// An option, or an argument without a name before it.
struct OptionUsage {
  std::vector<std::string> names;    ///< "--output", "-o"; of an argument none
  std::string value;                 ///< the word for its value: "FILE", "N"; "": it takes none
  std::string help;                  ///< a sentence without a full stop
  std::string group;                 ///< the heading of its group; "": the command's own options
  std::vector<std::string> choices;  ///< all that its value may be, where that is a list
  std::string range;                 ///< "1 to 64", where its value is a number within limits
  std::string default_text;          ///< "": none, or the help says it
  std::vector<std::string> needs, excludes;  ///< names of other options
  bool required = false, repeated = false;

  [[nodiscard]] bool is_flag() const { return value.empty(); }
  /// "--output", "-o" or, of an argument, "TASK".
  [[nodiscard]] std::string name() const;
};

struct CommandUsage {
  std::string name;  ///< "optimize", "db backup"; "": hone itself
  std::string help;
  std::vector<OptionUsage> arguments, options;
  std::vector<CommandUsage> commands;  ///< below it, in the order of their registration

  /// "hone optimize"
  [[nodiscard]] std::string title() const;
  /// "hone optimize [OPTIONS] TASK"
  [[nodiscard]] std::string synopsis() const;
  /// Its own last word: "backup".
  [[nodiscard]] std::string last_name() const;
  /// Of that last word; null: there is none.
  [[nodiscard]] const CommandUsage* find(std::string_view command) const;
  /// Of that name, "--output"; null: there is none.
  [[nodiscard]] const OptionUsage* option(std::string_view name) const;
  /// The last words of its commands.
  [[nodiscard]] std::vector<std::string> command_names() const;
  /// All names of its options.
  [[nodiscard]] std::vector<std::string> option_names() const;
};

/// Not const: CLI11 shows a validator of an option only to who may change it.
[[nodiscard]] CommandUsage usage_of(CLI::App& app, const std::string& name = "");
/// A command's usage and those of all below it, in order.
[[nodiscard]] std::vector<const CommandUsage*> all_commands(const CommandUsage& root);

/// What a value is, for completion.
enum class ValueKind { kFile, kFolder, kCommand, kChoice, kOther };
[[nodiscard]] ValueKind kind_of(const OptionUsage& option);

/// What stands behind an option's help: its limits, its default, what it needs.
/// "1 to 64; default: 5", or "".
[[nodiscard]] std::string notes_on(const OptionUsage& option);

/// What each exit status says: {"0", "done"}, …
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& exit_statuses();
/// The variables that hone reads, and what they say.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& environment_variables();

/// What `--help` and `hone help` print, in lines of at most `width` columns.
[[nodiscard]] std::string help_text(const CommandUsage& usage, std::size_t width);
/// The terminal's, at most 120; 100 where stdout is none.
[[nodiscard]] std::size_t help_width();

/// roff, for man(1): one page with all commands. `version`: "0.1.0".
[[nodiscard]] std::string man_page(const CommandUsage& root, const std::string& version);

/// The shells for which there is a completion: bash, zsh, fish.
[[nodiscard]] const std::vector<std::string>& completion_shells();
/// A script for one of them, which completes commands, options, and those values that are files,
/// folders or one of a list. "": there is none for this shell.
[[nodiscard]] std::string completion_script(const std::string& shell, const CommandUsage& root);

/// "there is no command 'optimze'; did you mean 'optimize'? …"
[[nodiscard]] std::string unknown_command(const CommandUsage& above, const std::string& word);
/// What is wrong with the words that follow `hone`, as far as the list of commands and options
/// says it; "" where nothing is. One line, with what may have been meant.
[[nodiscard]] std::string mistake_in(const CommandUsage& root,
                                     const std::vector<std::string>& words);

}  // namespace hone::cli
