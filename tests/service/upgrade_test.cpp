// Programs whose files are replaced while they run, as an upgrade does it.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/service/daemon.h"
#include "tests/service/jobs.h"

namespace hone::test {
namespace {

namespace fs = std::filesystem;
using hone::testing::RedisServer;
using hone::testing::TemporaryFolder;

constexpr const char* kPrograms[] = {"hone", "hone-runner", "hone-sandbox"};

/// A coordinator and a worker, started from copies of the programs.
class UpgradeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(bin_);
    for (const char* name : kPrograms)
      fs::copy_file(HONE_BIN_DIR + ("/" + std::string(name)), bin_ / name);
    coordinator_ = std::make_unique<Daemon>(
        std::vector<std::string>{"coordinator", "--db", database_, "--redis", server_.url_text()},
        -1, bin_);
    worker_ = std::make_unique<Daemon>(
        std::vector<std::string>{"worker", "--device", "emu:sm_90", "--redis", server_.url_text()},
        -1, bin_);
    wait_for(*coordinator_, "leading, term");
    wait_for(*worker_, "worker_ready");
  }
  static void wait_for(const Daemon& daemon, const std::string& line) {
    for (int i = 0; i < 1000 && daemon.log().find(line) == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_NE(daemon.log().find(line), std::string::npos) << daemon.log();
  }
  /// A version that nobody here can work with.
  static void write_other_version(const fs::path& file) {
    std::ofstream(file) << "#!/bin/sh\nexit 1\n";
    fs::permissions(file, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  }
  void expect_done(const std::string& id, const TestJob& job) {
    const auto statuses = ended({id}, server_, 90);
    ASSERT_EQ(statuses.size(), 1U) << coordinator_->log() << worker_->log();
    expect_undisturbed(statuses.at(id), undisturbed(job), database_);
    if (HasFailure()) ADD_FAILURE() << coordinator_->log() << worker_->log();
  }

  const RedisServer server_{{.unix_socket = true}};
  const TemporaryFolder folder_;
  const fs::path root_ = folder_.file("opt"), bin_ = root_ / "bin";
  const std::string database_ = folder_.file("hone.db");
  const TestJob job_{HONE_SOURCE_DIR "/baselines/vector_add/vector_add.cu", 12, 1};
  std::unique_ptr<Daemon> coordinator_, worker_;
};

/// As scripts/install.sh does it.
TEST_F(UpgradeTest, JobsAreDoneAfterTheFolderOfTheProgramsWasReplaced) {
  fs::rename(root_, folder_.file("opt.old"));
  fs::create_directories(bin_);
  for (const char* name : kPrograms) write_other_version(bin_ / name);
  fs::remove_all(folder_.file("opt.old"));
  expect_done(submit(job_, server_.socket_url()), job_);
}

TEST_F(UpgradeTest, AJobThatRunsGoesOnWhenEachProgramIsReplaced) {
  const std::string id = submit(job_, server_.socket_url());
  ASSERT_TRUE(begun(id, server_, 60));
  for (const char* name : kPrograms) {
    write_other_version(bin_ / "new");
    fs::rename(bin_ / "new", bin_ / name);
  }
  expect_done(id, job_);
  expect_done(submit(job_, server_.socket_url()), job_);
}

TEST_F(UpgradeTest, JobsAreDoneAfterTheProgramsWereDeleted) {
  fs::remove_all(root_);
  expect_done(submit(job_, server_.socket_url()), job_);
}

}  // namespace
}  // namespace hone::test
