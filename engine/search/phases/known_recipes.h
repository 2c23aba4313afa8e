// What earlier searches of a task, or of the same one at other sizes, found to be fastest.
#pragma once

#include <vector>

#include "candidates/recipe.h"
#include "engine/search/phases/run.h"

namespace hone::search {

/// What to try first: those of near sizes first, the task's own before all. Few; none where the
/// search has no store, or does not want them.
[[nodiscard]] std::vector<Recipe> recipes_to_begin_with(SearchRun& run, const Task& task);

}  // namespace hone::search
