#include "engine/cli/report.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>

#include "engine/cli/command.h"
#include "engine/cli/table.h"
#include "engine/results/words.h"

namespace hone::cli {
namespace {

std::string recipe_text(const CandidateRecord& candidate) {
  if (candidate.origin == "reference") return "(the reference itself)";
  if (candidate.origin == "variant") return "(hand-written)";
  std::vector<std::string> steps;
  for (const Step& step : candidate.recipe) steps.push_back(step.rewriter);
  return fmt::format("{}", fmt::join(steps, " > "));
}

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

/// "5 min", "3 h", "12 d" since a time of the store; "" for what is no such time.
std::string age_text(const std::string& since) {
  std::tm parts{};
  if (strptime(since.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return "";
  const std::time_t then = timegm(&parts);
  const auto minutes = std::max<std::time_t>(0, std::time(nullptr) - then) / 60;
  if (minutes < 120) return fmt::format("{} min", minutes);
  return minutes < 48 * 60 ? fmt::format("{} h", minutes / 60)
                           : fmt::format("{} d", minutes / 60 / 24);
}

}  // namespace

std::string board_text(const Board& board) {
  using enum Table::Align;
  std::string text = fmt::format("{}  on {} ({}){}\n", board.task_name, board.device_name,
                                 board.device, board.modelled ? "  [modelled, not measured]" : "");
  text += fmt::format("reference {}\n", format_time(board.reference_time_us));
  for (const BaselineTime& b : board.baselines)
    text +=
        fmt::format("{} {} ({}, {})\n", b.kind, format_time(b.time_us), b.precision, b.versions);
  Table table;
  table.column("rank", kRight);
  table.column("candidate", kLeft);
  table.column(board.modelled ? "model time" : "time", kRight);
  table.column("speedup", kRight);
  table.column(std::string(results::interval_title(board.modelled)), kRight);
  for (const BaselineTime& b : board.baselines) table.column("x " + b.kind, kRight);
  table.column("roof", kRight);
  table.column("bound", kLeft);
  table.column("max error", kRight);
  table.column("math", kLeft);
  table.column("by", kLeft);
  table.column("age", kRight);
  table.column("elsewhere", kLeft);
  table.column("recipe", kLeft);
  for (const BoardRow& row : board.rows) {
    const Measurement& m = row.evaluation.measurement;
    std::string recipe = recipe_text(row.candidate);
    if (row.provenance.sandbox == "off") recipe += "  [sandbox off]";
    if (!board.modelled && row.evaluation.note.starts_with(kNotEmulated))
      recipe += "  [not run on the emulator]";
    if (const results::Doubt doubt = results::doubt_of(row.evaluation); !doubt.badge.empty())
      recipe += fmt::format("  [{}]", doubt.badge);
    std::vector<std::string> cells = {fmt::format("{}", row.rank), row.candidate.id,
                                      format_time(m.time_us), fmt::format("{:.2f}x", m.speedup),
                                      fmt::format("{:.2f} - {:.2f}", m.ci95_low, m.ci95_high)};
    for (const BaselineTime& b : board.baselines)
      cells.push_back(fmt::format("{:.2f}x", b.time_us / m.time_us));
    cells.insert(cells.end(), {fmt::format("{:.1f}%", 100 * m.roof_fraction), short_bound(m.bound),
                               fmt::format("{:.2e}", row.evaluation.max_rel_error),
                               std::string(to_string(row.evaluation.math)), row.candidate.origin,
                               age_text(row.found_at), elsewhere_text(row), std::move(recipe)});
    table.add(std::move(cells));
  }
  double highest = 0;
  for (const BoardRow& row : board.rows)
    highest = std::max(highest, row.evaluation.measurement.roof_fraction);
  const std::string note = results::roof_note(highest);
  return text + table.text() + (note.empty() ? "" : note + "\n");
}

std::string overview_text(const results::Overview& overview) {
  using enum Table::Align;
  std::string text =
      fmt::format("{}{}, speedup over {}\n", overview.device_name,
                  overview.modelled ? "  [modelled, not measured]" : "",
                  overview.against == "reference" ? "the reference" : overview.against);
  Table table;
  table.column("task", kLeft);
  table.column("best", kLeft);
  table.column(overview.modelled ? "model time" : "time", kRight);
  table.column("speedup", kRight);
  table.column(std::string(results::interval_title(overview.modelled)), kRight);
  table.column("roof", kRight);
  table.column("by", kLeft);
  for (const results::OverviewRow& row : overview.rows) {
    const bool found = !row.candidate.empty();
    table.add({row.task, found ? row.candidate : "none", found ? format_time(row.time_us) : "",
               found ? fmt::format("{:.2f}x", row.speedup) : "",
               row.ci95_low > 0 ? fmt::format("{:.2f} - {:.2f}", row.ci95_low, row.ci95_high) : "",
               row.roof_fraction > 0 ? fmt::format("{:.1f}%", 100 * row.roof_fraction) : "",
               row.origin});
  }
  if (!overview.rows.empty()) {
    text += table.text();
    text += fmt::format("{} tasks, geometric mean {:.2f}x", overview.rows.size(),
                        overview.geometric_mean);
    for (const auto& [p, share] : overview.fast_p)
      text += fmt::format(", fast_{:g} {:.0f} %", p, 100 * share);
    text += "\n";
  }
  if (overview.left_out > 0)
    text += fmt::format("{} tasks have no time of {} here\n", overview.left_out, overview.against);
  return text;
}

std::string against_text(const std::vector<BaselineTime>& baselines, double time_us) {
  std::vector<std::string> parts;
  for (const BaselineTime& b : baselines)
    parts.push_back(fmt::format("{:.2f}x {}", b.time_us / time_us, b.kind));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace hone::cli
