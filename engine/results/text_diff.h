// What differs between two texts: for people, and as edits that can be made again elsewhere.
#pragma once

#include <string>
#include <vector>

#include "rewriters/core/hand_edit.h"

namespace hone {

/// "--- a\n+++ b\n@@ … @@ …", three lines of context; empty when the texts are equal.
[[nodiscard]] std::string unified_diff(const std::string& before, const std::string& after,
                                       const std::string& before_name,
                                       const std::string& after_name);

/// The changes from one text to the other. What each searches is found once in `before`, with as
/// few unchanged lines around it as that takes.
[[nodiscard]] std::vector<LineEdit> line_edits(const std::string& before, const std::string& after);

}  // namespace hone
