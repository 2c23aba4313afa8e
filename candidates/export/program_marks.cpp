#include "candidates/export/program_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "candidates/characters.h"
#include "candidates/export/source.h"

namespace hone::exporting {
namespace {

using nlohmann::json;

/// JSON in ASCII that ends no comment, begins none, and has no trigraph.
std::string in_comment(const json& value) {
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char before = i > 0 ? text[i - 1] : '\0',
               after = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] == '/' && (before == '*' || after == '*')) {
      result += "\\/";
    } else if (text[i] == '?' && before == '?') {
      result += "\\u003f";
    } else {
      result += text[i];
    }
  }
  return result;
}

/// An entry a line.
std::string list(std::string_view key, const json& entries) {
  std::string text = fmt::format("\"{}\": [", key);
  for (std::size_t i = 0; i < entries.size(); ++i)
    text += fmt::format("{}\n{}", i == 0 ? "" : ",", in_comment(entries[i]));
  return text + "]";
}

}  // namespace

std::string tag_of(const Part& part, const Plan& plan) {
  std::string tag;
  for (const char c : part.row->candidate.id) tag += is_word(c) ? c : '_';
  const auto taken = [&](const Part& other) { return other.source.find(tag) != other.source.npos; };
  while (taken(plan.reference) || std::ranges::any_of(plan.candidates, taken)) tag += '_';
  return tag;
}

std::string guard_mark(std::string_view tag) { return fmt::format("hone guard {}", tag); }

std::string begin_program(const Part& part, std::string_view tag) {
  json program = *part.program;
  for (json& buffer : program["buffers"]) buffer.erase("fill");
  json macros = json::array();
  for (const auto& [name, value] : part.program->defines) macros.push_back(name);
  std::string text =
      fmt::format("// {} {}\n// {}\n/* {} {{\n", kProgramBegins, tag, kFormatOff, kProgramComment);
  if (part.capability != 0) text += fmt::format("\"arch\": \"sm_{}\",\n", part.capability);
  text += fmt::format("\"includes\": {},\n\"macros\": {},\n{},\n{}",
                      in_comment(split_includes(part.source).includes), in_comment(macros),
                      list("buffers", program["buffers"]), list("launches", program["launches"]));
  if (!part.row->candidate.recipe.empty())
    text += ",\n" + list("recipe", json(part.row->candidate.recipe));
  return text + fmt::format("\n}} */\n// {}\n", kFormatOn);
}

std::string end_program(std::string_view tag) {
  return fmt::format("\n// {} {}\n", kProgramEnds, tag);
}

std::string source_of(const std::vector<std::string>& includes, std::string_view body) {
  std::string text;
  for (const std::string& header : includes) text += fmt::format("#include {}\n", header);
  return text + std::string(body);
}

}  // namespace hone::exporting
