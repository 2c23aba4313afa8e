// A run in numbers.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "candidates/store/store.h"
#include "engine/web/context.h"

namespace hone::web {

inline constexpr int kMostPoints = 100'000;  // of one run that are looked at

struct RunData {
  RunRecord run;
  std::vector<RunPoint> points;               ///< what was stored first first
  std::map<std::string, long long> verdicts;  ///< of the search, without final stages
  long long finals = 0;
  const RunPoint* best = nullptr;  ///< of the final stage where there is one; null: nothing passed
  [[nodiscard]] bool ended() const { return !run.ended_at.empty(); }
};

[[nodiscard]] std::expected<RunData, Failure> read_run(Context& context, const std::string& id);
/// {"verdicts": {…}, "finals": 5, "best": {…}}
[[nodiscard]] nlohmann::json summary_json(const RunData& data);

}  // namespace hone::web
