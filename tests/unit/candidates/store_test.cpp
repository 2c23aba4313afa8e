#include "candidates/store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/wait.h>

#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/unit/candidates/helpers.h"

namespace hone {
namespace {

using test::TempDir;

Provenance gpu() {
  return {"cuda:0", "NVIDIA H200", "sm_90", "NVRTC 13.0", "580.65", "0.1.0", false};
}
Provenance emulated() {
  return {"emu:sm_90", "emulated sm_90", "sm_90", "NVRTC 13.0", "", "0.1.0", true};
}

std::string hash_of(char digit) { return std::string(32, digit); }

CandidateRecord candidate(const Task& task, const std::string& program_hash) {
  CandidateRecord record;
  record.program_hash = program_hash;
  record.task_hash = task.hash();
  record.task_name = task.name;
  record.program = task.reference;
  record.program.source = "// " + program_hash;
  record.recipe = {{"unroll", 1, "k", {{"by", 4}}, MathLevel::kReassociate}};
  record.origin = "rules";
  record.parent = "0123";
  return record;
}

Evaluation timed(double speedup, double time_us = 10) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::kOk;
  evaluation.final_stage = true;
  evaluation.measurement.time_us = time_us;
  evaluation.measurement.reference_time_us = time_us * speedup;
  evaluation.measurement.speedup = speedup;
  evaluation.measurement.samples_us = {time_us, time_us + 1};
  return evaluation;
}

Evaluation failed(Verdict verdict) {
  Evaluation evaluation;
  evaluation.verdict = verdict;
  evaluation.detail = "C[3]";
  return evaluation;
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override { reopen(); }
  void reopen(const StoreOptions& options = {}) {
    store_.reset();
    auto store = Store::open(file(), options);
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
  }
  [[nodiscard]] std::filesystem::path file() const { return dir_.path() / "deep/er/hone.db"; }

  std::int64_t begin(const Provenance& provenance) {
    EXPECT_TRUE(store_->put_task(task_));
    const auto run = store_->begin_run(task_.hash(), provenance, 18446744073709551615ULL, "evolve");
    EXPECT_TRUE(run) << run.error().message;
    return run.value_or(0);
  }
  void put(std::int64_t run, const std::string& hash, const Evaluation& evaluation,
           const Provenance& provenance = gpu()) {
    const auto done = store_->put(run, candidate(task_, hash), evaluation, provenance);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::vector<std::string> order(const Board& board) {
    std::vector<std::string> hashes;
    for (const BoardRow& row : board.rows)
      hashes.push_back(row.candidate.program_hash.substr(0, 1));
    return hashes;
  }

  TempDir dir_;
  Task task_ = test::scale_task();
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, KeepsEverythingAcrossReopening) {
  const std::int64_t run = begin(gpu());
  Evaluation evaluation = timed(2.5);
  evaluation.max_rel_error = 1e-7;
  evaluation.resources = {{"scale", 32, 0, 0, 128, 1024, 0.5}};
  put(run, hash_of('a'), evaluation);
  ASSERT_TRUE(store_->end_run(run, "done"));
  reopen();

  const auto row = store_->find_candidate("aaaaaaaaaaaa");
  ASSERT_TRUE(row) << row.error().message;
  const CandidateRecord want = candidate(task_, hash_of('a'));
  EXPECT_EQ(row->candidate.id, "aaaaaaaaaaaa");
  EXPECT_EQ(row->candidate.program_hash, want.program_hash);
  EXPECT_EQ(row->candidate.task_hash, task_.hash());
  EXPECT_EQ(row->candidate.task_name, "scale");
  EXPECT_EQ(row->candidate.program, want.program);
  EXPECT_EQ(row->candidate.recipe, want.recipe);
  EXPECT_EQ(row->candidate.origin, "rules");
  EXPECT_EQ(row->candidate.parent, "0123");
  EXPECT_EQ(nlohmann::json(row->evaluation), nlohmann::json(evaluation));
  EXPECT_EQ(row->rank, 1);
  EXPECT_EQ(row->provenance.device_name, "NVIDIA H200");
  EXPECT_EQ(row->provenance.driver, "580.65");
  EXPECT_EQ(row->provenance.toolchain, "NVRTC 13.0");
  EXPECT_EQ(row->found_at.size(), 24u);
  EXPECT_EQ(row->found_at.back(), 'Z');

  for (const std::string& name : {task_.hash(), task_.hash().substr(0, 8), task_.name}) {
    const auto task = store_->find_task(name);
    ASSERT_TRUE(task) << task.error().message;
    EXPECT_EQ(nlohmann::json(*task), nlohmann::json(task_));
  }
}

TEST_F(StoreTest, RanksBySpeedupThenTimeThenId) {
  const std::int64_t run = begin(gpu());
  put(run, hash_of('d'), timed(2, 10));
  put(run, hash_of('c'), timed(2, 10));
  put(run, hash_of('b'), timed(2, 9));
  put(run, hash_of('e'), timed(3, 50));
  put(run, hash_of('f'), timed(NAN));
  put(run, hash_of('9'), timed(INFINITY));
  Evaluation quick = timed(100);
  quick.final_stage = false;
  put(run, hash_of('1'), quick);
  put(run, hash_of('2'), failed(Verdict::kWrongResult));
  Evaluation wrong = timed(100);
  wrong.verdict = Verdict::kTimeout;
  put(run, hash_of('3'), wrong);

  const auto boards = store_->boards({});
  ASSERT_TRUE(boards) << boards.error().message;
  ASSERT_EQ(boards->size(), 1u);
  const Board& board = boards->front();
  EXPECT_EQ(order(board), (std::vector<std::string>{"e", "b", "c", "d"}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(board.rows[i].rank, i + 1);
    EXPECT_EQ(store_->find_candidate(board.rows[i].candidate.id)->rank, i + 1);
  }
  EXPECT_EQ(board.task_name, "scale");
  EXPECT_EQ(board.device, "cuda:0");
  EXPECT_EQ(board.device_name, "NVIDIA H200");
  EXPECT_FALSE(board.modelled);
  EXPECT_DOUBLE_EQ(board.reference_time_us, 150);
  EXPECT_EQ(store_->find_candidate(hash_of('2'))->rank, 0);
  EXPECT_EQ(order(store_->boards({"", "", 2})->front()), (std::vector<std::string>{"e", "b"}));
}

TEST_F(StoreTest, ModelledAndMeasuredNeverShareABoard) {
  const std::int64_t run = begin(gpu());
  Provenance odd = emulated();
  odd.device_name = gpu().device_name;  // even under the same name
  put(run, hash_of('a'), timed(2), gpu());
  put(run, hash_of('b'), timed(9), odd);
  put(run, hash_of('a'), timed(8), odd);
  const auto boards = store_->boards({});
  ASSERT_EQ(boards->size(), 2u);
  EXPECT_FALSE((*boards)[0].modelled);
  EXPECT_EQ(order((*boards)[0]), (std::vector<std::string>{"a"}));
  EXPECT_TRUE((*boards)[1].modelled);
  EXPECT_EQ(order((*boards)[1]), (std::vector<std::string>{"b", "a"}));
}

TEST_F(StoreTest, FiltersBoards) {
  put(begin(gpu()), hash_of('a'), timed(2), gpu());
  put(begin(emulated()), hash_of('b'), timed(3), emulated());
  Task other = task_;
  other.name = "other";
  other.sizes["N"] = 8192;
  ASSERT_TRUE(store_->put_task(other));
  ASSERT_TRUE(store_->put(0, candidate(other, hash_of('a')), timed(4), gpu()));
  const auto count = [&](const std::string& task, const std::string& device) {
    const auto boards = store_->boards({task, device, 10});
    EXPECT_TRUE(boards) << boards.error().message;
    return boards ? boards->size() : 99;
  };
  EXPECT_EQ(count("", ""), 3u);
  EXPECT_EQ(count("scale", ""), 2u);
  EXPECT_EQ(count("other", ""), 1u);
  EXPECT_EQ(count(task_.hash(), ""), 2u);
  EXPECT_EQ(count(task_.hash().substr(0, 10), ""), 2u);
  EXPECT_EQ(count("scal", ""), 0u);
  EXPECT_EQ(count("%", ""), 0u);
  EXPECT_EQ(count("", "cuda:0"), 2u);
  EXPECT_EQ(count("", "NVIDIA H200"), 2u);
  EXPECT_EQ(count("", "sm_90"), 3u);
  EXPECT_EQ(count("scale", "emu:sm_90"), 1u);
  EXPECT_EQ(count("", "cuda:1"), 0u);
}

TEST_F(StoreTest, PuttingAgainReplacesTheResultOfThatStage) {
  const std::int64_t run = begin(gpu());
  Evaluation quick = timed(5);
  quick.final_stage = false;
  for (int i = 0; i < 3; ++i) {
    put(run, hash_of('a'), quick);
    put(run, hash_of('a'), timed(2));
  }
  put(run, hash_of('a'), timed(3));
  const auto boards = store_->boards({});
  ASSERT_EQ(boards->front().rows.size(), 1u);
  EXPECT_EQ(boards->front().rows[0].evaluation.measurement.speedup, 3);
  // The final stage is what a later search should know.
  EXPECT_EQ((*store_->find(hash_of('a'), task_.hash(), gpu()))->measurement.speedup, 3);
  SQLite::Database database(file().string());
  EXPECT_EQ(database.execAndGet("SELECT COUNT(*) FROM results").getInt(), 2);
  EXPECT_EQ(database.execAndGet("SELECT COUNT(*) FROM candidates").getInt(), 1);
}

TEST_F(StoreTest, AProgramOfTwoToolchainsRanksOnceWithItsBest) {
  const std::int64_t run = begin(gpu());
  Provenance newer = gpu();
  newer.toolchain = "NVRTC 13.1";
  put(run, hash_of('a'), timed(2), gpu());
  put(run, hash_of('a'), timed(4), newer);
  put(run, hash_of('b'), timed(3), gpu());
  const auto boards = store_->boards({});
  ASSERT_EQ(boards->size(), 1u);
  EXPECT_EQ(order(boards->front()), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(boards->front().rows[0].evaluation.measurement.speedup, 4);
  EXPECT_FALSE(store_->find(hash_of('b'), task_.hash(), newer)->has_value());
}

TEST_F(StoreTest, AProgramShownToBeWrongLeavesTheBoard) {
  const std::int64_t run = begin(gpu());
  for (const Verdict verdict :
       {Verdict::kFault, Verdict::kRace, Verdict::kWrongResult, Verdict::kTampering}) {
    put(run, hash_of('a'), timed(2));
    ASSERT_EQ(store_->boards({})->size(), 1u);
    put(run, hash_of('a'), failed(verdict));
    EXPECT_TRUE(store_->boards({})->empty()) << to_string(verdict);
    EXPECT_EQ((*store_->find(hash_of('a'), task_.hash(), gpu()))->verdict, verdict);
  }
  // A machine that was busy proves nothing.
  put(run, hash_of('a'), timed(2));
  put(run, hash_of('a'), failed(Verdict::kTimeout));
  EXPECT_EQ(store_->boards({})->size(), 1u);
}

TEST_F(StoreTest, FindIsPerTaskDeviceAndToolchain) {
  put(begin(gpu()), hash_of('a'), failed(Verdict::kRace));
  const auto found = store_->find(hash_of('a'), task_.hash(), gpu());
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->verdict, Verdict::kRace);
  EXPECT_EQ((*found)->detail, "C[3]");
  EXPECT_FALSE(store_->find(hash_of('b'), task_.hash(), gpu())->has_value());
  EXPECT_FALSE(store_->find(hash_of('a'), "other", gpu())->has_value());
  EXPECT_FALSE(store_->find(hash_of('a'), task_.hash(), emulated())->has_value());
}

TEST_F(StoreTest, IdsAreUniqueAndPrefixesFindThem) {
  const std::int64_t run = begin(gpu());
  const std::string one = "abcdef012345" + std::string(20, '1');
  const std::string two = "abcdef012345" + std::string(20, '2');
  put(run, one, timed(2));
  put(run, two, timed(3));
  put(run, one, timed(4));  // keeps its id
  EXPECT_EQ(**store_->candidate_id(one, task_.hash()), "abcdef012345");
  EXPECT_EQ(**store_->candidate_id(two, task_.hash()), "abcdef0123452");
  EXPECT_FALSE(store_->candidate_id(hash_of('0'), task_.hash())->has_value());
  EXPECT_EQ(store_->find_candidate("abcdef012345")->candidate.program_hash, one);
  EXPECT_EQ(store_->find_candidate("abcdef0123452")->candidate.program_hash, two);
  EXPECT_EQ(store_->find_candidate(two)->candidate.program_hash, two);
  const auto several = store_->find_candidate("abcd");
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(
      several.error().message.find("'abcd' fits several candidates: abcdef012345, abcdef0123452"),
      std::string::npos)
      << several.error().message;
  for (const char* none : {"ffff", "", "'; DROP TABLE results; --"}) {
    const auto row = store_->find_candidate(none);
    ASSERT_FALSE(row) << none;
    EXPECT_EQ(row.error().code, ErrorCode::kInvalidInput);
  }
  // The same program in other tasks: never the same id.
  std::set<std::string> ids;
  for (int n = 1; n <= 30; ++n) {
    Task other = task_;
    other.sizes["N"] = n + 5000;
    ASSERT_TRUE(store_->put_task(other));
    ASSERT_TRUE(store_->put(0, candidate(other, one), timed(2), gpu()));
    ids.insert(**store_->candidate_id(one, other.hash()));
  }
  EXPECT_EQ(ids.size(), 30u);
  for (const std::string& id : ids) EXPECT_EQ(store_->find_candidate(id)->candidate.id, id);
}

TEST_F(StoreTest, FindTaskPrefersTheNewestOfAName) {
  ASSERT_TRUE(store_->put_task(task_));
  Task newer = task_;
  newer.sizes["N"] = 8192;
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  ASSERT_TRUE(store_->put_task(newer));
  EXPECT_EQ(store_->find_task("scale")->sizes.at("N"), 8192);
  EXPECT_EQ(store_->find_task(task_.hash())->sizes.at("N"), 4096);
  const auto none = store_->find_task("nothing");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidInput);
  EXPECT_FALSE(store_->find_task(""));
}

TEST_F(StoreTest, BytesThatAreNoUtf8DoNotThrow) {
  Evaluation evaluation = failed(Verdict::kCompileError);
  evaluation.detail = "expected '\xFF'";
  put(begin(gpu()), hash_of('a'), evaluation);
  EXPECT_TRUE(store_->find_candidate("aaaa"));
}

TEST_F(StoreTest, AResultWithoutItsTaskIsAnError) {
  const auto put = store_->put(0, candidate(task_, hash_of('a')), timed(2), gpu());
  ASSERT_FALSE(put);
  EXPECT_NE(put.error().message.find("FOREIGN KEY"), std::string::npos);
  EXPECT_FALSE(store_->begin_run("nothing", gpu(), 1, "random"));
  EXPECT_FALSE(store_->put(0, candidate(task_, ""), timed(2), gpu()));
  EXPECT_TRUE(store_->boards({})->empty());
}

BaselineTime baseline(const std::string& kind, double time_us) {
  BaselineTime b;
  b.kind = kind;
  b.device = "cuda:0";
  b.device_name = gpu().device_name;
  b.time_us = time_us;
  b.ci95_low = time_us - 1;
  b.ci95_high = time_us + 1;
  b.samples_us = {time_us - 1, time_us, time_us + 1};
  b.precision = "f32";
  b.versions = "torch 2.11.0";
  return b;
}

TEST_F(StoreTest, CeilingsArePerDeviceAndDriver) {
  Ceilings c;
  c.dram_bytes_per_s = 4.1e12;
  c.l2_bytes = 60 << 20;
  c.source = "measured";
  ASSERT_TRUE(store_->put_ceilings("NVIDIA H200", "13.0", c));
  c.dram_bytes_per_s = 4.2e12;
  ASSERT_TRUE(store_->put_ceilings("NVIDIA H200", "13.0", c));
  auto found = store_->ceilings("NVIDIA H200", "13.0");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->measured_at.size(), 24U);
  (*found)->measured_at.clear();
  EXPECT_EQ(**found, c);
  found = store_->ceilings("NVIDIA H200", "13.1");
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

TEST_F(StoreTest, AJobHasOneRunPerDeviceAndItsResultsUntilItEnds) {
  (void)begin(gpu());
  const auto run = store_->begin_run(task_.hash(), gpu(), 1, "evolve", "job");
  ASSERT_TRUE(run);
  EXPECT_EQ(*store_->begin_run(task_.hash(), gpu(), 1, "evolve", "job"), *run);
  EXPECT_NE(*store_->begin_run(task_.hash(), emulated(), 1, "evolve", "job"), *run);
  EXPECT_NE(*store_->begin_run(task_.hash(), gpu(), 1, "evolve", "other"), *run);
  Evaluation quick = timed(2);
  quick.final_stage = false;
  put(*run, hash_of('a'), quick);
  quick.measurement.speedup = 3;
  put(*run, hash_of('a'), quick);
  put(*run, hash_of('b'), failed(Verdict::kWrongResult));
  put(*run, hash_of('c'), timed(4));
  reopen();
  auto results = store_->run_results(*run);
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->size(), 2U);
  EXPECT_EQ(results->at(hash_of('a')).measurement.speedup, 2);  // what the search was told
  EXPECT_EQ(results->at(hash_of('b')).verdict, Verdict::kWrongResult);
  ASSERT_TRUE(store_->end_run(*run, "done"));
  EXPECT_EQ(store_->run_results(*run)->size(), 2U);  // the job itself may not have ended yet
  ASSERT_TRUE(store_->forget_jobs({"job"}));
  EXPECT_EQ(store_->run_results(*run)->size(), 2U);
  ASSERT_TRUE(store_->forget_job("job"));
  EXPECT_TRUE(store_->run_results(*run)->empty());
  put(*run, hash_of('d'), quick);
  ASSERT_TRUE(store_->forget_jobs({}));
  EXPECT_TRUE(store_->run_results(*run)->empty());
}

TEST_F(StoreTest, WhoLostTheFenceWritesNoMore) {
  const std::int64_t run = begin(gpu());
  auto other = Store::open(file());
  ASSERT_TRUE(other);
  ASSERT_TRUE(store_->take_fence(1));
  put(run, hash_of('a'), timed(2));
  ASSERT_TRUE((*other)->take_fence(2));
  EXPECT_TRUE((*other)->end_run(run, "done"));
  const auto late = store_->put(run, candidate(task_, hash_of('b')), timed(2), gpu());
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message.find("another process"), std::string::npos);
  EXPECT_FALSE(store_->find_candidate("bbbbbbbbbbbb"));
  EXPECT_FALSE(store_->take_fence(2));
  EXPECT_FALSE(store_->take_fence(1));
  reopen();
  put(run, hash_of('b'), timed(2));  // who takes no fence is not kept out
}

TEST_F(StoreTest, BaselinesArePerTaskDeviceAndKindAndTheLastOneStands) {
  put(begin(gpu()), hash_of('a'), timed(2), gpu());
  ASSERT_TRUE(store_->put_baseline(task_.hash(), baseline("torch eager", 30)));
  ASSERT_TRUE(store_->put_baseline(task_.hash(), baseline("torch eager", 20)));
  ASSERT_TRUE(store_->put_baseline(task_.hash(), baseline("cublas", 7)));
  BaselineTime elsewhere = baseline("cublas", 5);
  elsewhere.device_name = "NVIDIA A100";
  ASSERT_TRUE(store_->put_baseline(task_.hash(), elsewhere));
  reopen();
  const auto found = store_->baselines(task_.hash(), gpu().device_name);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].kind, "cublas");
  const BaselineTime& eager = (*found)[1];
  EXPECT_EQ(eager.kind, "torch eager");
  EXPECT_EQ(eager.device, "cuda:0");
  EXPECT_EQ(eager.device_name, gpu().device_name);
  EXPECT_EQ(eager.time_us, 20);
  EXPECT_EQ(eager.ci95_low, 19);
  EXPECT_EQ(eager.ci95_high, 21);
  EXPECT_EQ(eager.samples_us, (std::vector<double>{19, 20, 21}));
  EXPECT_EQ(eager.precision, "f32");
  EXPECT_EQ(eager.versions, "torch 2.11.0");
  EXPECT_EQ(eager.stored_at.size(), 24u);
  EXPECT_TRUE(store_->baselines(std::string(32, '0'), gpu().device_name)->empty());
  EXPECT_EQ(store_->boards({})->front().baselines.size(), 2u);
}

TEST_F(StoreTest, AModelledBoardHasNoBaselines) {
  Provenance odd = emulated();
  odd.device_name = gpu().device_name;  // even under the same name
  put(begin(odd), hash_of('a'), timed(2), odd);
  ASSERT_TRUE(store_->put_baseline(task_.hash(), baseline("cublas", 7)));
  ASSERT_EQ(store_->boards({})->size(), 1u);
  EXPECT_TRUE(store_->boards({})->front().baselines.empty());
}

TEST_F(StoreTest, ABaselineThatIsNoMeasurementIsRefused) {
  ASSERT_TRUE(store_->put_task(task_));
  const auto refuses = [&](auto change) {
    BaselineTime b = baseline("cublas", 7);
    change(b);
    const auto put = store_->put_baseline(task_.hash(), b);
    EXPECT_FALSE(put);
    if (!put) {
      EXPECT_EQ(put.error().code, ErrorCode::kInvalidInput);
    }
  };
  refuses([](BaselineTime& b) { b.device = "emu:sm_90"; });
  refuses([](BaselineTime& b) { b.device_name.clear(); });
  refuses([](BaselineTime& b) { b.kind.clear(); });
  refuses([](BaselineTime& b) { b.time_us = 0; });
  refuses([](BaselineTime& b) { b.ci95_high = NAN; });
  refuses([](BaselineTime& b) { b.samples_us = {1, -1}; });
  EXPECT_FALSE(store_->put_baseline("no such task", baseline("cublas", 7)));
  EXPECT_TRUE(store_->baselines(task_.hash(), gpu().device_name)->empty());
}

TEST_F(StoreTest, TheLeaderboardReadsOnlyItsRows) {
  put(begin(gpu()), hash_of('a'), timed(2));
  SQLite::Database database(file().string());
  SQLite::Statement plan(
      database,
      "EXPLAIN QUERY PLAN SELECT r.evaluation FROM results r JOIN candidates c ON "
      "c.id = r.candidate JOIN tasks t ON t.hash = c.task_hash WHERE r.task_hash = 'x' AND "
      "r.device_name = 'y' AND r.modelled = 0 AND r.verdict = 'ok' AND r.final = 1 AND "
      "r.speedup IS NOT NULL ORDER BY r.speedup DESC, r.time_us, r.candidate");
  std::string text;
  while (plan.executeStep()) text += plan.getColumn(3).getString() + "\n";
  EXPECT_NE(text.find("USING INDEX results_ranked"), std::string::npos) << text;
  EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << text;
  EXPECT_EQ(text.find("SCAN"), std::string::npos) << text;
}

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

TEST_F(StoreTest, AFullDiskKeepsWhatWasFound) {
  const std::int64_t run = begin(gpu());
  put(run, hash_of('a'), timed(2));
  reopen({.busy_timeout_ms = 100,
          .max_bytes = static_cast<std::int64_t>(std::filesystem::file_size(file())) + 65536});
  Result<void> last;
  int stored = 0;
  for (int i = 0; i < 200 && last; ++i, ++stored) {
    CandidateRecord record =
        candidate(task_, "b" + std::to_string(100000 + i) + std::string(25, '0'));
    record.program.source.assign(20000, 'x');
    last = store_->put(run, record, timed(1 + i), gpu());
  }
  ASSERT_FALSE(last) << "the limit was never reached";
  EXPECT_EQ(last.error().code, ErrorCode::kIo);
  EXPECT_NE(last.error().message.find("no space is left"), std::string::npos)
      << last.error().message;
  EXPECT_NE(last.error().message.find(file().string()), std::string::npos);
  reopen();
  EXPECT_EQ(store_->boards({"", "", 1000})->front().rows.size(), static_cast<std::size_t>(stored));
}

TEST_F(StoreTest, ALockedDatabaseIsAClearError) {
  const std::int64_t run = begin(gpu());
  reopen({.busy_timeout_ms = 50});
  SQLite::Database other(file().string(), SQLite::OPEN_READWRITE);
  SQLite::Transaction lock(other, SQLite::TransactionBehavior::IMMEDIATE);
  const auto put = store_->put(run, candidate(task_, hash_of('a')), timed(2), gpu());
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kIo);
  EXPECT_NE(put.error().message.find("locked by another process"), std::string::npos);
  EXPECT_TRUE(store_->boards({})->empty());  // reading goes on
}

TEST_F(StoreTest, ReadersInOtherProcessesSeeWholeResults) {
  const std::int64_t run = begin(gpu());
  put(run, hash_of('0'), timed(1));
  const pid_t reader = fork();
  ASSERT_GE(reader, 0);
  if (reader == 0) {  // only a fresh connection here: the parent's may not cross a fork
    auto store = Store::open(file());
    for (int i = 0; store && i < 200; ++i) {
      const auto boards = (*store)->boards({"", "", 1000});
      if (!boards || boards->size() != 1) _exit(1);
      for (const BoardRow& row : boards->front().rows) {
        if (row.evaluation.measurement.speedup < 1) _exit(2);
      }
    }
    _exit(store ? 0 : 3);
  }
  for (int i = 0; i < 60; ++i)
    put(run, std::to_string(10 + i) + std::string(30, '7'), timed(1 + i));
  int status = 0;
  waitpid(reader, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(StoreTest, ManyThreadsMayCall) {
  const std::int64_t run = begin(gpu());
  std::atomic<int> errors = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const std::string hash = std::to_string(1000 + t * 100 + i) + std::string(28, '5');
        if (!store_->put(run, candidate(task_, hash), timed(1 + i), gpu())) ++errors;
        if (!store_->boards({})) ++errors;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(store_->boards({"", "", 1000})->front().rows.size(), 100u);
}

TEST_F(StoreTest, TwoProcessesMayCreateTheFileAtOnce) {
  for (int round = 0; round < 10; ++round) {
    const auto path = dir_.path() / ("race" + std::to_string(round)) / "hone.db";
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        auto store = Store::open(path);
        if (!store) fprintf(stderr, "%s\n", store.error().message.c_str());
        _exit(store && (*store)->put_task(task_) ? 0 : 1);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
  }
}

TEST(StoreOpen, MigratesFromVersionZero) {
  const TempDir dir;
  const auto file = dir.write("hone.db", "");  // an empty file is an empty database of version 0
  ASSERT_TRUE(Store::open(file));
  SQLite::Database database(file.string());
  EXPECT_EQ(database.execAndGet("PRAGMA user_version").getInt(), 5);
  EXPECT_EQ(database.execAndGet("PRAGMA application_id").getInt(), 0x484F4E45);
  EXPECT_EQ(database.execAndGet("PRAGMA journal_mode").getString(), "wal");
}

void expect_refused(const std::filesystem::path& file, const char* want) {
  const auto store = Store::open(file);
  ASSERT_FALSE(store) << want;
  EXPECT_EQ(store.error().code, ErrorCode::kIo);
  EXPECT_NE(store.error().message.find(want), std::string::npos) << store.error().message;
  EXPECT_NE(store.error().message.find(file.string()), std::string::npos) << store.error().message;
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(StoreOpen, RefusesWhatIsNotItsOwn) {
  const TempDir dir;
  const auto text = dir.write("text.db", std::string(5000, 'x'));
  expect_refused(text, "is not a database");
  EXPECT_EQ(contents(text), std::string(5000, 'x'));
  {
    SQLite::Database other((dir.path() / "other.db").string(),
                           SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE tasks (x); PRAGMA user_version = 1");
  }
  const std::string before = contents(dir.path() / "other.db");
  expect_refused(dir.path() / "other.db", "of another program");
  EXPECT_EQ(contents(dir.path() / "other.db"), before);

  ASSERT_TRUE(Store::open(dir.path() / "newer.db"));
  SQLite::Database((dir.path() / "newer.db").string(), SQLite::OPEN_READWRITE)
      .exec("PRAGMA user_version = 99");
  expect_refused(dir.path() / "newer.db",
                 "has format 99, this hone knows up to 5; use a newer hone");

  expect_refused(dir.path(), "is a folder");
  expect_refused(dir.path() / "text.db" / "hone.db", "folder cannot be made");
  expect_refused("/proc/none/hone.db", "folder cannot be made");
}

TEST(StoreOpen, ReadOnlyFile) {
  const TempDir dir;
  const auto file = dir.path() / "hone.db";
  ASSERT_TRUE(Store::open(file));
  std::filesystem::permissions(file, std::filesystem::perms(0444));
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // root may write anything: be nobody for this
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    const auto store = Store::open(file);
    const bool good = !store && store.error().code == ErrorCode::kIo &&
                      store.error().message.find("read-only") != std::string::npos;
    if (!good && !store) fprintf(stderr, "%s\n", store.error().message.c_str());
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(StoreOpen, ADamagedFileIsAnErrorNotACrash) {
  const TempDir dir;
  const Task task = test::scale_task();
  const auto file = dir.path() / "hone.db";
  {
    const auto store = Store::open(file);
    ASSERT_TRUE((*store)->put_task(task));
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE((*store)->put(0, candidate(task, std::to_string(100 + i) + std::string(29, '3')),
                                timed(1 + i), gpu()));
    }
  }
  const std::string good = contents(file);
  ASSERT_GT(good.size(), 40000u);
  int errors = 0;
  // Every page in turn overwritten, and the file cut short at every page.
  for (std::size_t page = 1; page < good.size() / 4096; ++page) {
    for (const bool cut : {false, true}) {
      std::string bad = good;
      if (cut) {
        bad.resize(page * 4096);
      } else {
        bad.replace(page * 4096, 4096, std::string(4096, '\x5A'));
      }
      const auto path = dir.write("bad" + std::to_string(page) + (cut ? "cut" : "") + ".db", bad);
      auto store = Store::open(path);
      if (!store) {
        EXPECT_EQ(store.error().code, ErrorCode::kIo);
        ++errors;
        continue;
      }
      const auto boards = (*store)->boards({"", "", 100});
      const auto put = (*store)->put(0, candidate(task, hash_of('e')), timed(3), gpu());
      const auto found = (*store)->find_task("scale");
      errors += !boards || !put || !found;
      if (!boards) {
        EXPECT_EQ(boards.error().code, ErrorCode::kIo) << boards.error().message;
      }
    }
  }
  EXPECT_GT(errors, 5);
}

TEST(StoreOpen, DefaultPathFollowsXdg) {
  setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(Store::default_path(), "/data/hone/hone.db");
  setenv("XDG_DATA_HOME", "relative", 1);
  setenv("HOME", "/home/u", 1);
  EXPECT_EQ(Store::default_path(), "/home/u/.local/share/hone/hone.db");
  unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(Store::default_path(), "/home/u/.local/share/hone/hone.db");
}

}  // namespace
}  // namespace hone
