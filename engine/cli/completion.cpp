// Completion scripts for shells. Each first finds the command that is typed ("/db/backup"), then
// offers what that one takes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "engine/cli/usage.h"

namespace hone::cli {
namespace completion {
namespace {

std::string replaced(std::string out, std::string_view what, std::string_view by) {
  for (std::size_t at = out.find(what); at != out.npos; at = out.find(what, at + by.size()))
    out.replace(at, what.size(), by);
  return out;
}

/// "/db/backup"; of hone itself "".
std::string path_of(const CommandUsage& usage) {
  return usage.name.empty() ? "" : "/" + replaced(usage.name, " ", "/");
}

/// Paths of all commands that have something above them.
std::vector<std::string> paths_of(const CommandUsage& root) {
  std::vector<std::string> paths;
  for (const CommandUsage* command : all_commands(root))
    if (!command->name.empty()) paths.push_back(path_of(*command));
  return paths;
}

/// A word in single quotes, for bash and zsh.
std::string in_quotes(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

/// What fits on a line beside the name: up to the first semicolon, or colon if enough stands
/// before it.
std::string short_help(const std::string& help) {
  constexpr std::size_t kEnough = 20;  // characters
  return help.substr(0, std::min(help.find("; "), help.find(": ", kEnough)));
}

std::vector<std::string> values_of(const OptionUsage& option, const CommandUsage& root) {
  return kind_of(option) == ValueKind::kCommand ? root.command_names() : option.choices;
}

// bash. It splits words at '=', so --option=value is three words.

constexpr std::string_view kBash =
    R"SH(# Completion of hone for bash; made by `hone completion bash`.
_hone() {
  local cur=${COMP_WORDS[COMP_CWORD]} option='' path='' word words='' values='' files='' i
  COMPREPLY=()
  if [[ $cur == '=' ]]; then
    option=${COMP_WORDS[COMP_CWORD - 1]} cur=''
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == '=' ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  else
    option=${COMP_WORDS[COMP_CWORD - 1]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $path/$word in
      @PATHS@) path=$path/$word ;;
    esac
  done
  case $path:$option in
@VALUES@  esac
  if [[ -z $values$files ]]; then
    case $path in
@WORDS@    esac
    [[ $cur != -* ]] || values=$words
  fi
  [[ $values == none ]] && return
  if [[ -n $values ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
  elif [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null || true  # an error outside of a completion
    mapfile -t COMPREPLY < <(compgen "$files" -- "$cur")
  fi
}
complete -F _hone hone
)SH";

/// What sets `values` or `files` for one option or argument.
std::string bash_action(const OptionUsage& option, const CommandUsage& root) {
  switch (kind_of(option)) {
    case ValueKind::kFile:
      return "files=-f";
    case ValueKind::kFolder:
      return "files=-d";
    case ValueKind::kChoice:
    case ValueKind::kCommand:
      return fmt::format("values='{}'", fmt::join(values_of(option, root), " "));
    case ValueKind::kOther:
      break;
  }
  return "values=none";
}

std::string bash(const CommandUsage& root) {
  std::string values, words;
  for (const CommandUsage* command : all_commands(root)) {
    const std::string path = path_of(*command);
    for (const OptionUsage& option : command->options) {
      if (option.is_flag()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(path + ":" + name);
      values += fmt::format("    {}) {} ;;\n", fmt::join(patterns, "|"), bash_action(option, root));
    }
    std::string argument;
    if (!command->commands.empty()) {
      argument = fmt::format(" values='{}'", fmt::join(command->command_names(), " "));
    } else if (!command->arguments.empty()) {
      argument = " " + bash_action(command->arguments.front(), root);
    }
    words += fmt::format("      {})\n        words='{}'{} ;;\n", path.empty() ? "''" : path,
                         fmt::join(command->option_names(), " "), argument);
  }
  const std::string all = fmt::format("{}", fmt::join(paths_of(root), "|"));
  return replaced(replaced(replaced(std::string(kBash), "@PATHS@", all), "@VALUES@", values),
                  "@WORDS@", words);
}

// zsh: a function for each command that calls _arguments.

/// Text within an optspec of _arguments.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const OptionUsage& option, const CommandUsage& root) {
  switch (kind_of(option)) {
    case ValueKind::kFile:
      return "_files";
    case ValueKind::kFolder:
      return "_files -/";
    case ValueKind::kChoice:
    case ValueKind::kCommand:
      return fmt::format("({})", fmt::join(values_of(option, root), " "));
    case ValueKind::kOther:
      break;
  }
  return " ";
}

std::string zsh_option(const OptionUsage& option, const CommandUsage& root) {
  std::string out;
  for (const std::string& name : option.names) {
    std::string spec = option.repeated ? "*" : fmt::format("({})", fmt::join(option.names, " "));
    spec += name;
    if (!option.is_flag()) spec += name.starts_with("--") ? "=" : "+";
    spec += "[" + zsh_text(short_help(option.help)) + "]";
    if (!option.is_flag()) spec += ":" + zsh_text(option.value) + ":" + zsh_action(option, root);
    out += "    " + in_quotes(spec) + " \\\n";
  }
  return out;
}

std::string zsh_function(const CommandUsage& usage) {
  return "_hone" + replaced(path_of(usage), "/", "_");
}

void add_zsh(const CommandUsage& usage, const CommandUsage& root, std::string& out) {
  for (const CommandUsage& command : usage.commands) add_zsh(command, root, out);
  out += zsh_function(usage) + "() {\n";
  std::string options;
  for (const OptionUsage& option : usage.options) options += zsh_option(option, root);
  if (usage.commands.empty()) {
    out += "  _arguments -s -S \\\n" + options;
    int place = 0;
    for (const OptionUsage& argument : usage.arguments)
      out += fmt::format(
          "    {} \\\n",
          in_quotes(fmt::format("{}:{}:{}", argument.repeated ? "*" : std::to_string(++place),
                                zsh_text(argument.value), zsh_action(argument, root))));
    out += "    && return 0\n}\n";
    return;
  }
  out += "  local curcontext=$curcontext state line ret=1\n  local -a commands\n  commands=(\n";
  for (const CommandUsage& command : usage.commands)
    out += "    " +
           in_quotes(replaced(command.last_name(), ":", "\\:") + ":" + short_help(command.help)) +
           "\n";
  out += "  )\n  _arguments -C -s \\\n" + options +
         "    '1: :->command' '*:: :->rest' && ret=0\n  case $state in\n"
         "    command) _describe command commands && ret=0 ;;\n    rest)\n      case $line[1] in\n";
  for (const CommandUsage& command : usage.commands)
    out += fmt::format("        {}) {} && ret=0 ;;\n", command.last_name(), zsh_function(command));
  out += "      esac ;;\n  esac\n  return ret\n}\n";
}

std::string zsh(const CommandUsage& root) {
  std::string out = "#compdef hone\n# Completion of hone for zsh; made by `hone completion zsh`.\n";
  add_zsh(root, root, out);
  return out +
         "if [[ $funcstack[1] == _hone ]]; then\n  _hone \"$@\"\nelse\n  compdef _hone hone\nfi\n";
}

// fish: one line for each thing that can be completed, with the command for which it holds.

constexpr std::string_view kFish =
    R"SH(# Completion of hone for fish; made by `hone completion fish`.
function __hone_at
    set -l path ''
    for word in (commandline -opc)[2..]
        switch "$path/$word"
            case @PATHS@
                set path "$path/$word"
        end
    end
    test "$path" = "$argv[1]"
end
complete -c hone -f
)SH";

/// A word in single quotes.
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_value(const OptionUsage& option, const CommandUsage& root) {
  switch (kind_of(option)) {
    case ValueKind::kFile:
      return " -r -F";
    case ValueKind::kFolder:
      return " -x -a '(__fish_complete_directories)'";
    case ValueKind::kChoice:
    case ValueKind::kCommand:
      return fmt::format(" -x -a '{}'", fmt::join(values_of(option, root), " "));
    case ValueKind::kOther:
      break;
  }
  return " -x";
}

std::string fish(const CommandUsage& root) {
  std::string out =
      replaced(std::string(kFish), "@PATHS@", fmt::format("{}", fmt::join(paths_of(root), " ")));
  for (const CommandUsage* command : all_commands(root)) {
    const std::string begin =
        fmt::format("complete -c hone -n '__hone_at \"{}\"'", path_of(*command));
    for (const CommandUsage& below : command->commands)
      out += fmt::format("{} -a {} -d {}\n", begin, below.last_name(),
                         fish_quoted(short_help(below.help)));
    for (const OptionUsage& option : command->options) {
      out += begin;
      for (const std::string& name : option.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.is_flag()) out += fish_value(option, root);
      out += " -d " + fish_quoted(short_help(option.help)) + "\n";
    }
    if (command->arguments.empty()) continue;
    // Only what can be known of an argument is offered; files need a word of their own.
    const OptionUsage& first = command->arguments.front();
    const ValueKind kind = kind_of(first);
    if (kind == ValueKind::kFile) out += begin + " -F\n";
    if (kind == ValueKind::kFolder) out += begin + " -a '(__fish_complete_directories)'\n";
    if (kind == ValueKind::kChoice || kind == ValueKind::kCommand)
      out += fmt::format("{} -a '{}'\n", begin, fmt::join(values_of(first, root), " "));
  }
  return out;
}

}  // namespace
}  // namespace completion

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  return shells;
}

std::string completion_script(const std::string& shell, const CommandUsage& root) {
  if (shell == "bash") return completion::bash(root);
  if (shell == "zsh") return completion::zsh(root);
  if (shell == "fish") return completion::fish(root);
  return "";
}

}  // namespace hone::cli
