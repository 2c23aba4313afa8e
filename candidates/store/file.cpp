// The file of the database: opening it, and what its errors mean.
#include <fmt/chrono.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "candidates/store/impl.h"
#include "candidates/store/schema.h"

namespace hone {
namespace store_detail {

std::string now() {
  const auto time = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     (time - seconds).count());
}

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

nlohmann::json parse_stored(const std::string& text) {
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw std::runtime_error("the database is damaged: a row holds no JSON");
  return json;
}

}  // namespace store_detail

namespace {

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

int Store::format_version() { return store_detail::latest_version(); }

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
    if (options.read_only) database.exec("PRAGMA query_only = ON");
    return std::unique_ptr<Store>(new Store(std::move(impl)));
  } catch (const SQLite::Exception& exception) {
    return std::unexpected(store_detail::describe(exception, path));
  } catch (const std::exception& exception) {
    return failed(exception.what());
  }
}

}  // namespace hone
