// `hone db`, and databases that cannot be written, as an operator uses them.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

namespace fs = std::filesystem;

const std::string kVectorAdd = std::string(HONE_SOURCE_DIR) + "/baselines/vector_add/vector_add.cu";

class Db : public ::testing::Test {
 protected:
  void search(const std::string& db, int seed, int budget = 8) {
    const auto run =
        hone({"optimize", kVectorAdd, "--device", "emu:sm_90", "--budget", std::to_string(budget),
              "--seed", std::to_string(seed), "--db", db, "--quiet"});
    ASSERT_EQ(run.status, 0) << run.err;
  }
  static nlohmann::json checked(const std::string& db) {
    const auto check = hone({"db", "check", "--db", db, "--json", "-"});
    EXPECT_EQ(check.status, 0) << check.out << check.err;
    return check.json();
  }
  static void expect_refused(const std::vector<std::string>& arguments, int status,
                             const std::string& want) {
    const auto run = hone(arguments);
    EXPECT_EQ(run.status, status) << run.out << run.err;
    EXPECT_NE(run.err.find(want), std::string::npos) << run.err;
  }
  TemporaryFolder folder_;
  std::string db_ = folder_.file("hone.db");
};

TEST_F(Db, IsCopiedMergedThinnedAndChecked) {
  search(db_, 1);
  const std::string copy = folder_.file("copy.db"), other = folder_.file("other.db");
  EXPECT_EQ(hone({"db", "backup", copy, "--db", db_}).status, 0);
  const auto first = checked(db_), copied = checked(copy);
  EXPECT_NE(copied["id"], first["id"]);  // no queue takes it for the original
  EXPECT_EQ(copied["rows"], first["rows"]);
  EXPECT_GT(first["format"], 14);
  search(other, 2, 16);
  const auto merged = hone({"db", "merge", other, "--db", db_, "--json", "-"});
  ASSERT_EQ(merged.status, 0) << merged.err;
  EXPECT_EQ(merged.json()["runs"], 1);
  EXPECT_GT(merged.json()["candidates"], 0);
  const auto both = checked(db_);
  EXPECT_EQ(both["rows"]["candidates"].get<int>(),
            first["rows"]["candidates"].get<int>() + merged.json()["candidates"].get<int>());
  const auto board = [&] {
    return hone({"leaderboard", "--db", db_, "--limit", "1", "--json", "-"})
        .json()["boards"][0]["rows"][0]["candidate"];
  };
  const auto best = board();
  const auto counted =
      hone({"db", "prune", "--keep", "1", "--dry-run", "--db", db_, "--json", "-"});
  EXPECT_EQ(checked(db_)["rows"], both["rows"]);
  const auto pruned = hone({"db", "prune", "--keep", "1", "--db", db_, "--json", "-"});
  ASSERT_EQ(pruned.status, 0) << pruned.err;
  EXPECT_EQ(pruned.json()["candidates"], counted.json()["candidates"]);
  EXPECT_EQ(checked(db_)["rows"]["candidates"], 2);  // the best and the reference
  EXPECT_EQ(board(), best);
}

TEST_F(Db, BadInputIsAClearError) {
  const std::string none = folder_.file("none.db");
  for (const char* part : {"check", "prune --keep 1", "backup COPY", "merge OTHER"}) {
    std::vector<std::string> words = {"db"};
    for (std::string rest = part; !rest.empty();) {
      const auto space = rest.find(' ');
      words.push_back(rest.substr(0, space));
      rest = space == std::string::npos ? "" : rest.substr(space + 1);
    }
    words.insert(words.end(), {"--db", none});
    expect_refused(words, 2, "there is no database here");
  }
  // Not wrong usage, which a unit of systemd does not try again: a coordinator makes it soon.
  expect_refused({"serve", "--port", "0", "--db", none}, 3, "there is no database here");
  expect_refused({"serve", "--port", "0", "--db", none, "--allow-submit"}, 2, "needs a queue");
  EXPECT_FALSE(fs::exists(none));
  search(db_, 1, 2);
  expect_refused({"db", "merge", none, "--db", db_}, 2, none + ": there is no database here");
  expect_refused({"db", "merge", kVectorAdd, "--db", db_}, 3, "is not a database");
  expect_refused({"db", "backup", kVectorAdd, "--db", db_}, 2, "is there already");
  expect_refused({"db", "prune", "--db", db_}, 2, "say what may go");
  expect_refused({"db", "prune", "--keep", "0", "--db", db_}, 2, "--keep");
  expect_refused({"db"}, 2, "a command is missing");
  const std::string newer = folder_.file("newer.db");
  ASSERT_EQ(hone({"db", "backup", newer, "--db", db_}).status, 0);
  SQLite::Database(newer, SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
  expect_refused({"db", "check", "--db", newer}, 3, "has format 99");
  expect_refused({"db", "merge", newer, "--db", db_}, 3, newer + ": has format 99");
  SQLite::Database(db_, SQLite::OPEN_READWRITE).exec("UPDATE results SET verdict = 'race'");
  const auto check = hone({"db", "check", "--db", db_});
  EXPECT_EQ(check.status, 1);
  EXPECT_NE(check.out.find("PROBLEM: "), std::string::npos) << check.out;
}

/// As a user who may write neither file nor folder.
TEST_F(Db, AReadOnlyOneCanBeLookedAt) {
  search(db_, 1, 2);
  const std::string folder = folder_.file("shared"), file = folder + "/hone.db";
  fs::create_directory(folder);
  fs::copy_file(db_, file);
  fs::permissions(folder_.file("."), fs::perms(0755));
  fs::permissions(file, fs::perms(0444));
  fs::permissions(folder, fs::perms(0555));
  const std::string nobody =
      geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all " : "";
  const auto run = [&](const std::string& arguments) {
    const std::string log = folder_.file("log");
    const std::string command =
        nobody + HONE_BIN_DIR + "/hone " + arguments + " --db " + file + " > " + log + " 2>&1";
    return WEXITSTATUS(std::system(command.c_str()));
  };
  if (!nobody.empty() &&
      std::system(
          (nobody + HONE_BIN_DIR + "/hone --version > " + folder_.file("log") + " 2>&1").c_str()) !=
          0) {
    fs::permissions(folder, fs::perms(0755));
    GTEST_SKIP() << "an ordinary user cannot run the built hone here";
  }
  const auto best = hone({"leaderboard", "--db", db_, "--json", "-"})
                        .json()["boards"][0]["rows"][0]["candidate"]
                        .get<std::string>();
  EXPECT_EQ(run("leaderboard"), 0);
  EXPECT_EQ(run("show " + best), 0);
  EXPECT_EQ(run("report"), 0);
  EXPECT_EQ(run("db check"), 0);
  EXPECT_EQ(run("db backup " + folder_.file("no") + "/copy.db"), 3);
  EXPECT_EQ(run("db prune --keep 1"), 3);
  EXPECT_EQ(run("optimize " + kVectorAdd + " --device emu:sm_90 --budget 2"), 3);
  // It serves pages until it is told to end; `timeout` says 124 then.
  EXPECT_EQ(WEXITSTATUS(std::system((nobody + "timeout -s KILL 2 " + HONE_BIN_DIR +
                                     "/hone serve --port 0 --db " + file + " > " +
                                     folder_.file("log") + " 2>&1")
                                        .c_str())),
            137);
  for (const auto& entry : fs::directory_iterator(folder)) EXPECT_EQ(entry.path(), file);
  fs::permissions(folder, fs::perms(0755));
}

}  // namespace
}  // namespace hone::testing
