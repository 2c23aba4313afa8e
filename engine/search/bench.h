// Every task of a folder, searched under one budget; what was searched is not searched again.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "candidates/store/store.h"
#include "engine/results/overview.h"
#include "engine/search/search.h"

namespace hone {

/// The tasks in a folder and its folders, by path, or the one that a file is: .cu files that begin
/// with a task comment, .json files that name a "source", and .pt2 modules. kIo: the folder cannot
/// be read. kInvalidInput: there is none.
[[nodiscard]] Result<std::vector<std::filesystem::path>> find_tasks(
    const std::filesystem::path& folder);

/// What became of one task.
struct BenchRow {
  results::OverviewRow best;  ///< no candidate where nothing passed, not even the reference
  std::string error;          ///< why there was no search; empty otherwise
  double reference_time_us = 0;
  double max_rel_error = 0;
  std::int64_t evaluated = 0;
  double elapsed_s = 0;  ///< of the search
  double wall_s = 0;     ///< of all, from opening the device to the end of its processes
  std::string stop_reason;
  results::ModelUse model;
};
[[nodiscard]] BenchRow bench_row(const Task& task, const Result<SearchOutcome>& outcome);

void to_json(nlohmann::json& json, const BenchRow& row);
[[nodiscard]] Result<BenchRow> bench_row_from_json(const nlohmann::json& json);

/// All that decides what a row means but the task: device, compiler, hone, budget, seed, ….
/// Rows of one key can be compared, and one that is there is not made again.
/// `llm`: what decides about a language model, in a line; empty: none is asked.
[[nodiscard]] std::string bench_key(const Provenance& provenance, const SearchSettings& settings,
                                    const std::string& llm);

/// Of the best against the references, as `hone leaderboard --all-tasks` has it.
[[nodiscard]] results::Overview bench_overview(const std::vector<BenchRow>& rows,
                                               const Provenance& provenance);

}  // namespace hone
