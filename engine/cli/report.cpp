#include "engine/cli/report.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "engine/cli/command.h"

namespace hone::cli {
namespace {

std::string recipe_text(const CandidateRecord& candidate) {
  if (candidate.origin == "reference") return "(the reference itself)";
  if (candidate.origin == "variant") return "(hand-written)";
  std::vector<std::string> steps;
  for (const Step& step : candidate.recipe) steps.push_back(step.rewriter);
  return fmt::format("{}", fmt::join(steps, " > "));
}

nlohmann::json interval_json(const Measurement& m) {
  return nlohmann::json::array({m.ci95_low, m.ci95_high});
}

}  // namespace

std::string board_text(const Board& board) {
  std::string text = fmt::format("{}  on {} ({}){}\n", board.task_name, board.device_name,
                                 board.device, board.modelled ? "  [modelled, not measured]" : "");
  text += fmt::format("reference {}\n", format_time(board.reference_time_us));
  text += fmt::format("{:>4}  {:<12}  {:>11}  {:>8}  {:>15}  {:>6}  {:>9}  {:<11}  {}\n", "rank",
                      "candidate", board.modelled ? "model time" : "time", "speedup",
                      "95 % interval", "roof", "max error", "math", "recipe");
  for (const BoardRow& row : board.rows) {
    const Measurement& m = row.evaluation.measurement;
    text += fmt::format(
        "{:>4}  {:<12}  {:>11}  {:>7.2f}x  {:>6.2f} - {:>6.2f}  {:>5.1f}%  {:>9.2e}  {:<11}  {}\n",
        row.rank, row.candidate.id, format_time(m.time_us), m.speedup, m.ci95_low, m.ci95_high,
        100 * m.roof_fraction, row.evaluation.max_rel_error,
        to_string(required_math(row.candidate.recipe)), recipe_text(row.candidate));
    if (row.provenance.sandbox == "off") {
      text.pop_back();
      text += "  [sandbox off]\n";
    }
  }
  return text;
}

nlohmann::json board_json(const Board& board) {
  nlohmann::json rows = nlohmann::json::array();
  for (const BoardRow& row : board.rows) {
    const Measurement& m = row.evaluation.measurement;
    rows.push_back({{"rank", row.rank},
                    {"candidate", row.candidate.id},
                    {"time_us", m.time_us},
                    {"speedup", m.speedup},
                    {"ci95", interval_json(m)},
                    {"max_rel_error", row.evaluation.max_rel_error},
                    {"math", to_string(required_math(row.candidate.recipe))},
                    {"roof_fraction", m.roof_fraction},
                    {"bound", m.bound},
                    {"origin", row.candidate.origin},
                    {"recipe", row.candidate.recipe},
                    {"sandbox", row.provenance.sandbox},
                    {"found_at", row.found_at}});
  }
  return {{"task", board.task_name},
          {"task_hash", board.task_hash},
          {"device", board.device},
          {"device_name", board.device_name},
          {"modelled", board.modelled},
          {"reference", {{"time_us", board.reference_time_us}}},
          {"rows", rows}};
}

nlohmann::json counts_json(const Counts& counts) {
  nlohmann::json json = {{"proposed", counts.proposed},
                         {"duplicate", counts.duplicate},
                         {"screened", counts.screened}};
  for (Verdict verdict : kAllVerdicts) {
    json[std::string(to_string(verdict))] = counts.verdicts[static_cast<std::size_t>(verdict)];
  }
  return json;
}

nlohmann::json pace_json(const Pace& pace) {
  return {{"evaluations_per_s", pace.per_second()},
          {"gpu_busy", pace.gpu_busy()},
          {"search_s", pace.search_s},
          {"propose_s", pace.propose_s},
          {"compile_s", pace.gates.compile},
          {"check_s", pace.gates.check},
          {"gpu_wait_s", pace.gates.wait},
          {"gpu_s", pace.gates.measure}};
}

nlohmann::json finalist_json(const Finalist& finalist) {
  const Measurement& m = finalist.evaluation.measurement;
  return {{"candidate", finalist.candidate.id},
          {"time_us", m.time_us},
          {"reference_time_us", m.reference_time_us},
          {"speedup", m.speedup},
          {"ci95", interval_json(m)},
          {"max_rel_error", finalist.evaluation.max_rel_error},
          {"math", to_string(required_math(finalist.candidate.recipe))},
          {"roof_fraction", m.roof_fraction},
          {"bound", m.bound},
          {"origin", finalist.candidate.origin},
          {"recipe", finalist.candidate.recipe}};
}

}  // namespace hone::cli
