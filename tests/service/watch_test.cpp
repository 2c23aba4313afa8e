// `hone submit`, `jobs`, `watch`, `workers` and `cancel` as people use them: what they print, on a
// terminal and elsewhere.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "engine/cli/watch_job.h"
#include "engine/queue/messages_worker.h"
#include "tests/e2e/process.h"
#include "tests/service/daemon.h"
#include "tests/unit/engine/fake_evaluator.h"
#include "tests/unit/engine/redis_server.h"

namespace hone {
namespace {

using hone::testing::hone;
using hone::testing::RedisServer;
using hone::testing::TemporaryFolder;

constexpr const char* kTask = HONE_SOURCE_DIR "/baselines/vector_add/vector_add.cu";

/// Everything that the command wrote to its terminal; its exit status in `status`.
std::string on_a_terminal(const std::vector<std::string>& arguments, int& status) {
  winsize size{.ws_row = 24, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    std::vector<std::string> words = arguments;
    words.insert(words.begin(), HONE_BIN_DIR "/hone");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  std::string out;
  std::array<char, 4096> some{};
  for (ssize_t n = 0; (n = read(terminal, some.data(), some.size())) > 0;)
    out.append(some.data(), static_cast<std::size_t>(n));
  close(terminal);
  int how = 0;
  waitpid(child, &how, 0);
  status = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
  return out;
}

class Watching : public ::testing::Test {
 protected:
  std::string submit(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"submit", kTask,        "--arch",  "emu:sm_90", "--budget",
                                      "6",      "--no-known", "--owner", "ada",       "--redis",
                                      url_,     "--json",     "-"};
    words.insert(words.end(), more.begin(), more.end());
    const auto run = hone(words);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.json().value("job", "");
  }
  RedisServer server_;
  const std::string url_ = server_.url_text();
  TemporaryFolder folder_;
};

TEST_F(Watching, OnATerminalLinesAreWrittenAgainAndTheBoardsRowEnds) {
  const std::string job = submit();
  std::jthread later([&](const std::stop_token& stopping) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    const test::Daemon coordinator(
        {"coordinator", "--db", folder_.file("hone.db"), "--redis", url_});
    const test::Daemon worker({"worker", "--device", "emu:sm_90", "--redis", url_});
    while (!stopping.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  });
  int status = -1;
  const std::string shown = on_a_terminal({"watch", job.substr(0, 15), "--redis", url_}, status);
  EXPECT_EQ(status, 0) << shown;
  // It says why it waits, writes over that, and what stays at the end is the board's row.
  EXPECT_NE(shown.find("no coordinator leads"), std::string::npos) << shown;
  EXPECT_NE(shown.find("waits for a worker for emu:sm_90"), std::string::npos) << shown;
  EXPECT_NE(shown.find("\033[A\r\033[K"), std::string::npos) << shown;
  const auto end = shown.rfind(job + ": done");
  ASSERT_NE(end, std::string::npos) << shown;
  const std::string last = shown.substr(end);
  EXPECT_EQ(last.find("\033["), std::string::npos) << last;
  EXPECT_NE(last.find("vector_add\r\n"), std::string::npos) << last;
  for (const char* column : {"arch", "device", "rank", "candidate"})
    EXPECT_NE(last.find(column), std::string::npos) << last;
  // Elsewhere there is nothing that only a terminal understands.
  const auto plain = hone({"watch", job, "--redis", url_});
  EXPECT_EQ(plain.status, 0);
  EXPECT_EQ(plain.out.find('\033'), std::string::npos);
  EXPECT_NE(plain.out.find("speedup"), std::string::npos) << plain.out;
  // Where the row stands.
  const auto board =
      hone({"leaderboard", "--db", folder_.file("hone.db"), "--json", "-"}).json()["boards"][0];
  const auto document = hone({"watch", job, "--redis", url_, "--json", "-"}).json();
  const auto& arch = document["archs"][0];
  EXPECT_EQ(arch["device_name"], board["device_name"]) << document.dump();
  EXPECT_EQ(arch["rank"], 1) << document.dump();
  EXPECT_EQ(arch["best_candidate"], board["rows"][0]["candidate"]);
  const std::string row = "emu:sm_90  " + board["device_name"].get<std::string>();
  EXPECT_NE(plain.out.find(row), std::string::npos) << plain.out;
  const auto listed = hone({"jobs", "--redis", url_, "--json", "-"}).json();
  EXPECT_EQ(listed["jobs"][0]["archs"][0]["rank"], 1) << listed.dump();
}

TEST_F(Watching, ListsAndHintsSayWhatOneNeeds) {
  const auto warned = hone({"submit", kTask, "--arch", "emu:sm_80", "--redis", url_});
  EXPECT_EQ(warned.status, 0);
  EXPECT_NE(warned.err.find("no coordinator leads now"), std::string::npos) << warned.err;
  EXPECT_NE(warned.err.find("no worker for emu:sm_80 is there"), std::string::npos) << warned.err;
  const auto hint = warned.err.find("`hone watch ");
  ASSERT_NE(hint, std::string::npos) << warned.err;
  EXPECT_NE(warned.err.find(" --redis " + url_ + "`", hint), std::string::npos) << warned.err;

  const std::string job = submit({"--priority", "3"});
  const auto text = hone({"jobs", "--redis", url_});
  for (const char* part : {"vector_add", "ada", "emu:sm_90", "priority", "submitted (UTC)",
                           "queued; no coordinator leads; waits for a worker for emu:sm_90"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  const auto listed = hone({"jobs", "--owner", "ada", "--redis", url_, "--json", "-"}).json();
  ASSERT_EQ(listed["jobs"].size(), 1U) << listed.dump();
  EXPECT_EQ(listed["jobs"][0]["job"], job);
  EXPECT_EQ(listed["jobs"][0]["priority"], 3);
  EXPECT_EQ(listed["jobs"][0]["place"], 1);
  EXPECT_EQ(hone({"jobs", "--state", "lost", "--redis", url_}).status, 2);
  for (const char* arch : {"sm_70x", "emu:sm_9000", "emu:"}) {
    const auto refused = hone({"submit", kTask, "--arch", arch, "--redis", url_});
    EXPECT_EQ(refused.status, 2) << arch;
    EXPECT_NE(refused.err.find("is no architecture"), std::string::npos) << refused.err;
  }
}

TEST_F(Watching, WorkersOfAnotherVersionAreMarked) {
  queue::WorkerMessage worker{.id = "old", .host = "there", .version = "0.0.9"};
  queue::WorkerDevice device;
  device.info = test::FakeEvaluator::h200();
  device.modelled = true;
  device.pool = queue::pool_of(device.info, true);
  worker.devices = {device};
  const auto bytes = queue::encode(worker);
  ASSERT_TRUE(bytes);
  auto json = nlohmann::json::from_cbor(*bytes);
  json["v"] = queue::kQueueVersion + 1;
  const auto cbor = nlohmann::json::to_cbor(json);
  auto connection = server_.connect();
  ASSERT_TRUE(
      connection->command({"SET", "hone:worker:old", std::string(cbor.begin(), cbor.end())}));
  ASSERT_TRUE(connection->command({"ZADD", "hone:workers", "1", "old"}));
  const auto listed = hone({"workers", "--redis", url_});
  EXPECT_NE(listed.out.find("old  on there, hone 0.0.9: ANOTHER VERSION"), std::string::npos)
      << listed.out;
  const auto rows = hone({"workers", "--redis", url_, "--json", "-"}).json()["workers"];
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["usable"], false);
  const auto warned = hone({"submit", kTask, "--arch", "emu:sm_90", "--redis", url_});
  EXPECT_NE(warned.err.find("only workers of another version"), std::string::npos) << warned.err;
}

TEST(WatchLines, AreOneOrTwoWhateverTheJob) {
  JobView job;
  job.row.about = queue::JobAbout{.id = "a", .task = "scale"};
  job.row.about->budget.evaluations = 40;
  job.waits = job.held = "3rd in line";
  EXPECT_EQ(cli::watch_lines(job), std::vector<std::string>{"queued, 3rd in line"});
  job.held.clear();
  job.row.status.state = queue::JobState::kSearching;
  job.unserved = {"sm_80"};
  for (const char* arch : {"emu:sm_90", "sm_80"}) job.row.status.archs.push_back({.arch = arch});
  job.row.status.archs[0].best_time_us = 5;
  job.row.status.archs[0].reference_time_us = 10;
  const auto two = cli::watch_lines(job);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].find("waits"), std::string::npos) << two[0];
  EXPECT_NE(two[0].find("0 evaluated of 40, best 5.00 us (2.00x)"), std::string::npos) << two[0];
  EXPECT_NE(two[1].find("sm_80 searching, waits for a worker"), std::string::npos) << two[1];
  job.row.status.archs.push_back({.arch = "sm_70"});
  const auto three = cli::watch_lines(job);
  ASSERT_EQ(three.size(), 2U);
  EXPECT_EQ(three[0].substr(0, 26), "3 architectures searching,");
  EXPECT_EQ(three[1].substr(0, 10), "emu:sm_90,");
  EXPECT_EQ(cli::result_rows(job), "");  // no candidate passed the final stage yet
}

}  // namespace
}  // namespace hone
