#include "candidates/export/export.h"

#include <algorithm>
#include <array>
#include <utility>

#include "candidates/export/forms.h"

namespace hone {

std::span<const ExportFormatName> export_formats() {
  static constexpr std::array<ExportFormatName, 5> kFormats = {
      {{"cu", ".cu", ExportFormat::kCu},
       {"hpp", ".hpp", ExportFormat::kHpp},
       {"torch", ".py", ExportFormat::kTorch},
       {"cupy", ".py", ExportFormat::kCupy},
       {"json", ".json", ExportFormat::kJson}}};
  return kFormats;
}

std::optional<ExportFormat> parse_export_format(std::string_view text) {
  const auto found = std::ranges::find(export_formats(), text, &ExportFormatName::name);
  if (found == export_formats().end()) return std::nullopt;
  return found->format;
}

Result<std::string> export_candidates(ExportFormat format, const std::vector<BoardRow>& rows,
                                      const Task& task) {
  if (format == ExportFormat::kJson) {
    if (auto one = exporting::check_one_task(rows, task); !one) return std::unexpected(one.error());
    return exporting::export_json(rows, task);
  }
  const auto plan = exporting::make_plan(rows, task);
  if (!plan) return std::unexpected(plan.error());
  switch (format) {
    case ExportFormat::kHpp:
      return exporting::export_hpp(*plan);
    case ExportFormat::kTorch:
      return exporting::export_torch(*plan);
    case ExportFormat::kCupy:
      return exporting::export_cupy(*plan);
    default:
      return exporting::export_cu(*plan);
  }
}

Result<std::string> export_formatted(
    ExportFormat format, std::vector<BoardRow> rows, Task task,
    const std::function<std::string(const std::string&)>& formatted) {
  if (format == ExportFormat::kTorch || format == ExportFormat::kCupy) {
    // What is C++ in a Python module.
    for (BoardRow& row : rows)
      row.candidate.program.source = formatted(row.candidate.program.source);
    task.reference.source = formatted(task.reference.source);
  }
  auto text = export_candidates(format, rows, task);
  if (text && (format == ExportFormat::kCu || format == ExportFormat::kHpp))
    *text = formatted(*text);
  return text;
}

}  // namespace hone
