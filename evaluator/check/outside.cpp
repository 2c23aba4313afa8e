#include "evaluator/check/outside.h"

#include <algorithm>
#include <string>
#include <vector>

namespace hone::check {
namespace {

constexpr std::string_view kNames = "abcdefghijklmnopqrstuvwxyz_0123456789";

bool is_outside(std::string_view name) {
  return name.starts_with("%clock") || name.starts_with("%globaltimer") || name == "%gridid" ||
         (name.starts_with("%pm") && name.size() > 3 && name[3] >= '0' && name[3] <= '9');
}

std::string without_comments(std::string_view ptx) {
  std::string out;
  while (!ptx.empty()) {
    const auto line = ptx.find("//"), block = ptx.find("/*"), begin = std::min(line, block);
    out += ptx.substr(0, begin);
    if (begin == ptx.npos) break;
    const auto end = line < block ? ptx.find('\n', begin) : ptx.find("*/", begin + 2);
    out += ' ';
    ptx = end == ptx.npos ? std::string_view() : ptx.substr(end + (line < block ? 0 : 2));
  }
  return out;
}

/// In order.
std::vector<std::string> read_by(std::string_view text) {
  const std::string ptx = without_comments(text);
  // libcu++ looks how long it has waited for a barrier.
  const bool waits = ptx.contains("mbarrier.try_wait") || ptx.contains("mbarrier.test_wait");
  std::vector<std::string> out;
  for (auto at = ptx.find('%'); at != ptx.npos; at = ptx.find('%', at + 1)) {
    const auto end = ptx.find_first_not_of(kNames, at + 1);
    const auto name = std::string_view(ptx).substr(at, end == ptx.npos ? end : end - at);
    if (is_outside(name) && !(waits && name.starts_with("%globaltimer"))) out.emplace_back(name);
  }
  return out;
}

}  // namespace

std::string looks_outside(std::string_view reference_ptx, std::string_view candidate_ptx) {
  const auto allowed = read_by(reference_ptx);
  for (const std::string& name : read_by(candidate_ptx))
    if (std::ranges::find(allowed, name) == allowed.end()) return name;
  return "";
}

}  // namespace hone::check
