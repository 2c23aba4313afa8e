// A database as a whole: read-only, copied, checked, thinned, merged.
#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <map>

#include "candidates/store/maintenance.h"
#include "tests/unit/candidates/store_fixture.h"

namespace hone {
namespace {

using test::candidate;
using test::failed;
using test::gpu;
using test::hash_of;
using test::StoreTest;
using test::timed;

using Strings = std::vector<std::string>;

class StoreMaintenance : public StoreTest {
 protected:
  [[nodiscard]] std::filesystem::path other_file() const { return dir_.path() / "other.db"; }
  [[nodiscard]] static std::unique_ptr<Store> open(const std::filesystem::path& path,
                                                   bool read_only = false) {
    auto store = Store::open(path, {.read_only = read_only});
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(*store) : nullptr;
  }
  /// A run in `store` that ended, with these programs on the board, the fastest first.
  void search(Store& store, const Strings& hashes, std::uint64_t seed = 1) {
    ASSERT_TRUE(store.put_task(task_));
    const auto run = store.begin_run(task_.hash(), gpu(), seed, "evolve");
    ASSERT_TRUE(run);
    double speedup = 9;
    for (const std::string& hash : hashes)
      ASSERT_TRUE(store.put(*run, candidate(task_, hash), timed(speedup--), gpu()));
    ASSERT_TRUE(store.end_run(*run, "budget"));
  }
  void sql(const std::filesystem::path& file, const std::string& text) {
    SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec(text);
  }
  Strings programs(const Store& store) {
    const auto boards = store.boards({});
    return boards && !boards->empty() ? order(boards->front()) : Strings();
  }
  Strings problems(const Store& store) {
    const auto check = store.check();
    EXPECT_TRUE(check) << check.error().message;
    return check ? check->problems : Strings{"?"};
  }
};

/// In a child, as somebody who may write nothing: its exit status.
int as_nobody(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(99);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

TEST_F(StoreMaintenance, AFileThatCannotBeWrittenIsRead) {
  search(*store_, {hash_of('a'), hash_of('b')});
  store_.reset();
  namespace fs = std::filesystem;
  const fs::path folder = dir_.path() / "locked";
  fs::create_directories(folder);
  fs::copy_file(file(), folder / "hone.db");
  fs::permissions(dir_.path(), fs::perms(0755));
  fs::permissions(folder / "hone.db", fs::perms(0444));
  fs::permissions(folder, fs::perms(0555));
  EXPECT_EQ(as_nobody([&] {
              const auto store = Store::open(folder / "hone.db", {.read_only = true});
              if (!store) fprintf(stderr, "%s\n", store.error().message.c_str());
              if (!store) return 1;
              if (order((*store)->boards({})->front()) != Strings{"a", "b"}) return 2;
              if (!(*store)->check()->problems.empty()) return 3;
              return (*store)->put_task(task_) ? 4 : 0;
            }),
            0);
  EXPECT_FALSE(fs::exists(folder / "hone.db-wal"));
  // Also while its owner writes it, and after that.
  int from[2], to[2];
  ASSERT_EQ(pipe(from), 0);
  ASSERT_EQ(pipe(to), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(99);
    const auto store = Store::open(folder / "hone.db", {.read_only = true});
    if (!store) _exit(1);
    for (const Strings& want : {Strings{"a", "b"}, Strings{"c", "a", "b"},
                                Strings{"d", "c", "a", "b"}, Strings{"d", "c", "a", "b"}}) {
      char go = 0;
      if (read(from[0], &go, 1) != 1) _exit(2);
      const auto boards = (*store)->boards({});
      if (!boards) fprintf(stderr, "%s\n", boards.error().message.c_str());
      if (!boards || order(boards->front()) != want) _exit(3);
      if (write(to[1], "x", 1) != 1) _exit(4);
    }
    _exit(0);
  }
  close(to[1]);
  const auto ask = [&] {
    char done = 0;
    EXPECT_EQ(write(from[1], "x", 1), 1);
    return read(to[0], &done, 1) == 1;
  };
  EXPECT_TRUE(ask());
  if (geteuid() == 0) {  // who may write in spite of the permissions
    auto writer = open(folder / "hone.db");
    ASSERT_TRUE(writer->put(0, candidate(task_, hash_of('c')), timed(20), gpu()));
    EXPECT_TRUE(ask());
    ASSERT_TRUE(writer->put(0, candidate(task_, hash_of('d')), timed(30), gpu()));
    EXPECT_TRUE(ask());
    writer.reset();
    EXPECT_TRUE(ask());
  }
  close(from[1]);
  int status = 0;
  waitpid(child, &status, 0);
  if (geteuid() == 0) {
    EXPECT_EQ(status, 0);
  }
  fs::permissions(folder, fs::perms(0755));
}

TEST_F(StoreMaintenance, AnOlderFormatThatCannotBeWrittenIsAClearError) {
  store_.reset();
  sql(file(),
      "DROP TABLE identity; DROP TABLE jobs; DROP TABLE probe; ALTER TABLE runs DROP COLUMN "
      "inputs; PRAGMA user_version = 14");
  namespace fs = std::filesystem;
  fs::permissions(dir_.path(), fs::perms(0755));
  fs::permissions(file().parent_path(), fs::perms(0555));
  fs::permissions(file(), fs::perms(0444));
  EXPECT_EQ(as_nobody([&] {
              const auto store = Store::open(file(), {.read_only = true});
              return !store && store.error().message.find("has format 14 and cannot be written") !=
                                   std::string::npos
                         ? 0
                         : 1;
            }),
            0);
  fs::permissions(file().parent_path(), fs::perms(0755));
}

TEST_F(StoreMaintenance, ABackupIsTheSameWhileItIsWritten) {
  search(*store_, {hash_of('a'), hash_of('b')});
  const auto copy = dir_.path() / "copy.db";
  ASSERT_TRUE(Store::backup(file(), copy));
  search(*store_, {hash_of('c')}, 2);
  const auto read = open(copy);
  EXPECT_EQ(programs(*read), (Strings{"a", "b"}));
  EXPECT_NE(read->identity()->id, store_->identity()->id);  // no queue takes it for the original
  EXPECT_EQ(problems(*read), Strings());
}

TEST_F(StoreMaintenance, ABackupReplacesNothingAndLeavesNoHalf) {
  const auto there = dir_.write("there", "text");
  const auto refused = Store::backup(file(), there);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(std::filesystem::file_size(there), 4U);
  const auto nowhere = Store::backup(file(), dir_.path() / "none" / "copy.db");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("none/copy.db"), std::string::npos)
      << nowhere.error().message;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path()))
    EXPECT_EQ(entry.path().string().find(".part"), std::string::npos);
}

TEST_F(StoreMaintenance, ABackupLeavesAnOldFormatAsItIs) {
  search(*store_, {hash_of('a')});
  store_.reset();
  sql(file(),
      "DROP TABLE identity; DROP TABLE jobs; DROP TABLE probe; ALTER TABLE runs DROP COLUMN "
      "inputs; PRAGMA user_version = 14");
  const auto copy = dir_.path() / "copy.db";
  const auto done = Store::backup(file(), copy);
  ASSERT_TRUE(done) << done.error().message;
  for (const auto& each : {file(), copy}) {
    SQLite::Database database(each.string(), SQLite::OPEN_READONLY);
    EXPECT_EQ(database.execAndGet("PRAGMA user_version").getInt(), 14) << each;
  }
  EXPECT_EQ(programs(*open(copy)), Strings{"a"});
  const auto text = dir_.write("text.db", "no database, whatever its name is");
  EXPECT_FALSE(Store::backup(text, dir_.path() / "of_text.db"));
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "of_text.db"));
}

TEST_F(StoreMaintenance, CheckFindsWhatIsWrong) {
  search(*store_, {hash_of('a'), hash_of('b')});
  EXPECT_EQ(problems(*store_), Strings());
  const auto check = store_->check();
  EXPECT_EQ(check->format, 16);
  EXPECT_EQ(check->identity.id, store_->identity()->id);
  const auto wrong = [&](const std::string& change, const std::string& want) {
    const auto bad = dir_.path() / "bad.db";
    std::filesystem::remove(bad);
    ASSERT_TRUE(Store::backup(file(), bad));
    sql(bad, "PRAGMA foreign_keys = OFF; " + change);
    const auto found = problems(*open(bad));
    EXPECT_TRUE(std::ranges::any_of(
        found, [&](const std::string& text) { return text.find(want) != text.npos; }))
        << change << (found.empty() ? "" : found.front());
  };
  wrong("UPDATE tasks SET json = json_set(json, '$.math', 'exact')", "has the hash");
  wrong("UPDATE tasks SET json = 'x'", "a row holds no JSON");
  wrong("UPDATE candidates SET id = 'x' || substr(id, 2) WHERE id LIKE 'a%'", "its id does not");
  wrong("DELETE FROM candidates WHERE id LIKE 'a%'", "refers to one of candidates");
  wrong("UPDATE results SET verdict = 'race'", "two verdicts");
  wrong("UPDATE candidates SET recipe = '[1]'", "candidate aaaaaaaaaaaa");
  wrong("DELETE FROM boards", "its board is not listed");
}

TEST_F(StoreMaintenance, PruneKeepsTheBestOfEachBoard) {
  search(*store_, {hash_of('a'), hash_of('b'), hash_of('c'), hash_of('d')});
  const std::int64_t run = begin(gpu());  // goes on: nothing of it may go
  put(run, hash_of('e'), timed(0.5));
  PruneOptions options;
  options.keep = 2;
  options.dry_run = true;
  const auto counted = store_->prune(options);
  ASSERT_TRUE(counted) << counted.error().message;
  EXPECT_EQ(counted->candidates, 2);
  EXPECT_EQ(programs(*store_), (Strings{"a", "b", "c", "d", "e"}));
  options.dry_run = false;
  const auto pruned = store_->prune(options);
  ASSERT_TRUE(pruned) << pruned.error().message;
  EXPECT_EQ(pruned->candidates, 2);
  EXPECT_EQ(pruned->results, 2);
  EXPECT_EQ(pruned->not_shrunk, "");
  EXPECT_EQ(programs(*store_), (Strings{"a", "b", "e"}));
  EXPECT_EQ(problems(*store_), Strings());
}

TEST_F(StoreMaintenance, PruneByAgeLeavesBoardsAndWhatIsNew) {
  search(*store_, {hash_of('a')});
  const std::int64_t old = begin(gpu());
  put(old, hash_of('b'), failed(Verdict::kWrongResult));
  ASSERT_TRUE(store_->end_run(old, "budget"));
  const std::int64_t fresh = begin(gpu());
  put(fresh, hash_of('c'), failed(Verdict::kWrongResult));
  ASSERT_TRUE(store_->end_run(fresh, "budget"));
  sql(file(), "UPDATE runs SET started_at = '2001-01-01T00:00:00.000Z' WHERE id = " +
                  std::to_string(old) + "; UPDATE run_points SET found_at = " +
                  "'2001-01-01T00:00:00.000Z' WHERE candidate NOT LIKE 'c%'; UPDATE results SET " +
                  "found_at = '2001-01-01T00:00:00.000Z' WHERE candidate NOT LIKE 'c%'");
  PruneOptions options;
  options.before = "2020-01-01T00:00:00.000Z";
  const auto pruned = store_->prune(options);
  ASSERT_TRUE(pruned) << pruned.error().message;
  EXPECT_EQ(pruned->candidates, 1);
  EXPECT_EQ(pruned->runs, 1);
  EXPECT_EQ(programs(*store_), Strings{"a"});
  EXPECT_TRUE(*store_->candidate_id(hash_of('c'), task_.hash()));
  EXPECT_FALSE(*store_->candidate_id(hash_of('b'), task_.hash()));
  EXPECT_FALSE(store_->find_run(old));
  EXPECT_EQ(problems(*store_), Strings());
  options.before = "x'; DROP TABLE tasks; --";
  EXPECT_EQ(store_->prune(options).error().code, ErrorCode::kInvalidInput);
}

TEST_F(StoreMaintenance, MergeTakesOverOnceAndWhatIsNew) {
  search(*store_, {hash_of('a'), hash_of('b')});
  // The same digits at the beginning: another id there and here.
  const std::string twin = hash_of('a').substr(0, 20) + std::string(12, '0');
  {
    const auto other = open(other_file());
    search(*other, {twin, hash_of('c'), hash_of('b')}, 2);
  }
  const auto merged = store_->merge(other_file());
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->tasks, 0);
  EXPECT_EQ(merged->candidates, 2);
  EXPECT_EQ(merged->runs, 1);
  EXPECT_EQ(merged->withdrawn, 0);
  EXPECT_EQ(programs(*store_).size(), 4U);
  EXPECT_NE(**store_->candidate_id(twin, task_.hash()),
            **store_->candidate_id(hash_of('a'), task_.hash()));
  EXPECT_EQ(store_->runs({})->size(), 2U);
  EXPECT_EQ(store_->run_points(2)->size(), 3U);
  EXPECT_EQ(problems(*store_), Strings());
  const auto again = store_->merge(other_file());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->candidates + again->runs + again->results, 0);
  EXPECT_EQ(store_->run_points(2)->size(), 3U);
}

TEST_F(StoreMaintenance, MergeTakesWhatIsDisprovedOffTheBoard) {
  search(*store_, {hash_of('a'), hash_of('b')});
  {
    const auto other = open(other_file());
    search(*other, {hash_of('c')}, 2);
    ASSERT_TRUE(other->put(1, candidate(task_, hash_of('a')), failed(Verdict::kRace), gpu()));
  }
  const auto merged = store_->merge(other_file());
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->withdrawn, 1);
  EXPECT_EQ(programs(*store_), (Strings{"c", "b"}));
  EXPECT_EQ(store_->run_points(1)->front().verdict, Verdict::kRace);
  // And the other way: what is disproved here does not come back.
  const auto other = open(other_file());
  ASSERT_TRUE(other->merge(file()));
  EXPECT_EQ(programs(*other), (Strings{"c", "b"}));
}

/// Names and contents of all files of a folder.
std::map<std::string, std::string> files_in(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return files;
}

TEST_F(StoreMaintenance, MergeWritesNothingToTheOtherFileWhateverItsFormat) {
  search(*store_, {hash_of('a')});
  const auto folder = dir_.path() / "elsewhere";
  std::filesystem::create_directory(folder);
  const auto old = folder / "old.db", latest = folder / "latest.db";
  search(*open(old), {hash_of('b')}, 2);
  search(*open(latest), {hash_of('c')}, 3);
  sql(old,
      "DROP TABLE identity; DROP TABLE jobs; DROP TABLE probe; ALTER TABLE runs DROP COLUMN "
      "inputs; PRAGMA user_version = 14");
  const auto before = files_in(folder);
  ASSERT_EQ(before.size(), 2U);
  for (const auto& other : {old, latest}) {
    const auto merged = store_->merge(other);
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_EQ(merged->candidates, 1) << other;
    EXPECT_TRUE(files_in(folder) == before) << other;
  }
  EXPECT_EQ(programs(*store_).size(), 3U);
  EXPECT_EQ(problems(*store_), Strings());
  for (const auto& entry : std::filesystem::directory_iterator(file().parent_path()))
    EXPECT_EQ(entry.path().string().find(".merge-"), std::string::npos) << entry.path();
}

TEST_F(StoreMaintenance, MergeOfAnOlderFormatThatIsInUse) {
  const auto old = other_file();
  search(*open(old), {hash_of('b')}, 2);
  sql(old,
      "DROP TABLE identity; DROP TABLE jobs; DROP TABLE probe; ALTER TABLE runs DROP COLUMN "
      "inputs; PRAGMA user_version = 14");
  SQLite::Database user(old.string(), SQLite::OPEN_READWRITE);
  user.exec("UPDATE runs SET status = 'changed'");  // in the log beside the file
  ASSERT_TRUE(std::filesystem::exists(old.string() + "-wal"));
  const auto merged = store_->merge(old);
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->candidates, 1);
  EXPECT_EQ(store_->runs({})->front().status, "changed");
  EXPECT_EQ(user.execAndGet("PRAGMA user_version").getInt(), 14);
}

TEST_F(StoreMaintenance, MergeRefusesWhatItCannotRead) {
  const auto refused = [&](const std::filesystem::path& path, const char* want) {
    const auto merged = store_->merge(path);
    ASSERT_FALSE(merged);
    EXPECT_NE(merged.error().message.find(want), std::string::npos) << merged.error().message;
    EXPECT_NE(merged.error().message.find(path.string()), std::string::npos);
  };
  refused(dir_.path() / "none.db", "there is no database here");
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "none.db"));
  refused(file(), "is the database itself");
  refused(dir_.write("text.db", std::string(5000, 'x')), "is not a database");
  ASSERT_TRUE(open(other_file()));
  sql(other_file(), "PRAGMA user_version = 99");
  refused(other_file(), "has format 99");
  EXPECT_TRUE(store_->put_task(task_));  // and goes on
}

}  // namespace
}  // namespace hone
