#include "rewriters/tile/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace hone::tile {
namespace {

std::int64_t extent_of(const Dimension& dimension) {
  std::int64_t extent = 1;
  for (const Mode& mode : dimension) extent *= mode.extent;
  return extent;
}

/// Modes that follow each other as one would, made one.
Dimension joined(const Dimension& modes) {
  Dimension result;
  for (const Mode& mode : modes) {
    if (mode.extent == 1) continue;
    if (!result.empty() && mode.stride == result.back().stride * result.back().extent) {
      result.back().extent *= mode.extent;
    } else {
      result.push_back(mode);
    }
  }
  if (result.empty()) result.push_back({1, 0});
  return result;
}

/// `count` elements of `modes`, `step` apart.
Result<Dimension> taken(const Dimension& modes, std::int64_t count, std::int64_t step) {
  Dimension result;
  for (std::size_t i = 0; i < modes.size() && count > 1; ++i) {
    const Mode& mode = modes[i];
    const bool last = i + 1 == modes.size();
    if (step % mode.extent == 0 && !last) {
      step /= mode.extent;
      continue;
    }
    if (mode.extent % step != 0 && !(last && step > mode.extent)) {
      return invalid(fmt::format("steps of {} do not fit a mode of {}", step, mode.extent));
    }
    const std::int64_t room = std::max<std::int64_t>(1, mode.extent / step);
    const std::int64_t here = last ? count : std::min(room, count);
    if (here > room) return invalid("more elements than there are");
    if (count % here != 0)
      return invalid(fmt::format("{} elements do not fill modes of {}", count, here));
    result.push_back({here, mode.stride * step});
    count /= here;
    step = 1;
  }
  if (count > 1) return invalid("more elements than there are");
  if (result.empty()) result.push_back({1, 0});
  return result;
}

}  // namespace

std::int64_t Layout::extent(std::size_t d) const { return extent_of(dimensions_[d]); }

std::int64_t Layout::elements() const {
  std::int64_t elements = 1;
  for (const Dimension& dimension : dimensions_) elements *= extent_of(dimension);
  return elements;
}

std::int64_t Layout::reach() const {
  std::int64_t reach = 1;
  for (const Dimension& dimension : dimensions_)
    for (const Mode& mode : dimension) reach += (mode.extent - 1) * mode.stride;
  return reach;
}

std::int64_t Layout::offset(std::span<const std::int64_t> at) const {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < rank(); ++d) {
    std::int64_t rest = at[d];
    for (std::size_t m = 0; m < dimensions_[d].size(); ++m) {
      const Mode& mode = dimensions_[d][m];
      const bool last = m + 1 == dimensions_[d].size();
      offset += (last ? rest : rest % mode.extent) * mode.stride;
      rest /= mode.extent;
    }
  }
  return offset;
}

std::int64_t Layout::byte_of(std::initializer_list<std::int64_t> at, int bytes) const {
  const std::int64_t byte = offset(at) * bytes;
  if (swizzle_ == 0) return byte;
  // The bits that number the 128-byte lines are added, without carry, to those of the pieces.
  const std::int64_t pieces = swizzle_ / 16 - 1;
  return byte ^ ((byte >> 7 & pieces) << 4);
}

Result<Layout> Layout::divided(std::size_t d, std::int64_t extent) const {
  const std::int64_t whole = this->extent(d);
  if (extent < 1 || whole % extent != 0)
    return invalid(fmt::format("{} elements cannot be cut into pieces of {}", whole, extent));
  auto inside = taken(dimensions_[d], extent, 1);
  if (!inside) return std::unexpected(inside.error());
  auto outside = taken(dimensions_[d], whole / extent, extent);
  if (!outside) return std::unexpected(outside.error());
  Layout result = *this;
  result.dimensions_[d] = std::move(*inside);
  result.dimensions_.push_back(std::move(*outside));
  return result;
}

Result<Layout> Layout::after(const Layout& inner) const {
  Dimension all;
  for (const Dimension& dimension : dimensions_)
    all.insert(all.end(), dimension.begin(), dimension.end());
  std::erase_if(all, [](const Mode& mode) { return mode.extent == 1; });
  if (all.empty()) all.push_back({1, 0});
  Layout result({}, swizzle_);
  for (const Dimension& dimension : inner.dimensions_) {
    Dimension made;
    for (const Mode& mode : dimension) {
      if (mode.stride == 0) {
        made.push_back({mode.extent, 0});
        continue;
      }
      auto part = taken(all, mode.extent, mode.stride);
      if (!part) return std::unexpected(part.error());
      made.insert(made.end(), part->begin(), part->end());
    }
    result.dimensions_.push_back(joined(made));
  }
  return result;
}

int Layout::vector_width(std::size_t d, int most) const {
  for (int width = most; width > 1; width /= 2) {
    const Dimension modes = joined(dimensions_[d]);
    if (modes[0].stride != 1 || modes[0].extent % width != 0) continue;
    bool aligned = true;
    for (std::size_t other = 0; other < rank(); ++other) {
      const Dimension of = joined(dimensions_[other]);
      for (std::size_t m = other == d ? 1 : 0; m < of.size(); ++m)
        aligned = aligned && (of[m].extent == 1 || of[m].stride % width == 0);
    }
    if (aligned) return width;
  }
  return 1;
}

std::string Layout::describe() const {
  std::vector<std::string> parts;
  for (const Dimension& dimension : dimensions_) {
    std::vector<std::string> modes;
    for (const Mode& mode : dimension)
      modes.push_back(fmt::format("{}:{}", mode.extent, mode.stride));
    parts.push_back(fmt::format("({})", fmt::join(modes, ", ")));
  }
  std::string text = fmt::format("{}", fmt::join(parts, " x "));
  if (swizzle_ != 0) text += fmt::format(" swizzle {}", swizzle_);
  return text;
}

int shared_rounds(std::span<const std::int64_t> bytes, int width) {
  // Lanes take turns in groups that ask for 128 bytes together.
  const std::size_t together = width <= 4 ? 32 : static_cast<std::size_t>(128 / width);
  int rounds = 0;
  for (std::size_t first = 0; first < bytes.size(); first += together) {
    std::vector<std::set<std::int64_t>> words(32);
    for (std::size_t lane = first; lane < std::min(first + together, bytes.size()); ++lane) {
      for (std::int64_t byte = bytes[lane]; byte < bytes[lane] + width; byte += 4)
        words[static_cast<std::size_t>(byte / 4 % 32)].insert(byte / 4);
    }
    std::size_t most = 1;
    for (const auto& bank : words) most = std::max(most, bank.size());
    rounds += static_cast<int>(most);
  }
  return rounds;
}

Layout wgmma_sums(int n) {
  return Layout({{{4, 2}, {8, n}, {4, std::int64_t{16} * n}},
                 {{2, 1}, {2, std::int64_t{8} * n}, {n / 8, 8}}});
}

Layout mma_sums() { return Layout({{{4, 2}, {8, 8}}, {{2, 1}, {2, 64}}}); }

}  // namespace hone::tile
