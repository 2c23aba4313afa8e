#include "tests/service/jobs.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "candidates/task_reader.h"

namespace hone::test {

using hone::testing::hone;

Undisturbed undisturbed(const TestJob& job) {
  const hone::testing::TemporaryFolder folder;
  const auto run = hone({"optimize", job.task, "--device", "emu:sm_90", "--budget",
                         std::to_string(job.budget), "--seed", std::to_string(job.seed), "--db",
                         folder.file("alone.db"), "--quiet", "--json", "-"});
  EXPECT_EQ(run.status, 0) << run.err;
  const auto document = run.json();
  if (document.is_discarded()) return {};
  Undisturbed out{document["best"]["recipe"].dump(), 0};
  for (const auto& [name, count] : document["counts"].items())
    if (parse_verdict(name) && name != "refused") out.evaluated += count.get<std::int64_t>();
  return out;
}

/// As if it were the only one: what other jobs of its task found changes nothing.
std::string submit(const TestJob& job, const std::string& redis) {
  const auto run =
      hone({"submit", job.task, "--arch", "emu:sm_90", "--budget", std::to_string(job.budget),
            "--seed", std::to_string(job.seed), "--no-known", "--redis", redis, "--json", "-"});
  EXPECT_EQ(run.status, 0) << run.err;
  return run.status == 0 ? run.json()["job"].get<std::string>() : "";
}

namespace {

/// Asks until `look` says yes.
bool until(const hone::testing::RedisServer& server, double seconds,
           const std::function<bool(queue::Broker&)>& look) {
  const auto url = RedisUrl::parse(server.socket_url(), nullptr);
  auto client = url ? RedisClient::open(*url, {}) : std::unexpected(url.error());
  EXPECT_TRUE(client) << client.error().message;
  if (!client) return false;
  queue::Broker broker(std::shared_ptr<RedisClient>(std::move(*client)), "hone");
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    if (look(broker)) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace

bool begun(const std::string& id, const hone::testing::RedisServer& server, double seconds) {
  return until(server, seconds, [&](queue::Broker& broker) {
    const auto status = broker.status(id);
    return status && !status->archs.empty() && status->archs[0].counts.evaluated() > 0;
  });
}

std::map<std::string, queue::JobStatus> ended(const std::vector<std::string>& ids,
                                              const hone::testing::RedisServer& server,
                                              double seconds) {
  std::map<std::string, queue::JobStatus> ended;
  (void)until(server, seconds, [&](queue::Broker& broker) {
    for (const auto& id : ids) {
      const auto status = broker.status(id);
      if (status && status->state >= queue::JobState::kDone) ended[id] = *status;
    }
    return ended.size() == ids.size();
  });
  return ended;
}

void expect_undisturbed(const queue::JobStatus& status, const Undisturbed& want,
                        const std::string& database) {
  EXPECT_EQ(status.state, queue::JobState::kDone) << status.error;
  ASSERT_EQ(status.archs.size(), 1U);
  EXPECT_EQ(status.archs[0].counts.evaluated(), want.evaluated);
  const auto shown =
      hone({"show", status.archs[0].best_candidate, "--db", database, "--json", "-"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_EQ(shown.json()["recipe"].dump(), want.recipe);
}

void expect_whole(const std::string& file) {
  SQLite::Database database(file);
  EXPECT_EQ(database.execAndGet("PRAGMA integrity_check").getString(), "ok");
  EXPECT_EQ(database.execAndGet("SELECT COUNT(*) FROM run_results").getInt(), 0);
  EXPECT_EQ(database.execAndGet("SELECT COUNT(*) FROM runs WHERE job <> '' AND ended_at IS NULL")
                .getInt(),
            0);
}

}  // namespace hone::test
