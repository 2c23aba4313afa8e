// A key that a language model's server gets and nobody else.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>

#include "tests/llm_search/fixture.h"
#include "tests/service/daemon.h"

namespace hone::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKey = "sk-this-must-be-nowhere-4711";

/// In command lines and environments of all processes but this one, as far as they can be read.
std::set<std::string> processes_that_show(const std::string& secret) {
  std::set<std::string> shown;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != pid.npos || pid == std::to_string(getpid()))
      continue;
    for (const char* part : {"cmdline", "environ"}) {
      if (read(entry.path() / part).find(secret) != std::string::npos)
        shown.insert(pid + "/" + part + ": " + read(entry.path() / "cmdline"));
    }
  }
  return shown;
}

// The server sees the key, and says it back wherever it can.
TEST_F(LlmSearch, TheKeyIsNowhere) {
  std::mutex mutex;
  std::set<std::string> shown;
  int with_key = 0;
  const ScriptedServer server(ScriptedServer::answering([&](const HeardRequest& request,
                                                            int number) {
    const std::lock_guard lock(mutex);
    shown.merge(processes_that_show(kKey));
    if (request.header("Authorization") == std::string("Bearer ") + kKey) ++with_key;
    if (number % 3 == 0)
      return http_reply(500, "application/json", std::string("{\"error\": \"") + kKey + "\"}");
    if (number % 3 == 1)
      return stream_reply("The key is " + std::string(kKey) + "\n" + trick("popcount"));
    return stream_reply("```cuda\n// " + std::string(kKey) + "\n" +
                        "__global__ void popcount(const int* x, int* y, int n) { y[0] = " + kKey +
                        "; }\n```\n```json\n{}\n```");
  }));
  auto command = optimize("popcount", "12");
  with_model(command, server.url());
  command.insert(command.end(), {"--llm-record", folder_.file("record.jsonl")});
  setenv("HONE_LLM_KEY", kKey, 1);
  const auto run = hone(command);
  unsetenv("HONE_LLM_KEY");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_GT(with_key, 0);
  EXPECT_TRUE(shown.empty()) << *shown.begin();
  EXPECT_EQ(run.out.find(kKey), std::string::npos) << run.out;
  EXPECT_EQ(run.err.find(kKey), std::string::npos) << run.err;
  const fs::path folder = fs::path(db_).parent_path();
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    EXPECT_EQ(read(entry.path()).find(kKey), std::string::npos) << entry.path();
  }
  EXPECT_GE(files, 2);  // the database and the record
}

/// In this folder, which is the working directory meanwhile, and with core files of any size.
class Cores {
 public:
  explicit Cores(const fs::path& folder) : before_(fs::current_path()) {
    getrlimit(RLIMIT_CORE, &limit_);
    const rlimit most{limit_.rlim_max, limit_.rlim_max};
    setrlimit(RLIMIT_CORE, &most);
    fs::create_directories(folder);
    fs::current_path(folder);
  }
  ~Cores() {
    fs::current_path(before_);
    setrlimit(RLIMIT_CORE, &limit_);
  }
  Cores(const Cores&) = delete;
  Cores& operator=(const Cores&) = delete;

 private:
  const fs::path before_;
  rlimit limit_{};
};

int files_in(const fs::path& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), {}));
}

// libcurl has copies of the key while it asks, and its freed memory has them later.
TEST_F(LlmSearch, TheKeyIsInNoCoreFile) {
  const fs::path others = folder_.file("others"), ours = folder_.file("ours");
  {
    const Cores cores(others);
    (void)run_process({"/bin/sh", "-c", "kill -ABRT $$"});
  }
  if (files_in(others) == 0)
    GTEST_SKIP() << "no core files here: see ulimit -Hc and /proc/sys/kernel/core_pattern";
  std::atomic<bool> asked = false;
  const ScriptedServer server([&](ServerPeer& peer) {
    const auto request = peer.request();
    if (!request) return;
    EXPECT_EQ(request->header("Authorization"), std::string("Bearer ") + kKey);
    asked = true;
    (void)peer.wait_until_closed();
  });
  auto command = optimize("popcount", "12");
  with_model(command, server.url());
  const Cores cores(ours);
  setenv("HONE_LLM_KEY", kKey, 1);
  test::Daemon process(command);
  unsetenv("HONE_LLM_KEY");
  for (int i = 0; i < 3000 && !asked; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(asked) << process.log();
  process.signal(SIGABRT);
  EXPECT_EQ(process.wait(30), 128 + SIGABRT) << process.log();
  for (const auto& entry : fs::directory_iterator(ours))
    EXPECT_EQ(read(entry.path()).find(kKey), std::string::npos) << entry.path();
  EXPECT_EQ(files_in(ours), 0);
}

}  // namespace
}  // namespace hone::testing
