#include "candidates/store/schema.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <stdexcept>

namespace hone::store_detail {
namespace {

// kMigrations[i] leads from version i to i + 1. Never edit one that was released: add another.
constexpr std::array<const char*, 16> kMigrations = {R"sql(
CREATE TABLE tasks (
  hash TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  json TEXT NOT NULL,
  stored_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX tasks_by_name ON tasks (name, stored_at);

CREATE TABLE runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  task_hash TEXT NOT NULL REFERENCES tasks (hash),
  device TEXT NOT NULL,
  device_name TEXT NOT NULL,
  arch TEXT NOT NULL,
  toolchain TEXT NOT NULL,
  driver TEXT NOT NULL,
  hone_version TEXT NOT NULL,
  modelled INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  strategy TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  status TEXT NOT NULL DEFAULT 'running'
);

CREATE TABLE candidates (
  id TEXT PRIMARY KEY,
  program_hash TEXT NOT NULL,
  task_hash TEXT NOT NULL REFERENCES tasks (hash),
  program TEXT NOT NULL,
  recipe TEXT NOT NULL,
  origin TEXT NOT NULL,
  parent TEXT NOT NULL,
  UNIQUE (program_hash, task_hash)
) WITHOUT ROWID;

CREATE TABLE results (
  id INTEGER PRIMARY KEY,
  candidate TEXT NOT NULL REFERENCES candidates (id),
  run INTEGER REFERENCES runs (id),
  task_hash TEXT NOT NULL,
  device TEXT NOT NULL,
  device_name TEXT NOT NULL,
  arch TEXT NOT NULL,
  toolchain TEXT NOT NULL,
  driver TEXT NOT NULL,
  hone_version TEXT NOT NULL,
  modelled INTEGER NOT NULL,
  final INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  speedup REAL,
  time_us REAL,
  evaluation TEXT NOT NULL,
  found_at TEXT NOT NULL,
  UNIQUE (candidate, device_name, toolchain, modelled, final)
);
CREATE INDEX results_ranked ON results
  (task_hash, device_name, modelled, speedup DESC, time_us, candidate)
  WHERE verdict = 'ok' AND final = 1;

-- The boards that ever had an entry, once for each device and arch under their device name, so that
-- listing and filtering them reads no results.
CREATE TABLE boards (
  task_hash TEXT NOT NULL REFERENCES tasks (hash),
  device_name TEXT NOT NULL,
  modelled INTEGER NOT NULL,
  device TEXT NOT NULL,
  arch TEXT NOT NULL,
  PRIMARY KEY (task_hash, device_name, modelled, device, arch)
) WITHOUT ROWID;
)sql",
                                                     R"sql(
ALTER TABLE runs ADD COLUMN sandbox TEXT NOT NULL DEFAULT 'best-effort';
ALTER TABLE results ADD COLUMN sandbox TEXT NOT NULL DEFAULT 'best-effort';
)sql",
                                                     R"sql(
CREATE TABLE baselines (
  task_hash TEXT NOT NULL REFERENCES tasks (hash),
  device_name TEXT NOT NULL,
  kind TEXT NOT NULL,
  device TEXT NOT NULL,
  time_us REAL NOT NULL,
  ci95_low REAL NOT NULL,
  ci95_high REAL NOT NULL,
  samples TEXT NOT NULL,
  precision TEXT NOT NULL,
  versions TEXT NOT NULL,
  stored_at TEXT NOT NULL,
  PRIMARY KEY (task_hash, device_name, kind)
) WITHOUT ROWID;
)sql",
                                                     R"sql(
CREATE TABLE devices (
  device_name TEXT NOT NULL,
  driver TEXT NOT NULL,
  ceilings TEXT NOT NULL,
  PRIMARY KEY (device_name, driver)
) WITHOUT ROWID;
)sql",
                                                     R"sql(
ALTER TABLE runs ADD COLUMN job TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX runs_of_jobs ON runs (job, device_name, modelled) WHERE job <> '';
CREATE TABLE run_results (
  run INTEGER NOT NULL REFERENCES runs (id),
  program_hash TEXT NOT NULL,
  evaluation TEXT NOT NULL,
  PRIMARY KEY (run, program_hash)
) WITHOUT ROWID;
CREATE TABLE fence (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  token INTEGER NOT NULL
);
INSERT INTO fence (only, token) VALUES (1, 0);
)sql",
                                                     R"sql(
CREATE INDEX results_by_run ON results (run, id);
CREATE INDEX runs_by_task ON runs (task_hash, id);
)sql",
                                                     R"sql(
CREATE TABLE bench_rows (
  bench TEXT NOT NULL,
  task_hash TEXT NOT NULL REFERENCES tasks (hash),
  row TEXT NOT NULL,
  stored_at TEXT NOT NULL,
  PRIMARY KEY (bench, task_hash)
) WITHOUT ROWID;
)sql",
                                                     R"sql(
-- What a run got stays the run's, whoever finds the same later. By run, in the order of storing.
CREATE TABLE run_points (
  run INTEGER NOT NULL REFERENCES runs (id),
  id INTEGER NOT NULL,
  candidate TEXT NOT NULL REFERENCES candidates (id),
  final INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  speedup REAL,
  time_us REAL,
  ci95_low REAL,
  ci95_high REAL,
  found_at TEXT NOT NULL,
  PRIMARY KEY (run, id)
) WITHOUT ROWID;
-- A result that a later run found again had kept the time of its first storing.
INSERT INTO run_points
  SELECT r.run, r.id, r.candidate, r.final, r.verdict, r.speedup, r.time_us,
    CASE WHEN r.final = 1 AND json_valid(r.evaluation)
      THEN json_extract(r.evaluation, '$.measurement.ci95[0]') END,
    CASE WHEN r.final = 1 AND json_valid(r.evaluation)
      THEN json_extract(r.evaluation, '$.measurement.ci95[1]') END,
    MAX(r.found_at, u.started_at)
  FROM results r JOIN runs u ON u.id = r.run ORDER BY r.run, r.id;
CREATE UNIQUE INDEX run_points_of_candidates ON run_points (candidate, run, final);
CREATE INDEX run_points_final ON run_points (run, id) WHERE final = 1;
DROP INDEX results_by_run;

-- What boards are filtered by, in the index that ranks them. SQLite looks at `verdict` and `final`
-- again, so they are there too.
ALTER TABLE results ADD COLUMN origin TEXT;
ALTER TABLE results ADD COLUMN math INTEGER;
UPDATE results SET origin = c.origin, math = (
    SELECT COALESCE(MAX(CASE json_extract(step.value, '$.math') WHEN 'exact' THEN 0
      WHEN 'reassociate' THEN 1 WHEN 'tf32x3' THEN 2 ELSE 3 END), 0) FROM json_each(c.recipe) step)
  FROM candidates c WHERE c.id = results.candidate AND results.final = 1 AND json_valid(c.recipe);
DROP INDEX results_ranked;
CREATE INDEX results_ranked ON results
  (task_hash, device_name, modelled, speedup DESC, time_us, candidate, toolchain DESC, origin, math,
   verdict, final)
  WHERE verdict = 'ok' AND final = 1;
)sql",
                                                     R"sql(
-- What a language model was asked in a run and what it said, and which candidates came of that.
CREATE TABLE replies (
  run INTEGER NOT NULL REFERENCES runs (id),
  id TEXT NOT NULL,
  mode TEXT NOT NULL,
  prompt_version TEXT NOT NULL,
  model TEXT NOT NULL,
  text TEXT NOT NULL,
  outcome TEXT NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  nano_dollars INTEGER NOT NULL,
  exact INTEGER NOT NULL,
  seconds REAL NOT NULL,
  stored_at TEXT NOT NULL,
  PRIMARY KEY (run, id)
) WITHOUT ROWID;
CREATE TABLE reply_candidates (
  candidate TEXT NOT NULL REFERENCES candidates (id),
  run INTEGER NOT NULL,
  reply TEXT NOT NULL,
  PRIMARY KEY (candidate, run, reply),
  FOREIGN KEY (run, reply) REFERENCES replies (run, id)
) WITHOUT ROWID;
)sql",
                                                     R"sql(
CREATE TABLE job_spending (
  job TEXT PRIMARY KEY,
  tokens INTEGER NOT NULL,
  nano_dollars INTEGER NOT NULL
) WITHOUT ROWID;
-- In the order of storing, from 1; 0: by an earlier version, by the time then.
ALTER TABLE replies ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
CREATE INDEX reply_candidates_of_runs ON reply_candidates (run, reply);
)sql",
                                                     R"sql(
-- What decides between results that are as fast, and which are one program to the compiler.
ALTER TABLE results ADD COLUMN steps INTEGER;
ALTER TABLE results ADD COLUMN registers INTEGER;
ALTER TABLE results ADD COLUMN code TEXT;
UPDATE results SET steps = (
    SELECT json_array_length(c.recipe) FROM candidates c
    WHERE c.id = results.candidate AND json_valid(c.recipe)),
  registers = (
    SELECT COALESCE(MAX(json_extract(kernel.value, '$.registers')), 0)
    FROM json_each(results.evaluation, '$.resources') kernel)
  WHERE final = 1 AND json_valid(evaluation);
DROP INDEX results_ranked;
CREATE INDEX results_ranked ON results
  (task_hash, device_name, modelled, speedup DESC, time_us, steps, registers, candidate,
   toolchain DESC, origin, math, code, verdict, final)
  WHERE verdict = 'ok' AND final = 1;
)sql",
                                                     R"sql(
-- The level that a result was held to. Until now nothing compared bits, so nothing was held to
-- 'exact', and what was written by hand only to what its task allows.
UPDATE results SET math = MAX(1, math, COALESCE((
    SELECT CASE json_extract(t.json, '$.math') WHEN 'reassociate' THEN 1 WHEN 'tf32x3' THEN 2
      WHEN 'reduced' THEN 3 ELSE 1 END
    FROM tasks t WHERE t.hash = results.task_hash AND json_valid(t.json)
      AND results.origin = 'variant'), 1))
  WHERE final = 1 AND math IS NOT NULL AND origin <> 'reference';
UPDATE results SET evaluation = json_set(evaluation, '$.math',
    CASE math WHEN 0 THEN 'exact' WHEN 1 THEN 'reassociate' WHEN 2 THEN 'tf32x3' ELSE 'reduced' END)
  WHERE final = 1 AND math IS NOT NULL AND json_valid(evaluation);
ALTER TABLE results RENAME COLUMN math TO held_math;
)sql",
                                                     R"sql(
ALTER TABLE tasks ADD COLUMN family TEXT NOT NULL DEFAULT '';
CREATE INDEX tasks_by_family ON tasks (family) WHERE family <> '';
)sql",
                                                     R"sql(
-- `tf32` came between `tf32x3` (2) and `reduced`, whose number it took. The new name tells which
-- numbers a file has.
UPDATE results SET held_math = 4 WHERE held_math = 3;
ALTER TABLE results RENAME COLUMN held_math TO held_level;
)sql",
                                                     R"sql(
-- Which database this is, whatever it is called and wherever it is copied to; and the queue that
-- it led last, by the name that the queue has for as long as the server keeps it.
CREATE TABLE identity (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  queue TEXT NOT NULL
);
INSERT INTO identity (only, id, created_at, queue)
  VALUES (1, lower(hex(randomblob(8))), strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), '');
-- Jobs that a coordinator took from the queue and that have not ended, as they were submitted.
CREATE TABLE jobs (
  id TEXT NOT NULL UNIQUE,
  message BLOB NOT NULL,
  kept_at TEXT NOT NULL
);
-- Written, and emptied again, to see whether the file can be written.
CREATE TABLE probe (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  bytes BLOB NOT NULL
);
)sql",
                                                     R"sql(
ALTER TABLE runs ADD COLUMN inputs TEXT NOT NULL DEFAULT '{}';
)sql"};

int pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

/// The version number that the file states is not the one of its tables.
[[noreturn]] void refuse_version(int version) {
  throw std::runtime_error(fmt::format(
      "says that it has format {}, but its tables are of another: something changed the number "
      "(`PRAGMA user_version`) or the tables; restore a copy, or name another with --db",
      version));
}

/// What the latest version added, and what the first one had.
bool has_latest_tables(SQLite::Database& database) {
  return database
             .execAndGet(
                 "SELECT (SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name IN "
                 "('tasks', "
                 "'runs', 'candidates', 'results', 'boards', 'baselines', 'devices', "
                 "'run_results', 'fence', "
                 "'bench_rows', 'run_points', 'replies', 'reply_candidates', 'job_spending', "
                 "'identity', 'jobs', 'probe')) = 17 "
                 "AND "
                 "(SELECT COUNT(*) FROM pragma_table_info('results') WHERE name IN ('sandbox', "
                 "'code', "
                 "'held_level')) = 3 AND "
                 "(SELECT COUNT(*) FROM pragma_table_info('tasks') WHERE name = 'family') = 1 "
                 "AND (SELECT COUNT(*) FROM pragma_table_info('runs') WHERE name = 'inputs') = 1")
             .getInt() == 1;
}

}  // namespace

int expect_ours(SQLite::Database& database) {
  const bool empty = database.execAndGet("SELECT COUNT(*) FROM sqlite_schema").getInt() == 0;
  if (!empty && pragma(database, "application_id") != kApplicationId) {
    throw std::runtime_error("is a SQLite database of another program; name another with --db");
  }
  const int version = pragma(database, "user_version");
  if (version > latest_version() || version < 0) {
    throw std::runtime_error(fmt::format(
        "has format {}, this hone knows up to {}; use a newer hone, or name another with --db",
        version, latest_version()));
  }
  return version;
}

void expect_latest(SQLite::Database& database) {
  const int version = expect_ours(database);
  if (version != latest_version()) {
    throw std::runtime_error(
        fmt::format("has format {} and cannot be written to bring it to {}; make the file and its "
                    "folder writable, or copy it and name the copy with --db",
                    version, latest_version()));
  }
  if (!has_latest_tables(database)) refuse_version(version);
}

int latest_version() { return static_cast<int>(kMigrations.size()); }

void migrate(SQLite::Database& database) {
  if (const int version = expect_ours(database); version == latest_version()) {
    if (!has_latest_tables(database)) refuse_version(version);
    return;
  }
  // Another process may be doing the same: look again once the write lock is held.
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  const int begin = expect_ours(database);
  for (int version = begin; version < latest_version(); ++version) {
    try {
      database.exec(kMigrations[static_cast<std::size_t>(version)]);
    } catch (const SQLite::Exception& exception) {
      // A table or column that is there already, or is not: SQLite calls it a logical error.
      if ((exception.getErrorCode() & 0xff) == SQLITE_ERROR) refuse_version(begin);
      throw;
    }
  }
  database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  database.exec(fmt::format("PRAGMA user_version = {}", latest_version()));
  transaction.commit();
}

}  // namespace hone::store_detail
