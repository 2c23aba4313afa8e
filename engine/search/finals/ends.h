// How the programs ended that a search thought faster than the reference. One thread.
#pragma once

#include <string>
#include <string_view>

#include "candidates/measurement.h"

namespace hone {

/// Each counts once. What came to the same program as another, or found no place among the
/// finalists, is none of these.
struct FinalEnds {
  int faster = 0;     ///< passed, and ranked before the reference
  int no_faster = 0;  ///< passed, and was not
  int failed = 0;     ///< refused: wrong on fresh inputs, a fault, a race, ...
  int late = 0;       ///< the time was over before they had passed or failed
  int unchecked = 0;  ///< nobody could tell, within the limits of a check or at all
  /// Of the first of these, in one line: "wrong_result (y[3] is 0 instead of 1)".
  std::string why_failed, why_unchecked;

  /// One that did not pass.
  void note(const Evaluation& evaluation);
  void note_unchecked(std::string_view why);
  /// Those of another part of the same search.
  void add(const FinalEnds& other);
  bool operator==(const FinalEnds&) const = default;
};

/// Does a verdict say nothing of right and wrong?
[[nodiscard]] bool is_unknown(Verdict verdict);

}  // namespace hone
