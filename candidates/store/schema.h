// The schema and its history. Private to candidates/store. See FORMAT.md.
#pragma once

#include <SQLiteCpp/Database.h>

namespace hone::store_detail {

/// "HONE" in ASCII: tells a hone database from any other SQLite file.
inline constexpr int kApplicationId = 0x484F4E45;

/// What `PRAGMA user_version` is once every migration ran.
[[nodiscard]] int latest_version();

/// Brings an open database to the latest version in one transaction. Throws SQLite::Exception, and
/// std::runtime_error with a message for a person when the file is another program's, newer, or of
/// another version than it says.
void migrate(SQLite::Database& database);

/// The version that the file says, of 0 to latest_version(). Throws as migrate() does.
[[nodiscard]] int expect_ours(SQLite::Database& database);

/// Of a database that cannot be written: it has the latest version. Throws as migrate() does.
void expect_latest(SQLite::Database& database);

}  // namespace hone::store_detail
