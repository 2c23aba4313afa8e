// The tables that several commands print.
#pragma once

#include <string>
#include <vector>

#include "candidates/store/store.h"
#include "engine/results/overview.h"

namespace hone::cli {

[[nodiscard]] std::string board_text(const Board& board);
[[nodiscard]] std::string overview_text(const results::Overview& overview);
/// "1.31x torch eager, 0.62x cublas": a program of `time_us` against each.
[[nodiscard]] std::string against_text(const std::vector<BaselineTime>& baselines, double time_us);

}  // namespace hone::cli
