// The file: full disks, locks, other processes, damage, what is no database.
#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/wait.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/unit/candidates/store_fixture.h"

namespace hone {
namespace {

using test::candidate;
using test::gpu;
using test::hash_of;
using test::StoreTest;
using test::TempDir;
using test::timed;

TEST_F(StoreTest, AFullDiskKeepsWhatWasFound) {
  const std::int64_t run = begin(gpu());
  put(run, hash_of('a'), timed(2));
  reopen({.busy_timeout_ms = 100,
          .max_bytes = static_cast<std::int64_t>(std::filesystem::file_size(file())) + 65536});
  Result<void> last;
  int stored = 0;
  for (int i = 0; i < 200 && last; ++i, ++stored) {
    CandidateRecord record =
        candidate(task_, "b" + std::to_string(100000 + i) + std::string(25, '0'));
    record.program.source.assign(20000, 'x');
    last = store_->put(run, record, timed(1 + i), gpu());
  }
  ASSERT_FALSE(last) << "the limit was never reached";
  EXPECT_EQ(last.error().code, ErrorCode::kInfrastructure);
  EXPECT_NE(last.error().message.find("no space is left"), std::string::npos)
      << last.error().message;
  EXPECT_NE(last.error().message.find(file().string()), std::string::npos);
  reopen();
  EXPECT_EQ(store_->boards({"", "", 1000})->front().rows.size(), static_cast<std::size_t>(stored));
}

TEST_F(StoreTest, ALockedDatabaseIsAClearError) {
  const std::int64_t run = begin(gpu());
  reopen({.busy_timeout_ms = 50});
  SQLite::Database other(file().string(), SQLite::OPEN_READWRITE);
  SQLite::Transaction lock(other, SQLite::TransactionBehavior::IMMEDIATE);
  const auto put = store_->put(run, candidate(task_, hash_of('a')), timed(2), gpu());
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kInfrastructure);
  EXPECT_NE(put.error().message.find("locked by another process"), std::string::npos);
  EXPECT_TRUE(store_->boards({})->empty());  // reading goes on
}

TEST_F(StoreTest, ReadersInOtherProcessesSeeWholeResults) {
  const std::int64_t run = begin(gpu());
  put(run, hash_of('0'), timed(1));
  const pid_t reader = fork();
  ASSERT_GE(reader, 0);
  if (reader == 0) {  // only a fresh connection here: the parent's may not cross a fork
    auto store = Store::open(file());
    for (int i = 0; store && i < 200; ++i) {
      const auto boards = (*store)->boards({"", "", 1000});
      if (!boards || boards->size() != 1) _exit(1);
      for (const BoardRow& row : boards->front().rows) {
        if (row.evaluation.measurement.speedup < 1) _exit(2);
      }
    }
    _exit(store ? 0 : 3);
  }
  for (int i = 0; i < 60; ++i)
    put(run, std::to_string(10 + i) + std::string(30, '7'), timed(1 + i));
  int status = 0;
  waitpid(reader, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(StoreTest, ManyThreadsMayCall) {
  const std::int64_t run = begin(gpu());
  std::atomic<int> errors = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const std::string hash = std::to_string(1000 + t * 100 + i) + std::string(28, '5');
        if (!store_->put(run, candidate(task_, hash), timed(1 + i), gpu())) ++errors;
        if (!store_->boards({})) ++errors;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(store_->boards({"", "", 1000})->front().rows.size(), 100u);
}

TEST_F(StoreTest, TwoProcessesMayCreateTheFileAtOnce) {
  for (int round = 0; round < 10; ++round) {
    const auto path = dir_.path() / ("race" + std::to_string(round)) / "hone.db";
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        auto store = Store::open(path);
        if (!store) fprintf(stderr, "%s\n", store.error().message.c_str());
        _exit(store && (*store)->put_task(task_) ? 0 : 1);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
  }
}

TEST(StoreOpen, MigratesFromVersionZero) {
  const TempDir dir;
  const auto file = dir.write("hone.db", "");  // an empty file is an empty database of version 0
  ASSERT_TRUE(Store::open(file));
  SQLite::Database database(file.string());
  EXPECT_EQ(database.execAndGet("PRAGMA user_version").getInt(), 16);
  EXPECT_EQ(database.execAndGet("PRAGMA application_id").getInt(), 0x484F4E45);
  EXPECT_EQ(database.execAndGet("PRAGMA journal_mode").getString(), "wal");
}

void expect_refused(const std::filesystem::path& file, const char* want) {
  const auto store = Store::open(file);
  ASSERT_FALSE(store) << want;
  EXPECT_EQ(store.error().code, ErrorCode::kIo);
  EXPECT_NE(store.error().message.find(want), std::string::npos) << store.error().message;
  EXPECT_NE(store.error().message.find(file.string()), std::string::npos) << store.error().message;
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(StoreOpen, RefusesWhatIsNotItsOwn) {
  const TempDir dir;
  const auto text = dir.write("text.db", std::string(5000, 'x'));
  expect_refused(text, "is not a database");
  EXPECT_EQ(contents(text), std::string(5000, 'x'));
  {
    SQLite::Database other((dir.path() / "other.db").string(),
                           SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE tasks (x); PRAGMA user_version = 1");
  }
  const std::string before = contents(dir.path() / "other.db");
  expect_refused(dir.path() / "other.db", "of another program");
  EXPECT_EQ(contents(dir.path() / "other.db"), before);

  ASSERT_TRUE(Store::open(dir.path() / "newer.db"));
  SQLite::Database((dir.path() / "newer.db").string(), SQLite::OPEN_READWRITE)
      .exec("PRAGMA user_version = 99");
  expect_refused(dir.path() / "newer.db",
                 "has format 99, this hone knows up to 16; use a newer hone");

  // A number that is not the tables': an older one would make tables again that are there.
  for (int version = 0; version <= 16; ++version) {
    const auto file = dir.path() / ("wound" + std::to_string(version) + ".db");
    ASSERT_TRUE(Store::open(file));
    const auto set = [&](const std::string& sql) {
      SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec(sql);
    };
    set("PRAGMA user_version = " + std::to_string(version));
    if (version == 16) set("DROP TABLE job_spending");
    expect_refused(file, ("says that it has format " + std::to_string(version) +
                          ", but its tables are of another")
                             .c_str());
    expect_refused(file, "name another with --db");
  }
  const auto file = dir.path() / "column.db";
  ASSERT_TRUE(Store::open(file));
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE)
      .exec("ALTER TABLE runs DROP COLUMN inputs");
  expect_refused(file, "says that it has format 16, but its tables are of another");

  expect_refused(dir.path(), "is a folder");
  expect_refused(dir.path() / "text.db" / "hone.db", "folder cannot be made");
  expect_refused("/proc/none/hone.db", "folder cannot be made");
}

TEST(StoreOpen, ReadOnlyFile) {
  const TempDir dir;
  const auto file = dir.path() / "hone.db";
  ASSERT_TRUE(Store::open(file));
  std::filesystem::permissions(file, std::filesystem::perms(0444));
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // root may write anything: be nobody for this
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    const auto store = Store::open(file);
    const bool good = !store && store.error().code == ErrorCode::kIo &&
                      store.error().message.find("read-only") != std::string::npos;
    if (!good && !store) fprintf(stderr, "%s\n", store.error().message.c_str());
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(StoreOpen, ADamagedFileIsAnErrorNotACrash) {
  const TempDir dir;
  const Task task = test::scale_task();
  const auto file = dir.path() / "hone.db";
  {
    const auto store = Store::open(file);
    ASSERT_TRUE((*store)->put_task(task));
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE((*store)->put(0, candidate(task, std::to_string(100 + i) + std::string(29, '3')),
                                timed(1 + i), gpu()));
    }
  }
  const std::string good = contents(file);
  ASSERT_GT(good.size(), 40000u);
  int errors = 0;
  // Every page in turn overwritten, and the file cut short at every page.
  for (std::size_t page = 1; page < good.size() / 4096; ++page) {
    for (const bool cut : {false, true}) {
      std::string bad = good;
      if (cut) {
        bad.resize(page * 4096);
      } else {
        bad.replace(page * 4096, 4096, std::string(4096, '\x5A'));
      }
      const auto path = dir.write("bad" + std::to_string(page) + (cut ? "cut" : "") + ".db", bad);
      auto store = Store::open(path);
      if (!store) {
        EXPECT_EQ(store.error().code, ErrorCode::kIo);
        ++errors;
        continue;
      }
      const auto boards = (*store)->boards({"", "", 100});
      const auto put = (*store)->put(0, candidate(task, hash_of('e')), timed(3), gpu());
      const auto found = (*store)->find_task("scale");
      errors += !boards || !put || !found;
      if (!boards) {
        EXPECT_EQ(boards.error().code, ErrorCode::kIo) << boards.error().message;
      }
    }
  }
  EXPECT_GT(errors, 5);
}

TEST(StoreOpen, DefaultPathFollowsXdg) {
  setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(Store::default_path(), "/data/hone/hone.db");
  setenv("XDG_DATA_HOME", "relative", 1);
  setenv("HOME", "/home/u", 1);
  EXPECT_EQ(Store::default_path(), "/home/u/.local/share/hone/hone.db");
  unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(Store::default_path(), "/home/u/.local/share/hone/hone.db");
}

}  // namespace
}  // namespace hone
