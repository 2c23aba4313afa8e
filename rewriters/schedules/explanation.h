// What is told of a program's lift.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace hone::schedules {

/// A lift in parts, for people; the last two for models.
struct Explanation {
  std::string nests;                  ///< of the launches that lift
  std::vector<std::string> refusals;  ///< of those that do not: "solve, line 12: …"
  /// Site by site what each generator can print, or why not; then why other launches have no site.
  std::string sites;
  std::map<std::string, double> facts;  ///< nest::facts_of
  std::string structure;                ///< nest::structure_of
};

}  // namespace hone::schedules
