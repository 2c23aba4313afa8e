// The job around the search, with an evaluator that injects faults: what is counted, retried,
// stored and ranked does not depend on a compiler or a device.
#include "engine/search/search.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <vector>

#include "candidates/task_reader.h"
#include "engine/llm/access.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/rewriting/remote_rewriting.h"
#include "rewriters/core/registry.h"
#include "tests/unit/engine/fake_evaluator.h"

namespace hone {
namespace {

constexpr const char* kScaleLaunch =
    R"json({"launches": [{"kernel": "scale", "grid": ["ceildiv(N,BLOCK*ITEMS)"], )json"
    R"json("block": ["BLOCK"], "args": ["x", "y", "N"]}]})json";

class SearchJob : public testing::Test {
 protected:
  void SetUp() override {
    auto task = parse_task(test::kScaleTask, "scale.cu");
    ASSERT_TRUE(task) << task.error().message;
    task_ = *task;
    device_ = *DeviceSpec::parse("emu:sm_90");
    options_.settings.budget.evaluations = 60;
    options_.settings.seed = 3;
    options_.workers = 4;
  }
  Task task_;
  DeviceSpec device_;
  SearchOptions options_;
  test::FakeEvaluator evaluator_;
  LocalRewriting rewriting_;
};

TEST_F(SearchJob, TheSameSeedGivesTheSameCountsAndBestWhateverTheThreads) {
  auto first = run_search(task_, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_TRUE(first) << first.error().message;
  options_.workers = 1;
  auto second = run_search(task_, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_TRUE(second);
  EXPECT_EQ(first->counts.proposed, second->counts.proposed);
  EXPECT_EQ(first->counts.duplicate, second->counts.duplicate);
  EXPECT_EQ(first->counts.verdicts, second->counts.verdicts);
  EXPECT_EQ(first->ranked.front().candidate.recipe, second->ranked.front().candidate.recipe);
  EXPECT_GT(first->counts.evaluated(), 30);
}

TEST_F(SearchJob, OnAGpuSeveralThreadsProposeAndTheBudgetIsExact) {
  device_ = *DeviceSpec::parse("cuda:0");
  options_.settings.budget.evaluations = 40;
  RemoteRewriting remote({.processes = 4});
  const auto outcome = run_search(task_, device_, evaluator_, remote, nullptr, options_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->counts.evaluated(), 40);
  EXPECT_EQ(outcome->stop_reason, StopReason::kBudget);
  EXPECT_EQ(outcome->counts.proposed,
            outcome->counts.evaluated() + outcome->counts.duplicate + outcome->counts.screened +
                outcome->counts.verdicts[static_cast<std::size_t>(Verdict::kRefused)]);
  EXPECT_GT(outcome->pace.propose_s, 0);

  for (const Rewriter* rewriter : rewriters())
    if (rewriter->name() != "tunables") options_.settings.without.emplace_back(rewriter->name());
  options_.settings.budget.evaluations = 1000;  // there are 64 programs
  const auto all = run_search(task_, device_, evaluator_, remote, nullptr, options_);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->stop_reason, StopReason::kExhausted);
  EXPECT_EQ(all->counts.evaluated(), 63);  // and the reference
}

TEST_F(SearchJob, PatienceEndsASearchThatFindsNothingFaster) {
  evaluator_.lie_ = [](const EvaluationRequest&, Evaluation& evaluation) {
    evaluation.verdict = Verdict::kWrongResult;  // nothing is faster than the reference
  };
  options_.settings.patience = 20;
  const auto outcome = run_search(task_, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->stop_reason, StopReason::kPatience);
  EXPECT_GE(outcome->counts.evaluated(), 12);
  EXPECT_LT(outcome->counts.evaluated(), options_.settings.budget.evaluations);
  options_.settings.patience = 100;
  const auto patient = run_search(task_, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_TRUE(patient) << patient.error().message;
  EXPECT_EQ(patient->stop_reason, StopReason::kBudget);
}

TEST_F(SearchJob, WhereTheReferenceIsSlowGeneratedKernelsAreTriedFirst) {
  const auto task = read_task(HONE_SOURCE_DIR "/baselines/matmul/matmul.cu");
  ASSERT_TRUE(task) << task.error().message;
  device_ = *DeviceSpec::parse("cuda:0");
  options_.settings.budget.evaluations = 30;
  options_.workers = 1;
  std::mutex mutex;
  std::vector<bool> generated;
  evaluator_.lie_ = [&](const EvaluationRequest& request, Evaluation& evaluation) {
    if (request.stage != Stage::kQuick) return;
    evaluation.verdict = Verdict::kOk;
    const std::lock_guard lock(mutex);
    generated.push_back(request.timed.candidate.source.contains("hone_C_"));
  };
  evaluator_.reference_us_ = 50e3;
  const auto outcome = run_search(*task, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_GE(generated.size(), 30U);
  EXPECT_TRUE(generated.front());
  EXPECT_FALSE(std::ranges::all_of(generated, std::identity{})) << "rules have their turn";
}

// A GPU that is awaited measures those of the lowest numbers first.
TEST_F(SearchJob, ARequestHasTheNumberOfItsAsk) {
  const auto task = read_task(HONE_SOURCE_DIR "/baselines/matmul/matmul.cu");
  ASSERT_TRUE(task) << task.error().message;
  device_ = *DeviceSpec::parse("cuda:0");
  options_.settings.budget.evaluations = 20;
  std::mutex mutex;
  std::vector<std::uint64_t> orders;
  evaluator_.lie_ = [&](const EvaluationRequest& request, Evaluation&) {
    if (request.stage != Stage::kQuick) return;
    const std::lock_guard lock(mutex);
    orders.push_back(request.order);
  };
  const auto outcome = run_search(*task, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_GE(orders.size(), 20U);
  std::ranges::sort(orders);
  EXPECT_EQ(orders.front(), 0U);
  EXPECT_EQ(std::ranges::adjacent_find(orders), orders.end()) << "each has a number of its own";
}

TEST_F(SearchJob, ChildrenThatRewriteChangeNothing) {
  const auto task = read_task(HONE_SOURCE_DIR "/baselines/matmul/matmul.cu");
  ASSERT_TRUE(task) << task.error().message;
  options_.settings.budget.evaluations = 150;
  auto first = run_search(*task, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_TRUE(first) << first.error().message;
  RemoteRewriting remote;
  auto second = run_search(*task, device_, evaluator_, remote, nullptr, options_);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(first->counts.proposed, second->counts.proposed);
  EXPECT_EQ(first->counts.verdicts, second->counts.verdicts);
  EXPECT_EQ(first->ranked.front().candidate.recipe, second->ranked.front().candidate.recipe);
  RecordProperty("local_ms_per_ask", std::to_string(1000 * first->pace.propose_s /
                                                    static_cast<double>(first->counts.proposed)));
  RecordProperty("remote_ms_per_ask", std::to_string(1000 * second->pace.propose_s /
                                                     static_cast<double>(second->counts.proposed)));
}

TEST_F(SearchJob, CountsAddUpAndTheRankingIsByspeedup) {
  const auto outcome = run_search(task_, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_TRUE(outcome);
  std::int64_t total = outcome->counts.duplicate;
  for (const auto count : outcome->counts.verdicts) total += count;
  EXPECT_EQ(total, outcome->counts.proposed);
  ASSERT_GE(outcome->ranked.size(), 2U);
  for (std::size_t i = 1; i < outcome->ranked.size(); ++i) {
    EXPECT_GE(outcome->ranked[i - 1].evaluation.measurement.speedup,
              outcome->ranked[i].evaluation.measurement.speedup);
  }
  EXPECT_EQ(std::ranges::count(outcome->ranked, "reference",
                               [](const Finalist& f) { return f.candidate.origin; }),
            1);
}

TEST_F(SearchJob, OnAGpuTheCeilingsAreMeasuredOnceAndKept) {
  device_ = *DeviceSpec::parse("cuda:0");
  options_.settings.prescreen = false;
  options_.settings.budget.evaluations = 3;
  const auto path = std::filesystem::path(testing::TempDir()) / "ceilings.db";
  std::filesystem::remove(path);
  for (int run = 0; run < 2; ++run) {
    auto store = Store::open(path);
    ASSERT_TRUE(store) << store.error().message;
    evaluator_.use_ceilings({});
    const auto outcome = run_search(task_, device_, evaluator_, rewriting_, store->get(), options_);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(evaluator_.measured_, 1);
    EXPECT_EQ(evaluator_.info().ceilings.dram_bytes_per_s, 5e12);
    EXPECT_EQ(evaluator_.info().ceilings.measured_at.empty(), run == 0);
  }
  std::filesystem::remove(path);
}

TEST_F(SearchJob, OnAGpuNoOutcomeIsLostWhereOthersOvertakeIt) {
  device_ = *DeviceSpec::parse("cuda:0");
  options_.settings.prescreen = false;
  options_.workers = 0;
  evaluator_.slow_ = std::chrono::milliseconds(40);
  for (const char* budget : {"60", "0.3s"}) {
    const auto parsed = Budget::parse(budget);
    ASSERT_TRUE(parsed) << parsed.error().message;
    options_.settings.budget = *parsed;
    evaluator_.answered_ = 0;
    int searched = -1;  // answered before the final stage, which reduces recipes first
    options_.on_progress = [&](const Progress& progress) {
      if (progress.phase == Phase::kFinal && searched < 0) searched = evaluator_.answered_;
    };
    const auto outcome = run_search(task_, device_, evaluator_, rewriting_, nullptr, options_);
    ASSERT_TRUE(outcome) << outcome.error().message;
    // Whatever was answered counts, also what was still queued when the time was up; nothing that
    // was asked twice is told as a crash.
    EXPECT_EQ(outcome->counts.evaluated(), searched) << budget;
    EXPECT_EQ(outcome->counts.verdicts[static_cast<std::size_t>(Verdict::kCrash)], 0) << budget;
    std::int64_t total = outcome->counts.duplicate;
    for (const auto count : outcome->counts.verdicts) total += count;
    EXPECT_EQ(total, outcome->counts.proposed) << budget;
  }
}

TEST_F(SearchJob, InfrastructureErrorsAreRetriedOnce) {
  evaluator_.infrastructure_once_ = true;
  const auto outcome = run_search(task_, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->counts.verdicts[static_cast<std::size_t>(Verdict::kCrash)], 0);
  EXPECT_GT(outcome->counts.verdicts[static_cast<std::size_t>(Verdict::kOk)], 0);
}

TEST_F(SearchJob, AnInterruptStillRanksTheReference) {
  const std::atomic<bool> stop{true};
  options_.stop = &stop;
  const auto outcome = run_search(task_, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_TRUE(outcome);
  ASSERT_EQ(outcome->ranked.size(), 1U);
  EXPECT_EQ(outcome->ranked[0].candidate.origin, "reference");
}

TEST_F(SearchJob, FinalistsAreTimedAfterTheTimeIsUp) {
  options_.settings.budget = *Budget::parse("0.2s");
  const auto outcome = run_search(task_, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->warnings.empty()) << outcome->warnings.front();
  EXPECT_FALSE(outcome->ranked.empty());
}

TEST_F(SearchJob, MachineCodeIsTimedOnceAndTheSeedRepeatsIt) {
  std::atomic<int> timed = 0, told = 0;
  // All values of ITEMS come to one machine code.
  evaluator_.lie_ = [&](const EvaluationRequest& request, Evaluation& evaluation) {
    if (request.stage != Stage::kQuick) return;
    evaluation.verdict = Verdict::kOk;
    std::string key = request.timed.candidate.source;  // a rule's step changes it
    for (const auto& [name, value] : request.timed.candidate.defines)
      if (name == "BLOCK") key += value;
    evaluation.timing_key = content_hash(key);
    if (request.known_times && request.known_times->contains(evaluation.timing_key)) {
      ++told;
      evaluation.timed_before = true;
      evaluation.measurement = {};
      evaluation.measurement.time_us = request.known_times->at(evaluation.timing_key);
    } else {
      ++timed;
    }
  };
  const auto path = std::filesystem::temp_directory_path() / "hone_search_codes_test.db";
  std::filesystem::remove(path);
  auto store = Store::open(path);
  ASSERT_TRUE(store) << store.error().message;
  options_.job = "job";  // the results of its quick stage can be read
  const auto first = run_search(task_, device_, evaluator_, rewriting_, store->get(), options_);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_GT(told, 5);
  EXPECT_GE(timed + told, first->counts.evaluated());
  const auto results = (*store)->run_results(1);
  ASSERT_TRUE(results);
  int notes = 0;
  for (const auto& [hash, evaluation] : *results) {
    if (!evaluation.note.contains("timed as candidate ")) continue;
    ++notes;
    EXPECT_TRUE(evaluation.note.ends_with(", whose machine code is the same")) << evaluation.note;
    EXPECT_GT(evaluation.measurement.speedup, 0) << "the measurement is the first one's";
  }
  EXPECT_GT(notes, 5);
  std::filesystem::remove(path);

  const int before = told;
  options_.job.clear();
  options_.workers = 1;
  const auto second = run_search(task_, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_TRUE(second);
  EXPECT_EQ(told - before, before) << "which one is timed depends on the threads";
  EXPECT_EQ(second->counts, first->counts);
}

TEST_F(SearchJob, StoresWhatItFound) {
  const auto path = std::filesystem::temp_directory_path() / "hone_search_job_test.db";
  std::filesystem::remove(path);
  auto store = Store::open(path);
  ASSERT_TRUE(store) << store.error().message;
  const auto outcome = run_search(task_, device_, evaluator_, rewriting_, store->get(), options_);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->warnings.empty()) << outcome->warnings.front();
  const auto boards = (*store)->boards({});
  ASSERT_TRUE(boards);
  ASSERT_EQ(boards->size(), 1U);
  EXPECT_EQ((*boards)[0].rows.size(), outcome->ranked.size());
  EXPECT_EQ((*boards)[0].rows[0].candidate.recipe, outcome->ranked[0].candidate.recipe);
  std::filesystem::remove(path);
}

// A program's time is its source's: the best of one size is that of another.
TEST_F(SearchJob, BeginsWithWhatEarlierSearchesFound) {
  const auto path = std::filesystem::path(testing::TempDir()) / "known.db";
  std::filesystem::remove(path);
  auto store = Store::open(path);
  ASSERT_TRUE(store) << store.error().message;
  const auto best_of = [&](const Task& task) {
    const auto outcome = run_search(task, device_, evaluator_, rewriting_, store->get(), options_);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? outcome->ranked.front().candidate.recipe : Recipe();
  };
  const Recipe best = best_of(task_);
  ASSERT_FALSE(best.empty());
  options_.settings.budget.evaluations = 1;
  options_.settings.seed = 4;
  EXPECT_EQ(best_of(task_), best);
  Task larger = task_;
  larger.sizes["N"] += larger.sizes["N"] / 10;
  larger.tolerance.rtol = 1e-3;
  EXPECT_EQ(best_of(larger), best);
  Task unlike = task_;
  unlike.reference.source += "\n// another kernel";
  EXPECT_NE(best_of(unlike), best);
  options_.settings.known = false;
  larger.sizes["N"] += 1;
  EXPECT_NE(best_of(larger), best);
}

// Killed somewhere and begun again, a job ends as if nothing had happened.
TEST_F(SearchJob, AJobGoesOnWhereItsProcessDied) {
  const auto path = std::filesystem::path(testing::TempDir()) / "resumed.db";
  const auto fresh = [&] {
    std::filesystem::remove(path);
    return Store::open(path);
  };
  auto store = fresh();
  ASSERT_TRUE(store) << store.error().message;
  const auto whole = run_search(task_, device_, evaluator_, rewriting_, store->get(), options_);
  ASSERT_TRUE(whole) << whole.error().message;
  const int calls = evaluator_.calls_;
  for (const int killed_after : {0, 1, 20, 59}) {
    store = fresh();
    ASSERT_TRUE(store) << store.error().message;
    evaluator_.calls_ = 0;
    options_.job = "job-1";
    std::atomic<bool> abandon{false};
    options_.abandon = &abandon;
    options_.on_progress = [&](const Progress& progress) {
      if (progress.counts.evaluated() >= killed_after) abandon = true;
    };
    const auto first = run_search(task_, device_, evaluator_, rewriting_, store->get(), options_);
    EXPECT_FALSE(first);
    EXPECT_EQ((*store)->boards({})->size(), 0U);
    abandon = false;
    options_.on_progress = {};
    const auto second = run_search(task_, device_, evaluator_, rewriting_, store->get(), options_);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(second->counts.proposed, whole->counts.proposed);
    EXPECT_EQ(second->counts.verdicts, whole->counts.verdicts);
    EXPECT_EQ(second->ranked.front().candidate.recipe, whole->ranked.front().candidate.recipe);
    // What was in flight is evaluated again, what was told is not.
    EXPECT_LE(evaluator_.calls_, calls + static_cast<int>(kModelledWindow)) << killed_after;
    EXPECT_FALSE((*store)->run_results(1)->empty());
    ASSERT_TRUE((*store)->forget_job("job-1"));
    EXPECT_TRUE((*store)->run_results(1)->empty());
  }
  std::filesystem::remove(path);
}

TEST_F(SearchJob, AJobOnAGpuGoesOnWithWhatItsProcessHadFound) {
  const auto path = std::filesystem::path(testing::TempDir()) / "resumed_gpu.db";
  std::filesystem::remove(path);
  auto store = Store::open(path);
  ASSERT_TRUE(store) << store.error().message;
  device_ = *DeviceSpec::parse("cuda:0");
  options_.job = "job-1";
  options_.settings.prescreen = false;
  std::atomic<bool> abandon{false};
  options_.abandon = &abandon;
  options_.on_progress = [&](const Progress& progress) {
    if (progress.counts.evaluated() >= 40) abandon = true;
  };
  EXPECT_FALSE(run_search(task_, device_, evaluator_, rewriting_, store->get(), options_));
  const auto told = (*store)->run_results(1);
  ASSERT_TRUE(told) << told.error().message;
  ASSERT_GE(told->size(), 40U);
  double best_us = 1e9;
  for (const auto& [hash, evaluation] : *told)
    if (evaluation.verdict == Verdict::kOk)
      best_us = std::min(best_us, evaluation.measurement.time_us);
  abandon = false;
  int searched = -1;
  options_.on_progress = [&](const Progress& progress) {
    if (progress.phase == Phase::kFinal && searched < 0) searched = evaluator_.answered_;
  };
  options_.settings.seed = 77;  // it asks for other things
  const int calls = evaluator_.answered_;
  const auto second = run_search(task_, device_, evaluator_, rewriting_, store->get(), options_);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->counts.evaluated(), options_.settings.budget.evaluations);
  EXPECT_LE(searched - calls,
            options_.settings.budget.evaluations - static_cast<std::int64_t>(told->size()));
  EXPECT_LE(second->ranked.front().evaluation.measurement.time_us, best_us);
  std::filesystem::remove(path);
}

// Times differ there, and so do the prompts that hold them.
TEST_F(SearchJob, OnAGpuAReplayAnswersInTheOrderOfRecording) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("hone-replay-" + std::to_string(getpid()));
  std::filesystem::remove(path);
  {
    const auto recorder = llm::Recorder::open(path);
    ASSERT_TRUE(recorder) << recorder.error().message;
    for (const char* factor : {"1.0f + 1.0f", "4.0f / 2.0f", "3.0f - 1.0f"}) {
      std::string source(task_.reference.source);
      source.replace(source.find("2.0f"), 4, factor);
      llm::Exchange exchange;
      exchange.reply->text = "```cuda\n" + source + "\n```\n```json\n" + kScaleLaunch + "\n```\n";
      ASSERT_TRUE((*recorder)->write(R"({"model": "m", "messages": []})", "whole", exchange, {}));
    }
  }
  const auto access = llm::open_access({.replay = path});
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ((*access)->modes, std::vector<llm::Mode>{llm::Mode::kWhole});
  options_.llm = access->get();
  device_ = *DeviceSpec::parse("cuda:0");
  test::FakeEvaluator gpu(test::FakeEvaluator::h200(), false);
  const auto outcome = run_search(task_, device_, gpu, rewriting_, nullptr, options_);
  std::filesystem::remove(path);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->llm.replies(), 3);
  EXPECT_EQ(outcome->llm.accepted(), 3);
  const auto of_replay = [](const std::string& warning) {
    return warning.contains("the replay: ");
  };
  EXPECT_EQ(std::ranges::count_if(outcome->llm_warnings, of_replay), 1);
  const auto of_model = [](const std::string& warning) { return warning.contains("model: "); };
  EXPECT_EQ(std::ranges::count_if(outcome->llm_warnings, of_model), 0);
}

TEST_F(SearchJob, WhatSeemedFasterAndIsWrongIsCountedAsThat) {
  evaluator_.lie_ = [&](const EvaluationRequest& request, Evaluation& evaluation) {
    if (request.stage != Stage::kFinal || evaluation.measurement.time_us <= 0) return;
    const ConcreteProgram& reference = request.timed.reference;
    if (request.timed.candidate.source == reference.source &&
        request.timed.candidate.defines == reference.defines)
      return;
    evaluation.verdict = Verdict::kWrongResult;
    evaluation.detail = "y[3] is 0 instead of 2";
  };
  const auto outcome = run_search(task_, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_EQ(outcome->ranked.size(), 1U) << "the reference";
  EXPECT_GT(outcome->seemed_faster, options_.settings.finalists);
  EXPECT_EQ(outcome->ends, (FinalEnds{.failed = options_.settings.finalists,
                                      .why_failed = "wrong_result (y[3] is 0 instead of 2)"}));
}

TEST_F(SearchJob, AnUnknownStrategyIsInvalidInput) {
  options_.settings.strategy = "magic";
  const auto outcome = run_search(task_, device_, evaluator_, rewriting_, nullptr, options_);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace hone
