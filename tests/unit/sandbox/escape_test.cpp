// Children that try to get out, each in its own way (tests/escape/escape_probe.cpp). Run as root
// and, by tests/escape/as_user.sh, as an ordinary user.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sandbox/child.h"
#include "sandbox/kept_programs.h"

namespace hone::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

Policy probe(std::vector<std::string> arguments) {
  Policy policy;
  policy.argv = {executable_folder() + "/escape_probe"};
  policy.argv.insert(policy.argv.end(), arguments.begin(), arguments.end());
  // Its C library; nothing else.
  for (const char* path : {"/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu",
                           "/usr/lib/x86_64-linux-gnu", "/etc/ld.so.cache"})
    policy.paths.push_back({path, VisiblePath::Access::kRead, true});
  return policy;
}

struct Ran {
  std::string text;
  ExitStatus status;
  std::vector<LayerState> layers;
  std::string stderr_tail;
  [[nodiscard]] bool active(Layer layer) const {
    return std::ranges::any_of(layers, [&](const auto& l) { return l.layer == layer && l.active; });
  }
  [[nodiscard]] bool has(std::string_view what) const { return text.find(what) != text.npos; }
};

Ran run(const Policy& policy, double timeout_s = 20) {
  Ran ran;
  auto child = Child::start(policy);
  if (!child) {
    ran.text = "not started: " + child.error().message;
    return ran;
  }
  timeval limit{static_cast<time_t>(timeout_s), 0};
  setsockopt((*child)->channel(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  char chunk[4096];
  for (ssize_t n; (n = recv((*child)->channel(), chunk, sizeof chunk, 0)) > 0;)
    ran.text.append(chunk, static_cast<std::size_t>(n));
  ran.status = (*child)->wait(timeout_s);
  ran.layers = (*child)->layers();
  ran.stderr_tail = (*child)->stderr_tail();
  return ran;
}

/// Every attempt was stopped, and there were some.
void expect_stopped(const Ran& ran, const std::string& but = "nothing") {
  std::istringstream lines(ran.text);
  int stopped = 0;
  for (std::string line; std::getline(lines, line);) {
    stopped += line.starts_with("stopped:") ? 1 : 0;
    if (line.find(but) == line.npos) {
      EXPECT_FALSE(line.starts_with("escaped")) << line;
    }
  }
  EXPECT_GT(stopped, 0) << ran.text << ran.stderr_tail << ran.status.text();
}

/// Layers that this machine refuses, so that a test can say what it could not test.
#define NEEDS(ran, which)   \
  if (!(ran).active(which)) \
  GTEST_SKIP() << "this machine refuses: " << to_string(which) << "; " << (ran).text

TEST(Escape, LayersAreReported) {
  const Ran ran = run(probe({"status"}));
  EXPECT_EQ(ran.layers.size(), static_cast<std::size_t>(kLayerCount)) << ran.text;
  for (const auto& l : ran.layers) {
    EXPECT_EQ(l.active, l.reason.empty()) << to_string(l.layer);
    printf("%-18s %s%s\n", std::string(to_string(l.layer)).c_str(),
           l.active ? "yes" : "no: ", l.reason.c_str());
  }
  EXPECT_TRUE(ran.has("NoNewPrivs:\t1")) << ran.text;
  EXPECT_TRUE(ran.has("CapEff:\t0000000000000000"));
  EXPECT_TRUE(ran.has("CapAmb:\t0000000000000000"));
  EXPECT_TRUE(ran.has("Seccomp:\t2"));
  if (ran.active(Layer::kUserNamespace) && geteuid() == 0) {
    EXPECT_TRUE(ran.has("Uid:\t65534\t65534\t65534\t65534")) << ran.text;
    EXPECT_TRUE(ran.has("Groups:\t \n") || ran.has("Groups:\t\n")) << ran.text;
    EXPECT_TRUE(ran.has("CapBnd:\t0000000000000000"));
  }
}

TEST(Escape, FilesOfTheHost) {
  char own[] = "/tmp/hone_secret_XXXXXX";
  const int fd = mkstemp(own);
  ASSERT_GE(fd, 0);
  close(fd);
  chmod(own, 0644);  // only the sandbox stands in the way
  const Ran ran =
      run(probe({"read", own, "/etc/passwd", "/etc/shadow", "/etc/hostname", "/root/.bashrc",
                 "/home", "/sys", "/dev/mem", "/dev/kmsg", "/proc/kcore", "/proc/1/root/etc/passwd",
                 "/proc/self/cwd/../etc/passwd", "/usr/lib/os-release", "/", "/../../etc/passwd"}));
  unlink(own);
  expect_stopped(ran, "escaped: /\n");
}

TEST(Escape, WritingAnywhere) {
  const Ran ran = run(probe({"write", std::filesystem::temp_directory_path().string(),
                             executable_folder(), "/usr/lib/x86_64-linux-gnu"}));
  expect_stopped(ran);
  EXPECT_FALSE(std::filesystem::exists("/tmp/escape_probe_was_here"));
}

TEST(Escape, Sockets) { expect_stopped(run(probe({"sockets"}))); }

TEST(Escape, OtherProcesses) {
  const Ran ran = run(probe({"processes", std::to_string(getpid()), std::to_string(getppid())}));
  NEEDS(ran, Layer::kPrivateProc);
  expect_stopped(ran);
}

TEST(Escape, ForbiddenCalls) {
  // A shell cannot be started: there is none in its root. clone3 says ENOSYS, as old kernels do.
  expect_stopped(run(probe({"calls"})));
}

TEST(Escape, InheritedDescriptors) {
  const int leaked = dup(1);
  const Ran ran = run(probe({"descriptors"}));
  close(leaked);
  expect_stopped(ran);
}

TEST(Escape, Environment) {
  setenv("HONE_TEST_SECRET", "1", 1);
  Policy policy = probe({"environment"});
  policy.environment = {"ONLY=this"};
  EXPECT_EQ(run(policy).text, "variable ONLY=this\nend\n");
}

TEST(Escape, ForkBombWithoutLeaveToFork) { EXPECT_EQ(run(probe({"fork_bomb"})).text, "forks 0\n"); }

TEST(Escape, ForkBombIsBounded) {
  Policy policy = probe({"fork_bomb"});
  policy.processes = 20;
  const Ran ran = run(policy);
  NEEDS(ran, Layer::kUserNamespace);
  int forks = -1;
  ASSERT_EQ(std::sscanf(ran.text.c_str(), "forks %d", &forks), 1) << ran.text;
  EXPECT_GT(forks, 5);
  EXPECT_LT(forks, 20);
}

TEST(Escape, MemoryIsBounded) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "its shadow memory alone is larger than the limit";
#endif
  Policy policy = probe({"memory"});
  policy.address_space = 512 << 20;
  const Ran ran = run(policy);
  int mib = -1;
  ASSERT_EQ(std::sscanf(ran.text.c_str(), "memory %d", &mib), 1) << ran.text << ran.status.text();
  EXPECT_LT(mib, 512);
  expect_stopped(ran);
}

TEST(Escape, OutputIsBounded) {
  Policy policy = probe({"output"});
  policy.output = 1 << 20;
  const auto begin = Clock::now();
  const Ran ran = run(policy);
  EXPECT_FALSE(ran.has("escaped"));
  EXPECT_TRUE(ran.status.signalled || ran.status.code != 0 || ran.has("stopped")) << ran.text;
  EXPECT_NE(ran.stderr_tail.find("wrote more than 1048576 bytes"), std::string::npos);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
}

TEST(Escape, CpuTimeIsBounded) {
  Policy policy = probe({"spin"});
  policy.cpu_s = 1;
  const auto begin = Clock::now();
  const Ran ran = run(policy);
  EXPECT_TRUE(ran.status.signalled) << ran.status.text();
  EXPECT_EQ(ran.status.code, SIGKILL);
  EXPECT_GT(Clock::now() - begin, std::chrono::milliseconds(900));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(15));
}

TEST(Escape, WallTimeIsBounded) {
  Policy policy = probe({"spin"});
  policy.wall_s = 0.3;
  const auto begin = Clock::now();
  const Ran ran = run(policy);
  EXPECT_TRUE(ran.status.signalled);
  EXPECT_NE(ran.stderr_tail.find("killed after its 0.3 s"), std::string::npos) << ran.stderr_tail;
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
}

TEST(Escape, GrandchildrenDieWithTheChild) {
  Policy policy = probe({"grandchild"});
  policy.processes = 20;
  // The channel's end is seen only when nobody holds it any more.
  const auto begin = Clock::now();
  const Ran ran = run(policy, 15);
  EXPECT_EQ(ran.text, "grandchild lives\n");
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
}

TEST(Escape, EndsAreReportedAsTheyAre) {
  EXPECT_EQ(run(probe({"crash", "exit"})).status.text(), "exit status 7");
  EXPECT_EQ(run(probe({"crash", "segv"})).status.code, SIGSEGV);
  const auto aborted = run(probe({"crash", "abort"})).status;
  EXPECT_TRUE(aborted.signalled);
  EXPECT_EQ(aborted.code, SIGABRT);
}

TEST(Escape, StrictRefusesWhereALayerIsMissing) {
  const Ran best = run(probe({"status"}));
  const bool all = std::ranges::all_of(best.layers, [](const auto& l) { return l.active; });
  Policy policy = probe({"status"});
  policy.mode = Mode::kStrict;
  const auto child = Child::start(policy);
  EXPECT_EQ(child.has_value(), all);
  if (!child) {
    EXPECT_EQ(child.error().code, ErrorCode::kEnvironment);
    EXPECT_NE(child.error().message.find("strict"), std::string::npos) << child.error().message;
  }
}

TEST(Escape, OffIsOff) {
  Policy policy = probe({"read", "/etc/passwd"});
  policy.mode = Mode::kOff;
  const Ran ran = run(policy);
  EXPECT_TRUE(ran.has("escaped: /etc/passwd")) << ran.text;
  EXPECT_TRUE(ran.layers.empty());
}

}  // namespace
}  // namespace hone::sandbox
