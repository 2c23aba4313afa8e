#include "engine/web/run_data.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/results/json.h"
#include "engine/web/layout.h"

namespace hone::web {

std::expected<RunData, Failure> read_run(Context& context, const std::string& id) {
  const auto run = run_id(id);
  if (!run) return std::unexpected(run.error());
  bool found = false;
  auto data = context.stores.with([&](const Store& store) -> Result<RunData> {
    auto record = store.find_run(*run);
    if (!record) return std::unexpected(record.error());
    found = true;
    auto points = store.run_points(*run, 0, kMostPoints);
    if (!points) return std::unexpected(points.error());
    RunData data;
    data.run = std::move(*record);
    data.points = std::move(*points);
    return data;
  });
  if (!data && !found && data.error().code == ErrorCode::kInvalidInput)
    return not_found("There is no such run.");
  if (!data) return context.broken(data.error());
  for (const RunPoint& point : data->points) {
    if (point.final_stage) {
      ++data->finals;
    } else {
      ++data->verdicts[std::string(to_string(point.verdict))];
    }
    if (point.verdict != Verdict::kOk || point.speedup <= 0) continue;
    if (data->best == nullptr || std::pair(point.final_stage, point.speedup) >
                                     std::pair(data->best->final_stage, data->best->speedup))
      data->best = &point;
  }
  return std::move(*data);
}

nlohmann::json summary_json(const RunData& data) {
  nlohmann::json verdicts = nlohmann::json::object();
  for (const auto& [name, count] : data.verdicts) verdicts[name] = count;
  return {{"verdicts", verdicts},
          {"finals", data.finals},
          {"best", data.best == nullptr ? nlohmann::json() : results::point_json(*data.best)}};
}

}  // namespace hone::web
