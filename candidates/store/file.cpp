// The file of the database: opening it, and what its errors mean.
#include <fmt/chrono.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
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

int system_errno(const SQLite::Database& database) {
  return sqlite3_system_errno(database.getHandle());
}

std::optional<StoreFault> fault_of(const SQLite::Exception& exception, int system_errno) {
  switch (exception.getErrorCode() & 0xFF) {
    case SQLITE_FULL:
      return StoreFault::kFull;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return StoreFault::kReadOnly;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return StoreFault::kLocked;
    case SQLITE_IOERR:
      if (exception.getExtendedErrorCode() == SQLITE_IOERR_SHORT_READ) return StoreFault::kDamaged;
      [[fallthrough]];
    case SQLITE_CANTOPEN:
      if (system_errno == ENOSPC || system_errno == EDQUOT) return StoreFault::kFull;
      if (system_errno == EROFS || system_errno == EACCES) return StoreFault::kReadOnly;
      return StoreFault::kFailing;
    case SQLITE_CORRUPT:
      return StoreFault::kDamaged;
    default:
      return std::nullopt;
  }
}

Error describe(const SQLite::Exception& exception, const std::filesystem::path& path,
               int system_errno) {
  const auto fault = fault_of(exception, system_errno);
  const auto at = [&](std::string text) {
    return Error{
        fault && *fault != StoreFault::kDamaged ? ErrorCode::kInfrastructure : ErrorCode::kIo,
        fmt::format("{}: {}", path.string(), text)};
  };
  const int code = exception.getErrorCode() & 0xFF;
  if (exception.getExtendedErrorCode() == SQLITE_READONLY_DBMOVED)
    return at("the database was moved or deleted while it was open; put it back, or run again");
  if (code == SQLITE_NOTADB) return at("is not a database; name another file with --db");
  if (!fault) return at(exception.what());
  switch (*fault) {
    case StoreFault::kLocked:
      return at(
          "the database is locked by another process; wait for it, or name another with --db");
    case StoreFault::kFull:
      return at("no space is left for the database; free some and run again");
    case StoreFault::kReadOnly:
      return at(
          "the database is read-only; make the file and its folder writable, or name another "
          "with --db");
    case StoreFault::kDamaged:
      return at("the database is damaged; move it away (`sqlite3 FILE .recover` may save rows)");
    case StoreFault::kFailing:
      break;
  }
  const std::string why =
      system_errno != 0 ? std::generic_category().message(system_errno) : exception.what();
  if (code == SQLITE_CANTOPEN) {
    return at(
        fmt::format("the database cannot be opened ({}); check the folder and its "
                    "permissions, or name another with --db",
                    why));
  }
  return at(fmt::format("reading or writing the database failed: {}", why));
}

nlohmann::json parse_stored(const std::string& text) {
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw std::runtime_error("the database is damaged: a row holds no JSON");
  return json;
}

}  // namespace store_detail

std::string_view to_string(StoreFault fault) {
  switch (fault) {
    case StoreFault::kFull:
      return "full";
    case StoreFault::kReadOnly:
      return "read-only";
    case StoreFault::kLocked:
      return "locked";
    case StoreFault::kFailing:
      return "failing";
    case StoreFault::kDamaged:
      return "damaged";
  }
  return "failing";
}

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

namespace store_file {
namespace {

using store_detail::Stamp;

std::filesystem::path write_ahead_log(const std::filesystem::path& path) {
  auto log = path;
  log += "-wal";
  return log;
}

/// Commits wait beside the file.
bool has_write_ahead_log(const std::filesystem::path& path) {
  std::error_code code;
  const auto bytes = std::filesystem::file_size(write_ahead_log(path), code);
  return !code && bytes > 0;
}

Stamp stamp_of(const std::filesystem::path& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec, status.st_size,
          static_cast<std::int64_t>(status.st_ino)};
}

/// As SQLite's URIs have it.
std::string uri_of(const std::filesystem::path& path, const char* how) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + how;
}

SQLite::Database open_to_read(const std::string& uri) {
  SQLite::Database database(uri, SQLite::OPEN_READONLY | SQLite::OPEN_URI,
                            StoreOptions().busy_timeout_ms);
  (void)database.execAndGet("SELECT COUNT(*) FROM sqlite_schema");
  return database;
}

}  // namespace
}  // namespace store_file

void Store::Impl::look_for_writers() {
  if (!was_written()) return;
  // A writer leaves a log that readers may read, or has ended.
  const bool in_use = store_file::has_write_ahead_log(path);
  uri = store_file::uri_of(path, in_use ? "?mode=ro" : "?immutable=1");
  const auto stamp = store_file::stamp_of(path);
  database = store_file::open_to_read(uri);
  unwritten.reset();
  if (!in_use) unwritten = stamp;
}

bool Store::Impl::was_written() const {
  return unwritten &&
         (store_file::has_write_ahead_log(path) || store_file::stamp_of(path) != *unwritten);
}

/// A file that this user cannot write, or that is to stay as it is. Throws as SQLite does, and
/// std::runtime_error with a message for a person.
std::unique_ptr<Store::Impl> Store::open_unwritable(const std::filesystem::path& path) {
  const auto stamp = store_file::stamp_of(path);
  const auto opened = [&](const char* how) {
    const std::string uri = store_file::uri_of(path, how);
    auto impl = std::make_unique<Impl>(path, store_file::open_to_read(uri), uri);
    store_detail::expect_latest(impl->database);
    return impl;
  };
  std::error_code code;
  if (std::filesystem::exists(store_file::write_ahead_log(path), code)) {
    try {
      return opened("?mode=ro");
    } catch (const SQLite::Exception&) {
      // SQLite wants to make files beside a database in WAL mode, unless it is told that nobody
      // writes it: nobody does where there is no log.
      if (store_file::has_write_ahead_log(path)) throw;
    }
  }
  auto impl = opened("?immutable=1");
  impl->unwritten = stamp;
  return impl;
}

Result<std::unique_ptr<Store>> Store::open_as_it_is(const std::filesystem::path& path) {
  try {
    return std::unique_ptr<Store>(new Store(open_unwritable(path)));
  } catch (const SQLite::Exception& exception) {
    return std::unexpected(store_detail::describe(exception, path));
  } catch (const std::exception& exception) {
    return fail(ErrorCode::kIo, fmt::format("{}: {}", path.string(), exception.what()));
  }
}

Result<int> Store::format_of(const std::filesystem::path& path) {
  try {
    std::error_code code;
    const bool in_use = std::filesystem::exists(store_file::write_ahead_log(path), code);
    SQLite::Database database(store_file::uri_of(path, in_use ? "?mode=ro" : "?immutable=1"),
                              SQLite::OPEN_READONLY | SQLite::OPEN_URI,
                              StoreOptions().busy_timeout_ms);
    return store_detail::expect_ours(database);
  } catch (const SQLite::Exception& exception) {
    return std::unexpected(store_detail::describe(exception, path));
  } catch (const std::exception& exception) {
    return fail(ErrorCode::kIo, fmt::format("{}: {}", path.string(), exception.what()));
  }
}

int Store::format_version() { return store_detail::latest_version(); }

Result<std::unique_ptr<Store>> Store::open(const std::filesystem::path& path,
                                           const StoreOptions& options) {
  const auto failed = [&path](std::string_view text) {
    return fail(ErrorCode::kIo, fmt::format("{}: {}", path.string(), text));
  };
  std::error_code code;
  if (options.read_only && std::filesystem::is_regular_file(path, code)) {
    const bool writable =
        access(path.c_str(), W_OK) == 0 &&
        access(path.has_parent_path() ? path.parent_path().c_str() : ".", W_OK) == 0;
    if (!writable) return open_as_it_is(path);
  }
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), code);
  if (code) {
    return failed(
        fmt::format("its folder cannot be made: {}; name another with --db", code.message()));
  }
  if (std::filesystem::is_directory(path, code))
    return failed("is a folder; name a file with --db");
  try {
    const std::string name = std::filesystem::absolute(path).string();
    auto impl = std::make_unique<Impl>(
        path,
        SQLite::Database(name, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_URI,
                         options.busy_timeout_ms),
        name);
    impl->busy_timeout_ms = options.busy_timeout_ms;
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
