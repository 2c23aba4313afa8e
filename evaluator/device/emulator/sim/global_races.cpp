// Every access to global memory passes here before it happens, when races between blocks are looked
// for: marks first (touches.h), stamps where blocks talk to each other (order.h).
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/lane_move.h"

namespace hone::emulator {

void Block::start_tracking(std::uint32_t number) {
  number_ = number;
  tracking_ = run_.tracking;
  if (tracking_ == Tracking::kMarks) touches_.start(*run_.memory, run_.granule_shift);
  if (tracking_ == Tracking::kStamps) global_order_.start(run_.order, number + 1, warps_.size());
}

bool Block::note_global(Warp& w, const Inst& in, std::uint32_t mask) {
  const bool ordered = (in.ordered && !in.block_scope) || in.guess;
  const Touch how = ordered                  ? Touch::kOrdered
                    : in.kind == Kind::kLoad ? Touch::kRead
                                             : Touch::kWrite;
  const std::uint32_t bytes = in.esize * in.vec;
  if (tracking_ == Tracking::kMarks) {
    mark_global(in, mask, how);
    return true;
  }
  if (how == Touch::kRead && !in.choice) return stamp_loads(w, in, mask, bytes);
  const Slot* slots = function_->extra.data() + in.extra;
  std::uint8_t value[64];
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (in.kind == Kind::kStore)
      for (int v = 0; v < in.vec; ++v)
        get_lane(reg(slots[v]), in.dst_wide, in.esize, lane, value + v * in.esize);
    if (!note_global_bytes(w, in, lane, address_[lane], bytes, how,
                           in.kind == Kind::kStore ? value : nullptr))
      return false;
  }
  return true;
}

bool Block::note_global_bytes(Warp& w, const Inst& in, int lane, std::uint64_t address,
                              std::uint64_t bytes, Touch how, const std::uint8_t* value) {
  while (bytes > 0) {
    Span span = span_;
    if (!span.holds(address, 1) && !run_.memory->span(address, 1, span)) return true;  // a fault
    const std::uint64_t part = std::min(bytes, span.lo + span.bytes - address);
    if (tracking_ == Tracking::kMarks) {
      const int shift = touches_.shift();
      const std::uint64_t first = (address - span.lo) >> shift;
      const std::uint64_t last = (address - span.lo + part - 1) >> shift;
      touches_.note(span, how, first, last - first + 1);
    } else if (tracking_ == Tracking::kStamps &&
               !stamp_global(w, in, lane, span, address, part, how, value)) {
      return false;
    }
    address += part;
    bytes -= part;
    if (value) value += part;
  }
  return true;
}

// Neighbouring lanes are one range wherever they touch neighbouring bytes.
void Block::mark_global(const Inst& in, std::uint32_t mask, Touch how) {
  const std::uint32_t bytes = in.esize * in.vec;
  const int shift = touches_.shift();
  const std::uint64_t lo = summary_.lowest;
  const std::uint64_t hi = summary_.highest;
  const std::uint64_t n = std::max(1u, bytes >> shift);
  if (span_.page && span_.holds(lo, bytes) && span_.holds(hi, bytes)) {
    if (lo == hi) return touches_.note(span_, how, (lo - span_.lo) >> shift, n);
    if (mask == 0xFFFFFFFFu && bytes >> shift && in.kind != Kind::kAtom &&
        pattern_slot(in).shape.solid)
      return touches_.note(span_, how, (lo - span_.lo) >> shift, 32 * n);
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    const auto add = [&](int lane, std::uint64_t count) {
      const std::uint64_t g = (address_[lane] - span_.lo) >> shift;
      if (g >= begin && g + count <= end) return;
      if (g == end && end != 0) {
        end += count;
        return;
      }
      if (end != 0) touches_.note(span_, how, begin, end - begin);
      begin = g;
      end = g + count;
    };
    if (mask == 0xFFFFFFFFu && bytes >> shift && in.kind != Kind::kAtom) {
      std::uint32_t runs = pattern_slot(in).shape.runs;
      for (int lane = 0; lane < 32; lane += 8, runs >>= 2) {
        if ((runs & 3) == kScattered)
          for (int i = lane; i < lane + 8; ++i) add(i, n);
        else
          add(lane, (runs & 3) == kSame ? n : 8 * n);
      }
    } else {
      for (std::uint32_t m = mask; m; m &= m - 1) add(std::countr_zero(m), n);
    }
    return touches_.note(span_, how, begin, end - begin);
  }
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const std::uint64_t address = address_[std::countr_zero(m)];
    if (!find_span(address, bytes)) continue;
    touches_.note(span_, how, (address - span_.lo) >> shift, n);
  }
}

GlobalStamp Block::stamp_of(const Warp& w, const Inst& in, int lane, Touch how) const {
  GlobalStamp now;
  now.block = number_ + 1;
  now.epoch = global_order_.epoch(w.index);
  now.place = in.place;
  now.warp = static_cast<std::uint8_t>(w.index);
  now.lane = static_cast<std::uint8_t>(lane);
  now.ordered = how == Touch::kOrdered;
  now.of_cluster = now.ordered || (in.ordered && in.of_cluster);
  now.atomic = in.kind == Kind::kAtom;
  return now;
}

GlobalCell* Block::global_cells(const Span& span, std::uint64_t at) {
  auto& shadow = span.page->shadow;
  if (!shadow) shadow = std::make_unique<PageShadow>();
  if (shadow->run != run_.memory->epoch) {
    for (auto& chunk : shadow->chunks) chunk.reset();
    shadow->run = run_.memory->epoch;
  }
  auto& chunk = shadow->chunks[at / PageShadow::kChunkBytes];
  if (!chunk) chunk = std::make_unique<GlobalCell[]>(PageShadow::kChunkBytes >> run_.granule_shift);
  return chunk.get();
}

// Plain loads are most of what is stamped. Lane by lane the same as stamp_global, which is asked
// where something is unusual.
bool Block::stamp_loads(Warp& w, const Inst& in, std::uint32_t mask, std::uint32_t bytes) {
  constexpr std::uint64_t kNone = ~0ull;
  const int shift = run_.granule_shift;
  const bool cached = in.kind == Kind::kLoad && !in.bypass_l1;
  GlobalStamp now = stamp_of(w, in, 0, Touch::kRead);
  GlobalCell* cells = nullptr;  // of the chunk that begins at address `chunk`
  std::uint64_t chunk = kNone;
  std::uint64_t last = kNone;  // the address of the lane before, if it raced with nobody
  GlobalCell* at_last = nullptr;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t address = address_[lane];
    now.lane = static_cast<std::uint8_t>(lane);
    if (address == last) {
      for (std::uint32_t g = 0; g < bytes >> shift; ++g) at_last[g].reader.lane = now.lane;
      continue;
    }
    last = kNone;
    const std::uint64_t at = address - span_.lo, in_chunk = at % PageShadow::kChunkBytes;
    bool usual = span_.page != nullptr && span_.holds(address, bytes) && bytes >> shift != 0 &&
                 (at & ((1ull << shift) - 1)) == 0 && in_chunk + bytes <= PageShadow::kChunkBytes;
    if (usual) {
      if (address - in_chunk != chunk) {
        cells = global_cells(span_, at);
        chunk = address - in_chunk;
      }
      GlobalCell* const here = cells + (in_chunk >> shift);
      for (std::uint32_t g = 0; g < bytes >> shift; ++g)
        usual = usual && !global_order_.read_races(here[g], now) &&
                !(cached && global_order_.stale(here[g], address + (std::uint64_t{g} << shift)));
      if (usual) {
        for (std::uint32_t g = 0; g < bytes >> shift; ++g) global_order_.note_read(here[g], now);
        last = address;
        at_last = here;
      }
    }
    if (!usual && !note_global_bytes(w, in, lane, address, bytes, Touch::kRead, nullptr))
      return false;
  }
  return true;
}

bool Block::stamp_global(Warp& w, const Inst& in, int lane, const Span& span, std::uint64_t address,
                         std::uint64_t bytes, Touch how, const std::uint8_t* value) {
  const int shift = run_.granule_shift;
  const bool writes = how == Touch::kWrite || (how == Touch::kOrdered && in.kind != Kind::kLoad);
  if (!in.guess && how == Touch::kOrdered && (in.kind == Kind::kAtom || !writes))
    global_order_.take_over(w.index, address, bytes);
  if (how == Touch::kOrdered && in.acquire) global_order_.forget_loads();
  const bool cached = how == Touch::kRead && in.kind == Kind::kLoad && !in.bypass_l1 && !in.choice;
  const GlobalStamp now = stamp_of(w, in, lane, how);
  const std::uint64_t at = address - span.lo;
  const std::uint64_t size = 1ull << shift;
  for (std::uint64_t g = at >> shift; g << shift < at + bytes; ++g) {
    const std::uint64_t begin = std::max(at, g << shift);
    GlobalCell& cell = global_cells(span, begin)[(begin % PageShadow::kChunkBytes) >> shift];
    bool race;
    if (writes) {
      const std::uint64_t n = std::min((g << shift) + size, at + bytes) - begin;
      const bool same = value != nullptr &&
                        std::memcmp(span.data + begin, value + (begin - at), n) == 0 &&
                        (!span.page->written || bits_all_set(span.page->written.get(), begin, n));
      race = global_order_.write(cell, now, same);
    } else {
      race = global_order_.read_races(cell, now);
      if (!race && cached && global_order_.stale(cell, span.lo + begin) &&
          !fail(FindingKind::kRace,
                fmt::format("read of {}, which {} wrote since this block read beside it: without a "
                            "fence or an acquire in between, the L1 may give what was there before",
                            describe(span.lo + begin), block_name(cell.writer.block - 1)),
                w, lane, in))
        return false;
    }
    if (race && !fail_global_race(w, in, lane, span.lo + begin, cell, now)) return false;
    // A choice: who keeps the value is not known yet.
    if (!writes && !in.choice) global_order_.note_read(cell, now);
  }
  if (how == Touch::kOrdered && writes) {
    if (in.release) global_order_.fence(w.index);
    global_order_.publish(w.index, address, bytes);
    global_order_.note_atomic(w.index, lane, address, in.kind == Kind::kAtom && in.used);
  }
  return true;
}

std::string Block::block_name(std::uint32_t number) const {
  const auto id = block_of(*run_.launch, number);
  return fmt::format("block ({},{},{})", id[0], id[1], id[2]);
}

bool Block::fail_global_race(const Warp& w, const Inst& in, int lane, std::uint64_t address,
                             const GlobalCell& before, const GlobalStamp& now) {
  if (!in.choice) run_.raced = true;
  const bool write = in.kind == Kind::kStore || in.kind == Kind::kAtom;
  if (!in.choice && run_.findings.collects() && held_.empty() &&
      run_.findings.again(FindingKind::kRace, in.place))
    return true;
  std::string other = "a read by other blocks";
  CodePlace other_place;
  if (const GlobalStamp* s = global_order_.culprit(before, now, write)) {
    const std::uint32_t t = s->warp * 32u + s->lane;
    const auto& b = run_.launch->block;
    other_place = code_place(s->place);
    other = fmt::format(
        "{} by {}, thread ({},{},{}){}",
        s == &before.writer ? (s->ordered ? "an atomic or volatile write" : "a write") : "a read",
        block_name(s->block - 1), t % b[0], t / b[0] % b[1], t / b[0] / b[1],
        other_place.line ? fmt::format(", line {}", other_place.line) : "");
  }
  const std::string where = describe(address);
  Finding f = finding_at(FindingKind::kRace,
                         fmt::format("race between blocks: {} of {}, not ordered after {}",
                                     in.kind == Kind::kAtom ? "atomic"
                                     : write                ? "write"
                                                            : "read",
                                     where, other),
                         w, lane, &in);
  f.address = where;
  f.other = other;
  f.other_place = std::move(other_place);
  if (in.choice) return doubt(in, 1u << lane, std::move(f), true);
  return add_finding(std::move(f), in.place, true);
}

}  // namespace hone::emulator
