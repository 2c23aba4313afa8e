// Copies, checks and thins a database.
#include "candidates/store/maintenance.h"

#include <SQLiteCpp/Backup.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <system_error>

#include "candidates/store/impl.h"
#include "candidates/store/schema.h"

namespace hone {
namespace store_maintenance {
namespace {

using store_detail::parse_stored;

constexpr int kMostProblems = 100;  // that are named
constexpr std::array kTables = {"tasks",  "runs",      "candidates", "results",
                                "boards", "baselines", "run_points", "replies",
                                "jobs",   "devices",   "bench_rows"};

std::int64_t bytes_of(const std::filesystem::path& file) {
  std::error_code code;
  const auto size = std::filesystem::file_size(file, code);
  return code ? 0 : static_cast<std::int64_t>(size);
}

/// On the disk, so that a loss of power leaves it.
void sync(const std::filesystem::path& file) {
  const int handle = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return;
  (void)fsync(handle);
  close(handle);
}

/// What is in `from` as it is now, into the empty file `part`, which becomes `file`.
Result<void> copy_pages(const std::filesystem::path& from, const std::filesystem::path& part,
                        const std::filesystem::path& file) {
  constexpr int kPatience_ms = 10'000;
  constexpr int kFirstWithId = 15;  // format
  std::optional<SQLite::Database> original;
  try {
    original.emplace(from.string(), SQLite::OPEN_READONLY, kPatience_ms);
    (void)store_detail::expect_ours(*original);
  } catch (const SQLite::Exception& exception) {
    return std::unexpected(store_detail::describe(exception, from));
  } catch (const std::exception& exception) {
    return fail(ErrorCode::kIo, fmt::format("{}: {}", from.string(), exception.what()));
  }
  try {
    SQLite::Database copy(part.string(), SQLite::OPEN_READWRITE);
    SQLite::Backup pages(copy, *original);
    while (pages.executeStep(-1) != 101) {  // SQLITE_DONE
    }
    if (store_detail::expect_ours(copy) >= kFirstWithId)
      copy.exec("UPDATE identity SET id = lower(hex(randomblob(8)))");
  } catch (const SQLite::Exception& exception) {
    return std::unexpected(store_detail::describe(exception, file));
  }
  return {};
}

/// Problems, up to a number that can be read.
class Findings {
 public:
  explicit Findings(std::vector<std::string>& problems) : problems_(problems) {}
  void add(std::string problem) {
    if (++count_ <= kMostProblems) problems_.push_back(std::move(problem));
  }
  void say_how_many_more() {
    if (count_ > kMostProblems)
      problems_.push_back(fmt::format("and {} more", count_ - kMostProblems));
  }

 private:
  std::vector<std::string>& problems_;
  int count_ = 0;
};

void check_pages(SQLite::Database& database, Findings& found) {
  SQLite::Statement pages(database, fmt::format("PRAGMA integrity_check({})", kMostProblems));
  while (pages.executeStep()) {
    std::string line = pages.getColumn(0).getString();
    if (line != "ok") found.add("pages: " + std::move(line));
  }
  SQLite::Statement references(database, "PRAGMA foreign_key_check");
  while (references.executeStep()) {
    found.add(fmt::format("{}: a row refers to one of {} that is not there",
                          references.getColumn(0).getString(),
                          references.getColumn(2).getString()));
  }
}

/// `read` looks at what a row of `query` holds after its name; what it throws is a problem.
template <class Read>
void check_rows(SQLite::Database& database, const char* what, const char* sql, Findings& found,
                const Read& read) {
  SQLite::Statement query(database, sql);
  while (query.executeStep()) {
    try {
      read(query);
    } catch (const SQLite::Exception&) {
      throw;
    } catch (const std::exception& e) {
      found.add(fmt::format("{} {}: {}", what, query.getColumn(0).getString(), e.what()));
    }
  }
}

void check_contents(SQLite::Database& database, Findings& found) {
  check_rows(database, "task", "SELECT hash, json FROM tasks", found, [](SQLite::Statement& row) {
    const auto task =
        store_detail::value_or_throw(task_from_json(parse_stored(row.getColumn(1).getString())));
    if (task.hash() != row.getColumn(0).getString())
      throw std::runtime_error("what it holds has the hash " + task.hash());
  });
  check_rows(database, "candidate", "SELECT id, program_hash, program, recipe FROM candidates",
             found, [](SQLite::Statement& row) {
               const std::string id = row.getColumn(0).getString();
               if (!id.starts_with(row.getColumn(1).getString().substr(0, 12)))
                 throw std::runtime_error("its id does not begin its program's hash");
               (void)store_detail::value_or_throw(
                   program_from_json(parse_stored(row.getColumn(2).getString())));
               (void)store_detail::value_or_throw(
                   recipe_from_json(parse_stored(row.getColumn(3).getString())));
             });
  check_rows(database, "a result of candidate",
             "SELECT candidate, evaluation, verdict, final FROM results", found,
             [](SQLite::Statement& row) {
               const auto evaluation = store_detail::value_or_throw(
                   evaluation_from_json(parse_stored(row.getColumn(1).getString())));
               if (to_string(evaluation.verdict) != row.getColumn(2).getString()) {
                 throw std::runtime_error("two verdicts: " + row.getColumn(2).getString() +
                                          " and " + std::string(to_string(evaluation.verdict)));
               }
             });
  check_rows(database, "a board's result",
             "SELECT r.candidate FROM results r WHERE r.verdict = 'ok' AND r.final = 1 AND NOT "
             "EXISTS (SELECT 1 FROM boards b WHERE b.task_hash = r.task_hash AND b.device_name = "
             "r.device_name AND b.modelled = r.modelled)",
             found,
             [](SQLite::Statement&) { throw std::runtime_error("its board is not listed"); });
}

/// Of the whole database; `rows` takes how many each table has.
std::vector<std::string> problems_of(SQLite::Database& database,
                                     std::vector<std::pair<std::string, std::int64_t>>& rows) {
  std::vector<std::string> problems;
  Findings found(problems);
  try {
    const SQLite::Transaction snapshot(database);  // one state for all the reads
    check_pages(database, found);
    for (const char* table : kTables) {
      rows.emplace_back(
          table, database.execAndGet(fmt::format("SELECT COUNT(*) FROM {}", table)).getInt64());
    }
    check_contents(database, found);
  } catch (const SQLite::Exception& exception) {
    const auto fault = store_detail::fault_of(exception, 0);
    if (fault && *fault != StoreFault::kDamaged) throw;
    found.add(fmt::format("it cannot be read to its end: {}", exception.what()));
  }
  found.say_how_many_more();
  return problems;
}

/// Of each board the best result of each program, where the compiler makes one code of several of
/// the first: what boards.cpp shows.
constexpr const char* kRankedPrograms = R"sql(
CREATE TEMP TABLE ranked AS
  SELECT candidate, ROW_NUMBER() OVER (PARTITION BY task_hash, device_name, modelled
    ORDER BY speedup DESC, time_us, steps, registers, candidate) AS place
  FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY task_hash, device_name, modelled,
          COALESCE(NULLIF(code, ''), candidate)
          ORDER BY speedup DESC, time_us, steps, registers, candidate, toolchain DESC) AS of_code
        FROM results WHERE verdict = 'ok' AND final = 1)
  WHERE of_code = 1
)sql";

constexpr const char* kDoomed = R"sql(
CREATE TEMP TABLE doomed AS
  SELECT c.id AS id FROM candidates c
  WHERE c.origin <> 'reference'
    AND c.id NOT IN (SELECT candidate FROM ranked WHERE :keep = 0 OR place <= :keep)
    AND (:keep > 0 OR NOT EXISTS (SELECT 1 FROM results r WHERE r.candidate = c.id
                                  AND r.verdict = 'ok' AND r.final = 1))
    AND NOT EXISTS (SELECT 1 FROM run_points p JOIN runs u ON u.id = p.run
                    WHERE p.candidate = c.id AND u.ended_at IS NULL)
    AND (:before = '' OR NOT EXISTS (SELECT 1 FROM results r WHERE r.candidate = c.id
                                     AND r.found_at >= :before))
    AND (:before = '' OR NOT EXISTS (SELECT 1 FROM run_points p WHERE p.candidate = c.id
                                     AND p.found_at >= :before))
)sql";

/// Ended, begun before, and nothing is left of what they found.
constexpr const char* kDoomedRuns = R"sql(
CREATE TEMP TABLE doomed_runs AS
  SELECT u.id AS id FROM runs u
  WHERE u.ended_at IS NOT NULL AND (:before = '' OR u.started_at < :before)
    AND NOT EXISTS (SELECT 1 FROM run_points p WHERE p.run = u.id
                    AND p.candidate NOT IN (SELECT id FROM doomed))
    AND NOT EXISTS (SELECT 1 FROM results r WHERE r.run = u.id
                    AND r.candidate NOT IN (SELECT id FROM doomed))
    AND NOT EXISTS (SELECT 1 FROM reply_candidates l WHERE l.run = u.id
                    AND l.candidate NOT IN (SELECT id FROM doomed))
)sql";

constexpr std::array kTemporary = {"ranked", "doomed", "doomed_runs"};

std::int64_t count(SQLite::Database& database, const char* sql) {
  return database.execAndGet(sql).getInt64();
}

Pruned count_doomed(SQLite::Database& database) {
  Pruned pruned;
  pruned.candidates = count(database, "SELECT COUNT(*) FROM doomed");
  pruned.results =
      count(database, "SELECT COUNT(*) FROM results WHERE candidate IN (SELECT id FROM doomed)");
  pruned.points =
      count(database, "SELECT COUNT(*) FROM run_points WHERE candidate IN (SELECT id FROM doomed)");
  pruned.replies =
      count(database, "SELECT COUNT(*) FROM replies WHERE run IN (SELECT id FROM doomed_runs)");
  pruned.runs = count(database, "SELECT COUNT(*) FROM doomed_runs");
  return pruned;
}

constexpr const char* kDelete = R"sql(
DELETE FROM reply_candidates WHERE candidate IN (SELECT id FROM doomed);
DELETE FROM run_points WHERE candidate IN (SELECT id FROM doomed);
DELETE FROM results WHERE candidate IN (SELECT id FROM doomed);
UPDATE candidates SET parent = '' WHERE parent IN (SELECT id FROM doomed);
DELETE FROM candidates WHERE id IN (SELECT id FROM doomed);
DELETE FROM replies WHERE run IN (SELECT id FROM doomed_runs);
DELETE FROM run_results WHERE run IN (SELECT id FROM doomed_runs);
DELETE FROM runs WHERE id IN (SELECT id FROM doomed_runs);
)sql";

}  // namespace
}  // namespace store_maintenance

Result<void> Store::backup(const std::filesystem::path& database,
                           const std::filesystem::path& file) {
  std::error_code code;
  if (!std::filesystem::exists(database, code))
    return invalid(fmt::format("{}: there is no database here", database.string()));
  if (std::filesystem::exists(std::filesystem::symlink_status(file, code)))
    return invalid(fmt::format("{}: is there already; name a new file", file.string()));
  std::string part = file.string() + ".part-XXXXXX";
  const int made = mkstemp(part.data());
  if (made < 0)
    return fail(ErrorCode::kEnvironment,
                fmt::format("{}: {}", file.string(), std::generic_category().message(errno)));
  close(made);
  auto copied = store_maintenance::copy_pages(database, part, file);
  if (copied) {
    store_maintenance::sync(part);
    // Replaces nothing, whoever has made it meanwhile.
    std::filesystem::create_hard_link(part, file, code);
    if (code) copied = fail(ErrorCode::kIo, fmt::format("{}: {}", file.string(), code.message()));
    store_maintenance::sync(file.has_parent_path() ? file.parent_path() : ".");
  }
  std::filesystem::remove(part, code);
  return copied;
}

Result<StoreCheck> Store::check() const {
  auto identity = this->identity();
  if (!identity) return std::unexpected(identity.error());
  return impl_->guarded([&] {
    StoreCheck check;
    check.identity = std::move(*identity);
    SQLite::Database& database = impl_->database;
    check.format = database.execAndGet("PRAGMA user_version").getInt();
    check.bytes = store_maintenance::bytes_of(impl_->path);
    check.problems = store_maintenance::problems_of(database, check.rows);
    return check;
  });
}

Result<Pruned> Store::prune(const PruneOptions& options) {
  if (options.before.find_first_not_of("0123456789-:.TZ") != std::string::npos)
    return invalid(fmt::format("'{}' is no time", options.before));
  const std::int64_t before = store_maintenance::bytes_of(impl_->path);
  auto pruned = impl_->writing([&] {
    SQLite::Database& database = impl_->database;
    for (const char* table : store_maintenance::kTemporary)
      database.exec(fmt::format("DROP TABLE IF EXISTS temp.{}", table));
    database.exec(store_maintenance::kRankedPrograms);
    for (const char* sql : {store_maintenance::kDoomed, store_maintenance::kDoomedRuns}) {
      // A table's definition takes no parameters, so they are written out.
      std::string text(sql);
      const auto replace = [&text](std::string_view name, const std::string& value) {
        for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at))
          text.replace(at, name.size(), value);
      };
      replace(":keep", fmt::format("{}", std::max(options.keep, 0)));
      replace(":before", "'" + options.before + "'");
      database.exec(text);
      if (sql == store_maintenance::kDoomed) database.exec("CREATE INDEX temp.of ON doomed (id)");
    }
    Pruned counted = store_maintenance::count_doomed(database);
    if (!options.dry_run) database.exec(store_maintenance::kDelete);
    for (const char* table : store_maintenance::kTemporary)
      database.exec(fmt::format("DROP TABLE temp.{}", table));
    return counted;
  });
  if (!pruned) return pruned;
  if (!options.dry_run) {
    const auto shrunk = impl_->guarded([&] {
      impl_->database.exec("VACUUM");
      impl_->database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    });
    if (!shrunk) pruned->not_shrunk = shrunk.error().message;
  }
  pruned->bytes_before = before;
  pruned->bytes_after = store_maintenance::bytes_of(impl_->path);
  return pruned;
}

}  // namespace hone
