// The tables that several commands print.
#pragma once

#include <string>
#include <vector>

#include "candidates/store/store.h"

namespace hone::cli {

[[nodiscard]] std::string board_text(const Board& board);
/// "1.31x torch eager, 0.62x cublas": a program of `time_us` against each.
[[nodiscard]] std::string against_text(const std::vector<BaselineTime>& baselines, double time_us);

}  // namespace hone::cli
