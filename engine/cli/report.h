// The tables and JSON objects that several commands print.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "candidates/store/store.h"
#include "engine/service/search_job.h"

namespace hone::cli {

[[nodiscard]] std::string board_text(const Board& board);
[[nodiscard]] nlohmann::json board_json(const Board& board);
[[nodiscard]] nlohmann::json counts_json(const Counts& counts);
/// Sums over all evaluations [s], which overlap.
[[nodiscard]] nlohmann::json pace_json(const Pace& pace);
/// The "best" object of the machine form.
[[nodiscard]] nlohmann::json finalist_json(const Finalist& finalist);

}  // namespace hone::cli
