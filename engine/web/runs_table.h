// The table of runs, on two pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "candidates/store/store.h"
#include "engine/page/pieces.h"

namespace hone::web {

[[nodiscard]] std::string runs_table(const std::vector<RunRecord>& runs, std::string_view caption,
                                     page::TableStyle style = {});

}  // namespace hone::web
