#include "evaluator/check/outside.h"

#include <algorithm>
#include <string>
#include <vector>

#include "evaluator/check/atomics.h"

namespace hone::check {
namespace {

constexpr std::string_view kNames = "abcdefghijklmnopqrstuvwxyz_0123456789";

bool is_outside(std::string_view name) {
  return name.starts_with("%clock") || name.starts_with("%globaltimer") || name == "%gridid" ||
         (name.starts_with("%pm") && name.size() > 3 && name[3] >= '0' && name[3] <= '9');
}

/// In order.
std::vector<std::string> read_by(std::string_view ptx) {
  std::vector<std::string> out;
  (void)any_statement(ptx, [&](std::string_view statement) {
    // Comments and names of files say nothing.
    if (statement.starts_with("//") || statement.starts_with('.')) return false;
    for (auto at = statement.find('%'); at != statement.npos; at = statement.find('%', at + 1)) {
      const auto end = statement.find_first_not_of(kNames, at + 1);
      const auto name = statement.substr(at, end == statement.npos ? end : end - at);
      if (is_outside(name)) out.emplace_back(name);
    }
    return false;
  });
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
