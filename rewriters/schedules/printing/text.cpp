#include "rewriters/schedules/printing/text.h"

#include <fmt/format.h>

#include <cctype>

namespace hone::schedules {
namespace {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string indented(std::string_view text, std::size_t spaces) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const bool directive = line.starts_with('#');
    if (!line.empty()) out += std::string(directive ? 0 : spaces, ' ') + std::string(line);
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace

bool mentions(std::string_view text, std::string_view name) {
  for (auto at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const bool starts = at == 0 || !in_name(text[at - 1]);
    const auto end = at + name.size();
    if (starts && (end == text.size() || !in_name(text[end]))) return true;
  }
  return false;
}

std::string constants_of(
    std::string_view text,
    const std::vector<std::vector<std::pair<std::string, std::int64_t>>>& lines) {
  std::string all;
  for (const auto& line : lines) {
    std::string names;
    for (const auto& [name, value] : line) {
      if (mentions(text, name))
        names += fmt::format("{}{} = {}", names.empty() ? "" : ", ", name, value);
    }
    if (!names.empty()) all += "constexpr int " + names + ";\n";
  }
  return all;
}

std::string filled(std::string_view text, const Holes& holes) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const auto start = line.find_first_not_of(' ');
    const auto alone = [&]() -> const std::string* {
      if (start == line.npos || line[start] != '$') return nullptr;
      const std::string_view name = line.substr(start + 1);
      for (const char c : name)
        if (!in_name(c)) return nullptr;
      const auto hole = holes.find(name);
      return hole == holes.end() ? nullptr : &hole->second;
    }();
    if (alone != nullptr) {
      if (!alone->empty()) out += indented(*alone, start) + '\n';
      continue;
    }
    while (!line.empty()) {
      const auto dollar = line.find('$');
      out += line.substr(0, dollar);
      if (dollar == line.npos) break;
      std::size_t length = 1;
      while (dollar + length < line.size() && in_name(line[dollar + length])) ++length;
      // The longest name that there is, so that "$prefix_copy" is "$prefix" and "_copy".
      std::string_view name = line.substr(dollar + 1, length - 1);
      while (!name.empty() && !holes.contains(name)) name.remove_suffix(1);
      if (name.empty()) {
        out += '$';
      } else {
        out += holes.find(name)->second;
      }
      line.remove_prefix(dollar + 1 + name.size());
    }
    if (end < text.size()) out += '\n';
  }
  return out;
}

}  // namespace hone::schedules
