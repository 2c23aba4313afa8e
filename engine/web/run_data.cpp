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
    auto outline = store.run_outline(*run);
    if (!outline) return std::unexpected(outline.error());
    auto replies = store.replies(*run, false);
    if (!replies) return std::unexpected(replies.error());
    return RunData{std::move(*record), std::move(*outline), std::move(*replies)};
  });
  if (!data && !found && data.error().code == ErrorCode::kInvalidInput)
    return not_found("There is no such run.");
  if (!data) return context.broken(data.error());
  return std::move(*data);
}

nlohmann::json summary_json(const RunData& data) {
  nlohmann::json verdicts = nlohmann::json::object();
  for (const auto& [verdict, count] : data.outline.verdicts)
    verdicts[std::string(to_string(verdict))] = count;
  return {{"verdicts", verdicts},
          {"finals", data.outline.finals.size()},
          {"best", data.best() == nullptr ? nlohmann::json() : results::point_json(*data.best())},
          {"model", results::model_use_json(results::model_use(data.replies))}};
}

}  // namespace hone::web
