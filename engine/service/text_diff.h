// Unified diffs of source text.
#pragma once

#include <string>

namespace hone {

/// "--- a\n+++ b\n@@ … @@ …", three lines of context; empty when the texts are equal.
[[nodiscard]] std::string unified_diff(const std::string& before, const std::string& after,
                                       const std::string& before_name,
                                       const std::string& after_name);

}  // namespace hone
