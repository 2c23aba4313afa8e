#include "evaluator/compile/ptxas_log.h"

#include <charconv>

namespace hone::compile {
namespace {

/// The integer that stands right before `phrase`: number_before("Used 12 registers", " registers").
int number_before(std::string_view line, std::string_view phrase) {
  const std::size_t at = line.find(phrase);
  if (at == line.npos) return -1;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = -1;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

template <class Function>
void for_each_line(std::string_view text, Function function) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    function(text.substr(0, end));
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
}

}  // namespace

std::map<std::string, KernelResources> parse_ptxas_log(std::string_view log) {
  std::map<std::string, KernelResources> out;
  KernelResources* current = nullptr;
  for_each_line(log, [&](std::string_view line) {
    constexpr std::string_view kEntry = "Compiling entry function '";
    constexpr std::string_view kProperties = "Function properties for ";
    if (const auto at = line.find(kEntry); at != line.npos) {
      const auto name = line.substr(at + kEntry.size());
      current = &out[std::string(name.substr(0, name.find('\'')))];
      return;
    }
    if (const auto at = line.find(kProperties); at != line.npos) {
      // Device functions have properties too; only entries are kept.
      auto name = line.substr(at + kProperties.size());
      while (!name.empty() && (name.back() == '\r' || name.back() == ' ')) name.remove_suffix(1);
      const auto found = out.find(std::string(name));
      current = found == out.end() ? nullptr : &found->second;
      return;
    }
    if (current == nullptr) return;
    if (const int stack = number_before(line, " bytes stack frame"); stack >= 0) {
      current->stack_bytes = stack;
      const int stores = number_before(line, " bytes spill stores");
      const int loads = number_before(line, " bytes spill loads");
      current->spill_bytes = (stores > 0 ? stores : 0) + (loads > 0 ? loads : 0);
    }
    if (const int registers = number_before(line, " registers"); registers >= 0) {
      current->registers = registers;
      if (const int shared = number_before(line, " bytes smem"); shared >= 0)
        current->static_shared_bytes = shared;
    }
  });
  return out;
}

std::string without_ptxas_info(std::string_view log) {
  std::string out;
  for_each_line(log, [&](std::string_view line) {
    if (line.starts_with("ptxas info") || line.starts_with("ptxas         .") ||
        line.find("bytes stack frame,") != line.npos) {
      return;
    }
    out.append(line).push_back('\n');
  });
  while (!out.empty() && (out.back() == '\n' || out.back() == '\0')) out.pop_back();
  return out;
}

}  // namespace hone::compile
