// How a candidate fares on other devices than the one it was found on.
#include <SQLiteCpp/SQLiteCpp.h>

#include "tests/unit/candidates/store_fixture.h"

namespace hone {
namespace {

using test::emulated;
using test::failed;
using test::gpu;
using test::hash_of;
using test::StoreTest;
using test::timed;

Provenance a100() {
  return {"cuda:0", "NVIDIA A100", "sm_80", "NVRTC 13.0", "580.65", "0.1.0", false};
}

TEST_F(StoreTest, ARowSaysHowItsCandidateFaresElsewhere) {
  const std::int64_t run = begin(gpu());
  put(run, hash_of('a'), timed(3));
  put(run, hash_of('b'), timed(2));
  Evaluation beyond = failed(Verdict::kLaunchError);
  beyond.final_stage = true;
  Provenance ada = a100(), newer = a100();
  ada.device_name = "NVIDIA L40S";
  newer.toolchain = "NVRTC 13.1";
  put(0, hash_of('a'), beyond, ada);
  put(0, hash_of('a'), timed(1.5), a100());
  put(0, hash_of('a'), timed(1.75), newer);
  Evaluation quick = timed(9);
  quick.final_stage = false;
  put(0, hash_of('b'), quick, a100());
  Provenance model = emulated();
  model.device_name = "emulated sm_80";
  put(0, hash_of('a'), timed(7), emulated());
  put(0, hash_of('a'), timed(8), model);

  const Board board = store_->boards({"", gpu().device_name, 10})->front();
  ASSERT_EQ(order(board), (std::vector<std::string>{"a", "b"}));
  const auto& elsewhere = board.rows[0].elsewhere;
  ASSERT_EQ(elsewhere.size(), 2U);
  EXPECT_EQ(elsewhere[0].provenance.device_name, "NVIDIA A100");
  EXPECT_EQ(elsewhere[0].provenance.toolchain, "NVRTC 13.1");
  EXPECT_EQ(elsewhere[0].evaluation.measurement.speedup, 1.75);
  EXPECT_EQ(elsewhere[1].provenance.device_name, "NVIDIA L40S");
  EXPECT_EQ(elsewhere[1].evaluation.verdict, Verdict::kLaunchError);
  EXPECT_EQ(elsewhere[1].evaluation.detail, "C[3]");
  EXPECT_EQ(elsewhere[1].found_at.size(), 24U);
  EXPECT_TRUE(board.rows[1].elsewhere.empty());

  const Board modelled = store_->boards({"", emulated().device_name, 10})->front();
  ASSERT_EQ(modelled.rows[0].elsewhere.size(), 1U);
  EXPECT_EQ(modelled.rows[0].elsewhere[0].provenance.device_name, "emulated sm_80");

  const auto finals = store_->final_results("aaaaaaaaaaaa");
  ASSERT_TRUE(finals) << finals.error().message;
  std::vector<std::string> devices;
  for (const FinalResult& result : *finals) devices.push_back(result.provenance.device_name);
  EXPECT_EQ(devices, (std::vector<std::string>{"NVIDIA A100", "NVIDIA A100", "NVIDIA H200",
                                               "NVIDIA L40S", "emulated sm_80", "emulated sm_90"}));
  EXPECT_TRUE(store_->final_results("bbbb")->empty());  // no id
  // What a search found comes first, though others are newer.
  EXPECT_EQ(store_->find_candidate("aaaa")->provenance.device_name, "NVIDIA H200");
}

TEST_F(StoreTest, TriedElsewhereAgainAResultKeepsTheSearchThatFoundIt) {
  put(begin(gpu()), hash_of('a'), timed(3));
  put(0, hash_of('a'), timed(2));
  SQLite::Database database(file().string());
  EXPECT_EQ(database.execAndGet("SELECT COUNT(*) FROM results WHERE run IS NULL").getInt(), 0);
  EXPECT_EQ(store_->final_results("aaaaaaaaaaaa")->size(), 1U);
}

TEST_F(StoreTest, FinalResultsReadOnlyTheirRows) {
  put(begin(gpu()), hash_of('a'), timed(2));
  SQLite::Database database(file().string());
  SQLite::Statement plan(database,
                         "EXPLAIN QUERY PLAN SELECT r.evaluation FROM results r WHERE "
                         "r.candidate = 'x' AND r.final = 1 ORDER BY r.modelled, r.device_name, "
                         "r.verdict = 'ok' DESC, r.speedup DESC, r.id DESC");
  ASSERT_TRUE(plan.executeStep());
  const std::string text = plan.getColumn(3).getString();
  EXPECT_NE(text.find("SEARCH r USING INDEX"), std::string::npos) << text;
  EXPECT_NE(text.find("candidate=?"), std::string::npos) << text;
}

TEST_F(StoreTest, ACandidateIsShownWithTheDeviceThatIsAskedFor) {
  put(begin(gpu()), hash_of('a'), timed(2));
  put(begin(emulated()), hash_of('a'), timed(3), emulated());
  const auto speedup = [&](const std::string& device) {
    const auto row = store_->find_candidate("aaaa", device);
    EXPECT_TRUE(row) << row.error().message;
    return row ? row->evaluation.measurement.speedup : 0;
  };
  EXPECT_EQ(speedup(""), 2);  // what was measured comes first
  EXPECT_EQ(speedup("cuda:0"), 2);
  EXPECT_EQ(speedup("NVIDIA H200"), 2);
  EXPECT_EQ(speedup("sm_90"), 2);
  EXPECT_EQ(speedup("emu:sm_90"), 3);
  EXPECT_EQ(speedup("emulated sm_90"), 3);
  const auto none = store_->find_candidate("aaaa", "emu:sm_80");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(none.error().message.find("emu:sm_90"), std::string::npos) << none.error().message;
}

TEST_F(StoreTest, ABoardKeepsTheNameUnderWhichItsTaskCameFirst) {
  put(begin(gpu()), hash_of('a'), timed(2));
  Task renamed = task_;
  renamed.name = "mine";
  renamed.source_path = "mine.cu";
  ASSERT_EQ(renamed.hash(), task_.hash());
  ASSERT_TRUE(store_->put_task(renamed));
  const auto boards = store_->boards({});
  ASSERT_TRUE(boards);
  ASSERT_EQ(boards->size(), 1U);
  EXPECT_EQ(boards->front().task_name, task_.name);
  EXPECT_EQ(store_->find_candidate("aaaa")->candidate.task_name, task_.name);
  const auto task = store_->find_task(task_.hash());
  ASSERT_TRUE(task);
  EXPECT_EQ(task->name, task_.name);  // of the stored text, too
  EXPECT_EQ(task->source_path, "mine.cu");
  ASSERT_EQ(store_->tasks()->size(), 1U);
  EXPECT_EQ(store_->tasks()->front().name, task_.name);
}

}  // namespace
}  // namespace hone
