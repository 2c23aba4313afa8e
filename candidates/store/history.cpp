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
constexpr int kRunColumnCount = 17;

constexpr const char* kPointColumns =
    "p.id, p.candidate, c.origin, p.verdict, p.final, COALESCE(p.speedup, 0), "
    "COALESCE(p.time_us, 0), COALESCE(p.ci95_low, 0), COALESCE(p.ci95_high, 0), p.found_at";
constexpr const char* kPointTables = "run_points p JOIN candidates c ON c.id = p.candidate";

Verdict verdict_of(const std::string& text) {
  return parse_verdict(text).value_or(Verdict::kCrash);
}

std::vector<RunPoint> read_points(SQLite::Statement& query) {
  std::vector<RunPoint> points;
  while (query.executeStep()) {
    RunPoint& point = points.emplace_back();
    point.id = query.getColumn(0).getInt64();
    point.candidate = query.getColumn(1).getString();
    point.origin = query.getColumn(2).getString();
    point.verdict = verdict_of(query.getColumn(3).getString());
    point.final_stage = query.getColumn(4).getInt() != 0;
    point.speedup = query.getColumn(5).getDouble();
    point.time_us = query.getColumn(6).getDouble();
    point.ci95_low = query.getColumn(7).getDouble();
    point.ci95_high = query.getColumn(8).getDouble();
    point.found_at = query.getColumn(9).getString();
  }
  return points;
}

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
    SQLite::Statement query(impl_->database,
                            fmt::format("SELECT {} FROM {} WHERE p.run = ? AND p.id > ? "
                                        "ORDER BY p.id LIMIT ?",
                                        kPointColumns, kPointTables));
    query.bind(1, run);
    query.bind(2, after);
    query.bind(3, std::max(limit, 1));
    return read_points(query);
  });
}

Result<RunOutline> Store::run_outline(std::int64_t run, int fastest, int progress) const {
  return impl_->guarded([&] {
    SQLite::Transaction snapshot(impl_->database);  // one state for all the reads
    RunOutline outline;
    SQLite::Statement counts(
        impl_->database,
        "SELECT verdict, COUNT(*), SUM(verdict = 'ok' AND speedup > 0) FROM run_points "
        "WHERE run = ? AND final = 0 GROUP BY verdict");
    counts.bind(1, run);
    std::int64_t timed = 0;
    while (counts.executeStep()) {
      const Verdict verdict = verdict_of(counts.getColumn(0).getString());
      outline.verdicts[verdict] += counts.getColumn(1).getInt64();
      timed += counts.getColumn(2).getInt64();
    }
    // By their own index: SQLite would rather read the whole run.
    SQLite::Statement finals(
        impl_->database,
        fmt::format("SELECT {} FROM run_points p INDEXED BY run_points_final "
                    "JOIN candidates c ON c.id = p.candidate WHERE p.run = ? AND p.final = 1 "
                    "ORDER BY p.id",
                    kPointColumns));
    finals.bind(1, run);
    outline.finals = read_points(finals);
    SQLite::Statement best(
        impl_->database,
        fmt::format("SELECT {} FROM (SELECT * FROM run_points WHERE run = ? AND verdict = 'ok' "
                    "AND speedup > 0 ORDER BY final DESC, speedup DESC, id LIMIT ?) p "
                    "JOIN candidates c ON c.id = p.candidate "
                    "ORDER BY p.final DESC, p.speedup DESC, p.id",
                    kPointColumns));
    best.bind(1, run);
    best.bind(2, std::max(fastest, 1));
    outline.fastest = read_points(best);
    SQLite::Statement thinned(
        impl_->database,
        fmt::format("SELECT {} FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY id) AS place, "
                    "MAX(speedup) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 "
                    "PRECEDING) AS best FROM run_points WHERE run = ? AND final = 0 "
                    "AND verdict = 'ok' AND speedup > 0) p JOIN candidates c ON c.id = p.candidate "
                    "WHERE p.best IS NULL OR p.speedup > p.best OR p.place % ? = 0 ORDER BY p.id",
                    kPointColumns));
    thinned.bind(1, run);
    thinned.bind(2, timed / std::max(progress, 1) + 1);
    outline.progress = read_points(thinned);
    return outline;
  });
}

Result<std::vector<RunOfCandidate>> Store::runs_of_candidate(const std::string& id,
                                                             int limit) const {
  return impl_->guarded([&] {
    SQLite::Statement query(
        impl_->database,
        fmt::format("SELECT {}, MIN(p.found_at) FROM run_points p JOIN runs u ON u.id = p.run "
                    "JOIN tasks t ON t.hash = u.task_hash WHERE p.candidate = ? "
                    "GROUP BY p.run ORDER BY p.run DESC LIMIT ?",
                    kRunColumns));
    query.bind(1, id);
    query.bind(2, std::max(limit, 1));
    std::vector<RunOfCandidate> runs;
    while (query.executeStep())
      runs.push_back({read_run(query), query.getColumn(kRunColumnCount).getString()});
    return runs;
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
        "OR substr(t.hash, 1, length(:task)) = :task) AND " +
            store_detail::is_on_device("u") +
            " AND (:arch = '' OR :arch = u.arch) AND :modelled IN (-1, u.modelled) "
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
