#include "candidates/export/export.h"

#include <array>
#include <utility>

#include "candidates/export/forms.h"

namespace hone {

std::optional<ExportFormat> parse_export_format(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, ExportFormat>, 5> kNames = {
      {{"cu", ExportFormat::kCu},
       {"hpp", ExportFormat::kHpp},
       {"torch", ExportFormat::kTorch},
       {"cupy", ExportFormat::kCupy},
       {"json", ExportFormat::kJson}}};
  for (const auto& [name, format] : kNames) {
    if (name == text) return format;
  }
  return std::nullopt;
}

bool is_cpp(ExportFormat format) {
  return format == ExportFormat::kCu || format == ExportFormat::kHpp;
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

}  // namespace hone
