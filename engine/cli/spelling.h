// What somebody may have meant who wrote a name that there is not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::cli {

/// How many letters must be changed, added, left out or swapped with their neighbour to make `b` of
/// `a`: the Damerau-Levenshtein distance, in which no letter is edited twice.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name that is most like `word`: the one with the least distance, at most two or a third of
/// the word, or else the first one that begins with it (three letters at least). "": none is like
/// it.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& names);

}  // namespace hone::cli
