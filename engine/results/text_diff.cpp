#include "engine/results/text_diff.h"

#include <algorithm>
#include <dtl/dtl.hpp>
#include <sstream>
#include <vector>

namespace hone {
namespace {

/// Lines before times lines after: a second's work. Two texts of which more differs are one change.
constexpr std::size_t kMostComparedLines = 25'000'000;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Lines [begin, end) of the text before become `lines`.
struct LineChange {
  std::size_t begin = 0, end = 0;
  std::vector<std::string> lines;
};

std::vector<LineChange> changes_of(const std::vector<std::string>& before,
                                   const std::vector<std::string>& after) {
  // What is alike at both ends costs nothing.
  std::size_t head = 0, tail = 0;
  const std::size_t shorter = std::min(before.size(), after.size());
  while (head < shorter && before[head] == after[head]) ++head;
  while (tail < shorter - head &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail])
    ++tail;
  const auto middle = [&](const std::vector<std::string>& lines) {
    return std::vector<std::string>(lines.begin() + static_cast<std::ptrdiff_t>(head),
                                    lines.end() - static_cast<std::ptrdiff_t>(tail));
  };
  if (before.size() * after.size() == 0 || head + tail == std::max(before.size(), after.size()))
    return {};
  std::vector<std::string> was = middle(before), is = middle(after);
  if (was.size() > kMostComparedLines / std::max<std::size_t>(1, is.size()))
    return {{head, head + was.size(), std::move(is)}};
  dtl::Diff<std::string> diff(was, is);
  diff.onHuge();
  diff.compose();
  std::vector<LineChange> changes;
  std::size_t at = head;  // in `before`
  bool open = false;
  for (const auto& [line, info] : diff.getSes().getSequence()) {
    if (info.type == dtl::SES_COMMON) {
      open = false;
      ++at;
      continue;
    }
    if (!open) changes.push_back({at, at, {}});
    open = true;
    if (info.type == dtl::SES_DELETE) {
      changes.back().end = ++at;
    } else {
      changes.back().lines.push_back(line);
    }
  }
  return changes;
}

std::string joined(const std::vector<std::string>& lines, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) text += lines[i] + "\n";
  return text;
}

bool is_there_once(const std::vector<std::string>& lines, std::size_t begin, std::size_t end) {
  if (begin == end) return false;
  const auto from = lines.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto to = lines.begin() + static_cast<std::ptrdiff_t>(end);
  const auto found = std::search(lines.begin(), lines.end(), from, to);
  return found == from && std::search(found + 1, lines.end(), from, to) == lines.end();
}

}  // namespace

std::vector<LineEdit> line_edits(const std::string& before, const std::string& after) {
  const std::vector<std::string> lines = lines_of(before);
  std::vector<LineChange> changes = changes_of(lines, lines_of(after));
  for (std::size_t i = 0; i < changes.size(); ++i) {
    while (!is_there_once(lines, changes[i].begin, changes[i].end)) {
      const bool above = changes[i].begin > 0, below = changes[i].end < lines.size();
      if (!above && !below) break;  // two empty texts
      LineChange& change = changes[i];
      if (below) {
        const bool touches = i + 1 < changes.size() && changes[i + 1].begin == change.end;
        if (touches) {
          LineChange& next = changes[i + 1];
          change.lines.insert(change.lines.end(), next.lines.begin(), next.lines.end());
          change.end = next.end;
          changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        } else {
          change.lines.push_back(lines[change.end++]);
        }
      }
      if (above && !is_there_once(lines, changes[i].begin, changes[i].end)) {
        const bool touches = i > 0 && changes[i - 1].end == changes[i].begin;
        if (touches) {
          LineChange& last = changes[i - 1];
          last.lines.insert(last.lines.end(), changes[i].lines.begin(), changes[i].lines.end());
          last.end = changes[i].end;
          changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(i));
          --i;
        } else {
          changes[i].lines.insert(changes[i].lines.begin(), lines[--changes[i].begin]);
        }
      }
    }
  }
  std::vector<LineEdit> edits;
  for (const LineChange& change : changes) {
    edits.push_back(
        {joined(lines, change.begin, change.end), joined(change.lines, 0, change.lines.size())});
  }
  return edits;
}

std::string unified_diff(const std::string& before, const std::string& after,
                         const std::string& before_name, const std::string& after_name) {
  dtl::Diff<std::string> diff(lines_of(before), lines_of(after));
  diff.onHuge();
  diff.compose();
  if (diff.getEditDistance() == 0) return "";
  diff.composeUnifiedHunks();
  std::ostringstream out;
  out << "--- " << before_name << "\n+++ " << after_name << "\n";
  diff.printUnifiedFormat(out);
  return out.str();
}

}  // namespace hone
