// Loads and stores: addresses, windows, and global memory.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/lane_move.h"

namespace hone::emulator {

Space Block::window(std::uint64_t a) const {
  static_assert(kWindowBytes == std::uint64_t{1} << 32);
  constexpr Space kWindows[] = {Space::kConst, Space::kParam, Space::kShared, Space::kLocal};
  const std::uint64_t which = (a - kConstBase) >> 32;
  return which < std::size(kWindows) ? kWindows[which] : Space::kGlobal;
}

void Block::compute_addresses(Warp&, const Inst& in, std::uint32_t mask) {
  Pattern& p = pattern_slot(in);
  const bool same = in.addr_wide
                        ? loops_.wide(address_, reg64(in.a), static_cast<std::uint64_t>(in.imm),
                                      mask, p.shape.relative)
                        : loops_.narrow(address_, reg32(in.a), static_cast<std::uint32_t>(in.imm),
                                        mask, p.shape.relative);
  if (!same || p.inst != &in || p.mask != mask) reshape(p, in, mask);
  summary_ = {address_[0] | p.shape.low_bits, address_[0] + p.shape.least,
              address_[0] + p.shape.most};
}

bool Block::access(Warp& w, const Inst& in, std::uint32_t mask) {
  dropped_ = 0;
  while (!load_or_store(w, in, mask)) {
    if (!dropped_) return false;
    // All findings are looked for: again, without the lanes that may not. They read zero.
    if (in.kind == Kind::kLoad) {
      for (int v = 0; v < in.vec; ++v) {
        const Slot slot = function_->extra[in.extra + v];
        if (slot == kNone) continue;
        for (std::uint32_t m = dropped_; m; m &= m - 1) {
          if (in.dst_wide)
            reg64(slot)[std::countr_zero(m)] = 0;
          else
            reg32(slot)[std::countr_zero(m)] = 0;
        }
      }
      if (w.tainting) set_taint(w, in, dropped_, 0);
    }
    mask &= ~dropped_;
    dropped_ = 0;
    if (mask == 0) return true;
  }
  return true;
}

bool Block::load_or_store(Warp& w, const Inst& in, std::uint32_t mask) {
  if (in.space == Space::kParam && in.addr_wide && in.a < 0) {  // the common ld.param [name+k]
    const auto& p = run_.launch->parameters;
    const std::uint64_t at = reg64(in.a)[0] + static_cast<std::uint64_t>(in.imm);
    const std::uint32_t total = in.esize * in.vec;
    if (at + total > p.size())
      return fail(FindingKind::kOutOfBounds, "parameter read beyond the parameter block", w,
                  std::countr_zero(mask), in);
    for (int v = 0; v < in.vec; ++v) {
      const Slot slot = function_->extra[in.extra + v];
      if (slot == kNone) continue;
      for (std::uint32_t m = mask; m; m &= m - 1)
        put_lane(reg(slot), in.dst_wide, in.sign_extend, in.esize, std::countr_zero(m),
                 p.data() + at + v * in.esize);
    }
    if (counting_) ++run_.counters.constant_loads;
    if (w.tainting) set_taint(w, in, mask, 0);
    return true;
  }
  compute_addresses(w, in, mask);
  if (w.tainting && !tainted_address(w, in, mask)) return false;
  const std::uint32_t total = in.esize * in.vec;
  if (summary_.low_bits & (total - 1)) {
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (address_[lane] & (total - 1))
        return fail_access(w, in, lane, address_[lane], "misaligned");
    }
  }
  if (in.kind == Kind::kStore) ++run_.changes;
  if (in.ordered) {
    w.spinning = true;
    if (in.publishes && check_races_) publish(w, in.release);
    if (orders_cluster()) order_in_cluster(w, in);
    if (in.release && cluster_.size() > 1) land_all_late();
    if (in.kind == Kind::kLoad) note_poll(w, in, mask);
  }
  if (load_taint_ != 0) std::memset(holes_, 0, sizeof holes_);
  load_taint_ = 0;
  const auto finish = [&](bool ok) {
    if (ok && in.kind == Kind::kLoad && (w.tainting || load_taint_)) {
      if (load_taint_) w.tainting = true;
      set_taint(w, in, mask, load_taint_);
      if (load_taint_) refine_load(w, in, mask);
    }
    if (!doubted_.empty()) begin_doubts(w, in, mask);
    return ok;
  };
  switch (in.space) {
    case Space::kGlobal:
      return finish(global_access(w, in, mask));
    case Space::kShared:
      return finish(shared_access(w, in, mask));
    case Space::kLocal:
      return finish(local_access(w, in, mask));
    case Space::kFormal:
      return finish(formal_access(w, in, mask));
    case Space::kConst:
      return finish(bank_access(w, in, mask, module_.const_bank.data(), module_.const_bank.size(),
                                kConstBase));
    case Space::kParam:
      return finish(bank_access(w, in, mask, run_.launch->parameters.data(),
                                run_.launch->parameters.size(), 0));
    default:
      break;
  }
  // Generic: by window, usually one for the whole warp.
  std::uint32_t left = mask;
  while (left) {
    const Space space = window(address_[std::countr_zero(left)]);
    std::uint32_t same = 0;
    for (int i = 0; i < 32; ++i)
      same |= static_cast<std::uint32_t>(window(address_[i]) == space) << i;
    same &= left;
    left &= ~same;
    bool ok = false;
    std::uint64_t saved[32];
    std::copy(address_, address_ + 32, saved);
    const std::uint64_t some = address_[std::countr_zero(same)];
    const std::uint64_t base = space == Space::kShared  ? kSharedBase
                               : space == Space::kLocal ? kLocalBase
                                                        : 0;
    for (int i = 0; i < 32; ++i) address_[i] = ((same >> i & 1) ? address_[i] : some) - base;
    if (same == mask) {  // the usual case: only the base differs
      summary_.lowest -= base;
      summary_.highest -= base;
    } else {
      Pattern& p = pattern_slot(in);
      reshape(p, in, same);
      summary_.lowest = address_[0] + p.shape.least;
      summary_.highest = address_[0] + p.shape.most;
    }
    switch (space) {
      case Space::kShared:
        ok = shared_access(w, in, same);
        break;
      case Space::kLocal:
        ok = local_access(w, in, same);
        break;
      case Space::kConst:
        ok = bank_access(w, in, same, module_.const_bank.data(), module_.const_bank.size(),
                         kConstBase);
        break;
      case Space::kParam:
        ok = bank_access(w, in, same, run_.launch->parameters.data(),
                         run_.launch->parameters.size(), kParamBase);
        break;
      default:
        ok = global_access(w, in, same);
        break;
    }
    if (!ok) return false;
    std::copy(saved, saved + 32, address_);
  }
  return finish(true);
}

bool Block::move_elements(const Inst& in, std::uint32_t mask, std::uint8_t* base) {
  const MoveLoops& moves = in.dst_wide ? loops_.wide_registers : loops_.narrow_registers;
  const int size = std::countr_zero(in.esize);
  const AddressShape& shape = pattern_slot(in).shape;
  if (!shape.near || !moves.store[size]) return false;
  const Slot* slots = function_->extra.data() + in.extra;
  Elements e{&shape, base + address_[0], in.esize * in.vec};
  for (int v = 0; v < in.vec; ++v, e.base += in.esize) {
    if (slots[v] == kNone) continue;
    if (in.kind == Kind::kStore)
      moves.store[size](reg(slots[v]), e, mask);
    else
      moves.load[size][in.sign_extend](reg(slots[v]), e, mask);
  }
  return true;
}

// A loop's step is mostly the one before it, also after another warp has had its turn. Steps so
// long that the CPU's prefetchers do not follow them are fetched here, data and page alike.
void Block::expect_next(Pattern& p, std::uint64_t bytes, bool store) {
  constexpr std::uint64_t kFollowed = 2048;
  constexpr std::uint64_t kLine = 64;
  const std::uint64_t step = summary_.lowest - p.lowest;
  if (step == p.step) p.steady_step = step;
  p.step = step;
  p.lowest = summary_.lowest;
  if (!p.span.holds(p.lowest, 1)) p.span = span_;
  if (p.steady_step + kFollowed <= 2 * kFollowed || bytes > 8 * kLine || !span_.allocation) return;
  const std::uint64_t next = p.lowest + p.steady_step;
  if (!p.span.holds(next, 1) && !span_.allocation->live_span(next, p.span)) return;
  const std::uint64_t at = next - p.span.lo;
  for (std::uint64_t k = 0; k < bytes; k += kLine) __builtin_prefetch(p.span.data + at + k);
  if (store && p.span.page->written) __builtin_prefetch(&p.span.page->written[at >> 6]);
}

bool Block::global_access(Warp& w, const Inst& in, std::uint32_t mask) {
  const bool store = in.kind == Kind::kStore;
  const std::uint32_t total = in.esize * in.vec;
  const Slot* slots = function_->extra.data() + in.extra;
  if (!span_.holds(summary_.lowest, total) && pattern_slot(in).span.holds(summary_.lowest, total))
    span_ = pattern_slot(in).span;
  if (counting_) count_global(w, in, store);
  std::uint32_t hollow = 0;  // elements of a vector
  if (store && w.tainting) {
    for (int v = 0; v < in.vec; ++v) {
      const std::uint32_t taint = slot_taint(w, in, slots[v]) & mask;
      if (taint && is_hollow(in, v))
        hollow |= 1u << v;
      else if (taint && !tainted_value(w, in, taint, kStoredToGlobal))
        return false;
    }
  }
  const std::uint64_t lo = summary_.lowest;
  const std::uint64_t hi = summary_.highest;
  if (!find_span(lo, total)) {
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (!find_span(address_[lane], total))
        return fail_access(w, in, lane, address_[lane], "out-of-bounds");
    }
  }
  expect_next(pattern_slot(in), hi + total - lo, store);
  if (!late_.empty()) {
    if (in.release)
      land_all_late();
    else
      land_late(w, lo, hi + total);
  }
  if (check_races_ && !in.ordered && !in.guess && !in.choice) {
    if (store)
      note_lane_stores(w, in, mask);
    else if (lane_stores_[static_cast<std::size_t>(w.index)].may_meet(
                 clocks_.tick(w.index), lo > hi ? 0 : lo, lo > hi ? ~0ull : hi + total) &&
             !check_lane_loads(w, in, mask))
      return false;
  }
  if (tracking_ != Tracking::kOff && !note_global(w, in, mask)) return false;
  if (check_noncoherent_) {
    if (store) note_stored(mask, total);
    if (in.noncoherent && !check_noncoherent(w, in, mask)) return false;
  }
  if (store && in.ordered && hollow == 0) {
    if (is_torn(in)) {
      tear(w, in, mask);
      return true;
    }
    if (may_be_late(in)) {
      keep_late(w, in, mask);
      return true;
    }
  }
  if (!store && !run_.tears.empty()) note_looked(w, mask, total);
  const bool in_time = in.ordered && run_.words;
  if (in_time && store) keep_words(mask, total);
  const auto done = [&] {
    if (in_time && store) note_words(w, mask, total);
    if (in_time && !store) look_back(w, in, mask, slots);
    return true;
  };
  const bool one_span = lo <= hi && span_.holds(lo, total) && span_.holds(hi, total);
  if (one_span) {
    std::uint64_t* const written = span_.page->written.get();
    std::uint8_t* const base = span_.data - span_.lo;
    const std::uint64_t bytes = hi + total - lo;
    if (!store) {
      // What lies between the lanes' addresses may be looked at, too, as long as all is written.
      const bool known = !written || !check_init_ ||
                         (bytes <= 1024 && bits_all_set_long(written, lo - span_.lo, bytes));
      if (known && move_elements(in, mask, base)) return done();
    } else if (!hollow && move_elements(in, mask, base)) {
      span_.allocation->written = true;
      if (!written) return done();
      if (mask == 0xFFFFFFFFu && pattern_slot(in).shape.solid)
        set_written(written, lo - span_.lo, bytes);
      else
        for (std::uint32_t m = mask; m; m &= m - 1)
          set_written(written, address_[std::countr_zero(m)] - span_.lo, total);
      return done();
    }
  }
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t address = address_[lane];
    if (!find_span(address, total)) return fail_access(w, in, lane, address, "out-of-bounds");
    const std::uint64_t at = address - span_.lo;
    std::uint8_t* data = span_.data + at;
    if (store) {
      for (int v = 0; v < in.vec; ++v)
        get_lane(reg(slots[v]), in.dst_wide, in.esize, lane, data + v * in.esize);
      if (span_.page->written) set_written(span_.page->written.get(), at, total);
      if (hollow) leave_unwritten(in, hollow, at);
      span_.allocation->written = true;
    } else {
      for (int v = 0; v < in.vec; ++v)
        if (slots[v] != kNone)
          put_lane(reg(slots[v]), in.dst_wide, in.sign_extend, in.esize, lane, data + v * in.esize);
      if (check_init_ && span_.page->written &&
          !bits_all_set(span_.page->written.get(), at, total)) {
        if (!load_taint_) {
          uninitialised_ = fmt::format("{} (read at line {})", describe(address), in.line);
          uninitialised_global_ = true;
        }
        load_taint_ |= 1u << lane;
        for (std::uint32_t b = 0; b < total; ++b)
          if (!bits_all_set(span_.page->written.get(), at + b, 1)) note_hole(lane, 1u << b);
      }
    }
  }
  return done();
}

}  // namespace hone::emulator
