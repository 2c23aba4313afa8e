#include "sandbox/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

namespace hone::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

Policy shell(const std::string& script) {
  Policy policy;
  policy.argv = {"/bin/sh", "-c", script};
  policy.processes = 64;
  for (const char* path : {"/bin", "/usr/bin", "/lib", "/lib64", "/usr/lib", "/etc/ld.so.cache"})
    policy.paths.push_back({path, VisiblePath::Access::kRead, true});
  return policy;
}

/// Everything the child writes to descriptor 3 until it closes it.
std::string read_channel(const Child& child) {
  std::string text;
  char chunk[4096];
  for (ssize_t n; (n = recv(child.channel(), chunk, sizeof chunk, 0)) > 0;)
    text.append(chunk, static_cast<std::size_t>(n));
  return text;
}

TEST(Child, TalksOverDescriptorThree) {
  auto child = Child::start(shell("read line <&3; echo \"got $line\" >&3"));
  ASSERT_TRUE(child) << child.error().message;
  ASSERT_EQ(send((*child)->channel(), "hello\n", 6, 0), 6);
  EXPECT_EQ(read_channel(**child), "got hello\n");
  const auto status = (*child)->wait(5);
  EXPECT_FALSE(status.signalled);
  EXPECT_EQ(status.code, 0);
}

TEST(Child, ReportsTheExitStatus) {
  auto child = Child::start(shell("exit 7"));
  ASSERT_TRUE(child);
  EXPECT_EQ((*child)->wait(5).text(), "exit status 7");
}

TEST(Child, MissingProgramIsAnEnvironmentError) {
  Policy policy;
  policy.argv = {"/no/such/program"};
  const auto child = Child::start(policy);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, ErrorCode::kEnvironment);
  EXPECT_NE(child.error().message.find("/no/such/program"), std::string::npos);
}

TEST(Child, EnvironmentIsOnlyWhatThePolicySays) {
  setenv("HONE_TEST_SECRET", "1", 1);
  auto policy = shell("/usr/bin/env >&3");
  policy.environment = {"ONLY=this"};
  auto child = Child::start(policy);
  ASSERT_TRUE(child);
  const auto text = read_channel(**child);
  EXPECT_NE(text.find("ONLY=this"), std::string::npos);
  EXPECT_EQ(text.find("HONE_TEST_SECRET"), std::string::npos);
}

TEST(Child, InheritsNoOtherDescriptor) {
  // A leaked descriptor without close-on-exec is what a careless caller leaves open.
  const int leaked = dup(1);
  auto child = Child::start(shell("ls /proc/self/fd | tr '\\n' ' ' >&3"));
  close(leaked);
  ASSERT_TRUE(child);
  // 0-3, and the one that `ls` itself opens to read the folder.
  EXPECT_EQ(read_channel(**child), "0 1 2 3 4 ");
}

TEST(Child, DeadlineKillsIt) {
  auto child = Child::start(shell("sleep 1000"));
  ASSERT_TRUE(child);
  const auto begin = Clock::now();
  const auto status = (*child)->wait(0.1);
  EXPECT_TRUE(status.signalled);
  EXPECT_EQ(status.code, SIGKILL);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(20));
}

TEST(Child, ItsTreeDiesWithIt) {
  auto child = Child::start(shell("sleep 1000 & echo started >&3; wait"));
  ASSERT_TRUE(child);
  char text[64] = {};
  ASSERT_GT(recv((*child)->channel(), text, sizeof text - 1, 0), 0);
  // Our end of the channel outlives the Child: it sees the end when nobody holds the other one.
  const int ours = dup((*child)->channel());
  child->reset();
  EXPECT_EQ(recv(ours, text, sizeof text, 0), 0);
  close(ours);
}

TEST(Child, TreeOfAChildThatEndedByItselfDiesToo) {
  auto child = Child::start(shell("sleep 1000 & echo started >&3"));
  ASSERT_TRUE(child);
  EXPECT_EQ(read_channel(**child), "started\n");
  EXPECT_FALSE((*child)->wait(5).signalled);
}

TEST(Child, OutlivesTheThreadThatStartedIt) {
  std::unique_ptr<Child> child;
  std::thread([&] {
    auto started = Child::start(shell("read line <&3; echo alive >&3"));
    if (started) child = std::move(*started);
  }).join();
  ASSERT_NE(child, nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_EQ(send(child->channel(), "x\n", 2, MSG_NOSIGNAL), 2);
  EXPECT_EQ(read_channel(*child), "alive\n");
}

TEST(Child, FileSizeLimitHolds) {
  auto policy = shell("head -c 100000 /dev/zero > \"$F\"; echo $? >&3");
  const std::string path = testing::TempDir() + "/hone_sandbox_limit";
  policy.environment = {"F=" + path, "PATH=/usr/bin:/bin"};
  policy.file_size = 4096;
  policy.paths.push_back({testing::TempDir(), VisiblePath::Access::kWrite, false});
  auto child = Child::start(policy);
  ASSERT_TRUE(child);
  EXPECT_NE(read_channel(**child), "0\n");
  std::ifstream file(path, std::ios::ate | std::ios::binary);
  EXPECT_LE(file.tellg(), 4096);
  unlink(path.c_str());
}

TEST(Child, StderrIsKeptApart) {
  auto child = Child::start(shell("echo first >&2; echo last >&2"));
  ASSERT_TRUE(child);
  (*child)->wait(5);
  EXPECT_EQ((*child)->stderr_tail(), "first\nlast\n");
  EXPECT_EQ((*child)->stderr_tail(5), "last\n");
}

TEST(Child, GainsNoPrivileges) {
  auto child = Child::start(shell("grep NoNewPrivs /proc/self/status >&3"));
  ASSERT_TRUE(child);
  EXPECT_EQ(read_channel(**child), "NoNewPrivs:\t1\n");
}

}  // namespace
}  // namespace hone::sandbox
