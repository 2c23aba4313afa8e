#include "evaluator/pool/compile_cache.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "evaluator/compile/locate.h"

namespace hone::pool {
namespace {

namespace fs = std::filesystem;

class CompileCacheTest : public testing::Test {
 protected:
  CompileCacheTest() {
    char name[] = "/tmp/hone_cache_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~CompileCacheTest() override { fs::remove_all(folder_); }

  static nlohmann::json key(const std::string& source,
                            const std::string& toolchain = "NVRTC 13.0") {
    return CompileCache::key({source, {{"N", "4"}}, {"k"}, "sm_90", false}, toolchain, "13.0");
  }
  static nlohmann::json reply(std::size_t bytes = 10) {
    return {{"ptx", std::string(bytes, 'p')}, {"number", 7}};
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file()) out.push_back(entry.path());
    return out;
  }
  std::uint64_t bytes() const {
    std::uint64_t total = 0;
    for (const auto& file : files()) total += fs::file_size(file);
    return total;
  }
  fs::path folder_;
};

TEST_F(CompileCacheTest, FindsWhatWasPut) {
  CompileCache cache(folder_);
  EXPECT_FALSE(cache.find(key("a")));
  cache.put(key("a"), reply());
  EXPECT_EQ(cache.find(key("a")), reply());
  EXPECT_EQ(CompileCache(folder_).find(key("a")), reply());
  EXPECT_FALSE(cache.find(key("b")));
  EXPECT_FALSE(cache.find(key("a", "NVRTC 12.9")));
  EXPECT_FALSE(cache.find(
      CompileCache::key({"a", {{"N", "5"}}, {"k"}, "sm_90", false}, "NVRTC 13.0", "13.0")));
}

TEST_F(CompileCacheTest, AnotherToolkitHasAnotherIdentity) {
  // As one that is updated in place: the same version, another file.
  const fs::path home = folder_ / "cuda", nvrtc = home / "lib" / "libnvrtc.so.13";
  fs::create_directories(home / "include");
  fs::create_directories(home / "lib");
  std::ofstream(home / "include" / "cuda_fp16.h") << "// one\n";
  std::ofstream(nvrtc) << "one";
  const char* before = std::getenv("CUDA_HOME");
  const std::string kept = before != nullptr ? before : "";
  setenv("CUDA_HOME", home.c_str(), 1);
  const auto identity = [&] { return compile::toolchain_identity(nvrtc); };
  const std::string first = identity();
  EXPECT_EQ(identity(), first);
  std::ofstream(home / "include" / "cuda_fp16.h") << "// another\n";
  const std::string second = identity();
  EXPECT_NE(second, first);
  std::ofstream(home / "lib" / "libnvrtc-builtins.so.13.0") << "new";
  EXPECT_NE(identity(), second);
  if (before != nullptr) {
    setenv("CUDA_HOME", kept.c_str(), 1);
  } else {
    unsetenv("CUDA_HOME");
  }
}

TEST_F(CompileCacheTest, WithoutAFolderNothingIsKept) {
  CompileCache cache("");
  cache.put(key("a"), reply());
  EXPECT_FALSE(cache.find(key("a")));
  cache.trim();
}

TEST_F(CompileCacheTest, DamagedEntriesAreRemoved) {
  CompileCache cache(folder_);
  for (const auto& damage : {0, 1, 2}) {
    cache.put(key("a"), reply(1000));
    ASSERT_EQ(files().size(), 1U);
    const fs::path file = files()[0];
    if (damage == 0) fs::resize_file(file, 500);
    if (damage == 1) fs::resize_file(file, 3);
    if (damage == 2) {
      std::fstream text(file, std::ios::in | std::ios::out | std::ios::binary);
      text.seekp(700);
      text.put('x');
    }
    EXPECT_FALSE(cache.find(key("a"))) << damage;
    EXPECT_TRUE(files().empty()) << damage;
  }
}

/// Another program under the same name, as one who can make hashes collide would put it.
TEST_F(CompileCacheTest, AnEntryOfAnotherProgramIsNotFound) {
  CompileCache cache(folder_);
  cache.put(key("a"), reply());
  const fs::path a = files()[0];
  cache.put(key("b"), {{"ptx", "hostile"}});
  fs::path b = files()[0] == a ? files()[1] : files()[0];
  fs::rename(b, a);
  EXPECT_FALSE(cache.find(key("a")));
}

TEST_F(CompileCacheTest, KeepsWithinItsSize) {
  CompileCache cache(folder_, 100'000);
  for (int i = 0; i < 40; ++i) {
    cache.put(key(std::to_string(i)), reply(5000));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_TRUE(cache.find(key("0")));  // used just now: stays
  cache.trim();
  EXPECT_LE(bytes(), 100'000U);
  EXPECT_GT(bytes(), 70'000U);
  EXPECT_TRUE(cache.find(key("0")));
  EXPECT_TRUE(cache.find(key("39")));
  EXPECT_FALSE(cache.find(key("1")));
}

TEST_F(CompileCacheTest, WhatADeadWriterLeftIsRemoved) {
  CompileCache cache(folder_);
  cache.put(key("a"), reply());
  const fs::path left = files()[0].parent_path() / "unfinished-1-1";
  std::ofstream(left) << "x";
  cache.trim();
  EXPECT_TRUE(fs::exists(left));  // its writer may be alive
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.trim();
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(CompileCacheTest, AFolderThatCannotBeWrittenCostsNothing) {
  CompileCache cache("/proc/none/such");
  cache.put(key("a"), reply());
  EXPECT_FALSE(cache.find(key("a")));
}

TEST_F(CompileCacheTest, ProcessesShareItAndMayBeKilledAnywhere) {
  constexpr int kWriters = 4;
  // How often each has written: on a busy machine some get going late.
  auto* written = static_cast<std::atomic<int>*>(mmap(nullptr, kWriters * sizeof(std::atomic<int>),
                                                      PROT_READ | PROT_WRITE,
                                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(written, MAP_FAILED);
  std::vector<pid_t> writers;
  for (int w = 0; w < kWriters; ++w) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      CompileCache cache(folder_, 300'000);
      for (int i = 0;; ++i) {
        const auto k = key(std::to_string(i % 50));
        cache.put(k, reply(static_cast<std::size_t>(10'000 + i % 50)));
        const auto found = cache.find(k);
        if (found && *found != reply(static_cast<std::size_t>(10'000 + i % 50))) _exit(1);
        if (i % 20 == w) cache.trim();
        ++written[w];
      }
    }
    writers.push_back(pid);
  }
  const auto all_wrote = [&] {
    return std::all_of(written, written + kWriters, [](const auto& n) { return n >= 60; });
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!all_wrote() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(all_wrote());
  for (const pid_t pid : writers) kill(pid, SIGKILL);
  for (const pid_t pid : writers) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "a reader saw an entry that was not written so";
  }
  munmap(written, kWriters * sizeof(std::atomic<int>));
  CompileCache cache(folder_, 300'000);
  int found = 0;
  for (int i = 0; i < 50; ++i) {
    const auto entry = cache.find(key(std::to_string(i)));
    if (!entry) continue;
    ++found;
    EXPECT_EQ(*entry, reply(static_cast<std::size_t>(10'000 + i)));
  }
  EXPECT_GT(found, 5);
}

}  // namespace
}  // namespace hone::pool
