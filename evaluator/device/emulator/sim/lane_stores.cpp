#include "evaluator/device/emulator/sim/lane_stores.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {

void Block::note_lane_stores(const Warp& w, const Inst& in, std::uint32_t mask) {
  LaneStores& stores = lane_stores_[static_cast<std::size_t>(w.index)];
  LaneStores::Store& s = stores.last[stores.next++ % LaneStores::kKept];
  s.tick = clocks_.tick(w.index);
  s.mask = mask;
  s.bytes = in.esize * in.vec;
  s.place = in.place;
  s.lowest = summary_.lowest;
  s.end = summary_.highest + s.bytes;
  if (s.lowest >= s.end) {  // the lanes are in several spans
    s.lowest = 0;
    s.end = ~0ull;
  }
  if (stores.tick != s.tick) {
    stores.tick = s.tick;
    stores.lowest = s.lowest;
    stores.end = s.end;
  }
  stores.lowest = std::min(stores.lowest, s.lowest);
  stores.end = std::max(stores.end, s.end);
  std::memcpy(s.address, address_, sizeof s.address);
}

bool Block::check_lane_loads(const Warp& w, const Inst& in, std::uint32_t mask) {
  const LaneStores& stores = lane_stores_[static_cast<std::size_t>(w.index)];
  const std::uint32_t tick = clocks_.tick(w.index), bytes = in.esize * in.vec;
  for (const LaneStores::Store& s : stores.last) {
    if (s.tick != tick) continue;
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      const std::uint64_t low = address_[lane], end = low + bytes;
      if (end <= s.lowest || s.end <= low) continue;
      // All of it by itself: most loads after a store are.
      if ((s.mask >> lane & 1) != 0 && s.address[lane] <= low && end <= s.address[lane] + s.bytes)
        continue;
      const auto touches = [&](int other) {
        return s.address[other] < end && low < s.address[other] + s.bytes;
      };
      // What it stored itself is there, whoever else has stored the same.
      const auto stored_by_itself = [&](int other) {
        return (s.mask >> lane & 1) != 0 && s.address[lane] <= std::max(s.address[other], low) &&
               std::min(s.address[other] + s.bytes, end) <= s.address[lane] + s.bytes;
      };
      for (std::uint32_t others = s.mask; others; others &= others - 1) {
        const int other = std::countr_zero(others);
        if (other != lane && touches(other) && !stored_by_itself(other))
          return fail_lane_race(w, in, lane, other, s.place);
      }
    }
  }
  return true;
}

bool Block::fail_lane_race(const Warp& w, const Inst& in, int lane, int other,
                           std::uint32_t place) {
  const std::string where = describe(address_[lane]);
  if (run_.findings.collects() && held_.empty() &&
      run_.findings.again(FindingKind::kRace, in.place))
    return true;
  Finding f =
      finding_at(FindingKind::kRace,
                 fmt::format("race: read of {} without a __syncwarp() after a write by lane "
                             "{} of the same warp",
                             where, other),
                 w, lane, &in);
  f.address = where;
  f.other = fmt::format("write by lane {}", other);
  f.other_place = code_place(place);
  return add_finding(std::move(f), in.place, true);
}

}  // namespace hone::emulator
