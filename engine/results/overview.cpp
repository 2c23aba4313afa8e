#include "engine/results/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace hone::results {

Result<BaselineTimes> baseline_times(const Store& store, const std::vector<SearchedTask>& searched,
                                     const std::string& kind) {
  BaselineTimes times;
  for (const SearchedTask& task : searched) {
    if (task.modelled) continue;
    const auto baselines = store.baselines(task.hash, task.device_name);
    if (!baselines) return std::unexpected(baselines.error());
    const auto found = std::ranges::find(*baselines, kind, &BaselineTime::kind);
    if (found != baselines->end()) times[{task.hash, task.device_name}] = found->time_us;
  }
  return times;
}

void summarise(Overview& overview) {
  double logarithms = 0;
  for (const OverviewRow& row : overview.rows)
    logarithms += row.speedup > 0 ? std::log(row.speedup) : 0;
  const auto all = static_cast<double>(overview.rows.size());
  if (overview.rows.empty()) return;
  overview.geometric_mean = std::exp(logarithms / all);
  for (const double p : kFastPs) {
    const auto faster =
        std::ranges::count_if(overview.rows, [&](const auto& row) { return row.speedup > p; });
    overview.fast_p.emplace_back(p, static_cast<double>(faster) / all);
  }
}

std::vector<Overview> overviews(const std::vector<Board>& boards,
                                const std::vector<SearchedTask>& searched,
                                const std::string& against, const BaselineTimes& times) {
  using Key = std::tuple<bool, std::string>;  // measured first, then by name
  std::map<Key, Overview> all;
  std::set<std::tuple<bool, std::string, std::string>> named;  // of one name the first, the newest
  for (const SearchedTask& task : searched) {
    if (task.modelled && !against.empty()) continue;
    if (!named.emplace(task.modelled, task.device_name, task.name).second) continue;
    Overview& overview = all[{task.modelled, task.device_name}];
    overview.device_name = task.device_name;
    overview.arch = task.arch;
    overview.modelled = task.modelled;
    overview.against = against.empty() ? "reference" : against;
    const auto baseline = times.find({task.hash, task.device_name});
    if (!against.empty() && baseline == times.end()) {
      ++overview.left_out;
      continue;
    }
    OverviewRow row{.task = task.name, .task_hash = task.hash};
    const auto board = std::ranges::find_if(boards, [&](const Board& b) {
      return b.task_hash == task.hash && b.device_name == task.device_name &&
             b.modelled == task.modelled;
    });
    if (board != boards.end() && !board->rows.empty()) {
      const BoardRow& best = board->rows.front();
      const Measurement& m = best.evaluation.measurement;
      row.candidate = best.candidate.id;
      row.origin = best.candidate.origin;
      row.time_us = m.time_us;
      row.roof_fraction = m.roof_fraction;
      if (against.empty()) {
        std::tie(row.speedup, row.ci95_low, row.ci95_high) =
            std::tie(m.speedup, m.ci95_low, m.ci95_high);
      } else {
        row.speedup = baseline->second / m.time_us;
      }
    }
    overview.rows.push_back(std::move(row));
  }
  std::vector<Overview> out;
  for (auto& [key, overview] : all) {
    std::ranges::sort(overview.rows, {}, &OverviewRow::task);
    summarise(overview);
    out.push_back(std::move(overview));
  }
  return out;
}

nlohmann::json overview_json(const Overview& overview) {
  nlohmann::json rows = nlohmann::json::array();
  for (const OverviewRow& row : overview.rows) {
    const bool found = !row.candidate.empty();
    const bool interval = row.ci95_low > 0;
    rows.push_back(
        {{"task", row.task},
         {"task_hash", row.task_hash},
         {"candidate", found ? nlohmann::json(row.candidate) : nullptr},
         {"time_us", found ? nlohmann::json(row.time_us) : nullptr},
         {"speedup", found ? nlohmann::json(row.speedup) : nullptr},
         {"ci95", interval ? nlohmann::json({row.ci95_low, row.ci95_high}) : nlohmann::json()},
         {"roof_fraction", row.roof_fraction},
         {"origin", row.origin}});
  }
  nlohmann::json fast = nlohmann::json::object();
  for (const auto& [p, share] : overview.fast_p) fast[fmt::format("{:g}", p)] = share;
  return {{"device_name", overview.device_name},
          {"arch", overview.arch},
          {"modelled", overview.modelled},
          {"against", overview.against},
          {"tasks", overview.rows.size()},
          {"left_out", overview.left_out},
          {"geometric_mean", overview.geometric_mean},
          {"fast_p", fast},
          {"rows", rows}};
}

}  // namespace hone::results
