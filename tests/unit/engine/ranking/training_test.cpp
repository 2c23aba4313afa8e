// A model trained on a small database, against XGBoost and on a task that it does not know.
#include "engine/search/ranking/training/training.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/random.h"
#include "engine/search/ranking/ranker.h"
#include "engine/search/ranking/training/xgboost.h"
#include "tests/unit/candidates/store_fixture.h"
#include "tests/unit/engine/fake_evaluator.h"

namespace hone::ranking {
namespace {

/// A kernel of `width` neighbouring elements a thread, in blocks of `block`.
std::string kernel_of(int width, int block) {
  std::string lines;
  for (int i = 0; i < width; ++i)
    lines += fmt::format("  if (at + {0} < N) y[at + {0}] = 2.0f * x[at + {0}];\n", i);
  return fmt::format(
      "__global__ void scale(const float* x, float* y, int N) {{\n"
      "  int at = (blockIdx.x * {} + threadIdx.x) * {};\n{}}}\n",
      block, width, lines);
}

class Training : public test::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    const auto one = train_trees({1, {1, 2}, {1, 2}, {1, 1}}, {1, {}});
    if (!one) GTEST_SKIP() << one.error().message;
  }

  /// Makes a task with 40 candidates, of which wide ones in large blocks are fast.
  Task add_task(const std::string& name, std::int64_t size, const std::string& factor) {
    auto task = *parse_task(test::kScaleTask, "scale.cu");
    task.name = name;
    task.sizes["N"] = size;
    if (!factor.empty())
      task.reference.source.replace(task.reference.source.find("2.0f * x[i]"), 11, factor);
    EXPECT_TRUE(store_->put_task(task));
    const auto run = store_->begin_run(task.hash(), test::gpu(), 1, "evolve");
    int number = 0;
    for (const int width : {1, 2, 4, 8})
      for (const int block : {32, 64, 128, 256, 512}) {
        CandidateRecord record;
        record.program_hash = fmt::format("{:032x}", 1000 * size + ++number);
        record.task_hash = task.hash();
        record.task_name = name;
        record.program = task.reference;
        record.program.source = kernel_of(width, block);
        record.program.launches[0].block = {Expr(block)};
        record.program.launches[0].grid = {Expr((size + width * block - 1) / (width * block))};
        record.origin = "rules";
        Evaluation evaluation = test::timed(1, time_of(width, block, size));
        evaluation.final_stage = false;
        evaluation.resources = {{"scale", 10 + 2 * width, 0, 0, 0, 1024, 0.5}};
        EXPECT_TRUE(store_->put(*run, record, evaluation, test::gpu()));
      }
    return task;
  }
  static double time_of(int width, int block, std::int64_t size) {
    return 1e-3 * static_cast<double>(size) * (1 + 2 / static_cast<double>(width) + 64.0 / block);
  }
  std::vector<TaskSamples> collected(const std::vector<std::string>& skip = {}) {
    std::vector<TaskSamples> tasks;
    const auto done = collect(*store_, "sm_90", rewriting_, skip, [](const auto&) {}, tasks);
    EXPECT_TRUE(done) << done.error().message;
    return tasks;
  }

  LocalRewriting rewriting_;
};

TEST_F(Training, RanksATaskThatItDoesNotKnow) {
  add_task("first", 4096, "");
  add_task("second", 65536, "x[i] + 3.0f");
  add_task("third", 16384, "expf(x[i])");
  const Task held = add_task("held", 32768, "1.0f / x[i]");
  const auto model = train(collected({"held"}));
  ASSERT_TRUE(model) << model.error().message;

  const RewriteContext context{&held, held.sizes, target_limits("sm_90")};
  const auto ranker = Ranker::make(std::make_shared<const TreeModel>(*model), context, rewriting_);
  ASSERT_NE(ranker, nullptr);
  std::vector<double> predicted, timed;
  for (const int width : {1, 2, 4, 8})
    for (const int block : {32, 64, 128, 256, 512}) {
      Program program = held.reference;
      program.source = kernel_of(width, block);
      program.launches[0].block = {Expr(block)};
      program.launches[0].grid = {Expr(32768 / (width * block))};
      predicted.push_back(ranker->predict(program).value());
      timed.push_back(time_of(width, block, 32768));
    }
  EXPECT_GT(spearman(predicted, timed), 0.9);
}

TEST_F(Training, TasksOfOneNestAreKeptOutTogether) {
  add_task("first", 4096, "");
  add_task("larger", 65536, "");
  add_task("other", 16384, "x[i] + 3.0f");
  const auto tasks = collected();
  ASSERT_EQ(tasks.size(), 3U);
  std::map<std::string, std::string> group;
  for (const TaskSamples& task : tasks) {
    EXPECT_EQ(task.samples.size(), 20U);
    group[task.task] = task.group;
  }
  EXPECT_EQ(group["first"], group["larger"]);
  EXPECT_NE(group["first"], group["other"]);

  const auto scores = cross_validate(tasks, 8);
  ASSERT_TRUE(scores) << scores.error().message;
  ASSERT_EQ(scores->size(), 3U);
  EXPECT_GT(scores->front().before, 0.8);  // the worst
  EXPECT_LE(scores->front().before, scores->back().before);

  const auto alone = cross_validate(collected({"other"}), 8);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, ErrorCode::kInvalidInput);
}

TEST_F(Training, TheTreesSayWhatXgboostSays) {
  Random random(3);
  TrainingRows rows;
  rows.columns = 5;
  for (int i = 0; i < 400; ++i) {
    std::vector<float> x;
    for (int j = 0; j < 5; ++j) x.push_back(static_cast<float>(random.unit()));
    if (random.chance(0.3)) x[1] = std::nanf("");
    rows.labels.push_back(x[0] * x[2] + (std::isnan(x[1]) ? 1 : x[1]) - x[4]);
    rows.weights.push_back(1);
    rows.values.insert(rows.values.end(), x.begin(), x.end());
  }
  const auto trained = train_trees(rows, {50, {{"max_depth", "5"}, {"eta", "0.2"}}});
  ASSERT_TRUE(trained) << trained.error().message;
  ASSERT_EQ(trained->model.trees().size(), 50U);
  double worst = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const double own = trained->model.predict(std::span(rows.values).subspan(5 * i, 5));
    EXPECT_FLOAT_EQ(static_cast<float>(own), trained->own_predictions[i]) << i;
    worst = std::max(worst, std::abs(own - rows.labels[i]));
  }
  EXPECT_LT(worst, 0.6);  // it has learned something
}

TEST(Spearman, KnowsOrderAndTies) {
  EXPECT_DOUBLE_EQ(spearman({1, 2, 3, 4}, {10, 20, 40, 80}), 1);
  EXPECT_DOUBLE_EQ(spearman({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  EXPECT_NEAR(spearman({1, 2, 3, 4, 5}, {2, 1, 4, 3, 5}), 0.8, 1e-12);
  EXPECT_NEAR(spearman({1, 1, 2}, {1, 2, 3}), std::sqrt(0.75), 1e-12);
  EXPECT_EQ(spearman({1, 1, 1}, {1, 2, 3}), 0);
  EXPECT_EQ(spearman({}, {}), 0);
}

}  // namespace
}  // namespace hone::ranking
