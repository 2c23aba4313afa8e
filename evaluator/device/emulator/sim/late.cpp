// Of a seeded schedule: stores to global memory that others see late. What a thread writes with
// volatile and relaxed stores, and with atomics of which it does not use the answer, others may see
// in any order, unless a fence lies between. Plain stores are left alone: the race checks see to
// those.
#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/sim/async.h"
#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/lane_move.h"

namespace hone::emulator {
namespace {
// How long others may not see a store: up to 1024 or 32768 warp instructions of the whole run.
constexpr std::uint64_t kLeastLate = 1024, kLateDoublings = 6;
}  // namespace

bool Block::may_be_late(const Inst& in) {
  return seeded_ && !in.release && run_.delayed <= RunState::kMostDelayed &&
         !run_.options->share_counters && dice_.below(2) == 0;
}

std::vector<LateStore> Block::pieces_of(const Warp& w, const Inst& in, int lane,
                                        std::size_t each) const {
  const Slot* slots = function_->extra.data() + in.extra;
  LateStore s;
  s.warp = static_cast<std::uint8_t>(w.index);
  s.since = run_.executed;
  if (in.kind == Kind::kAtom) s.reduction = &in;
  std::uint8_t data[sizeof s.data];
  for (int v = 0; v < in.vec; ++v)
    get_lane(reg(slots[v]), in.dst_wide, in.esize, lane, data + v * in.esize);
  std::vector<LateStore> pieces;
  const std::size_t bytes = in.esize * in.vec;
  for (std::size_t at = 0; at < bytes; at += each) {
    s.address = address_[lane] + at;
    s.bytes = static_cast<std::uint8_t>(std::min(bytes - at, each));
    std::memcpy(s.data, data + at, s.bytes);
    pieces.push_back(s);
  }
  return pieces;
}

void Block::keep_late(const Warp& w, const Inst& in, std::uint32_t mask) {
  const std::size_t each = in.kind == Kind::kAtom ? in.esize
                           : in.whole             ? sizeof LateStore::data
                                                  : kSeenTogether;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    for (LateStore& s : pieces_of(w, in, std::countr_zero(m), each)) {
      s.until = run_.executed + dice_.below(kLeastLate << dice_.below(kLateDoublings));
      late_.push_back(s);
    }
  }
}

void Block::land(const LateStore& s) {
  if (!find_span(s.address, s.bytes)) return;
  const std::uint64_t at = s.address - span_.lo;
  if (s.reduction) {
    std::uint64_t old = 0, with = 0;
    std::memcpy(&old, span_.data + at, s.bytes);
    std::memcpy(&with, s.data, s.bytes);
    const std::uint64_t next = apply_global_atomic(*s.reduction, old, with);
    std::memcpy(span_.data + at, &next, s.bytes);
  } else {
    std::memcpy(span_.data + at, s.data, s.bytes);
  }
  if (span_.page->written) set_written(span_.page->written.get(), at, s.bytes);
  span_.allocation->written = true;
  ++run_.changes;
}

void Block::land_late(const Warp& w, std::uint64_t begin, std::uint64_t end) {
  std::erase_if(late_, [&](const LateStore& s) {
    const bool seen = s.warp == w.index || s.in_block;
    if (!seen || s.address >= end || s.address + s.bytes <= begin) return false;
    land(s);
    return true;
  });
}

void Block::land_all_late() {
  for (const LateStore& s : late_) land(s);
  late_.clear();
}

void Block::land_some_late() {
  std::erase_if(late_, [&](const LateStore& s) {
    if (s.until > run_.executed && !others_wait()) return false;
    run_.delayed += run_.executed - s.since;
    land(s);
    return true;
  });
}

void Block::show_late_to_block(const Warp& w) {
  for (LateStore& s : late_) s.in_block = s.in_block || s.warp == w.index;
}

}  // namespace hone::emulator
