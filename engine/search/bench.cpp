#include "engine/search/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "candidates/hash.h"
#include "candidates/task_reader.h"
#include "engine/results/json.h"

namespace hone {
namespace {

using std::filesystem::path;

constexpr std::uintmax_t kLargestTask = 4U << 20;  // [B]

bool is_task(const path& file) {
  if (file.extension() == ".pt2") return true;
  if (file.extension() != ".cu" && file.extension() != ".json") return false;
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  if (error || bytes > kLargestTask) return false;
  std::ifstream stream(file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  if (file.extension() == ".cu") return find_task_comment(text).has_value();
  const auto json = nlohmann::json::parse(text, nullptr, false);
  return json.is_object() && json.contains("source");
}

}  // namespace

Result<std::vector<path>> find_tasks(const path& folder) {
  std::vector<path> tasks;
  std::error_code error;
  if (std::filesystem::is_regular_file(folder, error)) {
    if (is_task(folder)) return std::vector{folder};
    return invalid(
        fmt::format("{}: no .cu file with a task comment, no .json task and no .pt2 module; "
                    "`hone init KERNEL.cu` makes a task",
                    folder.string()));
  }
  std::filesystem::recursive_directory_iterator files(folder, error), end;
  for (; !error && files != end; files.increment(error)) {
    const path& file = files->path();
    std::error_code ignored;
    if (files->is_regular_file(ignored) && is_task(file)) tasks.push_back(file);
  }
  if (error) return fail(ErrorCode::kIo, fmt::format("{}: {}", folder.string(), error.message()));
  if (tasks.empty())
    return invalid(
        fmt::format("{}: no .cu file with a task comment, no .json task and no .pt2 module is in "
                    "it; `hone init KERNEL.cu` makes a task",
                    folder.string()));
  std::ranges::sort(tasks);
  return tasks;
}

BenchRow bench_row(const Task& task, const Result<SearchOutcome>& outcome) {
  BenchRow row;
  row.best.task = task.name;
  row.best.task_hash = task.hash();
  if (!outcome) {
    row.error = outcome.error().message;
    return row;
  }
  row.reference_time_us = outcome->reference_time_us;
  row.evaluated = outcome->counts.evaluated();
  row.elapsed_s = outcome->elapsed_s;
  row.stop_reason = to_string(outcome->stop_reason);
  row.model = outcome->llm;
  if (outcome->ranked.empty()) {
    row.error = "no finalist, not even the reference, passed the final stage";
    return row;
  }
  const Finalist& best = outcome->ranked.front();
  const Measurement& m = best.evaluation.measurement;
  row.best.candidate = best.candidate.id;
  row.best.origin = best.candidate.origin;
  row.best.time_us = m.time_us;
  row.best.speedup = m.speedup;
  row.best.ci95_low = m.ci95_low;
  row.best.ci95_high = m.ci95_high;
  row.best.roof_fraction = m.roof_fraction;
  row.max_rel_error = best.evaluation.max_rel_error;
  return row;
}

void to_json(nlohmann::json& json, const BenchRow& row) {
  json = {{"task", row.best.task},
          {"task_hash", row.best.task_hash},
          {"candidate", row.best.candidate},
          {"origin", row.best.origin},
          {"time_us", row.best.time_us},
          {"speedup", row.best.speedup},
          {"ci95", {row.best.ci95_low, row.best.ci95_high}},
          {"roof_fraction", row.best.roof_fraction},
          {"error", row.error},
          {"reference_time_us", row.reference_time_us},
          {"max_rel_error", row.max_rel_error},
          {"evaluated", row.evaluated},
          {"elapsed_s", row.elapsed_s},
          {"wall_s", row.wall_s},
          {"stop_reason", row.stop_reason},
          {"model", results::model_use_json(row.model)}};
}

Result<BenchRow> bench_row_from_json(const nlohmann::json& json) {
  try {
    BenchRow row;
    json.at("task").get_to(row.best.task);
    json.at("task_hash").get_to(row.best.task_hash);
    json.at("candidate").get_to(row.best.candidate);
    json.at("origin").get_to(row.best.origin);
    json.at("time_us").get_to(row.best.time_us);
    json.at("speedup").get_to(row.best.speedup);
    json.at("ci95").at(0).get_to(row.best.ci95_low);
    json.at("ci95").at(1).get_to(row.best.ci95_high);
    json.at("roof_fraction").get_to(row.best.roof_fraction);
    json.at("error").get_to(row.error);
    json.at("reference_time_us").get_to(row.reference_time_us);
    json.at("max_rel_error").get_to(row.max_rel_error);
    json.at("evaluated").get_to(row.evaluated);
    json.at("elapsed_s").get_to(row.elapsed_s);
    json.at("stop_reason").get_to(row.stop_reason);
    row.wall_s = json.value("wall_s", row.elapsed_s);
    if (json.contains("model")) row.model = results::model_use_from_json(json["model"]);
    return row;
  } catch (const nlohmann::json::exception& exception) {
    return fail(ErrorCode::kIo, fmt::format("a row of a bench is damaged: {}", exception.what()));
  }
}

std::string bench_key(const Provenance& provenance, const SearchSettings& settings,
                      const std::string& llm) {
  const Provenance& p = provenance;
  std::string text = fmt::format("{}\n{}\n{}\n{}\n{}", p.device_name, p.toolchain, p.driver,
                                 p.hone_version, p.sandbox);
  // Rows from before there was an option, or a language model, stay known: what is new is said
  // only where it is used.
  for (const SearchOption& option : search_options()) {
    if (!option.always_sent_as.empty()) {
      text += "\n" + value_text(option, settings);
    } else if (!same_value(option, settings, default_settings())) {
      text += fmt::format("\n{}={}", option.name, value_text(option, settings));
    }
  }
  if (!llm.empty()) text += "\n" + llm;
  return content_hash(text).substr(0, 12);
}

results::Overview bench_overview(const std::vector<BenchRow>& rows, const Provenance& provenance) {
  results::Overview overview;
  overview.device_name = provenance.device_name;
  overview.arch = provenance.arch;
  overview.modelled = provenance.modelled;
  overview.against = "reference";
  for (const BenchRow& row : rows) overview.rows.push_back(row.best);
  results::summarise(overview);
  return overview;
}

}  // namespace hone
