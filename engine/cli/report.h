// The tables and JSON objects that several commands print.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "candidates/store/store.h"
#include "engine/service/search_job.h"

namespace hone::cli {

[[nodiscard]] std::string board_text(const Board& board);
[[nodiscard]] nlohmann::json board_json(const Board& board);
/// "1.31x torch eager, 0.62x cublas": a program of `time_us` against each.
[[nodiscard]] std::string against_text(const std::vector<BaselineTime>& baselines, double time_us);
/// {"torch eager": 1.31, …}
[[nodiscard]] nlohmann::json against_json(const std::vector<BaselineTime>& baselines,
                                          double time_us);
/// How a candidate fares on one device; no times where it failed.
[[nodiscard]] nlohmann::json final_json(const FinalResult& result);
[[nodiscard]] nlohmann::json baseline_json(const BaselineTime& baseline);
[[nodiscard]] nlohmann::json counts_json(const Counts& counts);
/// Sums over all evaluations [s], which overlap.
[[nodiscard]] nlohmann::json pace_json(const Pace& pace);
/// The "best" object of the machine form.
[[nodiscard]] nlohmann::json finalist_json(const Finalist& finalist);

}  // namespace hone::cli
