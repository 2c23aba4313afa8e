// A diff for a terminal: the two texts beside each other, where they differ.
#pragma once

#include <string>
#include <vector>

#include "engine/results/side_by_side.h"

namespace hone::results {

struct DiffTextOptions {
  int width = 160;      ///< columns of the terminal; at least kNarrowest are taken
  bool colour = false;  ///< ANSI escapes: left red, right green
  int context = 3;      ///< lines that are the same, shown around those that differ
};
inline constexpr int kNarrowest = 60;

/// "" where the texts are the same. Between the sides "|" is a line that changed, "<" one that is
/// only left, ">" only right. Long lines go on below themselves. Control characters, which may be
/// a stranger's, are shown as "?".
[[nodiscard]] std::string side_by_side_text(const std::vector<LinePair>& rows,
                                            const std::string& left_name,
                                            const std::string& right_name,
                                            const DiffTextOptions& options);

}  // namespace hone::results
