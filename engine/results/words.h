// Names and steps for readers who do not know hone's parts.
#pragma once

#include <string>
#include <string_view>

#include "candidates/recipe.h"

namespace hone::results {

/// What the step does: "one output a thread => a tile of outputs a thread"; "" for a rewriter that
/// this hone does not know.
[[nodiscard]] std::string in_words(const Step& step);

/// The title of an interval's column: a modelled one says how unlike the sampled blocks are, and
/// nothing of how far off the model is.
[[nodiscard]] constexpr std::string_view interval_title(bool modelled) {
  return modelled ? "between blocks" : "95 % interval";
}

}  // namespace hone::results
