// Sets of bytes: ranges in rising order that do not meet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "evaluator/device/emulator/emulator.h"

namespace hone::runner {

using emulator::ByteRange;
using Ranges = std::vector<ByteRange>;

inline constexpr std::uint64_t kSector = 32;  // [B]

inline bool holds(const Ranges& ranges, std::uint64_t offset) {
  const auto after = std::ranges::upper_bound(ranges, offset, {}, &ByteRange::begin);
  return after != ranges.begin() && offset < std::prev(after)->end;
}

inline Ranges moved(Ranges ranges, std::int64_t by) {
  for (ByteRange& range : ranges) {
    range.begin += static_cast<std::uint64_t>(by);
    range.end += static_cast<std::uint64_t>(by);
  }
  return ranges;
}

inline std::int64_t distance(const Ranges& from, const Ranges& to) {
  return static_cast<std::int64_t>(to.front().begin) -
         static_cast<std::int64_t>(from.front().begin);
}

inline Ranges united(const Ranges& a, const Ranges& b) {
  Ranges all;
  std::ranges::merge(a, b, std::back_inserter(all), {}, &ByteRange::begin, &ByteRange::begin);
  Ranges out;
  for (const ByteRange& range : all) {
    if (!out.empty() && range.begin <= out.back().end)
      out.back().end = std::max(out.back().end, range.end);
    else
      out.push_back(range);
  }
  return out;
}

/// What is in `a` and not in `b`.
inline Ranges without(const Ranges& a, const Ranges& b) {
  Ranges out;
  std::size_t k = 0;
  for (ByteRange range : a) {
    while (k < b.size() && b[k].end <= range.begin) ++k;
    for (std::size_t i = k; i < b.size() && b[i].begin < range.end; ++i) {
      if (range.begin < b[i].begin) out.push_back({range.begin, b[i].begin});
      range.begin = b[i].end;
    }
    if (range.begin < range.end) out.push_back(range);
  }
  return out;
}

/// Grown to whole sectors.
inline Ranges in_sectors(const Ranges& ranges) {
  Ranges out;
  for (const ByteRange& range : ranges) {
    const ByteRange whole = {range.begin / kSector * kSector,
                             (range.end + kSector - 1) / kSector * kSector};
    if (!out.empty() && whole.begin <= out.back().end)
      out.back().end = std::max(out.back().end, whole.end);
    else
      out.push_back(whole);
  }
  return out;
}

}  // namespace hone::runner
