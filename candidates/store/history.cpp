// What was searched and when: tasks, runs and what each run found.
#include <algorithm>

#include "candidates/store/impl.h"

namespace hone {

using store_detail::bind_filter;

namespace {

constexpr const char* kRunColumns =
    "u.id, u.task_hash, t.name, u.device, u.device_name, u.arch, u.toolchain, u.driver, "
    "u.hone_version, u.modelled, u.sandbox, u.seed, u.strategy, u.started_at, "
    "COALESCE(u.ended_at, ''), u.status, u.job";

RunRecord read_run(SQLite::Statement& query) {
  RunRecord run;
  int i = 0;
  const auto text = [&] { return query.getColumn(i++).getString(); };
  run.id = query.getColumn(i++).getInt64();
  run.task_hash = text();
  run.task_name = text();
  run.provenance.device = text();
  run.provenance.device_name = text();
  run.provenance.arch = text();
  run.provenance.toolchain = text();
  run.provenance.driver = text();
  run.provenance.hone_version = text();
  run.provenance.modelled = query.getColumn(i++).getInt() != 0;
  run.provenance.sandbox = text();
  run.seed = static_cast<std::uint64_t>(query.getColumn(i++).getInt64());
  run.strategy = text();
  run.started_at = text();
  run.ended_at = text();
  run.status = text();
  run.job = text();
  return run;
}

}  // namespace

Result<std::vector<RunRecord>> Store::runs(const RunFilter& filter) const {
  return impl_->guarded([&] {
    SQLite::Statement query(
        impl_->database,
        fmt::format("SELECT {} FROM runs u JOIN tasks t ON t.hash = u.task_hash "
                    "WHERE (:task = '' OR t.name = :task OR t.hash = :task) "
                    "AND (:job = '' OR u.job = :job) AND (:before = 0 OR u.id < :before) "
                    "ORDER BY u.id DESC LIMIT :limit",
                    kRunColumns));
    query.bind(":task", filter.task);
    query.bind(":job", filter.job);
    query.bind(":before", filter.before);
    query.bind(":limit", std::max(filter.limit, 1));
    std::vector<RunRecord> runs;
    while (query.executeStep()) runs.push_back(read_run(query));
    return runs;
  });
}

Result<RunRecord> Store::find_run(std::int64_t id) const {
  auto found = impl_->guarded([&]() -> std::optional<RunRecord> {
    SQLite::Statement query(
        impl_->database,
        fmt::format("SELECT {} FROM runs u JOIN tasks t ON t.hash = u.task_hash WHERE u.id = ?",
                    kRunColumns));
    query.bind(1, id);
    if (!query.executeStep()) return std::nullopt;
    return read_run(query);
  });
  if (!found) return std::unexpected(found.error());
  if (!*found) return invalid(fmt::format("there is no run {} in {}", id, impl_->path.string()));
  return std::move(**found);
}

Result<std::vector<RunPoint>> Store::run_points(std::int64_t run, std::int64_t after,
                                                int limit) const {
  return impl_->guarded([&] {
    SQLite::Statement query(
        impl_->database,
        "SELECT r.id, r.candidate, c.origin, r.verdict, r.final, COALESCE(r.speedup, 0), "
        "COALESCE(r.time_us, 0), r.found_at FROM results r JOIN candidates c ON c.id = r.candidate "
        "WHERE r.run = ? AND r.id > ? ORDER BY r.id LIMIT ?");
    query.bind(1, run);
    query.bind(2, after);
    query.bind(3, std::max(limit, 1));
    std::vector<RunPoint> points;
    while (query.executeStep()) {
      RunPoint point;
      point.id = query.getColumn(0).getInt64();
      point.candidate = query.getColumn(1).getString();
      point.origin = query.getColumn(2).getString();
      point.verdict = parse_verdict(query.getColumn(3).getString()).value_or(Verdict::kCrash);
      point.final_stage = query.getColumn(4).getInt() != 0;
      point.speedup = query.getColumn(5).getDouble();
      point.time_us = query.getColumn(6).getDouble();
      point.found_at = query.getColumn(7).getString();
      points.push_back(std::move(point));
    }
    return points;
  });
}

Result<std::vector<TaskRecord>> Store::tasks() const {
  return impl_->guarded([&] {
    SQLite::Statement query(
        impl_->database, "SELECT hash, name, stored_at FROM tasks ORDER BY name, stored_at DESC");
    std::vector<TaskRecord> tasks;
    while (query.executeStep()) {
      tasks.push_back({query.getColumn(0).getString(), query.getColumn(1).getString(),
                       query.getColumn(2).getString()});
    }
    return tasks;
  });
}

Result<std::vector<SearchedTask>> Store::searched(const BoardFilter& filter) const {
  return impl_->guarded([&] {
    SQLite::Statement query(
        impl_->database,
        "SELECT t.hash, t.name, u.device_name, MAX(u.arch), u.modelled FROM runs u "
        "JOIN tasks t ON t.hash = u.task_hash WHERE (:task = '' OR t.name = :task "
        "OR substr(t.hash, 1, length(:task)) = :task) "
        "AND (:device = '' OR :device IN (u.device_name, u.device, u.arch)) "
        "AND (:arch = '' OR :arch = u.arch) AND :modelled IN (-1, u.modelled) "
        "GROUP BY t.hash, u.device_name, u.modelled "
        "ORDER BY t.name, t.stored_at DESC, u.modelled, u.device_name");
    bind_filter(query, filter);
    std::vector<SearchedTask> searched;
    while (query.executeStep()) {
      searched.push_back({query.getColumn(0).getString(), query.getColumn(1).getString(),
                          query.getColumn(2).getString(), query.getColumn(3).getString(),
                          query.getColumn(4).getInt() != 0});
    }
    return searched;
  });
}

Result<void> Store::put_bench_row(const std::string& bench, const Task& task,
                                  const nlohmann::json& row) {
  if (auto put = put_task(task); !put) return put;
  return impl_->writing([&] {
    SQLite::Statement insert(impl_->database,
                             "INSERT INTO bench_rows (bench, task_hash, row, stored_at) "
                             "VALUES (?, ?, ?, ?) ON CONFLICT (bench, task_hash) DO UPDATE SET "
                             "row = excluded.row, stored_at = excluded.stored_at");
    insert.bind(1, bench);
    insert.bind(2, task.hash());
    insert.bind(3, store_detail::dump(row));
    insert.bind(4, store_detail::now());
    insert.exec();
  });
}

Result<std::optional<nlohmann::json>> Store::bench_row(const std::string& bench,
                                                       const std::string& task_hash) const {
  return impl_->guarded([&]() -> std::optional<nlohmann::json> {
    SQLite::Statement query(impl_->database,
                            "SELECT row FROM bench_rows WHERE bench = ? AND task_hash = ?");
    query.bind(1, bench);
    query.bind(2, task_hash);
    if (!query.executeStep()) return std::nullopt;
    return store_detail::parse_stored(query.getColumn(0).getString());
  });
}

}  // namespace hone
