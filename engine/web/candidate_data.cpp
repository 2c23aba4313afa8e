#include "engine/web/candidate_data.h"

#include <fmt/format.h>

#include "candidates/task_reader.h"
#include "candidates/without_folders.h"
#include "engine/web/layout.h"

namespace hone::web {

std::expected<CandidateData, Failure> read_candidate(Context& context, const std::string& id,
                                                     const std::string& against,
                                                     const std::string& device) {
  const auto none = [&](const std::string& name) {
    return not_found(fmt::format("There is no candidate '{}', or more than one begins so{}.", name,
                                 device.empty() ? "" : ", or it has no result of this device"));
  };
  if (!is_hex_id(id)) return none(id);
  if (!against.empty() && !is_hex_id(against)) return none(against);
  std::string missing;  // whose absence is the client's mistake
  auto data = context.stores.with([&](const Store& store) -> Result<CandidateData> {
    missing = id;
    auto row = store.find_candidate(id, device);
    if (!row) return std::unexpected(row.error());
    CandidateData data{.row = std::move(*row), .before_name = "reference"};
    if (!against.empty()) {
      missing = against;
      auto other = store.find_candidate(against);
      if (!other) return std::unexpected(other.error());
      data.before_name = other->candidate.id;
      data.before = without_task_comment(other->candidate.program.source);
    }
    missing.clear();
    auto finals = store.final_results(data.row.candidate.id);
    if (!finals) return std::unexpected(finals.error());
    data.finals = std::move(*finals);
    const std::string& parent = data.row.candidate.parent;
    data.parent_is_here = is_hex_id(parent) && store.find_candidate(parent).has_value();
    auto runs = store.runs_of_candidate(data.row.candidate.id);
    if (!runs) return std::unexpected(runs.error());
    data.runs = std::move(*runs);
    auto task = store.find_task(data.row.candidate.task_hash);
    if (!task) return std::unexpected(task.error());
    if (against.empty()) data.before = without_task_comment(task->reference.source);
    data.roofline = results::roofline_of(*task, results::ceilings_of(store, data.row.provenance),
                                         data.row.evaluation.measurement);
    data.task = std::move(*task);
    return data;
  });
  if (data) {
    data->row.candidate.program = without_folders(std::move(data->row.candidate.program));
    data->task = without_folders(std::move(data->task));
    return std::move(*data);
  }
  if (!missing.empty() && data.error().code == ErrorCode::kInvalidInput) return none(missing);
  return context.broken(data.error());
}

}  // namespace hone::web
