#include "engine/cli/report.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
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

namespace {

constexpr std::string_view kElsewhere = "elsewhere";

/// The board's column: without its share, and short.
std::string short_bound(const std::string& bound) {
  constexpr std::size_t kWidth = 12;
  return bound.substr(0, std::min(bound.find(','), kWidth));
}

/// "sm_80 1.83x, sm_86 launch_error": by architecture, or by name where that tells no devices
/// apart.
std::string elsewhere_text(const BoardRow& row) {
  std::vector<std::string> parts;
  for (const FinalResult& result : row.elsewhere) {
    const std::string& arch = result.provenance.arch;
    const auto same = std::ranges::count_if(
        row.elsewhere, [&](const FinalResult& other) { return other.provenance.arch == arch; });
    const bool unique = same == 1 && arch != row.provenance.arch;
    const Evaluation& e = result.evaluation;
    parts.push_back(fmt::format("{} {}", unique ? arch : result.provenance.device_name,
                                e.verdict == Verdict::kOk
                                    ? fmt::format("{:.2f}x", e.measurement.speedup)
                                    : std::string(to_string(e.verdict))));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string board_text(const Board& board) {
  std::string text = fmt::format("{}  on {} ({}){}\n", board.task_name, board.device_name,
                                 board.device, board.modelled ? "  [modelled, not measured]" : "");
  text += fmt::format("reference {}\n", format_time(board.reference_time_us));
  std::string against;  // one column per baseline, as wide as its title
  for (const BaselineTime& b : board.baselines) {
    text +=
        fmt::format("{} {} ({}, {})\n", b.kind, format_time(b.time_us), b.precision, b.versions);
    against += fmt::format("  {:>9}", "x " + b.kind);
  }
  std::size_t elsewhere_width = 0;  // 0: there is no such column
  for (const BoardRow& row : board.rows)
    if (!row.elsewhere.empty())
      elsewhere_width = std::max({elsewhere_width, kElsewhere.size(), elsewhere_text(row).size()});
  const auto elsewhere = [&](std::string_view what) {
    return elsewhere_width == 0 ? "" : fmt::format("{:<{}}  ", what, elsewhere_width);
  };
  text += fmt::format(
      "{:>4}  {:<12}  {:>11}  {:>8}  {:>15}{}  {:>6}  {:<12}  {:>9}  {:<11}  {}{}\n", "rank",
      "candidate", board.modelled ? "model time" : "time", "speedup", "95 % interval", against,
      "roof", "bound", "max error", "math", elsewhere(kElsewhere), "recipe");
  for (const BoardRow& row : board.rows) {
    const Measurement& m = row.evaluation.measurement;
    against.clear();
    for (const BaselineTime& b : board.baselines) {
      const int width = std::max(9, static_cast<int>(b.kind.size()) + 2) - 1;
      against += fmt::format("  {:>{}.2f}x", b.time_us / m.time_us, width);
    }
    text += fmt::format(
        "{:>4}  {:<12}  {:>11}  {:>7.2f}x  {:>6.2f} - {:>6.2f}{}  {:>5.1f}%  {:<12}  {:>9.2e}  "
        "{:<11}  {}{}\n",
        row.rank, row.candidate.id, format_time(m.time_us), m.speedup, m.ci95_low, m.ci95_high,
        against, 100 * m.roof_fraction, short_bound(m.bound), row.evaluation.max_rel_error,
        to_string(required_math(row.candidate.recipe)), elsewhere(elsewhere_text(row)),
        recipe_text(row.candidate));
    if (row.provenance.sandbox == "off") {
      text.pop_back();
      text += "  [sandbox off]\n";
    }
    if (!board.modelled && row.evaluation.note.starts_with(kNotEmulated)) {
      text.pop_back();
      text += "  [not run on the emulator]\n";
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
                    {"note", row.evaluation.note},
                    {"origin", row.candidate.origin},
                    {"recipe", row.candidate.recipe},
                    {"sandbox", row.provenance.sandbox},
                    {"found_at", row.found_at},
                    {"elsewhere", nlohmann::json::array()}});
    for (const FinalResult& result : row.elsewhere)
      rows.back()["elsewhere"].push_back(final_json(result));
    if (!board.baselines.empty())
      rows.back()["speedup_against"] = against_json(board.baselines, m.time_us);
  }
  nlohmann::json baselines = nlohmann::json::array();
  for (const BaselineTime& b : board.baselines) baselines.push_back(baseline_json(b));
  return {{"task", board.task_name},    {"task_hash", board.task_hash},
          {"device", board.device},     {"device_name", board.device_name},
          {"modelled", board.modelled}, {"reference", {{"time_us", board.reference_time_us}}},
          {"baselines", baselines},     {"rows", rows}};
}

std::string against_text(const std::vector<BaselineTime>& baselines, double time_us) {
  std::vector<std::string> parts;
  for (const BaselineTime& b : baselines)
    parts.push_back(fmt::format("{:.2f}x {}", b.time_us / time_us, b.kind));
  return fmt::format("{}", fmt::join(parts, ", "));
}

nlohmann::json against_json(const std::vector<BaselineTime>& baselines, double time_us) {
  nlohmann::json json = nlohmann::json::object();
  for (const BaselineTime& b : baselines) json[b.kind] = b.time_us / time_us;
  return json;
}

nlohmann::json final_json(const FinalResult& result) {
  const Evaluation& e = result.evaluation;
  const Provenance& p = result.provenance;
  const bool ok = e.verdict == Verdict::kOk;
  return {{"device", p.device},
          {"device_name", p.device_name},
          {"arch", p.arch},
          {"modelled", p.modelled},
          {"verdict", to_string(e.verdict)},
          {"detail", e.detail},
          {"time_us", ok ? nlohmann::json(e.measurement.time_us) : nullptr},
          {"speedup", ok ? nlohmann::json(e.measurement.speedup) : nullptr},
          {"ci95", ok ? interval_json(e.measurement) : nullptr},
          {"toolchain", p.toolchain},
          {"found_at", result.found_at}};
}

nlohmann::json baseline_json(const BaselineTime& b) {
  nlohmann::json json = {{"kind", b.kind},
                         {"device", b.device},
                         {"device_name", b.device_name},
                         {"time_us", b.time_us},
                         {"ci95_us", {b.ci95_low, b.ci95_high}},
                         {"samples", b.samples_us.size()},
                         {"precision", b.precision},
                         {"versions", b.versions}};
  if (!b.stored_at.empty()) json["stored_at"] = b.stored_at;
  return json;
}

nlohmann::json counts_json(const Counts& counts) {
  nlohmann::json json = {{"proposed", counts.proposed},
                         {"duplicate", counts.duplicate},
                         {"outpaced", counts.outpaced},
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
