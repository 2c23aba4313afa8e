// Nests put into the nests that read them: what a buffer gets, as a function of what was there
// before several launches.
#pragma once

#include <string>
#include <vector>

#include "rewriters/nest/nest.h"

namespace hone::nest {

/// Launches that can be replaced at once, and what they do together.
struct Site {
  /// The buffers that are written for others to read, joined by "+": "mean+var". With less put
  /// into it than could be: "C, maps put in", "C, alone". With "#2", "#3" behind where one name
  /// would stand for several.
  std::string name;
  std::vector<std::size_t> launches;  ///< in order; the last is where new launches go
  /// Loads see the buffers before the first of the launches. Plain nests alone, but for those
  /// whose elements depend on data. No nest reads what one here writes, but at most the element
  /// that it writes itself.
  std::vector<Nest> nests;
};

/// A launch that lifts and stands in no site, and why.
struct NoSite {
  std::size_t launch = 0;
  std::string reason;  ///< "adam: 'p' reads 'm', which the same launches write"
};

/// For each launch: with all that can be put into it, with what has no reductions put into it, and
/// alone; where they differ. Those with the most launches first. What has none of these goes to
/// `without`.
[[nodiscard]] std::vector<Site> sites(const LiftedProgram& program,
                                      std::vector<NoSite>* without = nullptr);

}  // namespace hone::nest
