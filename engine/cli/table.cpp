#include "engine/cli/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::cli {

std::string Table::text() const {
  std::vector<std::size_t> widths;  // 0: left out
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = 0;
    for (const auto& row : rows_) width = std::max(width, row[i].size());
    widths.push_back(width == 0 ? 0 : std::max(width, columns_[i].title.size()));
  }
  const auto line = [&](auto cell) {
    std::string out;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      if (!out.empty()) out += "  ";
      const std::string text = cell(i);
      out += columns_[i].align == Align::kRight ? fmt::format("{:>{}}", text, widths[i])
                                                : fmt::format("{:<{}}", text, widths[i]);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + "\n";
  };
  std::string out = line([&](std::size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) out += line([&](std::size_t i) { return row[i]; });
  return out;
}

}  // namespace hone::cli
