// Names and steps for readers who do not know hone's parts.
#pragma once

#include <string>
#include <string_view>

#include "candidates/measurement.h"
#include "candidates/recipe.h"

namespace hone::results {

/// What the step does: "one output a thread => a tile of outputs a thread"; "" for a rewriter that
/// this hone does not know.
[[nodiscard]] std::string in_words(const Step& step);

/// What became of a candidate with this verdict: "read or wrote outside of a buffer, …".
[[nodiscard]] std::string_view in_words(Verdict verdict);
/// Which arithmetic the level allows: "the same bits as the reference".
[[nodiscard]] std::string_view in_words(MathLevel level);

/// What the names of what bounds a kernel mean: "DRAM", "issue", …
inline constexpr std::string_view kBoundWords =
    "DRAM, L2, L1 and shared memory: moving bytes. Bank conflicts: threads of a warp that want the "
    "same bank of shared memory take turns. issue: starting instructions. latency: waiting, with "
    "too "
    "few threads to do something else meanwhile. Other names are those of arithmetic units.";

/// The title of an interval's column: a modelled one says how unlike the sampled blocks are, and
/// nothing of how far off the model is.
[[nodiscard]] constexpr std::string_view interval_title(bool modelled) {
  return modelled ? "between blocks" : "95 % interval";
}

/// A sentence where a step of the recipe writes a program anew: then it shares few lines with the
/// reference. Else "".
[[nodiscard]] std::string why_unlike(const Recipe& recipe);

/// How a result that is ok was compared with the reference, where a reader must be warned.
struct Doubt {
  std::string_view badge;     ///< a few words, as commands and pages print them; empty: no doubt
  std::string_view brief;     ///< the same where many stand below one another, beside a legend
  std::string_view sentence;  ///< what that means
};
/// Of outputs at the timed size, which a modelled result may lack; of the final stage.
[[nodiscard]] Doubt doubt_of(const Evaluation& evaluation);

}  // namespace hone::results
