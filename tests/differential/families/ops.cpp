#include "tests/differential/families/ops.h"

#include <fmt/format.h>

namespace hone::differential {
namespace {

constexpr int kThreads = 320;
constexpr int kBlock = 64;

int bytes_of_letter(char c) { return c == 'h' ? 2 : c == 'l' || c == 'd' ? 8 : 4; }
const char* type_of_letter(char c) {
  switch (c) {
    case 'h':
      return "b16";
    case 'l':
      return "b64";
    case 'f':
      return "f32";
    case 'd':
      return "f64";
    default:
      return "b32";
  }
}

std::string replace(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

std::vector<std::string> expand(const std::string& pattern) {
  const std::size_t open = pattern.find('<');
  if (open == std::string::npos) return {replace(pattern, "..", ".")};
  const std::size_t close = pattern.find('>', open);
  std::vector<std::string> all;
  std::size_t at = open + 1;
  while (at <= close) {
    const std::size_t end = std::min(pattern.find('|', at), close);
    for (std::string& s :
         expand(pattern.substr(0, open) + pattern.substr(at, end - at) + pattern.substr(close + 1)))
      all.push_back(std::move(s));
    at = end + 1;
  }
  return all;
}
std::vector<std::string> expand(std::initializer_list<const char*> patterns) {
  std::vector<std::string> all;
  for (const char* p : patterns)
    for (std::string& s : expand(std::string(p))) all.push_back(std::move(s));
  return all;
}

void add_group(std::vector<Case>& cases, const Group& g) {
  constexpr std::size_t kMost = 16;
  const bool predicate = g.result == 'p';
  const std::size_t most = predicate ? 32 : kMost;
  if (g.instructions.size() > most) {
    Group part = g;
    int n = 0;
    for (std::size_t at = 0; at < g.instructions.size(); at += most) {
      part.instructions.assign(g.instructions.begin() + static_cast<std::ptrdiff_t>(at),
                               g.instructions.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                            at + most, g.instructions.size())));
      part.name = fmt::format("{}.{}", g.name, ++n);
      add_group(cases, part);
    }
    return;
  }
  Case c;
  c.name = g.name;
  c.grid = {kThreads / kBlock, 1, 1};
  c.block = {kBlock, 1, 1};
  std::string parameters;
  std::string loads;
  for (std::size_t i = 0; i < g.operands.size(); ++i) {
    const char letter = g.operands[i];
    const int bytes = bytes_of_letter(letter);
    Buffer b;
    b.bytes = static_cast<std::uint64_t>(kThreads) * bytes;
    b.fill = g.fills[std::min(i, g.fills.size() - 1)];
    b.seed = static_cast<std::uint32_t>(i * 77 + 5);
    if (g.operands.size() > 1) b.grid = i == 0 ? 1 : i == 1 ? 16 : 17;
    c.buffers.push_back(b);
    parameters += fmt::format(".param .u64 p{}, ", i);
    loads += fmt::format(
        "  ld.param.u64 %x, [p{0}];\n  mad.wide.u32 %x, %i, {1}, %x;\n"
        "  ld.global.{2} %{3}, [%x];\n",
        i, bytes, type_of_letter(letter), "abc"[i]);
  }
  const int size = bytes_of_letter(g.result);
  const std::size_t slots = predicate ? 1 : g.instructions.size();
  Buffer out;
  out.bytes = static_cast<std::uint64_t>(kThreads) * size * slots;
  out.output = true;
  c.buffers.push_back(out);
  std::string registers;
  for (std::size_t i = 0; i < g.operands.size(); ++i)
    registers += fmt::format("  .reg .{} %{};\n", type_of_letter(g.operands[i]), "abc"[i]);
  std::string body;
  for (std::size_t k = 0; k < g.instructions.size(); ++k) {
    std::string text = g.instructions[k];
    if (text.find('$') == std::string::npos) {
      text += " $d";
      for (std::size_t i = 0; i < g.operands.size(); ++i) text += fmt::format(", ${}", "abc"[i]);
      text += ";";
    }
    text = replace(replace(replace(text, "$a", "%a"), "$b", "%b"), "$c", "%c");
    text = replace(text, "$d", predicate ? "%q0" : "%d");
    body += "  " + text + "\n";
    if (predicate) {
      body += fmt::format("  selp.b32 %t7, {}, 0, %q0;\n  or.b32 %acc, %acc, %t7;\n",
                          std::uint32_t{1} << k);
    } else {
      body += fmt::format("  st.global.{} [%o+{}], %d;\n", type_of_letter(g.result),
                          k * kThreads * static_cast<std::size_t>(size));
      Rule rule = g.rule;
      if (rule.kind == Rule::Kind::kBits)  // the size of what a message shows
        rule.element = g.result == 'h'                  ? Rule::Element::kU16
                       : bytes_of_letter(g.result) == 8 ? Rule::Element::kU64
                                                        : Rule::Element::kU32;
      c.regions.push_back({static_cast<int>(g.operands.size()),
                           k * kThreads * static_cast<std::size_t>(size),
                           static_cast<std::uint64_t>(kThreads) * size, rule, g.instructions[k]});
    }
  }
  if (predicate) body += "  st.global.u32 [%o], %acc;\n";
  c.ptx = fmt::format(
      ".version {}\n.target {}\n.address_size 64\n"
      ".visible .entry k({}.param .u64 po)\n{{\n"
      "  .reg .b64 %x, %o, %u<8>;\n  .reg .b32 %i, %n, %m, %acc, %t<8>;\n"
      "  .reg .b16 %h<8>;\n  .reg .f32 %f<8>;\n  .reg .f64 %g<8>;\n  .reg .pred %q<8>;\n"
      "  .reg .{} %d;\n{}"
      "  mov.u32 %i, %tid.x;\n  mov.u32 %n, %ctaid.x;\n  mad.lo.u32 %i, %n, {}, %i;\n{}"
      "  ld.param.u64 %o, [po];\n  mad.wide.u32 %o, %i, {}, %o;\n  mov.u32 %acc, 0;\n{}"
      "  ret;\n}}\n",
      g.version, g.target, parameters, type_of_letter(g.result), registers, kBlock, loads, size,
      body);
  cases.push_back(std::move(c));
}

}  // namespace hone::differential
