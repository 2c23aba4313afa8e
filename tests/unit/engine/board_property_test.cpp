// Boards and overviews over random results, against a plain recomputation from the raw samples that
// shares no code with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "candidates/hash.h"
#include "engine/results/overview.h"
#include "evaluator/timing/statistics.h"
#include "tests/unit/candidates/store_fixture.h"

namespace hone {
namespace {

using Random = std::mt19937_64;

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}
int below(Random& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

/// What was put, kept as it was made.
struct Put {
  int task = 0;
  Provenance provenance;
  std::string program;
  std::string origin;
  MathLevel math = MathLevel::kExact;
  Evaluation evaluation;
};

double plain_median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/// By its own random numbers, so it agrees but for the noise of resampling.
std::pair<double, double> plain_interval(const std::vector<double>& reference,
                                         const std::vector<double>& candidate) {
  Random random(99);
  std::vector<double> ratios;
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> a, b;
    for (std::size_t k = 0; k < reference.size(); ++k) {
      const std::size_t pick = random() % reference.size();
      a.push_back(reference[pick]);
      b.push_back(candidate[pick]);
    }
    ratios.push_back(plain_median(a) / plain_median(b));
  }
  std::sort(ratios.begin(), ratios.end());
  return {ratios[25], ratios[974]};
}

Evaluation random_evaluation(Random& random, bool modelled) {
  Evaluation e;
  e.final_stage = below(random, 4) != 0;
  e.verdict =
      below(random, 8) == 0 ? kAllVerdicts[below(random, std::size(kAllVerdicts))] : Verdict::kOk;
  Measurement& m = e.measurement;
  m.modelled = modelled;
  // Few different speeds, so that some are equal to the last bit.
  const double time = 10.0 * (1 + below(random, 6)), reference = 50.0 * (1 + below(random, 3));
  const bool exact = below(random, 2) == 0;
  for (int i = 0; i < 21 + below(random, 2); ++i) {
    m.samples_us.push_back(exact ? time : time * uniform(random, 0.97, 1.05));
    m.reference_samples_us.push_back(exact ? reference : reference * uniform(random, 0.97, 1.05));
  }
  m.time_us = timing::median(m.samples_us);
  m.reference_time_us = timing::median(m.reference_samples_us);
  m.speedup = m.reference_time_us / m.time_us;
  const auto interval = timing::ratio_interval(m.reference_samples_us, m.samples_us, random());
  m.ci95_low = interval.low;
  m.ci95_high = interval.high;
  return e;
}

void check_interval(const Measurement& m) {
  const auto [low, high] = plain_interval(m.reference_samples_us, m.samples_us);
  const double noise = 0.5 * (high - low) + 1e-9;
  EXPECT_NEAR(m.ci95_low, low, noise);
  EXPECT_NEAR(m.ci95_high, high, noise);
  EXPECT_LE(m.ci95_low, m.speedup);
  EXPECT_GE(m.ci95_high, m.speedup);
}

void check(const BoardRow& row, const std::pair<int, Put>& wanted) {
  const auto& [rank, put] = wanted;
  EXPECT_EQ(row.rank, rank);
  EXPECT_EQ(row.candidate.program_hash, put.program);
  EXPECT_EQ(row.candidate.origin, put.origin);
  EXPECT_EQ(row.provenance.toolchain, put.provenance.toolchain);
  const Measurement& m = row.evaluation.measurement;
  EXPECT_EQ(m.samples_us, put.evaluation.measurement.samples_us);
  EXPECT_DOUBLE_EQ(m.speedup, plain_median(m.reference_samples_us) / plain_median(m.samples_us));
  check_interval(m);
}

class BoardProperties : public test::StoreTest, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    test::StoreTest::SetUp();
    Random random(static_cast<std::uint64_t>(GetParam()));
    for (int i = 0; i < 3; ++i) {
      Task task = test::scale_task();
      task.name = "task" + std::to_string(i);
      task.reference.source += "// " + task.name;  // the name is not in its hash
      tasks_.push_back(task);
    }
    const std::vector<Provenance> devices = {
        test::gpu(),
        {"cuda:0", "NVIDIA A100", "sm_80", "NVRTC 13.0", "580.65", "0.1.0", false},
        test::emulated()};
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      ASSERT_TRUE(store_->put_task(tasks_[t]));
      for (const Provenance& device : devices) {
        if (below(random, 5) == 0) continue;
        const auto run = store_->begin_run(tasks_[t].hash(), device, 1, "evolve");
        ASSERT_TRUE(run);
        searched_.emplace(device.device_name, t);
        for (int i = 0; i < 25; ++i) put(random, static_cast<int>(t), *run, device);
      }
    }
  }

  void put(Random& random, int t, std::int64_t run, Provenance device) {
    if (below(random, 3) == 0) device.toolchain = "NVRTC 13.1";
    const std::vector<std::string> origins = {"rules", "variant", "tunables"};
    Put one{t, device, content_hash(std::to_string(below(random, 15))), "", {}, {}};
    one.evaluation = random_evaluation(random, device.modelled);
    const Put* known = nullptr;
    for (const Put& other : puts_)
      if (other.task == t && other.program == one.program) known = &other;
    // The first way to a program is the one that is kept.
    one.origin = known ? known->origin : origins[below(random, 3)];
    one.math = one.evaluation.math =
        kAllMathLevels[static_cast<std::size_t>(below(random, kAllMathLevels.size()))];
    CandidateRecord record = test::candidate(tasks_[t], one.program);
    record.origin = one.origin;
    ASSERT_TRUE(store_->put(run, record, one.evaluation, device));
    const auto disproves = [](const Put& put) {
      const Verdict v = put.evaluation.verdict;
      return v == Verdict::kFault || v == Verdict::kRace || v == Verdict::kWrongResult ||
             v == Verdict::kTampering;
    };
    const auto is_same = [&](const Put& other) {
      return other.task == t && other.program == one.program &&
             other.provenance.device_name == device.device_name &&
             other.provenance.toolchain == device.toolchain;
    };
    // Of one that was ended as too slow nothing is known: it replaces nothing that is.
    const bool replaces_nothing = std::ranges::any_of(puts_, [&](const Put& other) {
      return one.evaluation.verdict == Verdict::kSlower && is_same(other) &&
             other.evaluation.final_stage == one.evaluation.final_stage &&
             (other.evaluation.verdict == Verdict::kOk || disproves(other));
    });
    if (replaces_nothing) return;
    std::erase_if(puts_, [&](const Put& other) {
      const bool final_stage = other.evaluation.final_stage;
      return is_same(other) &&
             (final_stage == one.evaluation.final_stage || (final_stage && disproves(one)));
    });
    puts_.push_back(one);
  }

  /// What a board must hold, ranked; `rank` of each is its place plus one.
  std::vector<Put> plain_board(int t, const std::string& device_name) {
    std::vector<Put> rows;
    for (const Put& one : puts_)
      if (one.task == t && one.provenance.device_name == device_name &&
          one.evaluation.final_stage && one.evaluation.verdict == Verdict::kOk)
        rows.push_back(one);
    const auto speed = [](const Put& p) {
      return plain_median(p.evaluation.measurement.reference_samples_us) /
             plain_median(p.evaluation.measurement.samples_us);
    };
    std::sort(rows.begin(), rows.end(), [&](const Put& a, const Put& b) {
      if (speed(a) != speed(b)) return speed(a) > speed(b);
      const double x = plain_median(a.evaluation.measurement.samples_us);
      const double y = plain_median(b.evaluation.measurement.samples_us);
      if (x != y) return x < y;
      if (a.program != b.program) return a.program < b.program;
      return a.provenance.toolchain > b.provenance.toolchain;
    });
    std::vector<Put> once;
    for (const Put& row : rows)
      if (std::ranges::none_of(once, [&](const Put& o) { return o.program == row.program; }))
        once.push_back(row);
    return once;
  }

  std::vector<Task> tasks_;
  std::vector<Put> puts_;
  std::set<std::pair<std::string, std::size_t>> searched_;
};

TEST_P(BoardProperties, RanksFiltersAndIntervalsAreThoseOfTheSamples) {
  Random random(1000 + static_cast<std::uint64_t>(GetParam()));
  for (int round = 0; round < 12; ++round) {
    BoardFilter filter;
    filter.limit = 1 + below(random, 20);
    if (below(random, 2) == 0) filter.task = "task" + std::to_string(below(random, 3));
    if (below(random, 3) == 0) filter.arch = below(random, 2) == 0 ? "sm_80" : "sm_90";
    if (below(random, 3) == 0) filter.modelled = below(random, 2) == 0;
    if (below(random, 3) == 0) filter.origin = below(random, 2) == 0 ? "rules" : "variant";
    if (below(random, 3) == 0)
      filter.math = kAllMathLevels[static_cast<std::size_t>(below(random, kAllMathLevels.size()))];
    const auto boards = store_->boards(filter);
    ASSERT_TRUE(boards) << boards.error().message;

    std::size_t expected_boards = 0;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      for (const char* device : {"NVIDIA H200", "NVIDIA A100", "emulated sm_90"}) {
        const std::string name = device;
        const bool modelled = name.starts_with("emulated");
        const std::string arch = name == "NVIDIA A100" ? "sm_80" : "sm_90";
        if (!filter.task.empty() && filter.task != tasks_[t].name) continue;
        if (!filter.arch.empty() && filter.arch != arch) continue;
        if (filter.modelled && *filter.modelled != modelled) continue;
        std::vector<std::pair<int, Put>> wanted;
        int rank = 0;
        for (const Put& row : plain_board(static_cast<int>(t), name)) {
          ++rank;
          if (!filter.origin.empty() && row.origin != filter.origin) continue;
          if (filter.math && row.math > *filter.math) continue;
          if (static_cast<int>(wanted.size()) < filter.limit) wanted.emplace_back(rank, row);
        }
        const auto board = std::ranges::find_if(*boards, [&](const Board& b) {
          return b.task_hash == tasks_[t].hash() && b.device_name == name;
        });
        if (wanted.empty()) {
          EXPECT_EQ(board, boards->end());
          continue;
        }
        ++expected_boards;
        ASSERT_NE(board, boards->end()) << tasks_[t].name << " on " << name;
        EXPECT_EQ(board->modelled, modelled);
        ASSERT_EQ(board->rows.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) check(board->rows[i], wanted[i]);
      }
    }
    EXPECT_EQ(boards->size(), expected_boards);
  }
}

TEST_P(BoardProperties, OverviewsAreThoseOfTheBest) {
  const auto boards = store_->boards({.limit = 1});
  const auto searched = store_->searched({});
  ASSERT_TRUE(boards && searched);
  const auto all = results::overviews(*boards, *searched, "");
  std::size_t rows = 0;
  for (const results::Overview& overview : all) {
    double product = 1;
    int tasks = 0, above = 0;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      if (!searched_.contains({overview.device_name, t})) continue;
      ++tasks;
      const auto best = plain_board(static_cast<int>(t), overview.device_name);
      if (best.empty()) continue;
      const Measurement& m = best.front().evaluation.measurement;
      const double speedup = plain_median(m.reference_samples_us) / plain_median(m.samples_us);
      product *= speedup;
      above += speedup > 1.5 ? 1 : 0;
    }
    ASSERT_EQ(overview.rows.size(), static_cast<std::size_t>(tasks));
    rows += overview.rows.size();
    EXPECT_NEAR(overview.geometric_mean, std::pow(product, 1.0 / tasks), 1e-9);
    ASSERT_EQ(overview.fast_p.size(), 4U);
    EXPECT_EQ(overview.fast_p[2].first, 1.5);
    EXPECT_DOUBLE_EQ(overview.fast_p[2].second, static_cast<double>(above) / tasks);
  }
  EXPECT_EQ(rows, searched_.size());
}

/// Against a baseline, of filtered rows: the best that fits, or a task that nothing was found for.
TEST_P(BoardProperties, OverviewsAgainstABaselineAreOfWhatFits) {
  Random random(2000 + static_cast<std::uint64_t>(GetParam()));
  std::map<std::pair<std::string, std::string>, double> given;
  for (const Task& task : tasks_) {
    for (const char* device : {"NVIDIA H200", "NVIDIA A100"}) {
      if (below(random, 3) == 0) continue;
      BaselineTime baseline;
      baseline.kind = "cublas";
      baseline.device = "cuda:0";
      baseline.device_name = device;
      baseline.time_us = baseline.ci95_low = baseline.ci95_high = uniform(random, 5, 50);
      baseline.samples_us = {baseline.time_us};
      ASSERT_TRUE(store_->put_baseline(task.hash(), baseline));
      given[{task.hash(), device}] = baseline.time_us;
    }
  }
  BoardFilter filter;
  filter.limit = 1;
  if (below(random, 2) == 0) filter.origin = "variant";
  if (below(random, 2) == 0) filter.math = MathLevel::kExact;
  const auto boards = store_->boards(filter);
  const auto searched = store_->searched(filter);
  ASSERT_TRUE(boards && searched);
  const auto times = results::baseline_times(*store_, *searched, "cublas");
  ASSERT_TRUE(times);
  for (const auto& overview : results::overviews(*boards, *searched, "cublas", *times)) {
    EXPECT_FALSE(overview.modelled);
    double product = 1;
    int tasks = 0, without = 0;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      if (!searched_.contains({overview.device_name, t})) continue;
      const auto baseline = given.find({tasks_[t].hash(), overview.device_name});
      if (baseline == given.end()) {
        ++without;
        continue;
      }
      ++tasks;
      double speedup = 0;
      for (const Put& row : plain_board(static_cast<int>(t), overview.device_name)) {
        if (!filter.origin.empty() && row.origin != filter.origin) continue;
        if (filter.math && row.math > *filter.math) continue;
        speedup = baseline->second / plain_median(row.evaluation.measurement.samples_us);
        break;
      }
      const auto found =
          std::ranges::find(overview.rows, tasks_[t].hash(), &results::OverviewRow::task_hash);
      ASSERT_NE(found, overview.rows.end()) << tasks_[t].name << " is not counted";
      EXPECT_EQ(found->candidate.empty(), speedup == 0);
      EXPECT_DOUBLE_EQ(found->speedup, speedup);
      product *= speedup > 0 ? speedup : 1;
    }
    EXPECT_EQ(overview.left_out, without);
    ASSERT_EQ(overview.rows.size(), static_cast<std::size_t>(tasks));
    if (tasks > 0) EXPECT_NEAR(overview.geometric_mean, std::pow(product, 1.0 / tasks), 1e-9);
  }
}

TEST_P(BoardProperties, ACandidatesRankIsItsBoards) {
  const auto boards = store_->boards({.limit = 100});
  ASSERT_TRUE(boards);
  for (const Board& board : *boards) {
    for (const BoardRow& row : board.rows) {
      const auto one = store_->find_candidate(row.candidate.id);
      ASSERT_TRUE(one);
      if (one->provenance.device_name != board.device_name) continue;
      EXPECT_EQ(one->rank, row.rank);
      EXPECT_EQ(one->provenance.toolchain, row.provenance.toolchain);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, BoardProperties, testing::Range(1, 13));

}  // namespace
}  // namespace hone
