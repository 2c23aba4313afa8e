#include "candidates/store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <tuple>

#include "candidates/store/schema.h"

namespace hone {
namespace {

constexpr std::size_t kIdDigits = 12;

std::string now() {
  const auto time = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     (time - seconds).count());
}

// Bytes that are no UTF-8 (a compiler's message, say) must not throw here.
std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Error describe(const SQLite::Exception& exception, const std::filesystem::path& path) {
  const auto at = [&path](std::string text) {
    return Error{ErrorCode::kIo, fmt::format("{}: {}", path.string(), text)};
  };
  switch (exception.getErrorCode() & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return at(
          "the database is locked by another process; wait for it, or name another with --db");
    case SQLITE_FULL:
      return at("no space is left for the database; free some and run again");
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return at(
          "the database is read-only; make the file and its folder writable, or name another "
          "with --db");
    case SQLITE_CANTOPEN:
      return at(
          "the database cannot be opened; check the folder and its permissions, or name "
          "another with --db");
    case SQLITE_NOTADB:
      return at("is not a database; name another file with --db");
    case SQLITE_CORRUPT:
      return at("the database is damaged; move it away (`sqlite3 FILE .recover` may save rows)");
    case SQLITE_IOERR:
      return at(fmt::format("reading or writing the database failed: {}", exception.what()));
    default:
      return at(exception.what());
  }
}

using BoardKey = std::tuple<std::string, std::string, bool>;  // task hash, device name, modelled

constexpr std::string_view kRowColumns =
    "c.id, c.program_hash, c.task_hash, t.name, c.program, c.recipe, c.origin, c.parent, "
    "r.evaluation, r.device, r.device_name, r.arch, r.toolchain, r.driver, r.hone_version, "
    "r.modelled, r.sandbox, r.found_at";
constexpr std::string_view kRowTables =
    "results r JOIN candidates c ON c.id = r.candidate JOIN tasks t ON t.hash = c.task_hash";

nlohmann::json parse_stored(const std::string& text) {
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw std::runtime_error("the database is damaged: a row holds no JSON");
  return json;
}

template <class T>
T value_or_throw(Result<T> result) {
  if (result) return std::move(*result);
  throw std::runtime_error("the database is damaged: " + result.error().message);
}

BoardRow read_row(SQLite::Statement& query) {
  BoardRow row;
  int i = 0;
  const auto text = [&] { return query.getColumn(i++).getString(); };
  row.candidate.id = text();
  row.candidate.program_hash = text();
  row.candidate.task_hash = text();
  row.candidate.task_name = text();
  row.candidate.program = value_or_throw(program_from_json(parse_stored(text())));
  row.candidate.recipe = value_or_throw(recipe_from_json(parse_stored(text())));
  row.candidate.origin = text();
  row.candidate.parent = text();
  row.evaluation = value_or_throw(evaluation_from_json(parse_stored(text())));
  row.provenance.device = text();
  row.provenance.device_name = text();
  row.provenance.arch = text();
  row.provenance.toolchain = text();
  row.provenance.driver = text();
  row.provenance.hone_version = text();
  row.provenance.modelled = query.getColumn(i++).getInt() != 0;
  row.provenance.sandbox = text();
  row.found_at = text();
  return row;
}

void bind_provenance(SQLite::Statement& statement, const Provenance& provenance) {
  statement.bind(":device", provenance.device);
  statement.bind(":device_name", provenance.device_name);
  statement.bind(":arch", provenance.arch);
  statement.bind(":toolchain", provenance.toolchain);
  statement.bind(":driver", provenance.driver);
  statement.bind(":hone_version", provenance.hone_version);
  statement.bind(":modelled", provenance.modelled ? 1 : 0);
  statement.bind(":sandbox", provenance.sandbox);
}

// NaN would be NULL and infinity would lead every board.
void bind_real(SQLite::Statement& statement, const char* name, double value) {
  if (std::isfinite(value)) {
    statement.bind(name, value);
  } else {
    statement.bind(name);
  }
}

// Verdicts that say the program is wrong, whatever an earlier look found.
bool disproves(Verdict verdict) {
  return verdict == Verdict::kFault || verdict == Verdict::kRace ||
         verdict == Verdict::kWrongResult || verdict == Verdict::kTampering;
}

// Brings the file to the latest format, in WAL mode. SQLite's busy handler is not asked while
// the journal mode changes, so several processes that create one file at once wait here.
void prepare_file(SQLite::Database& database, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    try {
      store_detail::migrate(database);
      // After the check that this is our file: changing the journal mode writes to it.
      if (database.execAndGet("PRAGMA journal_mode").getString() != "wal") {
        database.exec("PRAGMA journal_mode = WAL");
      }
      return;
    } catch (const SQLite::Exception& exception) {
      const int code = exception.getErrorCode() & 0xff;
      const bool busy = code == SQLITE_BUSY || code == SQLITE_LOCKED;
      if (!busy || std::chrono::steady_clock::now() >= deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

struct Store::Impl {
  Impl(const std::filesystem::path& path, const StoreOptions& options)
      : path(path),
        database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                 options.busy_timeout_ms) {}

  // Runs `body` under the lock; whatever the libraries throw becomes an Error.
  template <class Body>
  auto guarded(Body body) -> Result<decltype(body())> {
    const std::lock_guard lock(mutex);
    try {
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
        return {};
      } else {
        return body();
      }
    } catch (const SQLite::Exception& exception) {
      return std::unexpected(describe(exception, path));
    } catch (const std::exception& exception) {
      return fail(ErrorCode::kIo, fmt::format("{}: {}", path.string(), exception.what()));
    }
  }

  std::string candidate_id(const CandidateRecord& candidate);
  void put_candidate(const std::string& id, const CandidateRecord& candidate);
  void put_result(const std::string& id, std::int64_t run, const CandidateRecord& candidate,
                  const Evaluation& evaluation, const Provenance& provenance);
  std::vector<BoardKey> board_keys(const BoardFilter& filter);
  Board read_board(const BoardKey& key, int limit);
  std::vector<BaselineTime> read_baselines(const std::string& task_hash,
                                           const std::string& device_name);
  int rank_of(const BoardRow& row);

  std::filesystem::path path;
  std::mutex mutex;
  SQLite::Database database;
};

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

std::filesystem::path Store::default_path() {
  const auto folder = [](const char* name) -> std::filesystem::path {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  // The XDG specification: a relative $XDG_DATA_HOME is to be ignored.
  const std::filesystem::path data = folder("XDG_DATA_HOME");
  if (data.is_absolute()) return data / "hone" / "hone.db";
  return folder("HOME") / ".local" / "share" / "hone" / "hone.db";
}

Result<std::unique_ptr<Store>> Store::open(const std::filesystem::path& path,
                                           const StoreOptions& options) {
  const auto failed = [&path](std::string_view text) {
    return fail(ErrorCode::kIo, fmt::format("{}: {}", path.string(), text));
  };
  std::error_code code;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), code);
  if (code) {
    return failed(
        fmt::format("its folder cannot be made: {}; name another with --db", code.message()));
  }
  if (std::filesystem::is_directory(path, code))
    return failed("is a folder; name a file with --db");
  try {
    auto impl = std::make_unique<Impl>(path, options);
    SQLite::Database& database = impl->database;
    if (sqlite3_db_readonly(database.getHandle(), "main") == 1) {
      return failed("the database is read-only; make it writable, or name another with --db");
    }
    database.exec("PRAGMA foreign_keys = ON");
    prepare_file(database, std::chrono::milliseconds(options.busy_timeout_ms));
    database.exec("PRAGMA synchronous = NORMAL");
    if (options.max_bytes > 0) {
      const int page = database.execAndGet("PRAGMA page_size").getInt();
      database.exec(fmt::format("PRAGMA max_page_count = {}", options.max_bytes / page));
    }
    return std::unique_ptr<Store>(new Store(std::move(impl)));
  } catch (const SQLite::Exception& exception) {
    return std::unexpected(describe(exception, path));
  } catch (const std::exception& exception) {
    return failed(exception.what());
  }
}

Result<void> Store::put_task(const Task& task) {
  return impl_->guarded([&] {
    SQLite::Statement insert(
        impl_->database,
        "INSERT INTO tasks (hash, name, json, stored_at) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (hash) DO UPDATE SET name = excluded.name, json = excluded.json, "
        "stored_at = excluded.stored_at");
    insert.bind(1, task.hash());
    insert.bind(2, task.name);
    insert.bind(3, dump(task));
    insert.bind(4, now());
    insert.exec();
  });
}

Result<std::int64_t> Store::begin_run(const std::string& task_hash, const Provenance& provenance,
                                      std::uint64_t seed, const std::string& strategy) {
  return impl_->guarded([&] {
    SQLite::Statement insert(
        impl_->database,
        "INSERT INTO runs (task_hash, device, device_name, arch, toolchain, driver, hone_version, "
        "modelled, sandbox, seed, strategy, started_at) VALUES (:task, :device, :device_name, "
        ":arch, "
        ":toolchain, :driver, :hone_version, :modelled, :sandbox, :seed, :strategy, :now)");
    insert.bind(":task", task_hash);
    bind_provenance(insert, provenance);
    insert.bind(":seed", static_cast<std::int64_t>(seed));
    insert.bind(":strategy", strategy);
    insert.bind(":now", now());
    insert.exec();
    return static_cast<std::int64_t>(impl_->database.getLastInsertRowid());
  });
}

Result<void> Store::end_run(std::int64_t run, const std::string& status) {
  return impl_->guarded([&] {
    SQLite::Statement update(impl_->database,
                             "UPDATE runs SET ended_at = ?, status = ? WHERE id = ?");
    update.bind(1, now());
    update.bind(2, status);
    update.bind(3, run);
    update.exec();
  });
}

// The id it has, or the shortest free one: digits of its hash, more of them where another candidate
// (the same program in another task, say) took the shorter.
std::string Store::Impl::candidate_id(const CandidateRecord& candidate) {
  SQLite::Statement known(database,
                          "SELECT id FROM candidates WHERE program_hash = ? AND task_hash = ?");
  known.bind(1, candidate.program_hash);
  known.bind(2, candidate.task_hash);
  if (known.executeStep()) return known.getColumn(0).getString();
  SQLite::Statement taken(database, "SELECT 1 FROM candidates WHERE id = ?");
  std::string id;
  for (std::size_t digits = kIdDigits;; ++digits) {
    id = candidate.program_hash.substr(0, digits);
    if (digits > candidate.program_hash.size()) {
      id += fmt::format("-{}", digits - candidate.program_hash.size() + 1);
    }
    taken.reset();
    taken.bind(1, id);
    if (!taken.executeStep()) return id;
  }
}

void Store::Impl::put_candidate(const std::string& id, const CandidateRecord& candidate) {
  // A second way to the same program adds nothing: the first recipe stays.
  SQLite::Statement insert(
      database,
      "INSERT INTO candidates (id, program_hash, task_hash, program, recipe, origin, parent) "
      "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
  insert.bind(1, id);
  insert.bind(2, candidate.program_hash);
  insert.bind(3, candidate.task_hash);
  insert.bind(4, dump(candidate.program));
  insert.bind(5, dump(candidate.recipe));
  insert.bind(6, candidate.origin);
  insert.bind(7, candidate.parent);
  insert.exec();
}

void Store::Impl::put_result(const std::string& id, std::int64_t run,
                             const CandidateRecord& candidate, const Evaluation& evaluation,
                             const Provenance& provenance) {
  SQLite::Statement insert(
      database,
      "INSERT INTO results (candidate, run, task_hash, device, device_name, arch, toolchain, "
      "driver, hone_version, modelled, sandbox, final, verdict, speedup, time_us, evaluation, "
      "found_at) "
      "VALUES (:candidate, :run, :task, :device, :device_name, :arch, :toolchain, :driver, "
      ":hone_version, :modelled, :sandbox, :final, :verdict, :speedup, :time_us, :evaluation, "
      ":now) "
      "ON CONFLICT (candidate, device_name, toolchain, modelled, final) DO UPDATE SET "
      "run = excluded.run, device = excluded.device, arch = excluded.arch, "
      "driver = excluded.driver, hone_version = excluded.hone_version, "
      "sandbox = excluded.sandbox, "
      "verdict = excluded.verdict, speedup = excluded.speedup, time_us = excluded.time_us, "
      "evaluation = excluded.evaluation");
  insert.bind(":candidate", id);
  if (run > 0) {
    insert.bind(":run", run);
  } else {
    insert.bind(":run");
  }
  insert.bind(":task", candidate.task_hash);
  bind_provenance(insert, provenance);
  insert.bind(":final", evaluation.final_stage ? 1 : 0);
  insert.bind(":verdict", std::string(to_string(evaluation.verdict)));
  bind_real(insert, ":speedup", evaluation.measurement.speedup);
  bind_real(insert, ":time_us", evaluation.measurement.time_us);
  insert.bind(":evaluation", dump(evaluation));
  insert.bind(":now", now());
  insert.exec();

  if (disproves(evaluation.verdict) && !evaluation.final_stage) {
    SQLite::Statement withdraw(
        database,
        "DELETE FROM results WHERE candidate = :candidate AND device_name = :device_name "
        "AND toolchain = :toolchain AND modelled = :modelled AND final = 1");
    withdraw.bind(":candidate", id);
    withdraw.bind(":device_name", provenance.device_name);
    withdraw.bind(":toolchain", provenance.toolchain);
    withdraw.bind(":modelled", provenance.modelled ? 1 : 0);
    withdraw.exec();
  }
  if (evaluation.verdict == Verdict::kOk && evaluation.final_stage) {
    SQLite::Statement board(database,
                            "INSERT INTO boards (task_hash, device_name, modelled, device, arch) "
                            "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
    board.bind(1, candidate.task_hash);
    board.bind(2, provenance.device_name);
    board.bind(3, provenance.modelled ? 1 : 0);
    board.bind(4, provenance.device);
    board.bind(5, provenance.arch);
    board.exec();
  }
}

Result<void> Store::put(std::int64_t run, const CandidateRecord& candidate,
                        const Evaluation& evaluation, const Provenance& provenance) {
  if (candidate.program_hash.empty()) {
    return fail(ErrorCode::kInternal, "a candidate without a program hash was to be stored");
  }
  return impl_->guarded([&] {
    SQLite::Transaction transaction(impl_->database, SQLite::TransactionBehavior::IMMEDIATE);
    const std::string id = impl_->candidate_id(candidate);
    impl_->put_candidate(id, candidate);
    impl_->put_result(id, run, candidate, evaluation, provenance);
    transaction.commit();
  });
}

Result<std::optional<std::string>> Store::candidate_id(const std::string& program_hash,
                                                       const std::string& task_hash) const {
  return impl_->guarded([&]() -> std::optional<std::string> {
    SQLite::Statement query(impl_->database,
                            "SELECT id FROM candidates WHERE program_hash = ? AND task_hash = ?");
    query.bind(1, program_hash);
    query.bind(2, task_hash);
    if (!query.executeStep()) return std::nullopt;
    return query.getColumn(0).getString();
  });
}

Result<std::optional<Evaluation>> Store::find(const std::string& program_hash,
                                              const std::string& task_hash,
                                              const Provenance& provenance) const {
  return impl_->guarded([&]() -> std::optional<Evaluation> {
    SQLite::Statement query(impl_->database,
                            "SELECT r.evaluation FROM results r JOIN candidates c "
                            "ON c.id = r.candidate WHERE c.program_hash = ? AND c.task_hash = ? "
                            "AND r.device_name = ? AND r.toolchain = ? AND r.modelled = ? "
                            "ORDER BY r.final DESC LIMIT 1");
    query.bind(1, program_hash);
    query.bind(2, task_hash);
    query.bind(3, provenance.device_name);
    query.bind(4, provenance.toolchain);
    query.bind(5, provenance.modelled ? 1 : 0);
    if (!query.executeStep()) return std::nullopt;
    return value_or_throw(evaluation_from_json(parse_stored(query.getColumn(0).getString())));
  });
}

std::vector<BoardKey> Store::Impl::board_keys(const BoardFilter& filter) {
  SQLite::Statement query(
      database,
      "SELECT DISTINCT b.task_hash, b.device_name, b.modelled FROM boards b JOIN tasks t "
      "ON t.hash = b.task_hash WHERE (:task = '' OR t.name = :task "
      "OR substr(t.hash, 1, length(:task)) = :task) "
      "AND (:device = '' OR :device IN (b.device_name, b.device, b.arch)) "
      "ORDER BY t.name, t.stored_at DESC, b.modelled, b.device_name");
  query.bind(":task", filter.task);
  query.bind(":device", filter.device);
  std::vector<BoardKey> keys;
  while (query.executeStep()) {
    keys.emplace_back(query.getColumn(0).getString(), query.getColumn(1).getString(),
                      query.getColumn(2).getInt() != 0);
  }
  return keys;
}

Board Store::Impl::read_board(const BoardKey& key, int limit) {
  const auto& [task_hash, device_name, modelled] = key;
  Board board{task_hash, "", "", device_name, modelled, 0, {}, {}};
  SQLite::Statement query(
      database, fmt::format("SELECT {} FROM {} WHERE r.task_hash = ? AND r.device_name = ? "
                            "AND r.modelled = ? AND r.verdict = 'ok' AND r.final = 1 "
                            "AND r.speedup IS NOT NULL "
                            "ORDER BY r.speedup DESC, r.time_us, r.candidate",
                            kRowColumns, kRowTables));
  query.bind(1, task_hash);
  query.bind(2, device_name);
  query.bind(3, modelled ? 1 : 0);
  std::set<std::string> seen;  // a program measured with two toolchains ranks once
  while (static_cast<int>(board.rows.size()) < limit && query.executeStep()) {
    if (!seen.insert(query.getColumn(0).getString()).second) continue;
    board.rows.push_back(read_row(query));
    board.rows.back().rank = static_cast<int>(board.rows.size());
  }
  if (!board.rows.empty()) {
    const BoardRow& best = board.rows.front();
    board.task_name = best.candidate.task_name;
    board.device = best.provenance.device;
    board.reference_time_us = best.evaluation.measurement.reference_time_us;
  }
  if (!modelled) board.baselines = read_baselines(task_hash, device_name);
  return board;
}

std::vector<BaselineTime> Store::Impl::read_baselines(const std::string& task_hash,
                                                      const std::string& device_name) {
  SQLite::Statement query(
      database,
      "SELECT kind, device, device_name, time_us, ci95_low, ci95_high, samples, precision, "
      "versions, stored_at FROM baselines WHERE task_hash = ? AND device_name = ? ORDER BY kind");
  query.bind(1, task_hash);
  query.bind(2, device_name);
  std::vector<BaselineTime> found;
  while (query.executeStep()) {
    BaselineTime b;
    int i = 0;
    const auto text = [&] { return query.getColumn(i++).getString(); };
    const auto number = [&] { return query.getColumn(i++).getDouble(); };
    b.kind = text();
    b.device = text();
    b.device_name = text();
    b.time_us = number();
    b.ci95_low = number();
    b.ci95_high = number();
    for (const auto& sample : parse_stored(text())) {
      if (sample.is_number()) b.samples_us.push_back(sample.get<double>());
    }
    b.precision = text();
    b.versions = text();
    b.stored_at = text();
    found.push_back(std::move(b));
  }
  return found;
}

Result<void> Store::put_baseline(const std::string& task_hash, const BaselineTime& baseline) {
  const auto is_time = [](double us) { return std::isfinite(us) && us > 0; };
  if (baseline.kind.empty() || baseline.device_name.empty() ||
      !baseline.device.starts_with("cuda:")) {
    return invalid("a baseline needs a kind and the GPU that it was measured on");
  }
  if (!is_time(baseline.time_us) || !is_time(baseline.ci95_low) || !is_time(baseline.ci95_high) ||
      !std::ranges::all_of(baseline.samples_us, is_time)) {
    return invalid(fmt::format("{}: a time is not a positive number", baseline.kind));
  }
  return impl_->guarded([&] {
    SQLite::Statement insert(
        impl_->database,
        "INSERT OR REPLACE INTO baselines (task_hash, device_name, kind, device, time_us, "
        "ci95_low, ci95_high, samples, precision, versions, stored_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert.bind(1, task_hash);
    insert.bind(2, baseline.device_name);
    insert.bind(3, baseline.kind);
    insert.bind(4, baseline.device);
    insert.bind(5, baseline.time_us);
    insert.bind(6, baseline.ci95_low);
    insert.bind(7, baseline.ci95_high);
    insert.bind(8, dump(baseline.samples_us));
    insert.bind(9, baseline.precision);
    insert.bind(10, baseline.versions);
    insert.bind(11, now());
    insert.exec();
  });
}

Result<std::vector<BaselineTime>> Store::baselines(const std::string& task_hash,
                                                   const std::string& device_name) const {
  return impl_->guarded([&] { return impl_->read_baselines(task_hash, device_name); });
}

Result<std::vector<Board>> Store::boards(const BoardFilter& filter) const {
  return impl_->guarded([&] {
    std::vector<Board> boards;
    SQLite::Transaction snapshot(impl_->database);  // one state for all the reads
    for (const BoardKey& key : impl_->board_keys(filter)) {
      Board board = impl_->read_board(key, std::max(filter.limit, 1));
      if (!board.rows.empty()) boards.push_back(std::move(board));
    }
    return boards;
  });
}

int Store::Impl::rank_of(const BoardRow& row) {
  const Measurement& m = row.evaluation.measurement;
  if (row.evaluation.verdict != Verdict::kOk || !row.evaluation.final_stage ||
      !std::isfinite(m.speedup)) {
    return 0;
  }
  SQLite::Statement query(
      database,
      "SELECT COUNT(DISTINCT candidate) FROM results WHERE task_hash = :task "
      "AND device_name = :device_name AND modelled = :modelled AND verdict = 'ok' AND final = 1 "
      "AND candidate <> :candidate AND speedup >= :speedup AND (speedup > :speedup "
      "OR time_us < :time_us OR (time_us = :time_us AND candidate < :candidate))");
  query.bind(":task", row.candidate.task_hash);
  query.bind(":device_name", row.provenance.device_name);
  query.bind(":modelled", row.provenance.modelled ? 1 : 0);
  query.bind(":candidate", row.candidate.id);
  query.bind(":speedup", m.speedup);
  query.bind(":time_us", m.time_us);
  return query.executeStep() ? query.getColumn(0).getInt() + 1 : 0;
}

Result<BoardRow> Store::find_candidate(const std::string& id_prefix) const {
  auto ids = impl_->guarded([&] {
    std::vector<std::string> ids;
    // An id is the beginning of its program's hash, so that the whole hash finds it too.
    SQLite::Statement query(impl_->database,
                            "SELECT id FROM candidates WHERE id = ?1 UNION "
                            "SELECT id FROM candidates WHERE program_hash >= ?1 "
                            "AND program_hash < ?1 || 'g' LIMIT 100");
    query.bind(1, id_prefix);
    while (query.executeStep()) ids.push_back(query.getColumn(0).getString());
    return ids;
  });
  if (!ids) return std::unexpected(ids.error());
  const bool exact = std::ranges::find(*ids, id_prefix) != ids->end();
  if (exact) ids = std::vector<std::string>{id_prefix};
  if (ids->empty() || id_prefix.empty()) {
    return invalid(fmt::format("there is no candidate '{}' in {}; `hone leaderboard` lists them",
                               id_prefix, impl_->path.string()));
  }
  if (ids->size() > 1) {
    std::string list;
    for (std::size_t i = 0; i < ids->size() && i < 5; ++i) {
      list += (i == 0 ? "" : ", ") + (*ids)[i];
    }
    return invalid(fmt::format("'{}' fits several candidates: {}{}", id_prefix, list,
                               ids->size() > 5 ? ", ..." : ""));
  }
  return impl_->guarded([&] {
    SQLite::Transaction snapshot(impl_->database);
    SQLite::Statement query(impl_->database,
                            fmt::format("SELECT {} FROM {} WHERE c.id = ? ORDER BY r.final DESC, "
                                        "r.verdict = 'ok' DESC, r.modelled, r.id DESC LIMIT 1",
                                        kRowColumns, kRowTables));
    query.bind(1, ids->front());
    if (!query.executeStep()) {
      throw std::runtime_error(fmt::format("candidate {} has no result", ids->front()));
    }
    BoardRow row = read_row(query);
    row.rank = impl_->rank_of(row);
    return row;
  });
}

Result<Task> Store::find_task(const std::string& hash_or_name) const {
  struct Found {
    std::vector<std::string> hashes;
    std::string json;
  };
  auto found = impl_->guarded([&] {
    Found found;
    // The newest of a name; a hash, or a prefix of one, of four digits or more.
    SQLite::Statement by_name(impl_->database,
                              "SELECT hash, json FROM tasks WHERE name = ?1 OR hash = ?1 "
                              "ORDER BY hash = ?1 DESC, stored_at DESC LIMIT 1");
    by_name.bind(1, hash_or_name);
    if (by_name.executeStep()) {
      found.hashes = {by_name.getColumn(0).getString()};
      found.json = by_name.getColumn(1).getString();
      return found;
    }
    if (hash_or_name.size() < 4) return found;
    SQLite::Statement by_prefix(impl_->database,
                                "SELECT hash, json FROM tasks WHERE hash > ?1 "
                                "AND hash < ?1 || 'g' LIMIT 5");
    by_prefix.bind(1, hash_or_name);
    while (by_prefix.executeStep()) {
      found.hashes.push_back(by_prefix.getColumn(0).getString());
      found.json = by_prefix.getColumn(1).getString();
    }
    return found;
  });
  if (!found) return std::unexpected(found.error());
  if (found->hashes.empty()) {
    return invalid(fmt::format("there is no task '{}' in {}", hash_or_name, impl_->path.string()));
  }
  if (found->hashes.size() > 1) {
    return invalid(
        fmt::format("'{}' fits several tasks: {}", hash_or_name, fmt::join(found->hashes, ", ")));
  }
  const auto json = nlohmann::json::parse(found->json, nullptr, false);
  auto task = task_from_json(json);
  if (task) return task;
  return fail(ErrorCode::kIo,
              fmt::format("{}: the database is damaged: task {}: {}", impl_->path.string(),
                          found->hashes.front(), task.error().message));
}

}  // namespace hone
