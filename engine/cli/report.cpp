#include "engine/cli/report.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

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

std::string against_text(const std::vector<BaselineTime>& baselines, double time_us) {
  std::vector<std::string> parts;
  for (const BaselineTime& b : baselines)
    parts.push_back(fmt::format("{:.2f}x {}", b.time_us / time_us, b.kind));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace hone::cli
