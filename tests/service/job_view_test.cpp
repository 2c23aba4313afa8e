// What is said of jobs: lists, filters, beginnings of ids, what a job waits for, and who would
// serve it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/queue/lead.h"
#include "engine/service/job_view.h"
#include "engine/service/submission.h"
#include "evaluator/device_spec.h"
#include "tests/service/fixture.h"

namespace hone {
namespace {

using test::ServiceTest;

class JobLists : public ServiceTest {
 protected:
  queue::JobMessage job(const std::string& id, int priority = 0, const std::string& owner = "ada",
                        const std::string& arch = "emu:sm_90") {
    queue::JobMessage message;
    message.id = id;
    message.task = task_;
    message.search.budget.evaluations = 20;
    message.archs = {arch};
    message.priority = priority;
    message.owner = owner;
    message.submitted_at = 5;  // this machine's clock is wrong
    return message;
  }
  static queue::WorkerMessage worker(const std::string& id) {
    queue::WorkerMessage message{.id = id, .host = "here", .version = "0.1.0"};
    queue::WorkerDevice device;
    device.info = test::FakeEvaluator::h200();
    device.modelled = true;
    device.pool = queue::pool_of(device.info, true);
    message.devices = {device};
    return message;
  }
  /// A worker whose messages are of another version.
  void report_foreign(const std::string& id) {
    const auto bytes = queue::encode(worker(id));
    ASSERT_TRUE(bytes);
    auto json = nlohmann::json::from_cbor(*bytes);
    json["v"] = queue::kQueueVersion - 1;
    json["version"] = "0.0.9";
    json["something"] = {{"new", 1}};
    const auto cbor = nlohmann::json::to_cbor(json);
    auto connection = server_.connect();
    ASSERT_TRUE(connection->command(
        {"SET", broker_->keys().worker(id), std::string(cbor.begin(), cbor.end())}));
    ASSERT_TRUE(connection->command({"ZADD", broker_->keys().workers(), "1", id}));
  }
  std::string waits(const std::string& id) {
    const auto view = job_view(*broker_, id);
    EXPECT_TRUE(view) << view.error().message;
    return view ? view->waits : "?";
  }
};

TEST_F(JobLists, HaveWhatASubmitterSaidAndTheServersTime) {
  const std::int64_t before = broker_->now_ms();
  ASSERT_TRUE(broker_->submit(job("a", 7)));
  const auto rows = broker_->rows({}, 10);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 1U);
  const queue::JobRow& row = rows->front();
  ASSERT_TRUE(row.about);
  EXPECT_EQ(row.about->task, "scale");
  EXPECT_EQ(row.about->task_hash, task_.hash());
  EXPECT_EQ(row.about->owner, "ada");
  EXPECT_EQ(row.about->priority, 7);
  EXPECT_EQ(row.about->budget.evaluations, 20);
  EXPECT_GE(row.submitted_at, before);
  EXPECT_LE(row.submitted_at, broker_->now_ms());
  EXPECT_EQ(broker_->row("a")->submitted_at, row.submitted_at);
  // Its end takes the message away, and nothing of this.
  queue::Lead lead(*broker_);
  ASSERT_TRUE(*lead.take(0));
  ASSERT_TRUE(lead.end_job(lead.new_jobs()->front(), {.id = "a", .state = queue::JobState::kDone}));
  EXPECT_EQ(broker_->row("a")->about, row.about);
}

TEST_F(JobLists, AreFilteredAndLimited) {
  for (int i = 0; i < 30; ++i)
    ASSERT_TRUE(broker_->submit(job("j" + std::to_string(i), 0, i % 3 == 0 ? "bob" : "ada")));
  auto other = job("other");
  other.task.name = "another";
  ASSERT_TRUE(broker_->submit(other));
  const auto count = [&](const queue::JobFilter& filter, int limit = 1000) {
    const auto rows = broker_->rows(filter, limit);
    EXPECT_TRUE(rows);
    return rows ? rows->size() : 999;
  };
  EXPECT_EQ(count({}), 31U);
  EXPECT_EQ(count({}, 4), 4U);
  EXPECT_EQ(count({.owner = "bob"}), 10U);
  EXPECT_EQ(count({.owner = "bo"}), 0U);
  EXPECT_EQ(count({.owner = "bob"}, 3), 3U);
  EXPECT_EQ(count({.task = "another"}), 1U);
  EXPECT_EQ(count({.task = task_.hash().substr(0, 6)}), 31U);  // a name is no part of a hash
  EXPECT_EQ(count({.task = task_.hash().substr(0, 3)}), 0U);
  EXPECT_EQ(count({.states = {queue::JobState::kDone}}), 0U);
  EXPECT_EQ(count({.states = {queue::JobState::kDone, queue::JobState::kQueued}}), 31U);
  const auto newest = broker_->rows({}, 1);
  EXPECT_EQ(newest->front().status.id, "other");
}

TEST_F(JobLists, IdsCanBeAbbreviatedWhereOnlyOneBeginsSo) {
  for (const char* id : {"69aa-1", "69aa-2", "70bb-1", "69aa"})
    ASSERT_TRUE(broker_->submit(job(id)));
  EXPECT_EQ(*broker_->find_job("70"), "70bb-1");
  EXPECT_EQ(*broker_->find_job("69aa-2"), "69aa-2");
  EXPECT_EQ(*broker_->find_job("69aa"), "69aa");  // a whole id, whatever else begins so
  const auto several = broker_->find_job("69aa-");
  ASSERT_FALSE(several);
  EXPECT_NE(several.error().message.find("69aa-1"), std::string::npos) << several.error().message;
  for (const char* none : {"7b", "", "*", "70bb-11"}) {
    const auto found = broker_->find_job(none);
    ASSERT_FALSE(found) << none;
    EXPECT_EQ(found.error().code, ErrorCode::kInvalidInput);
  }
  // What the server has forgotten of a job makes no other one ambiguous.
  ASSERT_TRUE(server_.connect()->command({"DEL", broker_->keys().job("69aa-1")}));
  EXPECT_EQ(*broker_->find_job("69aa-"), "69aa-2");
}

TEST_F(JobLists, SayWhatAJobWaitsFor) {
  ASSERT_TRUE(broker_->submit(job("a")));
  ASSERT_TRUE(broker_->submit(job("b", 5)));
  ASSERT_TRUE(broker_->submit(job("c")));
  ASSERT_TRUE(broker_->submit(job("d", 0, "ada", "sm_80")));
  EXPECT_EQ(waits("a"), "no coordinator leads; waits for a worker for emu:sm_90");
  queue::Lead lead(*broker_);
  ASSERT_TRUE(*lead.take(0));
  ASSERT_TRUE(broker_->report(worker("w"), 60));
  EXPECT_EQ(waits("b"), "1st in line");
  EXPECT_EQ(waits("a"), "2nd in line");
  EXPECT_EQ(waits("c"), "3rd in line");
  EXPECT_EQ(waits("d"), "4th in line; waits for a worker for sm_80");
  EXPECT_EQ(job_view(*broker_, "c")->place, 3);
  // Once begun, a job is in no line.
  ASSERT_TRUE(lead.set_status({.id = "b", .state = queue::JobState::kSearching}));
  EXPECT_EQ(waits("b"), "");
  EXPECT_EQ(waits("a"), "1st in line");
  // A worker that drains takes nothing.
  auto draining = worker("w");
  draining.draining = true;
  ASSERT_TRUE(broker_->report(draining, 60));
  EXPECT_EQ(waits("b"), "waits for a worker for emu:sm_90");
  const auto views = job_views(*broker_, {}, 10);
  ASSERT_TRUE(views);
  ASSERT_EQ(views->size(), 4U);
}

TEST_F(JobLists, CancellingWhatHasEndedIsSaid) {
  ASSERT_TRUE(broker_->submit(job("a")));
  queue::Lead lead(*broker_);
  ASSERT_TRUE(*lead.take(0));
  const auto fresh = lead.new_jobs();
  EXPECT_TRUE(*broker_->cancel("a"));
  ASSERT_TRUE(lead.end_job(fresh->front(), {.id = "a", .state = queue::JobState::kCancelled}));
  const auto again = broker_->cancel("a");
  ASSERT_TRUE(again);
  EXPECT_FALSE(*again);
  EXPECT_FALSE(broker_->cancel("b"));
}

TEST_F(JobLists, WarnWhereNobodyServesAJob) {
  const auto warnings = [&](const char* arch) {
    std::string all;
    for (const auto& line : warnings_for({arch}, *broker_)) all += line + "\n";
    return all;
  };
  EXPECT_NE(warnings("emu:sm_90").find("no coordinator leads"), std::string::npos);
  EXPECT_NE(warnings("emu:sm_90").find("no worker for emu:sm_90"), std::string::npos);
  queue::Lead lead(*broker_);
  ASSERT_TRUE(*lead.take(0));
  report_foreign("old");
  const std::string foreign = warnings("emu:sm_90");
  EXPECT_EQ(foreign.find("coordinator"), std::string::npos) << foreign;
  EXPECT_NE(foreign.find("another version"), std::string::npos) << foreign;
  EXPECT_NE(foreign.find("old (hone 0.0.9)"), std::string::npos) << foreign;
  const auto there = broker_->registered();
  ASSERT_TRUE(there);
  EXPECT_TRUE(there->workers.empty());
  ASSERT_EQ(there->foreign.size(), 1U);
  EXPECT_EQ(there->foreign[0].queue_version, queue::kQueueVersion - 1);
  EXPECT_EQ(there->foreign[0].devices[0].pool, "emu:sm_90");
  ASSERT_TRUE(broker_->report(worker("new"), 60));
  EXPECT_EQ(warnings("emu:sm_90"), "");
  EXPECT_NE(warnings("sm_90").find("no worker for sm_90"), std::string::npos);
}

TEST(Architectures, AreCheckedByOneRule) {
  const std::pair<const char*, const char*> good[] = {{"sm_90", "sm_90"},
                                                      {"sm_90a", "sm_90"},
                                                      {"sm_120", "sm_120"},
                                                      {"emu:sm_90", "emu:sm_90"},
                                                      {"emu:sm_90a", "emu:sm_90"},
                                                      {"emu:sm_90/H200", "emu:sm_90"},
                                                      {"sm_75", "sm_75"},
                                                      {"emu:sm_90/H100", "emu:sm_90:H100"},
                                                      {"emu:sm_90:H100", "emu:sm_90:H100"}};
  for (const auto& [text, name] : good) {
    const auto arch = parse_arch(text);
    ASSERT_TRUE(arch) << text << ": " << arch.error().message;
    EXPECT_EQ(*arch, name);
  }
  for (const char* text : {"", "sm_70x", "emu:sm_9000", "emu:", "emu", "sm_", "sm_91", "sm_9", "90",
                           "cuda:0", "emu:sm_90/", "emu:sm_90/T4", "emu:sm_90:", "sm_90 ", "SM_90",
                           "emu:emu:sm_90", "sm_90,sm_80", "sm_90aa"}) {
    const auto arch = parse_arch(text);
    ASSERT_FALSE(arch) << text;
    EXPECT_EQ(arch.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(arch.error().message.find("sm_90, "), std::string::npos) << arch.error().message;
    Submission submission;
    submission.archs = {text};
    EXPECT_FALSE(check_submission(submission)) << text;
  }
}

}  // namespace
}  // namespace hone
