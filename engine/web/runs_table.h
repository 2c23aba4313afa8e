// The table of runs, on three pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "candidates/store/store.h"
#include "engine/page/pieces.h"

namespace hone::web {

enum class RunsOf { kAnyTask, kOneTask };  ///< of one, the page names the task: no column does
[[nodiscard]] std::string runs_table(const std::vector<RunRecord>& runs, std::string_view caption,
                                     page::TableStyle style = {}, RunsOf of = RunsOf::kAnyTask);

}  // namespace hone::web
