#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "engine/cli/usage.h"

namespace hone::cli {
namespace help {
namespace {

constexpr std::size_t kColumn = 28;  // where the helps begin
constexpr std::size_t kIndent = 2;
constexpr std::size_t kNoTerminal = 100, kNarrowest = 60, kWidest = 120;  // [columns]

/// `text` in lines; all but the first begin with `indent` spaces.
std::string wrapped(std::string_view text, std::size_t at, std::size_t indent, std::size_t width) {
  std::string out;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == text.npos ? text.size() : space + 1);
    // Bytes of UTF-8 that begin a letter.
    const auto letters = static_cast<std::size_t>(
        std::ranges::count_if(word, [](char c) { return (c & 0xC0) != 0x80; }));
    if (at > indent && at + 1 + letters > width) {
      out += '\n' + std::string(indent, ' ');
      at = indent;
    } else if (at > indent) {
      out += ' ';
      ++at;
    }
    out += word;
    at += letters;
  }
  return out + '\n';
}

/// A row of two columns.
std::string row(const std::string& left, const std::string& right, std::size_t width) {
  std::string line = std::string(kIndent, ' ') + left;
  line += line.size() + 2 > kColumn ? '\n' + std::string(kColumn, ' ')
                                    : std::string(kColumn - line.size(), ' ');
  return line + wrapped(right, kColumn, kColumn, width);
}

/// "-o, --output FILE": short names first, as everybody writes them.
std::string left_of(const OptionUsage& option) {
  if (option.names.empty()) return option.value + (option.repeated ? "..." : "");
  std::vector<std::string> names = option.names;
  std::ranges::stable_sort(names, {},
                           [](const std::string& name) { return name.starts_with("--"); });
  return fmt::format("{}{}{}", fmt::join(names, ", "), option.is_flag() ? "" : " ", option.value);
}

std::string right_of(const OptionUsage& option) {
  const std::string notes = notes_on(option);
  return option.help + (notes.empty() ? "" : " [" + notes + "]");
}

std::string list(const std::string& heading, const std::vector<OptionUsage>& options,
                 const std::string& group, std::size_t width) {
  std::string out;
  for (const OptionUsage& option : options)
    if (option.group == group) out += row(left_of(option), right_of(option), width);
  return out.empty() ? "" : "\n" + heading + ":\n" + out;
}

}  // namespace
}  // namespace help

std::size_t help_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return help::kNoTerminal;
  return std::clamp<std::size_t>(size.ws_col, help::kNarrowest, help::kWidest);
}

std::string help_text(const CommandUsage& usage, std::size_t width) {
  std::string out = help::wrapped(usage.help, 0, 0, width);
  out += "\nUsage: " + usage.synopsis() + "\n";
  if (!usage.commands.empty()) {
    out += "\nCommands:\n";
    for (const CommandUsage& command : usage.commands)
      out += help::row(command.last_name(), command.help, width);
  }
  out += help::list("Arguments", usage.arguments, "", width);
  out += help::list("Options", usage.options, "", width);
  std::vector<std::string> groups;
  for (const OptionUsage& option : usage.options) {
    if (option.group.empty() || std::ranges::find(groups, option.group) != groups.end()) continue;
    groups.push_back(option.group);
    out += help::list(option.group, usage.options, option.group, width);
  }
  if (!usage.name.empty()) return out;
  out += "\nExit status:\n";
  for (const auto& [status, meaning] : exit_statuses()) out += help::row(status, meaning, width);
  out += "\n`hone help COMMAND` tells about one command, `hone man | man -l -` about all.\n";
  return out;
}

}  // namespace hone::cli
