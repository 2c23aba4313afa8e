// atom and red: lanes in order, one after another, on global and shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "evaluator/device/emulator/sim/async.h"
#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/shadow_fast.h"

namespace hone::emulator {
namespace {

#include "evaluator/device/emulator/lanes/half.inc"

template <class T>
T as(std::uint64_t bits) {
  T v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}
template <class T>
std::uint64_t bits_of(T v) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}

template <class T>
std::uint64_t integer_op(AtomicOp op, std::uint64_t old_bits, std::uint64_t b, std::uint64_t c) {
  const T old = as<T>(old_bits);
  const T value = as<T>(b);
  switch (op) {
    case AtomicOp::kAdd:
      return bits_of<T>(static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) +
                                       static_cast<std::make_unsigned_t<T>>(value)));
    case AtomicOp::kMin:
      return bits_of<T>(std::min(old, value));
    case AtomicOp::kMax:
      return bits_of<T>(std::max(old, value));
    case AtomicOp::kInc:
      return bits_of<T>(old >= value ? T{0} : static_cast<T>(old + 1));
    case AtomicOp::kDec:
      return bits_of<T>(old == 0 || old > value ? value : static_cast<T>(old - 1));
    case AtomicOp::kAnd:
      return bits_of<T>(static_cast<T>(old & value));
    case AtomicOp::kOr:
      return bits_of<T>(static_cast<T>(old | value));
    case AtomicOp::kXor:
      return bits_of<T>(static_cast<T>(old ^ value));
    case AtomicOp::kExch:
      return bits_of<T>(value);
    case AtomicOp::kCas:
      return old == value ? bits_of<T>(as<T>(c)) : bits_of<T>(old);
  }
  return old_bits;
}

// A NaN loses against a number.
template <class F>
F float_op(AtomicOp op, F old, F value) {
  switch (op) {
    case AtomicOp::kMin:
      return old != old ? value : value != value ? old : std::min(old, value);
    case AtomicOp::kMax:
      return old != old ? value : value != value ? old : std::max(old, value);
    default:
      return old + value;
  }
}

std::uint64_t apply(const Inst& in, std::uint64_t old, std::uint64_t b, std::uint64_t c,
                    bool flush) {
  const auto op = static_cast<AtomicOp>(in.sub);
  const Type t = in.type;
  if (t.kind == Type::kFloat || t.kind == Type::kBFloat) {
    const bool bf = t.kind == Type::kBFloat;
    const auto half = [&](std::uint32_t x, std::uint32_t y) {
      return bf ? f32_to_bf16(float_op(op, bf16_to_f32(x), bf16_to_f32(y)))
                : f32_to_f16(float_op(op, f16_to_f32(x), f16_to_f32(y)));
    };
    if (t.packed)
      return half(old & 0xFFFF, b & 0xFFFF) |
             static_cast<std::uint64_t>(half(old >> 16 & 0xFFFF, b >> 16 & 0xFFFF)) << 16;
    if (t.bits == 16) return half(old & 0xFFFF, b & 0xFFFF);
    if (t.bits == 32) {
      // On global memory subnormals are zero (PTX ISA, atom.add.f32); in shared memory they stay.
      const auto seen = [&](std::uint64_t bits) {
        const float f = as<float>(bits);
        return flush && std::fabs(f) < 0x1p-126f ? std::copysign(0.f, f) : f;
      };
      const float v = float_op(op, seen(old), seen(b));
      return v != v ? 0x7FFFFFFFu : bits_of(seen(bits_of(v)));
    }
    return bits_of(float_op(op, as<double>(old), as<double>(b)));
  }
  const bool is_signed = t.kind == Type::kSigned;
  if (t.bits == 64)
    return is_signed ? integer_op<std::int64_t>(op, old, b, c)
                     : integer_op<std::uint64_t>(op, old, b, c);
  if (t.bits == 16) return integer_op<std::uint16_t>(op, old, b, c);
  return is_signed ? integer_op<std::int32_t>(op, old, b, c)
                   : integer_op<std::uint32_t>(op, old, b, c);
}

// The commonest of all.
bool is_plain_add(const Inst& in) {
  return static_cast<AtomicOp>(in.sub) == AtomicOp::kAdd && in.type.bits == 32 &&
         (in.type.kind == Type::kUnsigned || in.type.kind == Type::kSigned);
}

// Of fixed sizes, or each would be a call; never part of a word that is then read whole, which
// waits for the store.
inline std::uint64_t load_element(const std::uint8_t* from, int size) {
  if (size == 4) {
    std::uint32_t word;
    std::memcpy(&word, from, 4);
    return word;
  }
  std::uint64_t v = 0;
  if (size == 8)
    std::memcpy(&v, from, 8);
  else
    std::memcpy(&v, from, static_cast<std::size_t>(size));
  return v;
}
inline void store_element(std::uint8_t* to, int size, std::uint64_t v) {
  if (size == 4)
    std::memcpy(to, &v, 4);
  else if (size == 8)
    std::memcpy(to, &v, 8);
  else
    std::memcpy(to, &v, static_cast<std::size_t>(size));
}

// Where other threads' blocks may do the same: one of those that commute (traits.cpp), so nobody
// asks for the old value. True when the word changed.
template <class T>
bool apply_together(const Inst& in, std::uint8_t* data, std::uint64_t value) {
  const std::atomic_ref<T> word(*reinterpret_cast<T*>(data));
  if (static_cast<AtomicOp>(in.sub) == AtomicOp::kAdd) {
    word.fetch_add(static_cast<T>(value), std::memory_order_relaxed);
    return static_cast<T>(value) != 0;
  }
  T old = word.load(std::memory_order_relaxed);
  while (true) {
    const T next = static_cast<T>(apply(in, old, value, 0, true));
    if (next == old) return false;
    if (word.compare_exchange_weak(old, next, std::memory_order_relaxed)) return true;
  }
}

}  // namespace

std::uint64_t apply_atomic(const Inst& in, std::uint64_t old, std::uint64_t operand) {
  return apply(in, old, operand, 0, false);  // an H200's bulk reductions keep subnormals
}

std::uint64_t apply_global_atomic(const Inst& in, std::uint64_t old, std::uint64_t operand) {
  return apply(in, old, operand, 0, true);
}

// The lanes of a 32-bit atomic on this block's shared memory, in order, up to the first about which
// the checkers are in doubt. address_ - base lies in shared memory for all of them.
std::uint32_t Block::sure_atomics(const Warp& w, const Inst& in, std::uint32_t mask,
                                  std::uint64_t base) {
  if (!check_races_ && !check_init_) return mask;
  if (check_races_ && shadow_.keeps_sites()) return 0;
  const FastShadow fast(clocks_, w.index, true);
  const int shift = shadow_.shift();
  const bool replaces = static_cast<AtomicOp>(in.sub) == AtomicOp::kExch;
  std::uint8_t* const written = shadow_.written();
  Cell* const cells = &shadow_.cell(0);
  std::uint32_t sure = 0;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t first = (address_[lane] - base) >> shift;
    for (std::uint64_t g = first; g < first + (4u >> shift); ++g) {
      if (check_init_ && !written[g]) {
        if (!replaces) return sure;
        written[g] = 1;
      }
      // Noted again by whoever goes through the rules, to the same effect.
      if (check_races_ && !fast.atomic(cells[g], static_cast<std::uint32_t>(lane))) return sure;
    }
    sure |= 1u << lane;
  }
  return sure;
}

// Without a branch for each lane; true when some word changed.
bool Block::apply_shared(const Inst& in, std::uint32_t mask, std::uint64_t base) {
  std::uint8_t* const data = shared_.data() - base;
  const Slot* const slots = function_->extra.data() + in.extra;
  const std::uint32_t* const values = reg32(slots[0]);
  std::uint32_t unasked[32];
  std::uint32_t* const results = slots[1] == kNone ? unasked : reg32(slots[1]);
  std::uint32_t changes = 0;
  const auto each = [&](auto&& next_of) {
    const auto one = [&](int lane) {
      std::uint8_t* const at = data + address_[lane];
      std::uint32_t old;
      std::memcpy(&old, at, 4);
      const std::uint32_t next = next_of(old, values[lane]);
      std::memcpy(at, &next, 4);
      changes |= old ^ next;
      results[lane] = old;
    };
    if (mask == 0xFFFFFFFFu)
      for (int lane = 0; lane < 32; ++lane) one(lane);
    else
      for (std::uint32_t m = mask; m; m &= m - 1) one(std::countr_zero(m));
  };
  if (is_plain_add(in))
    each([](std::uint32_t old, std::uint32_t value) { return old + value; });
  else
    each([&](std::uint32_t old, std::uint32_t value) {
      return static_cast<std::uint32_t>(apply(in, old, value, 0, false));
    });
  return changes != 0;
}

// Of the lanes of a 32-bit atomic on shared memory those that need nothing special; `changed`: some
// word did.
std::uint32_t Block::shared_atomics(const Warp& w, const Inst& in, std::uint32_t mask,
                                    bool& changed) {
  if (in.vec != 1 || in.esize != 4 || in.dst_wide || in.c != kNone || in.type.bits != 32) return 0;
  if (in.space != Space::kShared && in.space != Space::kGeneric) return 0;
  const std::uint64_t base = in.space == Space::kGeneric ? kSharedBase : 0;
  if (!all_shared(4, base)) return 0;
  if (in.variable != 0) {
    const Bounds bounds = shared_bounds(in);
    if (!bounds.hold(summary_.lowest - base, 4) || !bounds.hold(summary_.highest - base, 4))
      return 0;
  }
  const std::uint32_t sure = sure_atomics(w, in, mask, base);
  if (sure != 0) changed = apply_shared(in, sure, base);
  return sure;
}

bool Block::counts_for_all(const Inst& in, std::uint32_t mask) const {
  if (!run_.options->share_counters || run_.chosen >= run_.blocks_in_grid || in.vec != 1)
    return false;
  const auto op = static_cast<AtomicOp>(in.sub);
  const bool integer = in.type.kind == Type::kUnsigned || in.type.kind == Type::kSigned;
  if (!integer || in.type.bits < 32 || (op != AtomicOp::kAdd && op != AtomicOp::kInc)) return false;
  const std::uint64_t address = address_[std::countr_zero(mask)];
  for (std::uint32_t m = mask; m; m &= m - 1)
    if (address_[std::countr_zero(m)] != address) return false;
  return true;
}

// The first of the warps that run finds the counter as the first of the grid does, the last as the
// last, where each block adds once.
void Block::add_left_out(const Inst& in, std::uint32_t mask, std::uint8_t* data) {
  const bool wraps = static_cast<AtomicOp>(in.sub) == AtomicOp::kInc;
  const Slot from = function_->extra[in.extra];
  const auto operand = [&](int lane) {
    return in.dst_wide ? reg64(from)[lane] : std::uint64_t{reg32(from)[lane]};
  };
  const auto draws_before = [&](std::uint64_t k) {  // of all blocks, before this sample's k-th
    const unsigned __int128 ran = run_.chosen, all = run_.blocks_in_grid;
    if (k >= ran) return static_cast<std::uint64_t>(all + (k - ran) * all / ran);
    return ran == 1 ? 0 : static_cast<std::uint64_t>((all - 1) * k / (ran - 1));
  };
  SharedCounter& counter = run_.shared_counters[address_[std::countr_zero(mask)]];
  if (counter.draws == 0) {
    counter.before = load_element(data, in.esize);
    counter.bytes = in.esize;
  } else {
    const std::uint64_t others = draws_before(counter.draws) - draws_before(counter.draws - 1) - 1;
    const std::uint64_t old = load_element(data, in.esize);
    std::uint64_t next = old + others * counter.added;
    if (const std::uint64_t top = operand(std::countr_zero(mask)); wraps && top != ~0ull)
      next %= top + 1;
    store_element(data, in.esize, next);
  }
  ++counter.draws;
  counter.added = 0;
  for (std::uint32_t m = mask; m; m &= m - 1)
    counter.added += wraps ? 1 : operand(std::countr_zero(m));
}

bool Block::atomic(Warp& w, const Inst& in, std::uint32_t mask) {
  dropped_ = 0;
  compute_addresses(w, in, mask);
  if (w.tainting && !tainted_address(w, in, mask)) {
    mask &= ~dropped_;
    if (!dropped_ || !mask) return dropped_ != 0;
  }
  const std::uint32_t total = in.esize * in.vec;
  const Slot* values = function_->extra.data() + in.extra;
  const Slot* results = values + in.vec;
  const int first_lane = std::countr_zero(mask);
  const auto is_shared = [&](int lane) {
    return in.space == Space::kShared ||
           (in.space == Space::kGeneric && window(address_[lane]) == Space::kShared);
  };
  if (counting_) {
    count_atomic(w, in, mask, is_shared(first_lane));
    if (!is_shared(first_lane)) note_turn(w, in, mask);
  }
  if (in.publishes && check_races_) publish(w, in.release);
  if (orders_cluster()) order_in_cluster(w, in);
  if (check_init_ && w.tainting) {
    for (int v = 0; v < in.vec; ++v) {
      const std::uint32_t taint =
          (slot_taint(w, in, values[v]) | (in.c != kNone ? slot_taint(w, in, in.c) : 0)) & mask;
      if (taint && !tainted_value(w, in, taint, "is used by an atomic")) return false;
    }
  }
  if (in.release) land_all_late();
  if (!late_.empty()) land_late(w, summary_.lowest, summary_.highest + total);
  if (tracking_ != Tracking::kOff && in.space != Space::kShared) {
    std::uint32_t global = 0;
    for (std::uint32_t m = mask; m; m &= m - 1)
      if (!is_shared(std::countr_zero(m))) global |= m & -m;
    if (global && !note_global(w, in, global)) return false;
  }
  if (check_noncoherent_ && in.space != Space::kShared) {
    std::uint32_t global = 0;
    for (std::uint32_t m = mask; m; m &= m - 1)
      if (!is_shared(std::countr_zero(m))) global |= m & -m;
    note_stored(global, total);
  }
  const bool in_time = run_.words && !is_shared(first_lane);
  if (in_time) keep_words(mask, total);
  bool changed = false;
  const std::uint32_t done = shared_atomics(w, in, mask, changed);
  const FastShadow fast(clocks_, w.index, true);
  const bool adds = is_plain_add(in);
  const bool for_all = counts_for_all(in, mask);
  const bool late = in.unread && in.vec == 1 && static_cast<AtomicOp>(in.sub) != AtomicOp::kCas &&
                    may_be_late(in);
  for (std::uint32_t m = mask & ~done; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint64_t address = address_[lane];
    const bool shared = is_shared(lane);
    std::uint8_t* data;
    dropped_ = 0;
    if (address & (total - 1)) {
      fail_access(w, in, lane, address, "misaligned");
      if (!dropped_) return false;
      continue;
    }
    if (shared && in.space == Space::kGeneric) address -= kSharedBase;
    if (shared && address >= kRankBytes && address < kWindowBytes) {
      data = cluster_data(w, in, lane, address, total);
      if (!data) return false;
    } else if (shared) {
      if (!shared_bounds(in).hold(address, total)) {
        fail_access(w, in, lane, kSharedBase + address, "out-of-bounds");
        if (!dropped_) return false;
        continue;
      }
      data = shared_.data() + address;
      if (check_races_ || check_init_) {
        const int shift = shadow_.shift();
        for (std::uint64_t g = address >> shift; g < (address + total) >> shift; ++g) {
          Cell& cell = shadow_.cell(g);
          if (check_races_ &&
              (shadow_.keeps_sites() || !fast.atomic(cell, static_cast<std::uint32_t>(lane)))) {
            const Cell before = cell;
            if ((note_read(clocks_, cell, w.index, lane, true) ||
                 note_write(clocks_, cell, w.index, lane, true, false)) &&
                !fail_race(w, in, lane, g << shift, before))
              return false;
            // As a reader it is no other side that its write is not.
            if (shadow_.keeps_sites()) shadow_.sites(g).writer = in.place;
          }
          if (check_init_ && !shadow_.written()[g]) {
            if (static_cast<AtomicOp>(in.sub) != AtomicOp::kExch) {
              uninitialised_ =
                  fmt::format("{} (read at line {})", describe(kSharedBase + address), in.line);
              if (!tainted_value(w, in, 1u << lane, "is used by an atomic")) return false;
            }
            shadow_.written()[g] = 1;
          }
        }
      }
    } else {
      if (!find_span(address, total)) {
        fail_access(w, in, lane, address, "out-of-bounds");
        if (!dropped_) return false;
        continue;
      }
      data = span_.data + (address - span_.lo);
      if (span_.page->written) {
        const std::uint64_t at = address - span_.lo;
        if (check_init_ && static_cast<AtomicOp>(in.sub) != AtomicOp::kExch &&
            !bits_all_set(span_.page->written.get(), at, total)) {
          uninitialised_ = fmt::format("{} (read at line {})", describe(address), in.line);
          if (!tainted_value(w, in, 1u << lane, "is used by an atomic")) return false;
        }
        set_written(span_.page->written.get(), at, total);
      }
      span_.allocation->written = true;
      span_.allocation->added_to = true;
      if (for_all && lane == first_lane) add_left_out(in, mask, data);
    }
    if (late && !shared) {
      keep_late(w, in, 1u << lane);
      continue;
    }
    if (run_.concurrent && !shared) {
      const std::uint64_t value =
          in.dst_wide ? reg64(values[0])[lane] : std::uint64_t{reg32(values[0])[lane]};
      const bool did = in.esize == 8 ? apply_together<std::uint64_t>(in, data, value)
                                     : apply_together<std::uint32_t>(in, data, value);
      changed = changed || did;
      continue;
    }
    // A 128-bit compare-and-swap is one of two halves that both must match.
    const bool both = static_cast<AtomicOp>(in.sub) == AtomicOp::kCas && in.vec == 2;
    const bool match = both && std::memcmp(data, &reg64(values[0])[lane], 8) == 0 &&
                       std::memcmp(data + 8, &reg64(values[1])[lane], 8) == 0;
    for (int v = 0; v < in.vec; ++v) {
      const std::uint64_t old = load_element(data + v * in.esize, in.esize);
      const auto operand = [&](Slot s) {
        return in.dst_wide ? reg64(s)[lane] : static_cast<std::uint64_t>(reg32(s)[lane]);
      };
      const std::uint64_t next =
          adds   ? (old + operand(values[v])) & 0xFFFFFFFFu
          : both ? (match ? reg64(in.c + v * kWideHalf)[lane] : old)
                 : apply(in, old, operand(values[v]), in.c != kNone ? operand(in.c) : 0, !shared);
      changed = changed || next != old;
      store_element(data + v * in.esize, in.esize, next);
      if (results[v] == kNone) continue;
      if (in.dst_wide)
        reg64(results[v])[lane] = old;
      else
        reg32(results[v])[lane] = static_cast<std::uint32_t>(old);
    }
  }
  if (in_time) {
    if (changed && static_cast<AtomicOp>(in.sub) == AtomicOp::kCas)
      for_each_word(mask, total, [&](int, std::uint64_t at) { run_.words->take_turns(at); });
    else if (changed)
      note_words(w, mask, total);
    else if (only_reads(in, mask))
      look_back(w, in, mask, results);
  }
  if (changed) {
    ++run_.changes;
    if (run_.watch.word.address != 0) look_at_watch();
  } else if (!in.unread) {  // else nobody waits for what it returns
    w.spinning = true;
    note_poll(w, in, mask);
  }
  if (w.tainting) set_taint(w, in, mask, 0);
  return true;
}

}  // namespace hone::emulator
