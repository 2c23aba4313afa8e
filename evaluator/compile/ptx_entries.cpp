#include "evaluator/compile/ptx_entries.h"

#include <cxxabi.h>

#include <charconv>
#include <cstdlib>
#include <memory>

namespace hone::compile {
namespace {

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  constexpr std::string_view kSpace = " \t\r\n,";
  for (std::size_t i = 0; i < text.size();) {
    i = text.find_first_not_of(kSpace, i);
    if (i == text.npos) break;
    std::size_t end = text.find_first_of(kSpace, i);
    if (end == text.npos) end = text.size();
    out.push_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}

int to_int(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// ".param .u64 .ptr .global .align 4 name" or ".param .align 8 .b8 name[24]"
KernelParameter parse_parameter(std::string_view text, int* offset) {
  KernelParameter p;
  int align = 0;
  const auto w = words(text);
  bool after_ptr = false;
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (w[i] == ".align" && i + 1 < w.size()) {
      if (!after_ptr) align = to_int(w[i + 1]);  // after .ptr it is the pointee's
      ++i;
    } else if (w[i] == ".ptr") {
      p.pointer = after_ptr = true;
    } else if (w[i].size() >= 3 && w[i][0] == '.' && w[i][2] >= '0' && w[i][2] <= '9') {
      const char kind = w[i][1];
      p.bytes = to_int(w[i].substr(2)) / 8;
      p.kind = kind == 'f'   ? KernelParameter::Kind::kFloat
               : kind == 'b' ? KernelParameter::Kind::kBits
                             : KernelParameter::Kind::kInteger;
    } else if (w[i][0] != '.') {
      if (const auto bracket = w[i].find('['); bracket != w[i].npos) {
        p.bytes *= to_int(w[i].substr(bracket + 1));
        p.kind = KernelParameter::Kind::kBits;
      }
    }
  }
  if (align == 0) align = p.bytes > 0 ? p.bytes : 1;
  *offset = (*offset + align - 1) / align * align;
  p.offset = *offset;
  *offset += p.bytes;
  return p;
}

}  // namespace

std::vector<PtxEntry> ptx_entries(std::string_view ptx) {
  std::vector<PtxEntry> entries;
  constexpr std::string_view kEntry = ".entry";
  for (std::size_t at = ptx.find(kEntry); at != ptx.npos; at = ptx.find(kEntry, at)) {
    at += kEntry.size();
    const std::size_t name_begin = ptx.find_first_not_of(" \t\r\n", at);
    if (name_begin == ptx.npos) break;
    const std::size_t name_end = ptx.find_first_of(" \t\r\n({", name_begin);
    const std::size_t body = ptx.find('{', name_begin);
    if (name_end == ptx.npos || body == ptx.npos) break;
    PtxEntry entry;
    entry.name = std::string(ptx.substr(name_begin, name_end - name_begin));
    std::string_view header = ptx.substr(name_end, body - name_end);
    if (const auto open = header.find('('); open != header.npos) {
      const auto close = header.find(')', open);
      if (close == header.npos) break;
      std::string_view list = header.substr(open + 1, close - open - 1);
      int offset = 0;
      while (list.find(".param") != list.npos) {
        const auto comma = list.find(',');
        entry.parameters.push_back(parse_parameter(list.substr(0, comma), &offset));
        entry.marks_pointers = entry.marks_pointers || entry.parameters.back().pointer;
        list = comma == list.npos ? std::string_view() : list.substr(comma + 1);
      }
      entry.parameter_bytes = offset;
      header = header.substr(close + 1);
    }
    const auto directives = words(header);
    for (std::size_t i = 0; i < directives.size(); ++i) {
      if (directives[i] != ".maxntid" && directives[i] != ".reqntid") continue;
      int product = 1;
      for (std::size_t k = i + 1; k < directives.size() && k <= i + 3 && directives[k][0] != '.';
           ++k)
        product *= to_int(directives[k]);
      entry.max_threads = product;
    }
    const auto types = parameter_types(entry.name);
    if (types.size() == entry.parameters.size()) {
      for (std::size_t i = 0; i < types.size(); ++i) entry.parameters[i].type = types[i];
    }
    entries.push_back(std::move(entry));
    at = body;
  }
  return entries;
}

std::string demangle(const std::string& lowered_name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(lowered_name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? std::string(text.get()) : lowered_name;
}

std::vector<std::string> parameter_types(const std::string& lowered_name) {
  if (!lowered_name.starts_with("_Z")) return {};
  const std::string text = demangle(lowered_name);
  if (text.empty() || text.back() != ')') return {};
  // The parameter list is the last balanced pair of parentheses.
  int depth = 0;
  std::size_t open = text.size();
  while (open > 0) {
    --open;
    if (text[open] == ')') ++depth;
    if (text[open] == '(' && --depth == 0) break;
  }
  std::vector<std::string> types;
  std::string current;
  depth = 0;
  for (std::size_t i = open + 1; i + 1 < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      types.push_back(std::exchange(current, {}));
      if (i + 1 < text.size() && text[i + 1] == ' ') ++i;
    } else {
      current += c;
    }
  }
  if (!current.empty()) types.push_back(current);
  return types;
}

}  // namespace hone::compile
