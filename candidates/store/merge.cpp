// Takes over what another database knows.
#include <cstdlib>

#include "candidates/store/impl.h"
#include "candidates/store/maintenance.h"

namespace hone {
namespace store_merge {
namespace {

/// The other database, for as long as it lives: not inside a transaction.
class Attached {
 public:
  Attached(SQLite::Database& database, const std::string& uri) : database_(database) {
    SQLite::Statement attach(database, "ATTACH ? AS other");
    attach.bind(1, uri);
    attach.exec();
  }
  ~Attached() { (void)database_.tryExec("DETACH other"); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  SQLite::Database& database_;
};

/// A copy of another database that has an older format, in a folder of its own beside ours: the
/// system's place for temporary files may be too small.
class Copied {
 public:
  explicit Copied(const std::filesystem::path& ours) : ours_(ours) {}
  ~Copied() {
    std::error_code code;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, code);
  }
  Copied(const Copied&) = delete;
  Copied& operator=(const Copied&) = delete;

  /// The copy's path, not migrated yet.
  [[nodiscard]] Result<std::filesystem::path> copy(const std::filesystem::path& other) {
    std::string folder = ours_.string() + ".merge-XXXXXX";
    if (mkdtemp(folder.data()) != nullptr) folder_ = folder;
    if (folder_.empty()) {
      return fail(ErrorCode::kEnvironment,
                  "no folder could be made beside the database for a copy of the other one");
    }
    const auto copied = folder_ / "other.db";
    std::filesystem::path log = other;
    log += "-wal";
    std::error_code code;
    if (std::filesystem::exists(log, code)) {  // somebody may write to it
      if (auto done = Store::backup(other, copied); !done) return std::unexpected(done.error());
      return copied;
    }
    const auto before = std::filesystem::last_write_time(other, code);
    std::filesystem::copy_file(other, copied, code);
    if (code) {
      return fail(ErrorCode::kIo, fmt::format("{}: cannot be copied to {}: {}", other.string(),
                                              copied.string(), code.message()));
    }
    if (std::filesystem::exists(log, code) ||
        std::filesystem::last_write_time(other, code) != before)
      return written_meanwhile(other);
    return copied;
  }

  static std::unexpected<Error> written_meanwhile(const std::filesystem::path& other) {
    return fail(ErrorCode::kInfrastructure,
                fmt::format("{}: another process began to write to it; run again", other.string()));
  }

 private:
  std::filesystem::path ours_, folder_;
};

/// Of a verdict's column: the program is wrong, whatever else is known (disproves(), store.cpp).
constexpr std::string_view kDisproves = "IN ('fault', 'race', 'wrong_result', 'tampering')";

constexpr const char* kTasks =
    "INSERT INTO main.tasks (hash, name, json, stored_at, family) "
    "SELECT hash, name, json, stored_at, family FROM other.tasks WHERE true "
    "ON CONFLICT DO NOTHING";

constexpr const char* kMatchRuns = R"sql(
CREATE TEMP TABLE same_runs (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
-- Of a job there is one run for each device; any other is known by when and how it began.
INSERT INTO same_runs
  SELECT t.id, MIN(o.id) FROM other.runs t JOIN main.runs o
    ON o.task_hash = t.task_hash AND o.device_name = t.device_name AND o.modelled = t.modelled
   AND o.job = t.job AND (t.job <> '' OR (o.started_at = t.started_at AND o.seed = t.seed
                                          AND o.strategy = t.strategy))
  GROUP BY t.id;
)sql";

constexpr const char* kNewRuns =
    "SELECT id FROM other.runs WHERE id NOT IN (SELECT theirs FROM same_runs) "
    "AND (job = '' OR ended_at IS NOT NULL) ORDER BY id";

constexpr const char* kInsertRun =
    "INSERT INTO main.runs (task_hash, device, device_name, arch, toolchain, driver, "
    "hone_version, modelled, seed, strategy, started_at, ended_at, status, sandbox, job, inputs) "
    "SELECT task_hash, device, device_name, arch, toolchain, driver, hone_version, modelled, seed, "
    "strategy, started_at, ended_at, status, sandbox, job, inputs FROM other.runs WHERE id = ?";

/// {}: kDisproves.
constexpr std::string_view kResults = R"sql(
INSERT INTO main.results (candidate, run, task_hash, device, device_name, arch, toolchain, driver,
    hone_version, modelled, final, verdict, speedup, time_us, evaluation, found_at, sandbox, origin,
    held_level, steps, registers, code)
  SELECT s.ours, u.ours, r.task_hash, r.device, r.device_name, r.arch, r.toolchain, r.driver,
    r.hone_version, r.modelled, r.final, r.verdict, r.speedup, r.time_us, r.evaluation, r.found_at,
    r.sandbox, r.origin, r.held_level, r.steps, r.registers, r.code
  FROM other.results r JOIN same_candidates s ON s.theirs = r.candidate
  LEFT JOIN same_runs u ON u.theirs = r.run WHERE true
  ON CONFLICT (candidate, device_name, toolchain, modelled, final) DO UPDATE SET
    run = excluded.run, verdict = excluded.verdict, speedup = excluded.speedup,
    time_us = excluded.time_us, evaluation = excluded.evaluation, found_at = excluded.found_at
  WHERE excluded.verdict {0} AND NOT results.verdict {0};
)sql";

/// {}: kDisproves. What one database has shown to be wrong is on no board of the other.
constexpr std::string_view kWithdraw = R"sql(
DELETE FROM main.results WHERE final = 1 AND verdict = 'ok' AND EXISTS (
  SELECT 1 FROM main.results d WHERE d.candidate = results.candidate
    AND d.device_name = results.device_name AND d.toolchain = results.toolchain
    AND d.modelled = results.modelled AND d.verdict {0});
UPDATE main.run_points SET speedup = NULL, time_us = NULL, ci95_low = NULL, ci95_high = NULL,
    verdict = (SELECT d.verdict FROM main.results d JOIN main.runs u ON u.id = run_points.run
      WHERE d.candidate = run_points.candidate AND d.device_name = u.device_name
        AND d.toolchain = u.toolchain AND d.modelled = u.modelled AND d.verdict {0})
  WHERE final = 1 AND verdict = 'ok' AND EXISTS (
    SELECT 1 FROM main.results d JOIN main.runs u ON u.id = run_points.run
      WHERE d.candidate = run_points.candidate AND d.device_name = u.device_name
        AND d.toolchain = u.toolchain AND d.modelled = u.modelled AND d.verdict {0});
)sql";

constexpr const char* kTheRest = R"sql(
INSERT INTO main.run_points (run, id, candidate, final, verdict, speedup, time_us, ci95_low,
    ci95_high, found_at)
  SELECT u.ours, COALESCE((SELECT MAX(q.id) FROM main.run_points q WHERE q.run = u.ours), 0)
      + ROW_NUMBER() OVER (PARTITION BY u.ours ORDER BY p.run, p.id),
    s.ours, p.final, p.verdict, p.speedup, p.time_us, p.ci95_low, p.ci95_high, p.found_at
  FROM other.run_points p JOIN same_runs u ON u.theirs = p.run
  JOIN same_candidates s ON s.theirs = p.candidate
  WHERE NOT EXISTS (SELECT 1 FROM main.run_points q WHERE q.run = u.ours AND q.candidate = s.ours
                    AND q.final = p.final);
INSERT INTO main.boards SELECT * FROM other.boards WHERE true ON CONFLICT DO NOTHING;
INSERT INTO main.baselines (task_hash, device_name, kind, device, time_us, ci95_low, ci95_high,
    samples, precision, versions, stored_at)
  SELECT task_hash, device_name, kind, device, time_us, ci95_low, ci95_high, samples, precision,
    versions, stored_at FROM other.baselines WHERE true
  ON CONFLICT (task_hash, device_name, kind) DO UPDATE SET device = excluded.device,
    time_us = excluded.time_us, ci95_low = excluded.ci95_low, ci95_high = excluded.ci95_high,
    samples = excluded.samples, precision = excluded.precision, versions = excluded.versions,
    stored_at = excluded.stored_at WHERE excluded.stored_at > baselines.stored_at;
INSERT INTO main.devices SELECT * FROM other.devices WHERE true ON CONFLICT DO NOTHING;
INSERT INTO main.bench_rows SELECT * FROM other.bench_rows WHERE true ON CONFLICT DO NOTHING;
INSERT INTO main.replies (run, id, mode, prompt_version, model, text, outcome, input_tokens,
    output_tokens, nano_dollars, exact, seconds, stored_at, number)
  SELECT u.ours, r.id, r.mode, r.prompt_version, r.model, r.text, r.outcome, r.input_tokens,
    r.output_tokens, r.nano_dollars, r.exact, r.seconds, r.stored_at, r.number
  FROM other.replies r JOIN same_runs u ON u.theirs = r.run WHERE true ON CONFLICT DO NOTHING;
INSERT INTO main.reply_candidates (candidate, run, reply)
  SELECT s.ours, u.ours, l.reply FROM other.reply_candidates l
  JOIN same_runs u ON u.theirs = l.run JOIN same_candidates s ON s.theirs = l.candidate WHERE true
  ON CONFLICT DO NOTHING;
)sql";

std::int64_t rows(SQLite::Database& database, const char* table) {
  return database.execAndGet(fmt::format("SELECT COUNT(*) FROM main.{}", table)).getInt64();
}

}  // namespace
}  // namespace store_merge

/// Every candidate of the other database under the id that it has here; new ones are stored.
void Store::Impl::merge_candidates() {
  database.exec(
      "CREATE TEMP TABLE same_candidates (theirs TEXT PRIMARY KEY, ours TEXT NOT NULL, "
      "is_new INTEGER NOT NULL)");
  SQLite::Statement theirs(database, "SELECT id, program_hash, task_hash FROM other.candidates");
  SQLite::Statement known(
      database, "SELECT id FROM main.candidates WHERE program_hash = ? AND task_hash = ?");
  SQLite::Statement insert(
      database,
      "INSERT INTO main.candidates (id, program_hash, task_hash, program, recipe, origin, parent) "
      "SELECT ?, program_hash, task_hash, program, recipe, origin, '' FROM other.candidates "
      "WHERE id = ?");
  SQLite::Statement match(database, "INSERT INTO same_candidates VALUES (?, ?, ?)");
  while (theirs.executeStep()) {
    CandidateRecord candidate;
    candidate.program_hash = theirs.getColumn(1).getString();
    candidate.task_hash = theirs.getColumn(2).getString();
    known.reset();
    known.bind(1, candidate.program_hash);
    known.bind(2, candidate.task_hash);
    const bool is_new = !known.executeStep();
    const std::string ours = is_new ? candidate_id(candidate) : known.getColumn(0).getString();
    const std::string their_id = theirs.getColumn(0).getString();
    if (is_new) {
      insert.reset();
      insert.bind(1, ours);
      insert.bind(2, their_id);
      insert.exec();
    }
    match.reset();
    match.bind(1, their_id);
    match.bind(2, ours);
    match.bind(3, is_new ? 1 : 0);
    match.exec();
  }
  database.exec(
      "UPDATE main.candidates SET parent = COALESCE((SELECT p.ours FROM same_candidates m "
      "JOIN other.candidates c ON c.id = m.theirs JOIN same_candidates p ON p.theirs = c.parent "
      "WHERE m.ours = candidates.id), '') "
      "WHERE id IN (SELECT ours FROM same_candidates WHERE is_new = 1)");
}

void Store::Impl::merge_runs() {
  database.exec(store_merge::kMatchRuns);
  SQLite::Statement fresh(database, store_merge::kNewRuns);
  SQLite::Statement insert(database, store_merge::kInsertRun);
  SQLite::Statement match(database, "INSERT INTO same_runs VALUES (?, ?)");
  std::vector<std::int64_t> ids;
  while (fresh.executeStep()) ids.push_back(fresh.getColumn(0).getInt64());
  for (const std::int64_t id : ids) {
    insert.reset();
    insert.bind(1, id);
    insert.exec();
    match.reset();
    match.bind(1, id);
    match.bind(2, static_cast<std::int64_t>(database.getLastInsertRowid()));
    match.exec();
  }
}

Result<Merged> Store::merge(const std::filesystem::path& file) {
  std::error_code code;
  if (!std::filesystem::exists(file, code))
    return invalid(fmt::format("{}: there is no database here", file.string()));
  if (std::filesystem::equivalent(file, impl_->path, code))
    return invalid(fmt::format("{}: is the database itself", file.string()));
  const auto format = format_of(file);
  if (!format) return std::unexpected(format.error());
  store_merge::Copied copy(impl_->path);
  auto other = [&]() -> Result<std::unique_ptr<Store>> {
    if (*format == format_version()) return open_as_it_is(file);
    const auto copied = copy.copy(file);
    if (!copied) return std::unexpected(copied.error());
    return open(*copied);
  }();
  if (!other) return std::unexpected(other.error());
  std::optional<store_merge::Attached> attached;
  const auto there = impl_->guarded([&] {
    for (const char* table : {"same_candidates", "same_runs", "ranked_before"})
      impl_->database.exec(fmt::format("DROP TABLE IF EXISTS temp.{}", table));
    attached.emplace(impl_->database, (*other)->impl_->uri);
  });
  if (!there) return std::unexpected(there.error());
  bool written = false;
  auto merged = impl_->writing([&] {
    SQLite::Database& database = impl_->database;
    const auto rows = [&](const char* table) { return store_merge::rows(database, table); };
    Merged before{rows("tasks"), rows("candidates"), rows("results"), rows("runs"),
                  rows("baselines")};
    database.exec(
        "CREATE TEMP TABLE ranked_before AS SELECT id FROM main.results WHERE final = 1 AND "
        "verdict = 'ok'");
    database.exec(store_merge::kTasks);
    impl_->merge_candidates();
    impl_->merge_runs();
    database.exec(fmt::format(store_merge::kResults, store_merge::kDisproves));
    const std::int64_t results = rows("results");
    database.exec(store_merge::kTheRest);
    database.exec(fmt::format(store_merge::kWithdraw, store_merge::kDisproves));
    Merged now{rows("tasks") - before.tasks, rows("candidates") - before.candidates,
               results - before.results, rows("runs") - before.runs,
               rows("baselines") - before.baselines};
    now.withdrawn = database
                        .execAndGet(
                            "SELECT COUNT(*) FROM ranked_before WHERE id NOT IN (SELECT id FROM "
                            "main.results WHERE final = 1 AND verdict = 'ok')")
                        .getInt64();
    for (const char* table : {"same_candidates", "same_runs", "ranked_before"})
      database.exec(fmt::format("DROP TABLE temp.{}", table));
    written = (*other)->impl_->was_written();
    if (written) throw std::runtime_error("written meanwhile");  // nothing is kept
    return now;
  });
  if (const auto detached = impl_->guarded([&] { attached.reset(); }); !detached && merged)
    return std::unexpected(detached.error());
  if (written) return store_merge::Copied::written_meanwhile(file);
  return merged;
}

}  // namespace hone
