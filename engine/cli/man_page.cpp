// The man page, in the macros of man(7).
#include <fmt/format.h>

#include <algorithm>

#include "engine/cli/usage.h"

namespace hone::cli {
namespace man {
namespace {

/// Text that roff prints as it is.
std::string text(std::string_view plain) {
  std::string out;
  for (const char c : plain) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";  // a minus that can be copied, not a hyphen
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '\'') {
      out += "\\(aq";
    } else {
      out += c;
    }
  }
  // At the beginning of a line a dot is a request.
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string replaced(std::string out, std::string_view what, std::string_view by) {
  for (std::size_t at = out.find(what); at != out.npos; at = out.find(what, at + by.size()))
    out.replace(at, what.size(), by);
  return out;
}

/// `text` in a macro's argument.
std::string in_quotes(std::string_view plain) {
  return '"' + replaced(text(plain), "\"", "\\(dq") + '"';
}

std::string heading(const std::string& title) { return ".SH " + in_quotes(title) + "\n"; }

/// A tagged paragraph.
std::string item(const std::string& tag, const std::string& body) {
  return ".TP\n" + tag + "\n" + text(body) + "\n";
}

std::string bold(std::string_view plain) { return "\\fB" + text(plain) + "\\fR"; }
std::string italic(std::string_view plain) { return "\\fI" + text(plain) + "\\fR"; }

std::string tag_of(const OptionUsage& option) {
  if (option.names.empty()) return italic(option.value + (option.repeated ? "..." : ""));
  std::string out;
  for (const std::string& name : option.names) out += (out.empty() ? "" : ", ") + bold(name);
  return option.is_flag() ? out : out + " " + italic(option.value);
}

std::string item_of(const OptionUsage& option) {
  const std::string notes = notes_on(option);
  return item(tag_of(option), option.help + (notes.empty() ? "." : " [" + notes + "]."));
}

/// One command. Groups of options come after its own ones, under their heading.
std::string command(const CommandUsage& usage) {
  std::string out = ".SS " + in_quotes(usage.title()) + "\n" + text(usage.help) + ".\n.PP\n" +
                    bold(usage.title()) + text(usage.synopsis().substr(usage.title().size())) +
                    "\n";
  for (const OptionUsage& argument : usage.arguments) out += item_of(argument);
  std::vector<std::string> groups = {""};
  for (const OptionUsage& option : usage.options)
    if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
  for (const std::string& group : groups) {
    if (!group.empty()) out += ".PP\n" + text(group) + ":\n";
    for (const OptionUsage& option : usage.options)
      if (option.group == group && option.name() != "--help") out += item_of(option);
  }
  return out;
}

std::string table(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string out;
  for (const auto& [name, meaning] : rows) out += item(bold(name), meaning + ".");
  return out;
}

}  // namespace
}  // namespace man

std::string man_page(const CommandUsage& root, const std::string& version) {
  std::string out = ".\\\" Made by `hone man`.\n.TH HONE 1 \"\" " +
                    man::in_quotes("hone " + version) + " \"User Commands\"\n";
  out += man::heading("NAME") +
         "hone \\- search for a faster program that computes what a CUDA "
         "kernel computes\n";
  out += man::heading("SYNOPSIS") + man::bold("hone") + man::text(root.synopsis().substr(4)) + "\n";
  out += man::heading("DESCRIPTION") + man::text(root.help) + "\n.PP\n" +
         man::text(
             "The result of a command goes to standard output, progress and errors to "
             "standard error. --json FILE writes the result as one JSON document; with "
             "--json - nothing else is written to standard output.") +
         "\n";
  out += man::heading("OPTIONS");
  for (const OptionUsage& option : root.options) out += man::item_of(option);
  out += man::heading("COMMANDS");
  for (const CommandUsage* command : all_commands(root))
    if (command != &root) out += man::command(*command);
  out += man::heading("EXIT STATUS") + man::table(exit_statuses());
  out += man::heading("ENVIRONMENT") + man::table(environment_variables());
  out += man::heading("COLOURS") +
         man::text(
             "Only hone diff prints colours, and only to a terminal, unless --color says "
             "otherwise. NO_COLOR, set to anything but nothing, and TERM=dumb switch them "
             "off; --color always is stronger than both.") +
         "\n";
  out += man::heading("EXAMPLES") + ".EX\n" +
         man::text("hone init kernel.cu && hone optimize kernel.task.cu --budget 5m") + "\n" +
         man::text("hone leaderboard") + "\n" + man::text("hone export 3f2a -o fast.cu") +
         "\n.EE\n";
  return out;
}

}  // namespace hone::cli
