// Why a search names no program although some seemed faster, as a sentence.
#pragma once

#include <string>

#include "engine/search/search.h"

namespace hone::results {

/// "5 programs seemed faster (the best 2.31 times), and none was confirmed: 2 failed their checks,
/// the first: wrong_result (...); ..."; empty: none seemed faster, or one is.
[[nodiscard]] std::string ends_text(const SearchOutcome& outcome);

}  // namespace hone::results
