#include "engine/cli/spelling.h"

#include <algorithm>
#include <utility>

namespace hone::cli {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table: of the prefix of `a` with two letters less, with one less, and itself.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t apart = edit_distance(word, name);
    // Two short words are near each other without being alike.
    if (apart >= least || 2 * apart >= std::max(word.size(), name.size())) continue;
    least = apart;
    best = name;
  }
  if (!best.empty() || word.size() < 3) return best;
  const auto longer =
      std::ranges::find_if(names, [&](const std::string& name) { return name.starts_with(word); });
  return longer == names.end() ? "" : *longer;
}

}  // namespace hone::cli
