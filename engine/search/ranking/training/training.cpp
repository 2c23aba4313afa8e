#include "engine/search/ranking/training/training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "engine/search/ranking/training/xgboost.h"

namespace hone::ranking {
namespace {

/// What is slower than this times the best is as bad as that: among fast ones order counts.
const double kMostSlower = std::log(50.0);

/// Found by cross-validation on measured tasks; a shallower tree or a stronger lambda is as good.
const TrainingOptions kBeforeCompiling{160,
                                       {{"eta", "0.08"},
                                        {"max_depth", "5"},
                                        {"min_child_weight", "4"},
                                        {"subsample", "0.7"},
                                        {"colsample_bytree", "0.5"},
                                        {"lambda", "10"}}};
/// What the report adds is little.
const TrainingOptions kWithReport{30,
                                  {{"eta", "0.08"},
                                   {"max_depth", "4"},
                                   {"min_child_weight", "8"},
                                   {"subsample", "0.7"},
                                   {"lambda", "10"}}};

double best_of(const TaskSamples& task) {
  return std::ranges::min_element(task.samples, {}, &Sample::log_time)->log_time;
}

using Stage = Features Sample::*;

/// Labels are log(time) about the task's mean. Tasks weigh by the root of what is known of them.
TrainingRows rows_of(const std::vector<const TaskSamples*>& tasks, Stage stage) {
  TrainingRows rows;
  rows.columns = feature_names().size();
  for (const TaskSamples* const task : tasks) {
    if (task->samples.size() < 2) continue;
    const double best = best_of(*task), count = static_cast<double>(task->samples.size());
    double mean = 0;
    for (const Sample& sample : task->samples)
      mean += std::min(sample.log_time - best, kMostSlower) / count;
    for (const Sample& sample : task->samples) {
      const Features& features = sample.*stage;
      rows.values.insert(rows.values.end(), features.begin(), features.end());
      rows.labels.push_back(
          static_cast<float>(std::min(sample.log_time - best, kMostSlower) - mean));
      rows.weights.push_back(static_cast<float>(1 / std::sqrt(count)));
    }
  }
  const double total = std::accumulate(rows.weights.begin(), rows.weights.end(), 0.0);
  for (float& weight : rows.weights)
    weight = static_cast<float>(weight * static_cast<double>(rows.rows()) / total);
  return rows;
}

/// Trees for what is known before compiling, then trees for what the report adds to these.
Result<TreeModel> trained_on(const std::vector<const TaskSamples*>& tasks) {
  auto before = train_trees(rows_of(tasks, &Sample::before), kBeforeCompiling);
  if (!before) return std::unexpected(before.error());
  TrainingRows rows = rows_of(tasks, &Sample::after);
  rows.known = before->own_predictions;
  auto after = train_trees(rows, kWithReport);
  if (!after) return std::unexpected(after.error());
  return before->model.with_report(after->model);
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) ranks[order[j]] = 0.5 * static_cast<double>(i + end - 1);
    i = end;
  }
  return ranks;
}

TaskScore score(const TaskSamples& task, const TreeModel& model) {
  std::vector<double> before, after, times;
  for (const Sample& sample : task.samples) {
    before.push_back(model.predict(sample.before));
    after.push_back(model.predict(sample.after));
    times.push_back(sample.log_time);
  }
  const auto first = std::ranges::min_element(before) - before.begin();
  return {task.task,
          task.device,
          task.samples.size(),
          spearman(before, times),
          spearman(after, times),
          std::exp(times[static_cast<std::size_t>(first)] - best_of(task))};
}

}  // namespace

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = 0.5 * (static_cast<double>(x.size()) - 1);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

Result<std::vector<TaskScore>> cross_validate(const std::vector<TaskSamples>& tasks, int folds) {
  std::map<std::string, std::size_t> part_of;  // by group
  for (const TaskSamples& task : tasks) part_of.emplace(task.group, part_of.size());
  if (part_of.size() < 2) return invalid("there are too few different tasks to keep some out");
  const auto parts = std::min(static_cast<std::size_t>(folds), part_of.size());
  std::vector<TaskScore> scores;
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<const TaskSamples*> others, own;
    for (const TaskSamples& task : tasks)
      (part_of[task.group] % parts == part ? own : others).push_back(&task);
    const auto model = trained_on(others);
    if (!model) return std::unexpected(model.error());
    for (const TaskSamples* const task : own)
      if (task->samples.size() >= kLeastScored) scores.push_back(score(*task, *model));
  }
  std::ranges::sort(scores, {}, &TaskScore::before);
  return scores;
}

Result<TreeModel> train(const std::vector<TaskSamples>& tasks) {
  std::vector<const TaskSamples*> all;
  for (const TaskSamples& task : tasks) all.push_back(&task);
  return trained_on(all);
}

}  // namespace hone::ranking
