// Loads and stores in every space, with bounds, initialisation, races and traffic.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {
namespace {

template <class T>
T get(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// One element of `size` bytes into lane `lane` of a register.
inline void put_lane(void* reg, bool wide, bool sign, int size, int lane,
                     const std::uint8_t* from) {
  std::uint64_t v;
  switch (size) {
    case 1:
      v = sign ? static_cast<std::uint64_t>(std::int64_t{get<std::int8_t>(from)})
               : get<std::uint8_t>(from);
      break;
    case 2:
      v = sign ? static_cast<std::uint64_t>(std::int64_t{get<std::int16_t>(from)})
               : get<std::uint16_t>(from);
      break;
    case 4:
      v = sign ? static_cast<std::uint64_t>(std::int64_t{get<std::int32_t>(from)})
               : get<std::uint32_t>(from);
      break;
    default:
      v = get<std::uint64_t>(from);
      break;
  }
  if (wide)
    static_cast<std::uint64_t*>(reg)[lane] = v;
  else
    static_cast<std::uint32_t*>(reg)[lane] = static_cast<std::uint32_t>(v);
}
inline void get_lane(const void* reg, bool wide, int size, int lane, std::uint8_t* to) {
  const std::uint64_t v = wide ? static_cast<const std::uint64_t*>(reg)[lane]
                               : static_cast<const std::uint32_t*>(reg)[lane];
  std::memcpy(to, &v, size);
}

}  // namespace

Space Block::window(std::uint64_t a) const {
  if (a < kModuleBase) return Space::kGlobal;
  if (a - kSharedBase < kWindowBytes) return Space::kShared;
  if (a - kLocalBase < kWindowBytes) return Space::kLocal;
  if (a - kConstBase < kWindowBytes) return Space::kConst;
  if (a - kParamBase < kWindowBytes) return Space::kParam;
  return Space::kGlobal;
}

void Block::compute_addresses(Warp&, const Inst& in, std::uint32_t mask) {
  if (in.addr_wide) {
    const auto* a = reg64(in.a);
    for (int i = 0; i < 32; ++i) address_[i] = a[i] + static_cast<std::uint64_t>(in.imm);
  } else {
    const auto* a = reg32(in.a);
    for (int i = 0; i < 32; ++i)
      address_[i] = static_cast<std::uint32_t>(a[i] + static_cast<std::uint32_t>(in.imm));
  }
  if (mask != 0xFFFFFFFFu) {  // lanes that are off look like one that is on
    const std::uint64_t some = address_[std::countr_zero(mask)];
    for (int i = 0; i < 32; ++i) address_[i] = (mask >> i & 1) ? address_[i] : some;
  }
}

bool Block::access(Warp& w, const Inst& in, std::uint32_t mask) {
  if (in.space == Space::kParam && in.addr_wide && in.a < 0) {  // the common ld.param [name+k]
    const auto& p = run_.launch->parameters;
    const std::uint64_t at = reg64(in.a)[0] + static_cast<std::uint64_t>(in.imm);
    const std::uint32_t total = in.esize * in.vec;
    if (at + total > p.size())
      return fail(Verdict::kFault, "parameter read beyond the parameter block", w,
                  std::countr_zero(mask), in.line);
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
  std::uint64_t low_bits = 0;
  for (int i = 0; i < 32; ++i) low_bits |= address_[i];
  if (low_bits & (total - 1)) {
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (address_[lane] & (total - 1))
        return fail_access(w, in, lane, address_[lane], "misaligned");
    }
  }
  if (in.ordered) w.spinning = true;
  load_taint_ = 0;
  const auto finish = [&](bool ok) {
    if (ok && in.kind == Kind::kLoad && (w.tainting || load_taint_)) {
      if (load_taint_) w.tainting = true;
      set_taint(w, in, mask, load_taint_);
    }
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

bool Block::global_access(Warp& w, const Inst& in, std::uint32_t mask) {
  const bool store = in.kind == Kind::kStore;
  const std::uint32_t total = in.esize * in.vec;
  const Slot* slots = function_->extra.data() + in.extra;
  if (counting_) count_global(in, mask, store, w);
  if (store && w.tainting) {
    for (int v = 0; v < in.vec; ++v) {
      const std::uint32_t taint = slot_taint(w, in, slots[v]) & mask;
      if (taint && !tainted_value(w, in, taint, "is stored to global memory")) return false;
    }
  }
  std::uint64_t lo = address_[0];
  std::uint64_t hi = address_[0];
  for (int i = 1; i < 32; ++i) {
    lo = std::min(lo, address_[i]);
    hi = std::max(hi, address_[i]);
  }
  if (!span_.holds(lo, total)) {
    if (!run_.memory->span(lo, total, span_)) {
      span_ = Span{};
      for (std::uint32_t m = mask; m; m &= m - 1) {
        const int lane = std::countr_zero(m);
        if (!run_.memory->span(address_[lane], total, span_)) {
          span_ = Span{};
          return fail_access(w, in, lane, address_[lane], "out-of-bounds");
        }
      }
    }
  }
  const bool one_span = hi - span_.lo < span_.bytes && span_.bytes - (hi - span_.lo) >= total;
  if (one_span && mask == 0xFFFFFFFFu && in.esize == 4 && in.vec == 1 && !in.dst_wide &&
      !span_.page->written) {
    auto* base = reinterpret_cast<std::uint32_t*>(span_.data);
    if (slots[0] == kNone) return true;
    auto* r = reg32(slots[0]);
    if (store) {
      span_.allocation->written = true;
      for (int i = 0; i < 32; ++i) base[(address_[i] - span_.lo) >> 2] = r[i];
    } else {
      for (int i = 0; i < 32; ++i) r[i] = base[(address_[i] - span_.lo) >> 2];
    }
    return true;
  }
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t address = address_[lane];
    if (!span_.holds(address, total) && !run_.memory->span(address, total, span_)) {
      span_ = Span{};
      return fail_access(w, in, lane, address, "out-of-bounds");
    }
    const std::uint64_t at = address - span_.lo;
    std::uint8_t* data = span_.data + at;
    if (store) {
      for (int v = 0; v < in.vec; ++v)
        get_lane(reg(slots[v]), in.dst_wide, in.esize, lane, data + v * in.esize);
      if (span_.page->written) bits_set(span_.page->written.get(), at, total);
      span_.allocation->written = true;
    } else {
      for (int v = 0; v < in.vec; ++v)
        if (slots[v] != kNone)
          put_lane(reg(slots[v]), in.dst_wide, in.sign_extend, in.esize, lane, data + v * in.esize);
      if (check_init_ && span_.page->written &&
          !bits_all_set(span_.page->written.get(), at, total)) {
        if (!load_taint_)
          uninitialised_ = fmt::format("{} (read at line {})", describe(address), in.line);
        load_taint_ |= 1u << lane;
      }
    }
  }
  return true;
}

bool Block::shared_access(Warp& w, const Inst& in, std::uint32_t mask) {
  const bool store = in.kind == Kind::kStore;
  const std::uint32_t total = in.esize * in.vec;
  const Slot* slots = function_->extra.data() + in.extra;
  std::uint64_t hi = address_[0];
  for (int i = 1; i < 32; ++i) hi = std::max(hi, address_[i]);
  if (hi + total > run_.shared_bytes || hi + total < total) {
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (address_[lane] + total > run_.shared_bytes || address_[lane] + total < total)
        return fail_access(w, in, lane, kSharedBase + address_[lane], "out-of-bounds");
    }
  }
  if (counting_) {
    (store ? run_.counters.shared_stores : run_.counters.shared_loads)++;
    run_.counters.shared_wavefronts += shared_wavefronts(in, mask);
    access_latency_ = static_cast<std::uint32_t>(run_.profile->shared_latency);
  }
  if (check_races_ || check_init_) {
    const int shift = shadow_.shift();
    const auto granules = static_cast<int>(total >> shift);
    std::uint64_t previous = ~0ull;
    std::uint32_t taint = 0;
    if (store && w.tainting)
      for (int v = 0; v < in.vec; ++v) taint |= slot_taint(w, in, slots[v]);
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      const std::uint64_t first = address_[lane] >> shift;
      if (!store && first == previous) {
        if (check_races_)
          for (int g = 0; g < granules; ++g) shadow_.cell(first + g).reader.lane = kManyLanes;
        if (load_taint_ >> previous_lane_ & 1) load_taint_ |= 1u << lane;
        continue;
      }
      previous = first;
      previous_lane_ = lane;
      std::uint8_t bytes[64];
      if (store)
        for (int v = 0; v < in.vec; ++v)
          get_lane(reg(slots[v]), in.dst_wide, in.esize, lane, bytes + v * in.esize);
      for (int g = 0; g < granules; ++g) {
        Cell& cell = shadow_.cell(first + g);
        if (check_races_) {
          bool race;
          if (store) {
            const bool same = std::memcmp(shared_.data() + ((first + g) << shift),
                                          bytes + (g << shift), 1u << shift) == 0;
            const Cell before = cell;
            race = note_write(clocks_, cell, w.index, lane, in.ordered, same);
            if (race) cell = before;
          } else {
            race = note_read(clocks_, cell, w.index, lane, in.ordered);
          }
          if (race) return fail_race(w, in, lane, (first + g) << shift, cell);
        }
        if (check_init_) {
          std::uint8_t& written = shadow_.written()[first + g];
          if (store) {
            written = !(taint >> lane & 1);
          } else if (!written) {
            if (!load_taint_)
              uninitialised_ = fmt::format("{} (read at line {})",
                                           describe(kSharedBase + address_[lane]), in.line);
            load_taint_ |= 1u << lane;
          }
        }
      }
      // Later lanes of this store see what this one wrote.
      if (store) std::memcpy(shared_.data() + address_[lane], bytes, total);
    }
    if (store) return true;
  }
  if (mask == 0xFFFFFFFFu && in.esize == 4 && in.vec == 1 && !in.dst_wide) {
    if (slots[0] == kNone) return true;
    auto* base = reinterpret_cast<std::uint32_t*>(shared_.data());
    auto* r = reg32(slots[0]);
    if (store)
      for (int i = 0; i < 32; ++i) base[address_[i] >> 2] = r[i];
    else
      for (int i = 0; i < 32; ++i) r[i] = base[address_[i] >> 2];
    return true;
  }
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

bool Block::local_access(Warp& w, const Inst& in, std::uint32_t mask) {
  const bool store = in.kind == Kind::kStore;
  const std::uint32_t total = in.esize * in.vec;
  const Slot* slots = function_->extra.data() + in.extra;
  const Entry& top = w.stack.back();
  const std::uint64_t limit = top.local + function_->local_bytes;
  if (counting_) {
    ++run_.counters.local_accesses;
    access_latency_ = static_cast<std::uint32_t>(run_.profile->l1_latency);
  }
  std::uint32_t taint = 0;
  if (store && w.tainting)
    for (int v = 0; v < in.vec; ++v) taint |= slot_taint(w, in, slots[v]);
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t at = address_[lane];
    if (at + total > limit || at + total < total)
      return fail_access(w, in, lane, kLocalBase + at, "out-of-bounds");
    const std::size_t where = std::size_t{w.local_stride} * lane + at;
    std::uint8_t* data = w.local.data() + where;
    for (int v = 0; v < in.vec; ++v) {
      if (slots[v] == kNone) continue;
      if (store)
        get_lane(reg(slots[v]), in.dst_wide, in.esize, lane, data + v * in.esize);
      else
        put_lane(reg(slots[v]), in.dst_wide, in.sign_extend, in.esize, lane, data + v * in.esize);
    }
    if (!check_init_) continue;
    std::uint8_t* written = w.local_written.data() + where;
    if (store) {
      std::memset(written, !(taint >> lane & 1), total);
    } else if (std::memchr(written, 0, total)) {
      if (!load_taint_)
        uninitialised_ = fmt::format("local memory at offset {} (read at line {})", at, in.line);
      load_taint_ |= 1u << lane;
    }
  }
  return true;
}

bool Block::bank_access(Warp& w, const Inst& in, std::uint32_t mask, const std::uint8_t* bytes,
                        std::uint64_t size, std::uint64_t base) {
  const std::uint32_t total = in.esize * in.vec;
  const Slot* slots = function_->extra.data() + in.extra;
  if (counting_) ++run_.counters.constant_loads;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t at = address_[lane] - base;
    if (in.kind == Kind::kStore || at >= size || size - at < total)
      return fail_access(w, in, lane, address_[lane], "out-of-bounds");
    for (int v = 0; v < in.vec; ++v)
      if (slots[v] != kNone)
        put_lane(reg(slots[v]), in.dst_wide, in.sign_extend, in.esize, lane,
                 bytes + at + v * in.esize);
  }
  return true;
}

bool Block::formal_access(Warp& w, const Inst& in, std::uint32_t mask) {
  const bool store = in.kind == Kind::kStore;
  const std::uint32_t total = in.esize * in.vec;
  const Slot* slots = function_->extra.data() + in.extra;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t at = address_[lane];
    if (at + total > function_->formal_bytes || at + total < total)
      return fail_access(w, in, lane, at, "out-of-bounds");
    std::uint8_t* data = frame_ + function_->formal_offset + lane * function_->formal_bytes + at;
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

// Cycles a shared access occupies the 32 four-byte banks: distinct words per bank; 8- and 16-byte
// accesses go by half- and quarter-warps.
std::uint32_t Block::shared_wavefronts(const Inst& in, std::uint32_t mask) const {
  const std::uint32_t total = in.esize * in.vec;
  const std::uint32_t words = std::max(1u, total / 4);
  const int lanes_per_group = static_cast<int>(32 / words);
  std::uint32_t cycles = 0;
  for (int first = 0; first < 32; first += lanes_per_group) {
    std::uint32_t used = 0;
    std::uint64_t word_of[32];
    std::uint64_t more[32][4];
    std::uint8_t count[32];
    std::uint32_t worst = 0;
    for (int lane = first; lane < first + lanes_per_group; ++lane) {
      if (!(mask >> lane & 1)) continue;
      for (std::uint32_t k = 0; k < words; ++k) {
        const std::uint64_t word = (address_[lane] >> 2) + k;
        const auto bank = static_cast<std::uint32_t>(word & 31);
        if (!(used >> bank & 1)) {
          used |= 1u << bank;
          word_of[bank] = word;
          count[bank] = 1;
          worst = std::max(worst, 1u);
          continue;
        }
        if (word_of[bank] == word) continue;
        bool known = false;
        for (int j = 1; j < count[bank] && j < 5; ++j) known = known || more[bank][j - 1] == word;
        if (known) continue;
        if (count[bank] < 5) more[bank][count[bank] - 1] = word;
        worst = std::max<std::uint32_t>(worst, ++count[bank]);
      }
    }
    cycles += worst;
  }
  return std::max(cycles, 1u);
}

// Distinct sectors of a global access: through the L1 model, and into the counters.
void Block::count_global(const Inst& in, std::uint32_t mask, bool store, Warp&) {
  const std::uint32_t total = in.esize * in.vec;
  std::uint64_t line[64];
  std::uint32_t sectors[64];
  int n = 0;
  std::uint32_t degree = 0;
  bool contiguous = mask == 0xFFFFFFFFu;
  bool broadcast = true;
  if (contiguous) {
    std::uint64_t off = 0;
    std::uint64_t differ = 0;
    for (int i = 0; i < 32; ++i) {
      off |= address_[i] ^ (address_[0] + static_cast<std::uint64_t>(i) * total);
      differ |= address_[i] ^ address_[0];
    }
    contiguous = off == 0;
    broadcast = differ == 0;
  } else {
    std::uint64_t differ = 0;
    for (int i = 0; i < 32; ++i) differ |= address_[i] ^ address_[0];
    broadcast = differ == 0;
  }
  const auto span_bits = [&](std::uint64_t a) {
    const auto first = static_cast<std::uint32_t>((a >> 5) & 3);
    const auto last = static_cast<std::uint32_t>(((a + total - 1) >> 5) & 3);
    return ((2u << last) - 1) & ~((1u << first) - 1);
  };
  if (broadcast) {
    line[0] = address_[0] >> 7;
    sectors[0] = span_bits(address_[0]);
    n = 1;
    degree = 1;
  } else if (contiguous) {
    const std::uint64_t begin = address_[0];
    const std::uint64_t end = begin + 32ull * total;
    for (std::uint64_t l = begin >> 7; l <= (end - 1) >> 7; ++l) {
      const std::uint64_t lo = std::max(begin, l << 7);
      const std::uint64_t hi = std::min(end, (l + 1) << 7) - 1;
      line[n] = l;
      sectors[n++] = ((2u << ((hi >> 5) & 3)) - 1) & ~((1u << ((lo >> 5) & 3)) - 1);
    }
    degree = std::max(1u, total / 4);
  } else {
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const std::uint64_t a = address_[std::countr_zero(m)];
      const std::uint64_t l = a >> 7;
      int k = n - 1;
      while (k >= 0 && line[k] != l) --k;
      if (k < 0) {
        k = n++;
        line[k] = l;
        sectors[k] = 0;
      }
      sectors[k] |= span_bits(a);
    }
    degree = shared_wavefronts(in, mask);
  }
  std::uint32_t count = 0;
  for (int k = 0; k < n; ++k) count += static_cast<std::uint32_t>(std::popcount(sectors[k]));
  // Measured on an H200: max(bank conflict degree, 0.3 x distinct lines) cycles.
  run_.l1_wavefronts_x10 += std::max(10 * degree, 3 * static_cast<std::uint32_t>(n));
  Counters& c = run_.counters;
  if (store) {
    ++c.global_stores;
    c.global_store_sectors += count;
    for (int k = 0; k < n; ++k) touch_line(line[k], sectors[k]);
    return;
  }
  ++c.global_loads;
  c.global_load_sectors += count;
  access_latency_ = static_cast<std::uint32_t>(run_.profile->l1_latency);
  for (int k = 0; k < n; ++k) {
    const std::uint32_t missing = in.bypass_l1 ? sectors[k] : run_.l1.access(line[k], sectors[k]);
    if (!missing) continue;
    c.l1_miss_sectors += static_cast<std::uint32_t>(std::popcount(missing));
    const std::uint64_t before = run_.touched_sectors;
    touch_line(line[k], missing);
    const double latency =
        run_.touched_sectors != before ? run_.profile->dram_latency : run_.profile->l2_latency;
    access_latency_ = std::max(access_latency_, static_cast<std::uint32_t>(latency));
  }
}

void Block::touch_line(std::uint64_t line, std::uint32_t sectors) {
  run_.traffic_sectors += static_cast<std::uint32_t>(std::popcount(sectors));
  const std::uint64_t address = line << 7;
  if (!span_.holds(address, 1)) {
    Span other;
    if (!run_.memory->span(address, 1, other)) return;
    span_ = other;
  }
  Page& page = *span_.page;
  if (page.epoch != run_.memory->epoch) {
    std::memset(page.touched, 0, sizeof page.touched);
    page.epoch = run_.memory->epoch;
  }
  const std::uint64_t sector = (address - span_.allocation->base) % kPageBytes / 32;
  std::uint64_t& word = page.touched[sector >> 6];
  const std::uint64_t bits = static_cast<std::uint64_t>(sectors) << (sector & 63);
  run_.touched_sectors += static_cast<std::uint32_t>(std::popcount(bits & ~word));
  word |= bits;
}

}  // namespace hone::emulator
