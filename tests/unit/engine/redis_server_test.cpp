// The fixture itself.
#include "redis_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace hone {
namespace {

using testing::RedisFolder;
using testing::RedisServer;
using testing::RedisServerOptions;

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Not a test: what the one below starts and kills.
TEST(RedisServerFixture, DISABLED_WaitsToBeKilled) {
  const char* file = std::getenv("HONE_TEST_PID_FILE");
  if (file == nullptr) GTEST_SKIP() << "only as a part of ATestThatIsKilledLeavesNoServer";
  const RedisServer server;
  std::ofstream(file) << server.pid() << std::endl;
  pause();
}

TEST(RedisServerFixture, ATestThatIsKilledLeavesNoServer) {
  const RedisFolder folder;
  const std::string file = folder.file("pid");
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string folder_setting = "TMPDIR=" + folder.file(".");
  const std::string file_setting = "HONE_TEST_PID_FILE=" + file;
  const std::string path_setting = fmt::format("PATH={}", std::getenv("PATH"));
  const pid_t child = fork();
  if (child == 0) {
    const char* environment[] = {folder_setting.c_str(), file_setting.c_str(), path_setting.c_str(),
                                 nullptr};
    execle(program.c_str(), program.c_str(), "--gtest_also_run_disabled_tests",
           "--gtest_filter=RedisServerFixture.DISABLED_WaitsToBeKilled", nullptr, environment);
    _exit(127);
  }
  for (int i = 0; i < 3000 && !read_file(file).ends_with('\n'); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const std::string text = read_file(file);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_FALSE(text.empty()) << "the server did not start";
  // Where nobody reaps orphans it stays a zombie.
  const std::string state = fmt::format("/proc/{}/stat", std::stoi(text));
  const auto gone = [&] {
    const std::string stat = read_file(state);
    return stat.empty() || stat.contains(") Z");
  };
  for (int i = 0; i < 1000 && !gone(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(gone()) << "it lives on";
}

TEST(RedisServerFixture, OutlivesTheThreadThatStartedIt) {
  RedisServer server;
  std::thread([&] { server.restart(); }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(server.connect()->command({"PING"}));
}

TEST(RedisServerFixture, KeepsWhatItIsToldToKeep) {
  using Persistence = RedisServerOptions::Persistence;
  for (const auto persistence :
       {Persistence::kNone, Persistence::kEverySecond, Persistence::kAlways}) {
    RedisServer server({.persistence = persistence});
    ASSERT_TRUE(server.connect()->command({"SET", "key", "value"})->is_ok());
    server.restart();
    const auto reply = server.connect()->command({"GET", "key"});
    EXPECT_EQ(reply->is_nil(), persistence == Persistence::kNone);
  }
}

}  // namespace
}  // namespace hone
