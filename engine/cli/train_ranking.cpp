#include "engine/cli/train_ranking.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "engine/search/ranking/training/training.h"

namespace hone::cli {
namespace {

constexpr int kFolds = 8;

struct RankingReport {
  std::vector<ranking::TaskSamples> tasks;
  std::vector<ranking::TaskScore> scores;
  std::string trained_on;
};

Result<std::vector<std::unique_ptr<Store>>> open_databases(const std::vector<std::string>& files) {
  std::vector<std::unique_ptr<Store>> stores;
  for (const std::string& file : files) {
    auto store = DatabaseOptions{file}.open_existing();
    if (!store) return std::unexpected(store.error());
    stores.push_back(std::move(*store));
  }
  return stores;
}

Result<std::string> only_architecture(const std::vector<std::unique_ptr<Store>>& stores) {
  std::set<std::string> all;
  for (const auto& store : stores) {
    const auto some = store->timed_architectures();
    if (!some) return std::unexpected(some.error());
    all.insert(some->begin(), some->end());
  }
  if (all.size() == 1) return *all.begin();
  if (all.empty()) return invalid("no search has timed anything in the database");
  return invalid(fmt::format("--arch: which of {}?", fmt::join(all, ", ")));
}

double median_before(const std::vector<ranking::TaskScore>& sorted) {
  const std::size_t half = sorted.size() / 2;
  if (sorted.empty()) return 0;
  return sorted.size() % 2 == 1 ? sorted[half].before
                                : 0.5 * (sorted[half - 1].before + sorted[half].before);
}

void print_scores(const RankingReport& report) {
  fmt::print(
      "{}\n\nrank correlation (Spearman) of predicted and timed, tasks kept out of training\n",
      report.trained_on);
  fmt::print("{:>10} {:>10} {:>10} {:>8}  {}\n", "not comp.", "compiled", "first", "timed", "task");
  for (const ranking::TaskScore& one : report.scores)
    fmt::print("{:>10.3f} {:>10.3f} {:>9.2f}x {:>8}  {}\n", one.before, one.after, one.first,
               one.samples, one.task);
  if (!report.scores.empty())
    fmt::print("median {:.3f}, worst {:.3f} ({})\n", median_before(report.scores),
               report.scores.front().before, report.scores.front().task);
}

nlohmann::json json_of(const RankingReport& report) {
  nlohmann::json scores = nlohmann::json::array();
  for (const ranking::TaskScore& one : report.scores)
    scores.push_back({{"task", one.task},
                      {"device", one.device},
                      {"timed", one.samples},
                      {"spearman", one.before},
                      {"spearman_compiled", one.after},
                      {"first_of_best", one.first}});
  return {{"trained_on", report.trained_on},
          {"median", median_before(report.scores)},
          {"worst", report.scores.empty() ? 0 : report.scores.front().before},
          {"tasks", std::move(scores)}};
}

std::string trained_on_text(const std::vector<ranking::TaskSamples>& tasks) {
  std::set<std::string> devices, groups, names;
  std::size_t samples = 0;
  for (const ranking::TaskSamples& task : tasks) {
    devices.insert(task.device + (task.modelled ? " (modelled)" : ""));
    groups.insert(task.group);
    names.insert(task.task);
    samples += task.samples.size();
  }
  return fmt::format("{} programs of {} tasks ({} different nests) on {}", samples, names.size(),
                     groups.size(), fmt::join(devices, ", "));
}

Result<ranking::TreeModel> trained(const RankingTraining& training, RankingReport& report) {
  auto stores = open_databases(training.databases);
  if (!stores) return std::unexpected(stores.error());
  std::string arch = training.arch;
  if (arch.empty()) {
    auto only = only_architecture(*stores);
    if (!only) return std::unexpected(only.error());
    arch = std::move(*only);
  }
  const auto rewriting = open_rewriting(training.sandbox);
  for (const auto& store : *stores) {
    const auto show = [](const std::string& task) { fmt::print(stderr, "{} ...\n", task); };
    if (auto done =
            ranking::collect(*store, arch, *rewriting, training.keep_out, show, report.tasks);
        !done)
      return std::unexpected(done.error());
  }
  report.trained_on = trained_on_text(report.tasks);
  auto scores = ranking::cross_validate(report.tasks, kFolds);
  if (!scores) return std::unexpected(scores.error());
  report.scores = std::move(*scores);
  auto model = ranking::train(report.tasks);
  if (model) {
    model->arch = arch;
    model->trained_on = report.trained_on;
  }
  return model;
}

}  // namespace

int train_ranking(const Common& common, const RankingTraining& training) {
  RankingReport report;
  const auto model = trained(training, report);
  if (!model) return common.fail(model.error());
  if (!common.json_on_stdout() && training.output != "-") print_scores(report);
  if (!training.output.empty()) {
    if (auto ok = write_text(training.output, model->text()); !ok) return common.fail(ok.error());
  }
  return common.write_json(json_of(report)) ? kDone : kEnvironmentLacks;
}

}  // namespace hone::cli
