// The JSON API: what the pages show, for programs. assets/openapi.json describes it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "candidates/task_reader.h"
#include "candidates/without_folders.h"
#include "engine/results/json.h"
#include "engine/results/side_by_side.h"
#include "engine/web/candidate_data.h"
#include "engine/web/handlers.h"
#include "engine/web/jobs.h"
#include "engine/web/layout.h"
#include "engine/web/run_data.h"
#include "engine/web/search_fields.h"

namespace hone::web {
namespace {

Response json_response(const nlohmann::json& json) {
  Response response;
  response.type = "application/json";
  response.body = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return response;
}

struct Slice {
  std::int64_t offset = 0, limit = 0;
};

std::expected<Slice, Failure> slice_of(const Request& request, std::int64_t usual,
                                       std::int64_t most) {
  const auto limit = number_param(request, "limit", usual, 1, most);
  if (!limit) return std::unexpected(limit.error());
  const auto offset = number_param(request, "offset", 0, 0, 10'000'000);
  if (!offset) return std::unexpected(offset.error());
  return Slice{*offset, *limit};
}

/// Where to go on; null where all was given.
nlohmann::json next_of(const Slice& slice, std::size_t total) {
  const std::int64_t next = slice.offset + slice.limit;
  return next < static_cast<std::int64_t>(total) ? nlohmann::json(next) : nlohmann::json();
}

}  // namespace

Answer boards_api(Context& context, const Request& request, const Parts&) {
  const auto filter = board_filter(request, 10);
  if (!filter) return std::unexpected(filter.error());
  const auto slice = slice_of(request, 20, 100);
  if (!slice) return std::unexpected(slice.error());
  const auto document = context.stores.with([&](const Store& store) -> Result<nlohmann::json> {
    auto names = store.board_names(*filter);
    if (!names) return std::unexpected(names.error());
    const auto same = [](const BoardName& a, const BoardName& b) {
      return a.task_hash == b.task_hash && a.device_name == b.device_name &&
             a.modelled == b.modelled && a.arch == b.arch;
    };
    const auto rest = std::ranges::unique(*names, same);  // the same board on another device
    names->erase(rest.begin(), rest.end());
    nlohmann::json boards = nlohmann::json::array();
    for (auto i = slice->offset; i < std::min(slice->offset + slice->limit, std::ssize(*names));
         ++i) {
      const BoardName& name = (*names)[static_cast<std::size_t>(i)];
      BoardFilter one = *filter;
      one.task = name.task_hash;
      one.device = name.device_name;
      one.arch.clear();
      one.modelled = name.modelled;
      const auto found = store.boards(one);
      if (!found) return std::unexpected(found.error());
      for (const Board& board : *found) {
        if (board.task_hash != name.task_hash || board.device_name != name.device_name) continue;
        boards.push_back(results::board_json(board));
        boards.back()["arch"] = name.arch;
      }
    }
    return nlohmann::json{
        {"boards", boards}, {"total", names->size()}, {"next", next_of(*slice, names->size())}};
  });
  if (!document) return context.broken(document.error());
  return json_response(*document);
}

Answer tasks_api(Context& context, const Request& request, const Parts&) {
  const auto slice = slice_of(request, 100, 1000);
  if (!slice) return std::unexpected(slice.error());
  const auto tasks = context.stores.with([](const Store& store) { return store.tasks(); });
  if (!tasks) return context.broken(tasks.error());
  nlohmann::json list = nlohmann::json::array();
  for (auto i = slice->offset; i < std::min(slice->offset + slice->limit, std::ssize(*tasks));
       ++i) {
    const TaskRecord& task = (*tasks)[static_cast<std::size_t>(i)];
    list.push_back({{"hash", task.hash}, {"name", task.name}, {"stored_at", task.stored_at}});
  }
  return json_response(
      {{"tasks", list}, {"total", tasks->size()}, {"next", next_of(*slice, tasks->size())}});
}

Answer task_api(Context& context, const Request&, const Parts& parts) {
  if (!is_hex_id(parts[0])) return not_found("There is no such task.");
  auto task = context.stores.with([&](const Store& store) { return store.find_task(parts[0]); });
  if (!task && task.error().code == ErrorCode::kInvalidInput)
    return not_found("There is no such task, or more than one begins so.");
  if (!task) return context.broken(task.error());
  return json_response({{"hash", parts[0].size() < 32 ? task->hash() : parts[0]},
                        {"name", task->name},
                        {"task", without_folders(*task)}});
}

Answer candidate_api(Context& context, const Request&, const Parts& parts) {
  const auto data = read_candidate(context, parts[0], "");
  if (!data) return std::unexpected(data.error());
  return json_response(results::candidate_json(
      data->row, data->finals, context.formatted(data->row.candidate.program.source)));
}

Answer diff_api(Context& context, const Request& request, const Parts& parts) {
  const auto data = read_candidate(context, parts[0], request.param("against"));
  if (!data) return std::unexpected(data.error());
  const CandidateRecord& candidate = data->row.candidate;
  const std::string before = context.formatted(data->before),
                    after = context.formatted(without_task_comment(candidate.program.source));
  nlohmann::json rows = nlohmann::json::array();
  for (const results::LinePair& row : results::side_by_side(before, after)) {
    const auto number = [](int no) { return no > 0 ? nlohmann::json(no) : nlohmann::json(); };
    rows.push_back({{"kind", to_string(row.kind)},
                    {"left_no", number(row.left_no)},
                    {"left", row.left},
                    {"right_no", number(row.right_no)},
                    {"right", row.right}});
  }
  return json_response({{"before", data->before_name}, {"after", candidate.id}, {"rows", rows}});
}

Answer runs_api(Context& context, const Request& request, const Parts&) {
  const auto limit = number_param(request, "limit", 50, 1, 200);
  if (!limit) return std::unexpected(limit.error());
  const auto before = number_param(request, "before", 0, 0, INT64_MAX);
  if (!before) return std::unexpected(before.error());
  const RunFilter filter{.task = request.param("task"),
                         .job = request.param("job"),
                         .before = *before,
                         .limit = static_cast<int>(*limit)};
  const auto runs = context.stores.with([&](const Store& store) { return store.runs(filter); });
  if (!runs) return context.broken(runs.error());
  nlohmann::json list = nlohmann::json::array();
  for (const RunRecord& run : *runs) list.push_back(results::run_json(run));
  const bool more = std::ssize(*runs) == *limit;
  return json_response(
      {{"runs", list}, {"next", more ? nlohmann::json(runs->back().id) : nlohmann::json()}});
}

Answer run_api(Context& context, const Request&, const Parts& parts) {
  const auto data = read_run(context, parts[0]);
  if (!data) return std::unexpected(data.error());
  nlohmann::json json = results::run_json(data->run);
  json["summary"] = summary_json(*data);
  return json_response(json);
}

Answer points_api(Context& context, const Request& request, const Parts& parts) {
  const auto id = run_id(parts[0]);
  if (!id) return std::unexpected(id.error());
  const auto limit = number_param(request, "limit", 1000, 1, 10'000);
  if (!limit) return std::unexpected(limit.error());
  const auto after = number_param(request, "after", 0, 0, INT64_MAX);
  if (!after) return std::unexpected(after.error());
  bool found = false;
  const auto points = context.stores.with([&](const Store& store) -> Result<std::vector<RunPoint>> {
    if (const auto run = store.find_run(*id); !run) return std::unexpected(run.error());
    found = true;
    return store.run_points(*id, *after, static_cast<int>(*limit));
  });
  if (!points && !found && points.error().code == ErrorCode::kInvalidInput)
    return not_found("There is no such run.");
  if (!points) return context.broken(points.error());
  nlohmann::json list = nlohmann::json::array();
  for (const RunPoint& point : *points) list.push_back(results::point_json(point));
  const bool more = std::ssize(*points) == *limit;
  return json_response(
      {{"points", list}, {"next", more ? nlohmann::json(points->back().id) : nlohmann::json()}});
}

Answer jobs_api(Context& context, const Request& request, const Parts&) {
  if (const auto there = with_queue(context); !there) return std::unexpected(there.error());
  const auto limit = number_param(request, "limit", 50, 1, 1000);
  if (!limit) return std::unexpected(limit.error());
  const auto filter = job_filter(request);
  if (!filter) return std::unexpected(filter.error());
  const auto jobs = job_views(*context.broker, *filter, static_cast<int>(*limit));
  if (!jobs) return context.queue_broken(jobs.error());
  nlohmann::json list = nlohmann::json::array();
  for (const auto& job : *jobs) list.push_back(results::job_json(job));
  return json_response({{"jobs", list}});
}

Answer workers_api(Context& context, const Request&, const Parts&) {
  if (const auto there = with_queue(context); !there) return std::unexpected(there.error());
  const auto workers = context.broker->registered();
  if (!workers) return context.queue_broken(workers.error());
  return json_response({{"workers", results::workers_json(*workers)}});
}

Answer job_api(Context& context, const Request&, const Parts& parts) {
  const auto job = read_job_view(context, parts[0]);
  if (!job) return std::unexpected(job.error());
  return json_response(results::job_json(*job));
}

Answer openapi(Context&, const Request&, const Parts&) {
  Response response;
  response.type = "application/json";
  response.body = openapi_text();
  return response;
}

}  // namespace hone::web
