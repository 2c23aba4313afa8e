// Loads and stores in every space, with bounds, initialisation, races and traffic.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {
namespace {

constexpr std::uint8_t kBitsOf4[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};

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
  summary_ = in.addr_wide
                 ? loops_.wide(address_, reg64(in.a), static_cast<std::uint64_t>(in.imm), mask)
                 : loops_.narrow(address_, reg32(in.a), static_cast<std::uint32_t>(in.imm), mask);
}

const Pattern& Block::pattern(const Inst& in, std::uint32_t mask) {
  Pattern& p = patterns_[(reinterpret_cast<std::uintptr_t>(&in) / sizeof(Inst)) & 255];
  if (p.inst == &in && p.mask == mask && loops_.same_pattern(address_, p.relative)) return p;
  p.inst = &in;
  p.mask = mask;
  p.distinct = 0;
  for (int i = 0; i < 32; ++i) p.relative[i] = address_[i] - address_[0];
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t r = p.relative[lane];
    int k = p.distinct - 1;
    while (k >= 0 && p.address[k] != r) --k;
    if (k >= 0) {
      p.many[k] = true;
      continue;
    }
    k = p.distinct++;
    p.address[k] = r;
    p.lane[k] = static_cast<std::uint8_t>(lane);
    p.many[k] = false;
  }
  p.cycles = bank_cycles(in, mask);
  return p;
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
  if (summary_.low_bits & (total - 1)) {
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
    summary_.lowest = *std::min_element(address_, address_ + 32);
    summary_.highest = *std::max_element(address_, address_ + 32);
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

// Whole elements of register width, all in one place: a gather per element.
bool Block::gather(const Inst& in, std::uint32_t mask, const std::uint8_t* base, std::uint64_t lo) {
  const Slot* slots = function_->extra.data() + in.extra;
  if (in.esize == 4 && !in.dst_wide) {
    for (int v = 0; v < in.vec; ++v)
      if (slots[v] != kNone) loops_.gather4(reg32(slots[v]), base + 4 * v, address_, lo, mask);
    return true;
  }
  if (in.esize == 8 && in.dst_wide) {
    for (int v = 0; v < in.vec; ++v)
      if (slots[v] != kNone) loops_.gather8(reg64(slots[v]), base + 8 * v, address_, lo, mask);
    return true;
  }
  return false;
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
  const std::uint64_t lo = summary_.lowest;
  const std::uint64_t hi = summary_.highest;
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
  const bool tracked = span_.page && span_.page->written != nullptr;
  if (one_span && !store && (!tracked || !check_init_) && gather(in, mask, span_.data, span_.lo))
    return true;
  if (one_span && store && mask == 0xFFFFFFFFu && in.esize == 4 && in.vec == 1 && !in.dst_wide &&
      !tracked) {
    auto* base = reinterpret_cast<std::uint32_t*>(span_.data);
    const auto* r = reg32(slots[0]);
    span_.allocation->written = true;
    for (int i = 0; i < 32; ++i) base[(address_[i] - span_.lo) >> 2] = r[i];
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
  const std::uint64_t hi = summary_.highest;
  if (summary_.lowest > hi || hi + total > run_.shared_bytes || hi + total < total) {
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (address_[lane] + total > run_.shared_bytes || address_[lane] + total < total)
        return fail_access(w, in, lane, kSharedBase + address_[lane], "out-of-bounds");
    }
  }
  if (counting_) {
    (store ? run_.counters.shared_stores : run_.counters.shared_loads)++;
    run_.counters.shared_wavefronts += pattern(in, mask).cycles;
    access_latency_ = static_cast<std::uint32_t>(run_.profile->shared_latency);
  }
  if ((check_races_ || check_init_) &&
      !(store ? checked_shared_store(w, in, mask) : checked_shared_load(w, in, mask)))
    return false;
  if (!store && gather(in, mask, shared_.data(), 0)) return true;
  if (store && mask == 0xFFFFFFFFu && in.esize == 4 && in.vec == 1 && !in.dst_wide) {
    auto* base = reinterpret_cast<std::uint32_t*>(shared_.data());
    const auto* r = reg32(slots[0]);
    for (int i = 0; i < 32; ++i) base[address_[i] >> 2] = r[i];
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

// Notes the reads of each distinct place once.
bool Block::checked_shared_load(Warp& w, const Inst& in, std::uint32_t mask) {
  const int shift = shadow_.shift();
  const auto granules = (in.esize * in.vec) >> shift;
  const Pattern& p = pattern(in, mask);
  for (int k = 0; k < p.distinct; ++k) {
    const std::uint64_t address = address_[0] + p.address[k];
    for (int g = 0; g < granules; ++g) {
      const std::uint64_t granule = (address >> shift) + static_cast<std::uint64_t>(g);
      if (check_races_) {
        Cell& cell = shadow_.cell(granule);
        if (note_read(clocks_, cell, w.index, p.lane[k], in.ordered))
          return fail_race(w, in, p.lane[k], granule << shift, cell);
        if (p.many[k]) {
          // Some other lane than the first reads it too: the writer's own lane does not excuse it.
          if (unordered(clocks_, cell.writer, w.index, kNobody) &&
              !(in.ordered && cell.writer.ordered) && cell.writer.lane != kManyLanes)
            return fail_race(w, in, p.lane[k], granule << shift, cell);
          cell.reader.lane = kManyLanes;
        }
      }
      if (check_init_ && !shadow_.written()[granule]) {
        if (!load_taint_)
          uninitialised_ =
              fmt::format("{} (read at line {})", describe(kSharedBase + address), in.line);
        for (std::uint32_t m = mask; m; m &= m - 1)
          if (address_[std::countr_zero(m)] == address) load_taint_ |= 1u << std::countr_zero(m);
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
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t first = address_[lane] >> shift;
    std::uint8_t* data = shared_.data() + address_[lane];
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
        if (note_write(clocks_, cell, w.index, lane, in.ordered, same))
          return fail_race(w, in, lane, (first + g) << shift, before);
      }
      if (check_init_) shadow_.written()[first + g] = !(taint >> lane & 1);
    }
    std::memcpy(data, bytes, total);
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
std::uint32_t Block::bank_cycles(const Inst& in, std::uint32_t mask) const {
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
  const Pattern& p = pattern(in, mask);
  for (int d = 0; d < p.distinct; ++d) {
    const std::uint64_t a = address_[0] + p.address[d];
    const std::uint64_t l = a >> 7;
    const auto from = static_cast<std::uint32_t>((a >> 5) & 3);
    const auto to = static_cast<std::uint32_t>(((a + total - 1) >> 5) & 3);
    int k = n - 1;
    while (k >= 0 && line[k] != l) --k;
    if (k < 0) {
      k = n++;
      line[k] = l;
      sectors[k] = 0;
    }
    sectors[k] |= ((2u << to) - 1) & ~((1u << from) - 1);
  }
  const std::uint32_t degree = p.cycles;
  std::uint32_t count = 0;
  for (int k = 0; k < n; ++k) count += kBitsOf4[sectors[k]];
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
    c.l1_miss_sectors += kBitsOf4[missing];
    const std::uint64_t before = run_.touched_sectors;
    touch_line(line[k], missing);
    const double latency =
        run_.touched_sectors != before ? run_.profile->dram_latency : run_.profile->l2_latency;
    access_latency_ = std::max(access_latency_, static_cast<std::uint32_t>(latency));
  }
}

void Block::touch_line(std::uint64_t line, std::uint32_t sectors) {
  run_.traffic_sectors += kBitsOf4[sectors];
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
  const std::uint32_t fresh = kBitsOf4[((bits & ~word) >> (sector & 63)) & 15];
  run_.touched_sectors += fresh;
  span_.allocation->touched += fresh;
  word |= bits;
}

}  // namespace hone::emulator
