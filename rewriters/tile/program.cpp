#include "rewriters/tile/program.h"

#include <algorithm>

#include "rewriters/tile/operands.h"

namespace hone::tile {

void for_each_operation(const Body& body, const std::function<void(const Operation&)>& visit) {
  for (const Operation& operation : body) {
    visit(operation);
    if (const auto* loop = std::get_if<Loop>(&operation.is)) for_each_operation(loop->body, visit);
    if (const auto* stream = std::get_if<Stream>(&operation.is)) {
      for_each_operation(stream->before, visit);
      for_each_operation(stream->body, visit);
    }
    if (const auto* when = std::get_if<When>(&operation.is)) for_each_operation(when->body, visit);
  }
}

std::int64_t SharedTile::bytes() const {
  const std::int64_t bytes = layout.reach() * static_cast<std::int64_t>(size_of(type));
  return (bytes + 1023) / 1024 * 1024;
}

std::int64_t SharedTile::streamed_bytes() const {
  const std::int64_t elements = layout.swizzle() != 0
                                    ? layout.reach()
                                    : layout.extent(is_along_k(*this) ? 0 : 1) * line_step(*this);
  return (elements * static_cast<std::int64_t>(size_of(type)) + 15) / 16 * 16;
}

int Sums::count() const {
  return of == SumsOf::kWarpGroup ? columns / 2
         : of == SumsOf::kWarp    ? rows * columns / 32
                                  : rows * columns;
}

int Sums::run() const {
  if (of != SumsOf::kHalfWarp) return 16 / static_cast<int>(size_of(type));
  return columns % 4 == 0 ? 4 : columns % 2 == 0 ? 2 : 1;
}

int Sums::warp_rows() const {
  switch (of) {
    case SumsOf::kWarpGroup:
      return 16;
    case SumsOf::kWarp:
      return rows;
    case SumsOf::kHalfWarp:
      return 2 * rows;
    default:
      return 0;
  }
}

bool Program::is_streamed(int ring) const {
  bool streamed = false;
  for (const Role& role : roles) {
    for_each_operation(role.body, [&](const Operation& operation) {
      const auto* stream = std::get_if<Stream>(&operation.is);
      const auto* keep = std::get_if<KeepSums>(&operation.is);
      streamed |= (stream != nullptr && (stream->ring == ring || stream->once_ring == ring)) ||
                  (keep != nullptr && keep->ring == ring);
    });
  }
  return streamed;
}

bool Program::shares_copies() const {
  bool shares = false;
  for (const Role& role : roles) {
    for_each_operation(role.body, [&](const Operation& operation) {
      const auto* copy = std::get_if<BulkCopy>(&operation.is);
      shares |= copy != nullptr && !copy->step_by_rank.empty();
    });
  }
  return shares;
}

bool Program::shares_sums() const {
  bool shares = false;
  for (const Role& role : roles) {
    for_each_operation(role.body, [&](const Operation& operation) {
      shares |= std::holds_alternative<ShareSums>(operation.is);
    });
  }
  return shares;
}

bool Program::is_written(int ring) const { return writers(ring) > 1; }

int Program::writers(int ring) const {
  int warps = 0;
  for (const Role& role : roles) {
    bool writes = false;
    for_each_operation(role.body, [&](const Operation& operation) {
      const auto* split = std::get_if<SplitTile>(&operation.is);
      writes |= split != nullptr && split->to_ring == ring;
    });
    warps += writes ? 4 * role.warp_groups : 0;
  }
  return std::max(1, warps);
}

int Program::registers_at_launch(int registers) const {
  return std::min(255, registers / threads() / 8 * 8);
}

int Program::threads() const {
  int threads = 0;
  for (const Role& role : roles) threads += role.threads();
  return threads;
}

std::int64_t Program::stage_bytes(const Ring& ring) const {
  std::int64_t bytes = 0;
  for (const SharedTile& tile : ring.tiles)
    bytes += tile.layout.elements() * static_cast<std::int64_t>(size_of(tile.type));
  return bytes;
}

std::int64_t Program::stage_step(int ring, const SharedTile& tile) const {
  return is_streamed(ring) ? tile.streamed_bytes() : tile.bytes();
}

std::int64_t Program::shared_bytes() const {
  std::int64_t bytes = 0;
  for (std::size_t r = 0; r < rings.size(); ++r) {
    const int stages = rings[r].stages;
    for (const SharedTile& tile : rings[r].tiles)
      bytes += stages * stage_step(static_cast<int>(r), tile);
    if (!is_streamed(static_cast<int>(r))) bytes += std::int64_t{stages} * 16;
  }
  for (const Staging& staging : stagings) bytes += staging.warp_groups * staging.tile.bytes();
  return bytes + (shares_sums() ? 16 : 0);
}

}  // namespace hone::tile
