// Loads and stores of shared memory, with races and initialisation.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/sim/async.h"
#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/lane_move.h"
#include "evaluator/device/emulator/sim/shadow_fast.h"

namespace hone::emulator {

bool Block::shared_access(Warp& w, const Inst& in, std::uint32_t mask) {
  const bool store = in.kind == Kind::kStore;
  const std::uint32_t total = in.esize * in.vec;
  const Slot* slots = function_->extra.data() + in.extra;
  const std::uint64_t hi = summary_.highest;
  const Bounds bounds = shared_bounds(in);
  if (summary_.lowest > hi || summary_.lowest < bounds.begin || hi + total > bounds.end ||
      hi + total < total) {
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const std::uint64_t a = address_[std::countr_zero(m)];
      if (a >= kRankBytes && a < kWindowBytes) return cluster_access(w, in, mask);
    }
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (!bounds.hold(address_[lane], total))
        return fail_access(w, in, lane, kSharedBase + address_[lane], "out-of-bounds");
    }
  }
  if (counting_) {
    (store ? run_.counters.shared_stores : run_.counters.shared_loads)++;
    run_.counters.shared_wavefronts += current_pattern(in).cycles;
    access_latency_ = static_cast<std::uint32_t>(run_.profile->shared_latency);
  }
  if ((check_races_ || check_init_) &&
      !(store ? checked_shared_store(w, in, mask) : checked_shared_load(w, in, mask)))
    return false;
  if (summary_.lowest <= hi && move_elements(in, mask, shared_.data())) return true;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint8_t* data = shared_.data() + address_[lane];
    for (int v = 0; v < in.vec; ++v) {
      if (slots[v] == kNone) continue;
      if (store)
        get_lane(reg(slots[v]), in.dst_wide, in.esize, lane, data + v * in.esize);
      else
        put_lane(reg(slots[v]), in.dst_wide, in.sign_extend, in.esize, lane, data + v * in.esize);
    }
  }
  return true;
}

// The rule without its exceptions; false: perhaps there is one, so place by place.
bool Block::fast_shared_load(const Warp& w, const Inst& in, const Pattern& p) {
  const int shift = shadow_.shift();
  const int granules = (in.esize * in.vec) >> shift;
  const std::uint64_t lane0 = address_[0];
  bool good = true;
  if (check_init_) {
    const std::uint8_t* const written = shadow_.written();
    for (int k = 0; k < p.distinct; ++k) {
      const std::uint64_t first = (lane0 + p.address[k]) >> shift;
      for (int g = 0; g < granules; ++g) good &= written[first + g] != 0;
    }
  }
  if (check_races_) {
    const FastShadow fast(clocks_, w.index, in.ordered || in.guess);
    Cell* const cells = &shadow_.cell(0);
    for (int k = 0; k < p.distinct; ++k) {
      Cell* const first = cells + ((lane0 + p.address[k]) >> shift);
      const std::uint32_t lane = p.lane[k];
      const bool many = p.many[k];
      for (int g = 0; g < granules; ++g) good &= fast.read(first[g], lane, many);
    }
  }
  return good;
}

bool Block::fast_shared_store(const Warp& w, const Inst& in, const Pattern& p) {
  // Two lanes at one place are a matter of their own.
  if (p.distinct != std::popcount(p.mask)) return false;
  const int shift = shadow_.shift();
  const int granules = (in.esize * in.vec) >> shift;
  if (check_races_) {
    const FastShadow fast(clocks_, w.index, in.ordered);
    bool good = true;
    for (int k = 0; k < p.distinct; ++k) {
      const std::uint64_t first = (address_[0] + p.address[k]) >> shift;
      for (int g = 0; g < granules; ++g) good &= fast.may_write(shadow_.cell(first + g), p.lane[k]);
    }
    if (!good) return false;
    for (int k = 0; k < p.distinct; ++k) {
      const std::uint64_t first = (address_[0] + p.address[k]) >> shift;
      for (int g = 0; g < granules; ++g) fast.write(shadow_.cell(first + g), p.lane[k]);
    }
  }
  if (check_init_) {
    for (int k = 0; k < p.distinct; ++k)
      std::memset(shadow_.written() + ((address_[0] + p.address[k]) >> shift), 1,
                  static_cast<std::size_t>(granules));
  }
  return true;
}

// Of the lanes at `address`, of which there are several, the first that is not `lane`.
int Block::another_lane(std::uint32_t mask, std::uint64_t address, int lane) const {
  int found = lane;
  for (std::uint32_t m = mask; m && found == lane; m &= m - 1)
    if (address_[std::countr_zero(m)] == address) found = std::countr_zero(m);
  return found;
}

// Notes the reads of each distinct place once.
bool Block::checked_shared_load(Warp& w, const Inst& in, std::uint32_t mask) {
  const int shift = shadow_.shift();
  const auto granules = (in.esize * in.vec) >> shift;
  const Pattern& p = current_pattern(in);
  const bool ordered = in.ordered || in.guess;
  if (!shadow_.keeps_sites() && !in.choice && fast_shared_load(w, in, p)) return true;
  for (int k = 0; k < p.distinct; ++k) {
    const std::uint64_t address = address_[0] + p.address[k];
    for (int g = 0; g < granules; ++g) {
      const std::uint64_t granule = (address >> shift) + static_cast<std::uint64_t>(g);
      if (check_races_) {
        Cell& cell = shadow_.cell(granule);
        const Cell before = cell;
        if (note_read(clocks_, cell, w.index, p.lane[k], ordered) &&
            !fail_race(w, in, p.lane[k], granule << shift, cell))
          return false;
        if (p.many[k]) {
          // Some other lane than the first reads it too: the writer's own lane does not excuse it.
          if (unordered(clocks_, cell.writer, w.index, kNobody) &&
              !(ordered && cell.writer.ordered) && cell.writer.lane != kManyLanes &&
              !fail_race(w, in, another_lane(mask, address, cell.writer.lane), granule << shift,
                         cell))
            return false;
          cell.reader.lane = kManyLanes;
        }
        if (in.choice)  // who keeps the value is not known yet
          cell = before;
        else if (shadow_.keeps_sites())
          shadow_.sites(granule).reader = in.place;
      }
      if (check_init_ && !shadow_.written()[granule]) {
        if (async_) {
          bool ok = false;
          if (async_->conflict("read", granule << shift, nullptr, w, in, p.lane[k], ok)) {
            if (!ok) return false;
            continue;
          }
        }
        if (!load_taint_) {
          uninitialised_ =
              fmt::format("{} (read at line {})", describe(kSharedBase + address), in.line);
          uninitialised_global_ = false;
        }
        const std::uint32_t bytes = ((1u << (1 << shift)) - 1) << (g << shift);
        for (std::uint32_t m = mask; m; m &= m - 1) {
          if (address_[std::countr_zero(m)] != address) continue;
          load_taint_ |= 1u << std::countr_zero(m);
          note_hole(std::countr_zero(m), bytes);
        }
      }
    }
  }
  return true;
}

// Notes and makes the writes lane by lane, so that a later lane sees what an earlier one wrote.
bool Block::checked_shared_store(Warp& w, const Inst& in, std::uint32_t mask) {
  const int shift = shadow_.shift();
  const int total = in.esize * in.vec;
  const int granules = total >> shift;
  const Slot* slots = function_->extra.data() + in.extra;
  std::uint32_t taint = 0;
  if (w.tainting)
    for (int v = 0; v < in.vec; ++v) taint |= slot_taint(w, in, slots[v]);
  if (async_reads_.empty() && !shadow_.keeps_sites() && !(taint & mask) &&
      fast_shared_store(w, in, current_pattern(in)))
    return true;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t first = address_[lane] >> shift;
    std::uint8_t* data = shared_.data() + address_[lane];
    if (!async_reads_.empty() &&
        !wgmma_free(w, in, lane, address_[lane], static_cast<std::uint32_t>(total)))
      return false;
    std::uint8_t bytes[64];
    for (int v = 0; v < in.vec; ++v)
      get_lane(reg(slots[v]), in.dst_wide, in.esize, lane, bytes + v * in.esize);
    for (int g = 0; g < granules; ++g) {
      if (check_races_) {
        Cell& cell = shadow_.cell(first + g);
        const Cell before = cell;
        const std::uint8_t* x = data + (g << shift);
        const std::uint8_t* y = bytes + (g << shift);
        const bool same = shift == 2   ? get<std::uint32_t>(x) == get<std::uint32_t>(y)
                          : shift == 1 ? get<std::uint16_t>(x) == get<std::uint16_t>(y)
                                       : *x == *y;
        if (note_write(clocks_, cell, w.index, lane, in.ordered, same) &&
            !fail_race(w, in, lane, (first + g) << shift, before))
          return false;
        if (shadow_.keeps_sites()) shadow_.sites(first + g).writer = in.place;
      }
      if (check_init_)
        shadow_.written()[first + g] =
            !(taint >> lane & 1) || !element_taint(w, in, (g << shift) / in.esize, lane);
    }
    std::memcpy(data, bytes, total);
  }
  return true;
}

}  // namespace hone::emulator
