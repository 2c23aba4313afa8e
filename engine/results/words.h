// Steps for a reader who does not know the rewriters.
#pragma once

#include <string>

#include "candidates/recipe.h"

namespace hone::results {

/// What the step does: "one output a thread => a tile of outputs a thread"; "" for a rewriter that
/// this hone does not know.
[[nodiscard]] std::string in_words(const Step& step);

}  // namespace hone::results
