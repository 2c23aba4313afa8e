#include "engine/service/text_diff.h"

#include <dtl/dtl.hpp>
#include <sstream>
#include <vector>

namespace hone {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::string unified_diff(const std::string& before, const std::string& after,
                         const std::string& before_name, const std::string& after_name) {
  dtl::Diff<std::string> diff(lines_of(before), lines_of(after));
  diff.onHuge();
  diff.compose();
  if (diff.getEditDistance() == 0) return "";
  diff.composeUnifiedHunks();
  std::ostringstream out;
  out << "--- " << before_name << "\n+++ " << after_name << "\n";
  diff.printUnifiedFormat(out);
  return out.str();
}

}  // namespace hone
