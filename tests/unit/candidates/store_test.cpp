// Results and the boards that rank them.
#include <SQLiteCpp/SQLiteCpp.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/unit/candidates/store_fixture.h"

namespace hone {
namespace {

using test::candidate;
using test::emulated;
using test::failed;
using test::gpu;
using test::hash_of;
using test::StoreTest;
using test::timed;

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

TEST_F(StoreTest, KnowsTheRecipesOfAFamily) {
  const Task task = test::scale_task();
  Task larger = task, unlike = task;
  larger.sizes.begin()->second *= 2;
  larger.math = MathLevel::kReduced;
  unlike.reference.source += "\n// another";
  EXPECT_EQ(task.family(), larger.family());
  EXPECT_NE(task.family(), unlike.family());
  for (const Task* one : std::initializer_list<const Task*>{&task, &larger, &unlike}) {
    ASSERT_TRUE(store_->put_task(*one));
    const auto run = store_->begin_run(one->hash(), gpu(), 1, "evolve");
    ASSERT_TRUE(run);
    for (const char digit : {'1', '2', '3'}) {
      auto record = candidate(*one, hash_of(digit));
      record.recipe[0].params["by"] = digit - '0';
      if (digit == '3') record.origin = "variant";
      ASSERT_TRUE(store_->put(*run, record, timed(digit - '0' + 1), gpu()));
    }
  }
  const auto known = store_->known_recipes(larger, "sm_90", false, 1);
  ASSERT_TRUE(known) << known.error().message;
  ASSERT_EQ(known->size(), 2U) << "the best of each of two tasks";
  for (const KnownRecipe& one : *known) {
    EXPECT_EQ(one.recipe[0].int_param("by", 0), 2) << "what a person wrote has no recipe";
    EXPECT_EQ(one.speedup, 3);
  }
  EXPECT_EQ(store_->known_recipes(larger, "sm_90", false, 5)->size(), 4U);
  EXPECT_TRUE(store_->known_recipes(larger, "sm_80", false, 5)->empty());
  EXPECT_TRUE(store_->known_recipes(larger, "sm_90", true, 5)->empty());
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

// What two GPUs of one model found together was on no board of one of them.
TEST_F(StoreTest, GpusOfOneModelShareABoardHoweverTheyAreNamed) {
  Provenance pair = gpu(), old = gpu();
  pair.device = "cuda:0,1";
  old.device = "cuda:10";
  old.device_name = "NVIDIA A100";
  old.arch = "sm_80";
  put(begin(pair), hash_of('a'), timed(2), pair);
  put(begin(old), hash_of('b'), timed(3), old);
  put(begin(emulated()), hash_of('c'), timed(4), emulated());
  Task other = task_;
  other.name = "other";
  other.sizes["N"] = 8192;
  ASSERT_TRUE(store_->put_task(other));
  Provenance alone = gpu();
  alone.device = "cuda:2";
  ASSERT_TRUE(store_->begin_run(other.hash(), alone, 1, "evolve"));  // which found nothing
  const auto found = [&](const std::string& device) {
    BoardFilter filter;
    filter.device = device;
    const auto boards = store_->boards(filter);
    const auto names = store_->board_names(filter);
    EXPECT_TRUE(boards && names);
    std::string hashes;
    for (const Board& board : *boards) hashes += order(board).front();
    EXPECT_EQ(names->size(), hashes.size()) << device;
    for (const char digit : {'a', 'b', 'c'})
      EXPECT_EQ(store_->find_candidate(hash_of(digit), device).has_value(), hashes.contains(digit))
          << device << ' ' << digit;
    return hashes;
  };
  EXPECT_EQ(found("cuda:0,1"), "a");
  EXPECT_EQ(found("cuda:0"), "a");
  EXPECT_EQ(found("cuda"), "a");
  EXPECT_EQ(found("cuda:1"), "a");
  EXPECT_EQ(found("cuda:2"), "a") << "of another task, but of the same model";
  EXPECT_EQ(found("cuda:1,0"), "a");
  EXPECT_EQ(found("cuda:10"), "b");
  EXPECT_EQ(found("cuda:0,10"), "ba");
  EXPECT_EQ(found("cuda:all"), "ba");
  for (const char* none : {"cuda:3", "cuda:", "cuda:%", "cuda:_", "cuda:,", "\xff"})
    EXPECT_EQ(found(none), "") << none;
  BoardFilter first;
  first.device = "cuda:0";
  EXPECT_EQ(store_->searched(first)->size(), 2U) << "both tasks were searched on this model";
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

TEST_F(StoreTest, ACandidatesRankIsItsBoards) {
  const std::int64_t run = begin(gpu());
  Provenance newer = gpu();
  newer.toolchain = "NVRTC 13.1";
  put(run, hash_of('a'), timed(4), gpu());
  put(run, hash_of('a'), timed(2), newer);  // stored last, and not what the board shows
  put(run, hash_of('b'), timed(3), gpu());
  const Board board = store_->boards({})->front();
  ASSERT_EQ(order(board), (std::vector<std::string>{"a", "b"}));
  for (const BoardRow& row : board.rows) {
    const auto one = store_->find_candidate(row.candidate.id);
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_EQ(one->rank, row.rank);
    EXPECT_EQ(one->provenance.toolchain, row.provenance.toolchain);
    EXPECT_EQ(one->evaluation.measurement.speedup, row.evaluation.measurement.speedup);
  }
}

TEST_F(StoreTest, WhatTheCompilerMadeOneOfIsOneRow) {
  const std::int64_t run = begin(emulated());
  const auto with = [](double speedup, std::string code, int registers) {
    Evaluation e = timed(speedup);
    e.code_hash = std::move(code);
    e.resources = {{.kernel = "k", .registers = registers}};
    return e;
  };
  const auto put_steps = [&](char digit, std::size_t steps, const Evaluation& evaluation) {
    CandidateRecord record = candidate(task_, hash_of(digit));
    record.recipe.resize(steps, record.recipe.front());
    ASSERT_TRUE(store_->put(run, record, evaluation, emulated()));
  };
  put_steps('a', 3, with(2, "x", 32));
  put_steps('b', 2, with(2, "x", 32));
  put_steps('c', 1, with(2, "y", 40));
  put_steps('d', 1, with(2, "z", 32));
  put_steps('e', 2, with(1.5, "y", 40));
  put_steps('f', 2, with(1.4, "", 40));
  put_steps('0', 2, with(1.3, "", 40));
  const Board board = store_->boards({})->front();
  // Of equals the shorter recipe, then fewer registers; what has no known code is its own.
  EXPECT_EQ(order(board), (std::vector<std::string>{"d", "c", "b", "f", "0"}));
  for (const BoardRow& row : board.rows) {
    const auto one = store_->find_candidate(row.candidate.id);
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_EQ(one->rank, row.rank);
    EXPECT_EQ(one->evaluation.code_hash, row.evaluation.code_hash);
  }
}

TEST_F(StoreTest, AShorterWayToAProgramReplacesTheLonger) {
  const std::int64_t run = begin(emulated());
  const auto put_steps = [&](std::size_t steps, const std::string& origin) {
    CandidateRecord record = candidate(task_, hash_of('a'));
    record.recipe.resize(steps, record.recipe.front());
    record.origin = origin;
    ASSERT_TRUE(store_->put(run, record, timed(2), emulated()));
  };
  const auto steps = [&] {
    return store_->boards({})->front().rows.front().candidate.recipe.size();
  };
  put_steps(3, "rules");
  put_steps(4, "rules");
  EXPECT_EQ(steps(), 3U);
  put_steps(1, "variant");
  EXPECT_EQ(steps(), 3U) << "another origin says nothing of how rules get there";
  put_steps(2, "rules");
  EXPECT_EQ(steps(), 2U);
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

TEST_F(StoreTest, OneThatIsEndedAsSlowerReplacesNothingThatIsKnown) {
  Evaluation right = timed(2);
  right.final_stage = false;
  const auto found = [&] { return (*store_->find(hash_of('a'), task_.hash(), gpu()))->verdict; };
  for (const Evaluation& known : {right, failed(Verdict::kFault), failed(Verdict::kRace),
                                  failed(Verdict::kWrongResult), failed(Verdict::kTampering)}) {
    put(begin(gpu()), hash_of('a'), known);
    const std::int64_t later = *store_->begin_run(task_.hash(), gpu(), 1, "evolve", "job");
    put(later, hash_of('a'), failed(Verdict::kSlower));
    EXPECT_EQ(found(), known.verdict);
    // In that run it was.
    EXPECT_EQ(store_->run_results(later)->at(hash_of('a')).verdict, Verdict::kSlower);
  }
  put(begin(gpu()), hash_of('a'), failed(Verdict::kTimeout));
  put(begin(gpu()), hash_of('a'), failed(Verdict::kSlower));
  EXPECT_EQ(found(), Verdict::kSlower);
  put(begin(gpu()), hash_of('a'), right);
  EXPECT_EQ(found(), Verdict::kOk);
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

TEST_F(StoreTest, TheLeaderboardReadsOnlyItsRows) {
  put(begin(gpu()), hash_of('a'), timed(2));
  SQLite::Database database(file().string());
  SQLite::Statement plan(
      database,
      "EXPLAIN QUERY PLAN SELECT id, candidate, origin, held_level, code FROM results "
      "WHERE task_hash = 'x' AND device_name = 'y' AND modelled = 0 AND verdict = 'ok' "
      "AND final = 1 AND speedup IS NOT NULL "
      "ORDER BY speedup DESC, time_us, steps, registers, candidate, toolchain DESC");
  std::string text;
  while (plan.executeStep()) text += plan.getColumn(3).getString() + "\n";
  EXPECT_NE(text.find("USING COVERING INDEX results_ranked"), std::string::npos) << text;
  EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << text;
  EXPECT_EQ(text.find("SCAN"), std::string::npos) << text;
}

}  // namespace
}  // namespace hone
