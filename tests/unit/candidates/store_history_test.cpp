// What was searched, and boards by what a reader asks for.
#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "candidates/store/maintenance.h"
#include "tests/unit/candidates/store_fixture.h"

namespace hone {
namespace {

using test::emulated;
using test::failed;
using test::gpu;
using test::hash_of;
using test::StoreTest;
using test::timed;

TEST_F(StoreTest, RunsAreListedTheNewestFirst) {
  const std::int64_t first = begin(gpu());
  const std::int64_t second = begin(emulated());
  ASSERT_TRUE(store_->end_run(first, "done"));
  const auto runs = store_->runs({});
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[0].id, second);
  EXPECT_EQ((*runs)[0].status, "running");
  EXPECT_EQ((*runs)[0].ended_at, "");
  EXPECT_TRUE((*runs)[0].provenance.modelled);
  EXPECT_EQ((*runs)[1].id, first);
  EXPECT_EQ((*runs)[1].status, "done");
  EXPECT_EQ((*runs)[1].ended_at.size(), 24U);
  EXPECT_EQ((*runs)[1].task_name, task_.name);
  EXPECT_EQ((*runs)[1].seed, 18446744073709551615ULL);
  EXPECT_EQ((*runs)[1].provenance.device_name, gpu().device_name);

  EXPECT_EQ(store_->runs({.before = second})->size(), 1U);
  EXPECT_EQ(store_->runs({.limit = 1})->front().id, second);
  EXPECT_EQ(store_->runs({.task = task_.name})->size(), 2U);
  EXPECT_EQ(store_->runs({.task = task_.hash()})->size(), 2U);
  EXPECT_TRUE(store_->runs({.task = "another"})->empty());
  EXPECT_TRUE(store_->runs({.job = "another"})->empty());
  EXPECT_EQ(store_->find_run(first)->status, "done");
  const auto none = store_->find_run(77);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidInput);
}

TEST_F(StoreTest, ARunsPointsComeInTheOrderOfStoring) {
  const std::int64_t run = begin(gpu()), other = begin(gpu());
  put(run, hash_of('a'), timed(3));
  put(other, hash_of('x'), timed(9));
  put(run, hash_of('b'), failed(Verdict::kRace));
  const auto points = store_->run_points(run);
  ASSERT_TRUE(points) << points.error().message;
  ASSERT_EQ(points->size(), 2U);
  EXPECT_EQ((*points)[0].candidate, std::string(12, 'a'));
  EXPECT_EQ((*points)[0].speedup, 3);
  EXPECT_TRUE((*points)[0].final_stage);
  EXPECT_EQ((*points)[0].origin, "rules");
  EXPECT_EQ((*points)[1].verdict, Verdict::kRace);
  EXPECT_FALSE((*points)[1].final_stage);
  EXPECT_EQ(store_->run_points(run, (*points)[0].id)->size(), 1U);
  EXPECT_EQ(store_->run_points(run, 0, 1)->front().candidate, std::string(12, 'a'));
}

TEST_F(StoreTest, WhatALaterRunFindsAgainIsOfBothRuns) {
  const std::int64_t first = begin(gpu());
  Evaluation quick = timed(1.9);
  quick.final_stage = false;
  put(first, hash_of('a'), quick);
  put(first, hash_of('a'), timed(2));
  put(first, hash_of('b'), timed(3));
  ASSERT_TRUE(store_->end_run(first, "budget"));
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  const std::int64_t second = begin(gpu());
  put(second, hash_of('c'), timed(4));
  const auto last = store_->run_points(second)->back().id;
  put(second, hash_of('a'), timed(2.5));
  const auto points = store_->run_points(second, last);
  ASSERT_TRUE(points) << points.error().message;
  ASSERT_EQ(points->size(), 1U);
  EXPECT_EQ(points->front().candidate, std::string(12, 'a'));
  EXPECT_EQ(points->front().speedup, 2.5);
  EXPECT_GE(points->front().found_at, store_->find_run(second)->started_at);
  // Once more in the same run: nothing new.
  put(second, hash_of('a'), timed(2.5));
  EXPECT_EQ(store_->run_points(second, last)->front().id, points->front().id);
  // The first run is as it was.
  const auto before = store_->run_points(first);
  ASSERT_EQ(before->size(), 3U);
  EXPECT_EQ((*before)[0].speedup, 1.9);
  EXPECT_EQ((*before)[1].speedup, 2);
  EXPECT_EQ((*before)[2].speedup, 3);
  for (const RunPoint& point : *before)
    EXPECT_LE(point.found_at, store_->find_run(first)->ended_at);

  const auto runs = store_->runs_of_candidate(std::string(12, 'a'));
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[0].run.id, second);
  EXPECT_EQ((*runs)[0].found_at, points->front().found_at);
  EXPECT_EQ((*runs)[1].run.id, first);
  EXPECT_EQ((*runs)[1].found_at, (*before)[0].found_at);
  EXPECT_EQ(store_->runs_of_candidate(std::string(12, 'a'), 1)->size(), 1U);
}

TEST_F(StoreTest, AReaderSeesWhatChangedAndWhatCameAfterADeletion) {
  const std::int64_t run = begin(gpu());
  put(run, hash_of('a'), failed(Verdict::kCrash));
  auto last = store_->run_points(run)->back().id;
  put(run, hash_of('a'), failed(Verdict::kTimeout));  // tried again
  auto points = store_->run_points(run, last);
  ASSERT_EQ(points->size(), 1U);
  EXPECT_EQ(points->front().verdict, Verdict::kTimeout);
  EXPECT_EQ(store_->run_points(run)->size(), 1U);

  put(run, hash_of('b'), timed(2));
  last = store_->run_points(run)->back().id;
  put(run, hash_of('b'), failed(Verdict::kRace));  // takes the final stage, the newest, away
  put(run, hash_of('c'), timed(3));
  points = store_->run_points(run, last);
  ASSERT_EQ(points->size(), 2U);
  EXPECT_EQ((*points)[0].verdict, Verdict::kRace);
  EXPECT_EQ((*points)[1].candidate, std::string(12, 'c'));
}

TEST_F(StoreTest, WhatWasShownToBeWrongIsSoInEveryRunOfThatDevice) {
  const std::int64_t first = begin(gpu()), elsewhere = begin(emulated());
  put(first, hash_of('a'), timed(2));
  put(elsewhere, hash_of('a'), timed(2), emulated());
  put(begin(gpu()), hash_of('a'), failed(Verdict::kWrongResult));
  EXPECT_EQ(store_->run_points(first)->front().verdict, Verdict::kWrongResult);
  EXPECT_EQ(store_->run_points(first)->front().speedup, 0);
  EXPECT_EQ(store_->run_points(elsewhere)->front().verdict, Verdict::kOk);
  Evaluation wrong = failed(Verdict::kRace);
  wrong.final_stage = true;
  put(begin(emulated()), hash_of('a'), wrong, emulated());
  EXPECT_EQ(store_->run_points(elsewhere)->front().verdict, Verdict::kRace);
}

TEST_F(StoreTest, ALongRunsOutlineHasAllItsFinalStages) {
  const std::int64_t run = begin(gpu());
  Evaluation quick = timed(1.5);
  quick.final_stage = false;
  put(run, hash_of('a'), quick);
  quick = timed(4);
  quick.final_stage = false;
  put(run, hash_of('b'), quick);
  put(run, hash_of('c'), failed(Verdict::kRace));
  constexpr int kMany = 1000;
  for (int i = 0; i < kMany; ++i) {
    quick = timed(1 + 0.001 * i);
    quick.final_stage = false;
    put(run, std::to_string(10'000 + i) + std::string(27, '0'), quick);
  }
  put(run, hash_of('b'), timed(3));
  put(run, hash_of('a'), timed(1.4));

  const auto outline = store_->run_outline(run, 5, 100);
  ASSERT_TRUE(outline) << outline.error().message;
  EXPECT_EQ(outline->verdicts.at(Verdict::kOk), kMany + 2);
  EXPECT_EQ(outline->verdicts.at(Verdict::kRace), 1);
  ASSERT_EQ(outline->finals.size(), 2U);
  EXPECT_EQ(outline->finals[0].speedup, 3);
  EXPECT_EQ(outline->finals[1].speedup, 1.4);
  ASSERT_EQ(outline->fastest.size(), 5U);
  EXPECT_EQ(outline->fastest[0].speedup, 3);
  EXPECT_EQ(outline->fastest[1].speedup, 1.4);
  EXPECT_EQ(outline->fastest[2].speedup, 4);
  EXPECT_NEAR(outline->fastest[3].speedup, 1.999, 1e-9);
  EXPECT_GE(outline->progress.size(), 80U);
  EXPECT_LE(outline->progress.size(), 110U);
  EXPECT_EQ(outline->progress[0].speedup, 1.5);
  EXPECT_EQ(outline->progress[1].speedup, 4);
  EXPECT_TRUE(std::ranges::is_sorted(outline->progress, {}, &RunPoint::id));
  EXPECT_TRUE(store_->run_outline(77)->finals.empty());
}

TEST_F(StoreTest, VersionSevenIsReadWithItsRunsAndFilters) {
  const std::int64_t first = begin(gpu());
  CandidateRecord variant = test::candidate(task_, hash_of('b'));
  variant.origin = "variant";
  variant.recipe.clear();
  ASSERT_TRUE(store_->put(first, variant, timed(3), gpu()));
  put(first, hash_of('a'), timed(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  const std::int64_t second = begin(gpu());
  store_.reset();
  {
    // As version 7 left it: a result was its last run's, with the time of its first storing.
    SQLite::Database database(file().string(), SQLite::OPEN_READWRITE);
    database.exec(
        "DROP TABLE identity; DROP TABLE jobs; DROP TABLE probe; ALTER TABLE runs DROP COLUMN "
        "inputs; "
        "DROP TABLE job_spending; DROP TABLE reply_candidates; DROP TABLE replies; DROP TABLE "
        "run_points; DROP INDEX tasks_by_family; ALTER TABLE tasks DROP COLUMN family; DROP INDEX "
        "results_ranked; ALTER TABLE results DROP COLUMN steps; ALTER TABLE results DROP COLUMN "
        "registers; ALTER TABLE results DROP COLUMN code; ALTER TABLE results DROP COLUMN origin; "
        "ALTER TABLE results DROP COLUMN held_level; CREATE INDEX results_by_run ON results (run, "
        "id); "
        "CREATE INDEX results_ranked ON results (task_hash, device_name, modelled, speedup DESC, "
        "time_us, candidate) WHERE verdict = 'ok' AND final = 1; PRAGMA user_version = 7");
    database.exec("UPDATE results SET id = 10, run = " + std::to_string(second) +
                  " WHERE candidate = '" + std::string(12, 'a') + "'");
  }
  reopen();
  const auto points = store_->run_points(second);
  ASSERT_TRUE(points) << points.error().message;
  ASSERT_EQ(points->size(), 1U);
  EXPECT_EQ(points->front().id, 10);
  EXPECT_EQ(points->front().found_at, store_->find_run(second)->started_at);
  EXPECT_EQ(store_->run_points(first)->size(), 1U);
  BoardFilter filter;
  EXPECT_EQ(order(store_->boards(filter)->front()), (std::vector<std::string>{"b", "a"}));
  filter.math = MathLevel::kExact;
  EXPECT_TRUE(store_->boards(filter)->empty());  // nothing had compared bits
  filter.math = MathLevel::kReassociate;
  EXPECT_EQ(store_->boards(filter)->front().rows.front().evaluation.math, MathLevel::kReassociate);
  filter.origin = "rules";
  EXPECT_EQ(order(store_->boards(filter)->front()), std::vector<std::string>{"a"});
  put(second, hash_of('c'), timed(5));
  EXPECT_EQ(store_->run_points(second, 10)->size(), 1U);
}

TEST_F(StoreTest, VersionThirteenIsReadWithItsLevels) {
  const std::int64_t run = begin(gpu());
  Evaluation reduced = timed(3), split = timed(2);
  reduced.math = MathLevel::kReduced;
  split.math = MathLevel::kTf32x3;
  put(run, hash_of('a'), reduced);
  put(run, hash_of('b'), split);
  store_.reset();
  {
    SQLite::Database database(file().string(), SQLite::OPEN_READWRITE);
    // As version 13 left it: `reduced` was 3.
    database.exec(
        "DROP TABLE identity; DROP TABLE jobs; DROP TABLE probe; ALTER TABLE runs DROP COLUMN "
        "inputs; "
        "ALTER TABLE results RENAME COLUMN held_level TO held_math; "
        "UPDATE results SET held_math = 3 WHERE held_math = 4; PRAGMA user_version = 13");
  }
  reopen();
  Evaluation once = timed(4);
  once.math = MathLevel::kTf32;
  put(run, hash_of('c'), once);
  const auto held_to = [&](MathLevel level) {
    BoardFilter filter;
    filter.math = level;
    return order(store_->boards(filter)->front());
  };
  EXPECT_EQ(held_to(MathLevel::kTf32x3), std::vector<std::string>{"b"});
  EXPECT_EQ(held_to(MathLevel::kTf32), (std::vector<std::string>{"c", "b"}));
  EXPECT_EQ(held_to(MathLevel::kReduced), (std::vector<std::string>{"c", "a", "b"}));
  const auto rows = store_->boards({})->front().rows;
  EXPECT_EQ(rows[1].evaluation.math, MathLevel::kReduced);
}

TEST_F(StoreTest, BoardsAreNamedByArchitecture) {
  put(begin(gpu()), hash_of('a'), timed(2));
  put(begin(emulated()), hash_of('a'), timed(2), emulated());
  Provenance other = gpu();
  other.arch = "sm_80";
  other.device_name = "NVIDIA A100";
  put(begin(other), hash_of('b'), timed(2), other);
  const auto names = store_->board_names({});
  ASSERT_TRUE(names) << names.error().message;
  ASSERT_EQ(names->size(), 3U);
  EXPECT_EQ((*names)[0].device_name, "NVIDIA A100");
  EXPECT_EQ((*names)[1].device_name, gpu().device_name);
  EXPECT_TRUE((*names)[2].modelled);
  EXPECT_EQ((*names)[2].task_name, task_.name);
  BoardFilter filter;
  filter.arch = "sm_90";
  filter.modelled = false;
  EXPECT_EQ(store_->board_names(filter)->size(), 1U);
}

TEST_F(StoreTest, BoardsMayLeaveOutPrograms) {
  put(begin(gpu()), hash_of('a'), timed(2));
  BoardFilter filter;
  EXPECT_FALSE(store_->boards(filter)->front().rows[0].candidate.program.source.empty());
  filter.programs = false;
  const Board board = store_->boards(filter)->front();
  EXPECT_TRUE(board.rows[0].candidate.program.source.empty());
  EXPECT_EQ(board.rows[0].candidate.recipe.size(), 1U);
}

TEST_F(StoreTest, OneThatOnlyReadsWritesNothing) {
  const std::int64_t run = begin(gpu());
  put(run, hash_of('a'), timed(2));
  const auto reader = Store::open(file(), {.read_only = true});
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_FALSE((*reader)->put_task(task_));
  put(run, hash_of('b'), timed(3));  // beside it
  EXPECT_EQ((*reader)->run_points(run)->size(), 2U);
}

// A later search of the same module with other weights made them those of all earlier results.
TEST_F(StoreTest, AResultIsOfTheFilesThatItsRunRead) {
  task_.reference.buffers[0].fill = {.kind = Fill::Kind::kFile, .path = "sha256:a/weights.pt"};
  Task later = task_;
  later.reference.buffers[0].fill.path = "sha256:b/weights.pt";
  ASSERT_EQ(later.hash(), task_.hash());
  const auto begin_with = [&](const Task& task, const std::string& job) {
    EXPECT_TRUE(store_->put_task(task));
    return store_->begin_run(task.hash(), gpu(), 1, "evolve", job, &task).value_or(0);
  };
  const auto weights_of = [&](char digit, const std::string& device = "") {
    const auto row = store_->find_candidate(hash_of(digit), device);
    EXPECT_TRUE(row) << digit;
    const auto task = store_->task_of(*row);
    EXPECT_TRUE(task) << task.error().message;
    return task ? task->reference.buffers[0].fill.path : "";
  };
  const std::int64_t first = begin_with(task_, "job-1");
  put(first, hash_of('a'), timed(2));
  put(first, hash_of('b'), timed(3));
  Provenance elsewhere = gpu();
  elsewhere.device_name = "NVIDIA H100";
  put(0, hash_of('a'), timed(2), elsewhere);
  put(first, hash_of('d'), timed(3));
  put(0, hash_of('d'), timed(2), elsewhere);
  put(begin(emulated()), hash_of('c'), timed(4), emulated());  // nobody says what it read
  const std::int64_t second = begin_with(later, "job-2");
  put(second, hash_of('b'), timed(4));
  put(second, hash_of('d'), timed(4));
  reopen();
  EXPECT_EQ(weights_of('a'), "sha256:a/weights.pt");
  EXPECT_EQ(weights_of('a', "NVIDIA H100"), "sha256:a/weights.pt");
  EXPECT_EQ(weights_of('d', "NVIDIA H100"), "sha256:a/weights.pt") << "tried before the later run";
  EXPECT_EQ(weights_of('b'), "sha256:b/weights.pt") << "found again by the later run";
  EXPECT_EQ(weights_of('c'), "sha256:b/weights.pt") << "the task as it was stored last";
  EXPECT_EQ(store_->find_task(task_.hash())->reference.buffers[0].fill.path, "sha256:b/weights.pt");
  ASSERT_TRUE(store_->end_run(first, "done"));
  const auto other = Store::open(dir_.path() / "other.db");
  ASSERT_TRUE(other && (*other)->merge(file()));
  EXPECT_EQ(
      (*other)->task_of(*(*other)->find_candidate(hash_of('a')))->reference.buffers[0].fill.path,
      "sha256:a/weights.pt");
  // A leader that takes the job up again reads what the job reads.
  EXPECT_EQ(begin_with(task_, "job-1"), first);
  EXPECT_EQ(weights_of('b'), "sha256:b/weights.pt");
}

TEST_F(StoreTest, TasksAreListedByName) {
  (void)begin(gpu());
  const auto tasks = store_->tasks();
  ASSERT_TRUE(tasks) << tasks.error().message;
  ASSERT_EQ(tasks->size(), 1U);
  EXPECT_EQ(tasks->front().hash, task_.hash());
  EXPECT_EQ(tasks->front().name, task_.name);
}

TEST_F(StoreTest, BoardsAndTheirRowsAreFiltered) {
  const std::int64_t run = begin(gpu());
  put(run, hash_of('a'), timed(4));
  CandidateRecord variant = test::candidate(task_, hash_of('b'));
  variant.origin = "variant";
  variant.recipe.clear();
  Evaluation to_the_tolerance = timed(3);
  to_the_tolerance.math = MathLevel::kReassociate;
  ASSERT_TRUE(store_->put(run, variant, to_the_tolerance, gpu()));
  const CandidateRecord exact = test::candidate(task_, hash_of('c'));
  Evaluation to_the_bit = timed(2);
  to_the_bit.math = MathLevel::kExact;
  ASSERT_TRUE(store_->put(run, exact, to_the_bit, gpu()));
  put(begin(emulated()), hash_of('d'), timed(5), emulated());

  BoardFilter filter;
  filter.modelled = true;
  ASSERT_EQ(store_->boards(filter)->size(), 1U);
  EXPECT_TRUE(store_->boards(filter)->front().modelled);
  filter.modelled = false;
  ASSERT_EQ(store_->boards(filter)->size(), 1U);
  filter.arch = "sm_80";
  EXPECT_TRUE(store_->boards(filter)->empty());
  filter.arch = "sm_90";
  EXPECT_EQ(order(store_->boards(filter)->front()), (std::vector<std::string>{"a", "b", "c"}));
  filter.origin = "variant";
  const Board variants = store_->boards(filter)->front();
  EXPECT_EQ(order(variants), std::vector<std::string>{"b"});
  EXPECT_EQ(variants.rows.front().rank, 2);
  EXPECT_EQ(variants.reference_time_us, 40);  // of the best of all
  filter.origin.clear();
  filter.math = MathLevel::kExact;
  const Board bitwise = store_->boards(filter)->front();
  EXPECT_EQ(order(bitwise), std::vector<std::string>{"c"});
  EXPECT_EQ(bitwise.rows.front().rank, 3);
  filter.math = MathLevel::kReassociate;
  EXPECT_EQ(order(store_->boards(filter)->front()), (std::vector<std::string>{"b", "c"}));
  filter.limit = 1;
  EXPECT_EQ(order(store_->boards(filter)->front()), std::vector<std::string>{"b"});
  // What a later result was held to counts, not what an earlier one was.
  to_the_bit.math = MathLevel::kReduced;
  ASSERT_TRUE(store_->put(run, exact, to_the_bit, gpu()));
  filter.math = MathLevel::kExact;
  EXPECT_TRUE(store_->boards(filter)->empty());
}

}  // namespace
}  // namespace hone
