// All tasks of one device in a few numbers.
#pragma once

#include <array>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "candidates/store/store.h"

namespace hone::results {

/// What fast_p is given for. Source: KernelBench (Ouyang et al. 2025), the share of all tasks with
/// a right program that is more than p times as fast.
inline constexpr std::array kFastPs = {0.8, 1.0, 1.5, 2.0};

struct OverviewRow {
  std::string task;
  std::string task_hash;
  std::string candidate;  ///< the board's best; empty: nothing passed the final stage
  double time_us = 0;
  double speedup = 0;    ///< over what the overview is against; 0: no candidate
  double ci95_low = 0;   // 0: not known, as over a baseline
  double ci95_high = 0;  // likewise
  double roof_fraction = 0;
  std::string origin;
};

/// One device name; modelled and measured are never mixed.
struct Overview {
  std::string device_name;
  std::string arch;
  bool modelled = false;
  std::string against;                            ///< "reference", or a baseline's kind
  std::vector<OverviewRow> rows;                  ///< by task
  int left_out = 0;                               ///< tasks without that baseline
  double geometric_mean = 1;                      ///< a task without a candidate counts as 1
  std::vector<std::pair<double, double>> fast_p;  ///< p and the share of rows above it
};

/// Of one kind, by task hash and device name [us].
using BaselineTimes = std::map<std::pair<std::string, std::string>, double>;
[[nodiscard]] Result<BaselineTimes> baseline_times(const Store& store,
                                                   const std::vector<SearchedTask>& searched,
                                                   const std::string& kind);

/// `boards`: their first rows count, so that of filtered boards it is the best that fits; a task
/// where none does is one without a candidate. `searched`: what has been searched at all; of tasks
/// with one name the one stored last. `against`: "" for the reference, else the kind of `times`;
/// a task without that time is left out, and modelled boards have none.
[[nodiscard]] std::vector<Overview> overviews(const std::vector<Board>& boards,
                                              const std::vector<SearchedTask>& searched,
                                              const std::string& against,
                                              const BaselineTimes& times = {});

/// Fills in geometric mean and fast_p from the rows.
void summarise(Overview& overview);

[[nodiscard]] nlohmann::json overview_json(const Overview& overview);

}  // namespace hone::results
