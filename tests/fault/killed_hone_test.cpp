// SIGKILL of hone itself, at random moments of a search: nothing runs on, nothing is left locked or
// damaged. HONE_KILLS=200 for many; a few in the ordinary run.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "candidates/hash.h"
#include "candidates/store/store.h"
#include "sandbox/child.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A hone of its own: hard links, so that its processes are known by the path of their program.
class Installed {
 public:
  Installed() {
    std::string name = std::string(HONE_BIN_DIR) + "/killed_XXXXXX";
    folder_ = mkdtemp(name.data());
    for (const char* program : {"hone", "hone-runner", "hone-sandbox"})
      fs::create_hard_link(fs::path(HONE_BIN_DIR) / program, folder_ / program);
  }
  ~Installed() {
    std::error_code code;
    fs::remove_all(folder_, code);
  }
  [[nodiscard]] fs::path database() const { return folder_ / "hone.db"; }
  [[nodiscard]] fs::path cache() const { return folder_ / "cache"; }

  pid_t start(const std::vector<std::string>& arguments) const {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    setenv("XDG_CACHE_HOME", cache().c_str(), 1);
    for (const char* stream : {"/dev/null"}) {
      if (freopen(stream, "w", stdout) == nullptr || freopen(stream, "w", stderr) == nullptr)
        _exit(126);
    }
    const std::string program = folder_ / "hone";
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }

  /// Processes whose program lies in our folder.
  [[nodiscard]] std::vector<std::string> running() const {
    std::vector<std::string> out;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator("/proc", code)) {
      std::error_code gone;
      const fs::path program = fs::read_symlink(entry.path() / "exe", gone);
      if (!gone && program.string().starts_with(folder_.string()))
        out.push_back(entry.path().filename().string() + " " + program.filename().string());
    }
    return out;
  }

 private:
  fs::path folder_;
};

/// Do children get a cgroup of their own here?
bool has_cgroups() {
  sandbox::Policy policy;
  policy.argv = {"/bin/true"};
  policy.helper = HONE_BIN_DIR "/hone-sandbox";
  const auto child = sandbox::Child::start(policy);
  if (!child) return false;
  const auto& layers = (*child)->layers();
  return std::ranges::any_of(layers, [](const sandbox::LayerState& l) {
    return l.layer == sandbox::Layer::kMemoryCgroup && l.active;
  });
}

/// cgroups, "hone-PARENT-CHILD", whose parent is gone.
std::vector<std::string> stale_cgroups() {
  std::vector<std::string> out;
  std::error_code code;
  fs::recursive_directory_iterator walk("/sys/fs/cgroup", code);
  for (; walk != fs::recursive_directory_iterator(); walk.increment(code)) {
    if (code) break;
    const std::string name = walk->path().filename();
    if (!name.starts_with("hone-") || !walk->is_directory(code)) continue;
    const pid_t parent = std::atoi(name.c_str() + 5);
    if (parent > 0 && kill(parent, 0) != 0 && errno == ESRCH) out.push_back(walk->path());
  }
  return out;
}

std::vector<std::string> search(const Installed& hone, int seed, const char* budget) {
  return {"optimize", HONE_SOURCE_DIR "/baselines/softmax/softmax.cu",
          "--device", "emu:sm_90",
          "--budget", budget,
          "--seed",   std::to_string(seed),
          "--db",     hone.database()};
}

TEST(KilledHone, LeavesNoProcessNoLockAndNoDamage) {
  const char* kills = std::getenv("HONE_KILLS");
  const int rounds = kills != nullptr ? std::atoi(kills) : 12;
  const Installed hone;
  std::mt19937 random(20251);
  int while_running = 0;
  for (int i = 0; i < rounds; ++i) {
    const pid_t pid = hone.start(search(hone, i, "100000"));
    ASSERT_GT(pid, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 1500));
    while_running += hone.running().size() > 1 ? 1 : 0;
    kill(pid, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it had ended by itself: " << status;
    const auto deadline = Clock::now() + std::chrono::seconds(10);
    while (!hone.running().empty() && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (const auto& left : hone.running()) ADD_FAILURE() << "still running: " << left;
  }
  EXPECT_GT(while_running, rounds / 2);

  {
    SQLite::Database database(hone.database().string(), SQLite::OPEN_READWRITE);
    EXPECT_EQ(database.execAndGet("PRAGMA integrity_check").getString(), "ok");
    EXPECT_EQ(database.execAndGet("SELECT COUNT(*) FROM pragma_foreign_key_check").getInt(), 0);
  }
  for (const auto& entry : fs::recursive_directory_iterator(hone.cache())) {
    if (!entry.is_regular_file()) continue;
    if (entry.path().filename().string().starts_with("unfinished-")) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    ASSERT_GT(text.size(), 38U);
    EXPECT_EQ(text.substr(6, 32), content_hash(std::string_view(text).substr(38)));
  }
  // And the next one works.
  const pid_t pid = hone.start(search(hone, 1, "3"));
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  // It has tidied up after the others, too.
  if (!has_cgroups()) {
    std::cout << "no cgroup is delegated here: whether stale ones are removed was not seen\n";
  }
  for (const auto& left : stale_cgroups()) ADD_FAILURE() << "still there: " << left;
  const auto store = Store::open(hone.database());
  ASSERT_TRUE(store) << store.error().message;
  const auto boards = (*store)->boards({});
  ASSERT_TRUE(boards);
  EXPECT_FALSE(boards->empty());
}

}  // namespace
}  // namespace hone
