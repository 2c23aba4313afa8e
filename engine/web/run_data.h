// A run in numbers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "candidates/store/store.h"
#include "engine/web/context.h"

namespace hone::web {

struct RunData {
  RunRecord run;
  RunOutline outline;
  std::vector<RunReply> replies;  ///< of a language model, without texts
  /// Of the final stage where there is one; null: nothing passed.
  [[nodiscard]] const RunPoint* best() const {
    return outline.fastest.empty() ? nullptr : &outline.fastest.front();
  }
  [[nodiscard]] bool ended() const { return !run.ended_at.empty(); }
};

[[nodiscard]] std::expected<RunData, Failure> read_run(Context& context, const std::string& id);
/// {"verdicts": {…}, "finals": 5, "best": {…}, "model": {…}}
[[nodiscard]] nlohmann::json summary_json(const RunData& data);

}  // namespace hone::web
