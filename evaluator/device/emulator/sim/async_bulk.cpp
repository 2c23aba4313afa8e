// Bulk copies (cp.async.bulk, cp.reduce.async.bulk), plain and through a tensor
// map. Loads complete an mbarrier and land when somebody looks at it; stores
// are made at the wait for their bulk group.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "evaluator/device/emulator/sim/async.h"
#include "evaluator/device/emulator/sim/tensor_map.h"

namespace hone::emulator {
namespace {
constexpr std::size_t kMostUnwritten = 1 << 20;  // of one warp's bulk stores, once read [B]

Type element_type(TensorMapSpec::Type t) {
  using Map = TensorMapSpec::Type;
  const auto bits = static_cast<std::uint8_t>(8 * element_bytes(t));
  switch (t) {
    case Map::kS32:
    case Map::kS64:
      return {Type::kSigned, bits};
    case Map::kF16:
    case Map::kF32:
    case Map::kF64:
    case Map::kTf32:
      return {Type::kFloat, bits};
    case Map::kBF16:
      return {Type::kBFloat, bits};
    default:
      return {Type::kUnsigned, bits};
  }
}

// PTX ISA, cp.reduce.async.bulk: which operations a type has.
bool reducible(AtomicOp op, Type t) {
  const bool real = t.kind == Type::kFloat || t.kind == Type::kBFloat;
  switch (op) {
    case AtomicOp::kAdd:
      return real || t.bits >= 32;
    case AtomicOp::kMin:
    case AtomicOp::kMax:
      return real ? t.bits == 16 : t.bits >= 32;
    case AtomicOp::kInc:
    case AtomicOp::kDec:
      return t.kind == Type::kUnsigned && t.bits == 32;
    default:
      return !real && t.bits >= 32;
  }
}
void round_to_tf32(std::vector<std::uint8_t>& words) {
  for (std::size_t i = 0; i + 4 <= words.size(); i += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, words.data() + i, 4);
    word = nearest_tf32(word);
    std::memcpy(words.data() + i, &word, 4);
  }
}
}  // namespace

/// What one lane copies, byte for byte: runs of consecutive bytes on both
/// sides.
struct Async::Pieces {
  struct Piece {
    std::uint64_t shared = 0;  ///< offset
    std::uint64_t global = 0;  ///< address; 0: beyond the tensor
    std::uint64_t bytes = 0;
  };
  std::vector<Piece> list;
  Async* to = nullptr;                ///< the block that a load goes to
  std::uint64_t base = 0, bytes = 0;  ///< of the place in shared memory
  Type type;                          ///< of the tensor
  bool nan = false;                   ///< fills with NaN, not zero
  bool as_tf32 = false;
};

bool Async::read_map(Warp& w, const Inst& in, int lane, std::array<std::uint8_t, 128>& map) {
  const AsyncOperands& o = operands(in);
  const std::uint64_t at = address(o.map, lane);
  const auto wrong = [&](FindingKind kind, const char* why) {
    return fail(w, in, lane, fmt::format("{} tensor map at {}", why, b_.describe(at)), kind);
  };
  if (at % 64 != 0) return wrong(FindingKind::kMisaligned, "misaligned");
  if (b_.window(at) == Space::kParam || o.map.space == Space::kParam) {
    const auto& p = b_.run_.launch->parameters;
    const std::uint64_t offset = at - kParamBase < kWindowBytes ? at - kParamBase : at;
    if (offset + 128 > p.size()) return wrong(FindingKind::kOutOfBounds, "out-of-bounds");
    std::memcpy(map.data(), p.data() + offset, 128);
    return true;
  }
  if (b_.window(at) == Space::kConst) {
    const std::uint64_t offset = at - kConstBase;
    if (offset + 128 > b_.module_.const_bank.size())
      return wrong(FindingKind::kOutOfBounds, "out-of-bounds");
    std::memcpy(map.data(), b_.module_.const_bank.data() + offset, 128);
    return true;
  }
  bool unknown = false;
  std::uint64_t bad = 0;
  if (b_.window(at) != Space::kGlobal || !read_global(at, map.data(), 128, unknown, bad))
    return wrong(FindingKind::kOutOfBounds, "out-of-bounds");
  return b_.tracking_ == Tracking::kOff ||
         b_.note_global_bytes(w, in, lane, at, 128, Touch::kRead, nullptr);
}

bool Async::plain_pieces(Warp& w, const Inst& in, int lane, bool load, Pieces& out) {
  const AsyncOperands& o = operands(in);
  const std::uint64_t bytes = value(o.size, false, lane);
  std::uint64_t shared = address(load ? o.to : o.from, lane);
  const std::uint64_t global = address(load ? o.from : o.to, lane);
  const auto wrong = [&](FindingKind kind, std::string text) {
    return fail(w, in, lane, text, kind);
  };
  if (load ? !(out.to = home(w, in, lane, shared)) : !own(w, in, lane, shared)) return false;
  if (bytes % 16 != 0)
    return wrong(FindingKind::kMisaligned,
                 fmt::format("a bulk copy of {} B, which is no multiple of 16", bytes));
  if (shared % 16 != 0 || global % 16 != 0)
    return wrong(FindingKind::kMisaligned,
                 fmt::format("misaligned bulk {} of {} B at {}",
                             load == (shared % 16 != 0) ? "write" : "read", bytes,
                             b_.describe(shared % 16 ? kSharedBase + shared : global)));
  if (!in_shared(shared, bytes))
    return wrong(FindingKind::kOutOfBounds,
                 fmt::format("out-of-bounds bulk {} of {} B at {}", load ? "write" : "read", bytes,
                             b_.describe(kSharedBase + shared)));
  out.base = shared;
  out.bytes = bytes;
  out.list.push_back({shared, global, bytes});
  return true;
}

// The box at the coordinates, row by row; rows of swizzled boxes in pieces of
// 16 bytes.
bool Async::tensor_pieces(Warp& w, const Inst& in, int lane, bool load, Pieces& out) {
  const AsyncOperands& o = operands(in);
  std::array<std::uint8_t, 128> bytes{};
  if (!read_map(w, in, lane, bytes)) return false;
  const auto spec = decode_tensor_map(bytes);
  if (!spec)
    return fail(w, in, lane,
                fmt::format("no tensor map at {} (make one with encode_tiled_tensor_map)",
                            b_.describe(address(o.map, lane))),
                FindingKind::kAsync);
  if (spec->rank != o.dimensions)
    return fail(w, in, lane,
                fmt::format("a {}d copy through a tensor map of rank {}", o.dimensions, spec->rank),
                FindingKind::kAsync);
  const int rank = spec->rank;
  const auto element = static_cast<std::uint64_t>(element_bytes(spec->type));
  std::int64_t first[5] = {};
  std::uint64_t count[5] = {1, 1, 1, 1, 1};
  for (int i = 0; i < rank; ++i) {
    first[i] = static_cast<std::int32_t>(b_.reg32(o.coordinates[i])[lane]);
    const std::uint64_t step = i == 0 ? 1 : spec->element_strides[i];
    count[i] = (spec->box[i] + step - 1) / step;
  }
  // An H200 ends loads of f32 and tf32 that begin elsewhere with an illegal instruction, whether
  // swizzled or not; the other coordinates are free. Other types, stores and reductions were not
  // measured, and are assumed to be alike.
  if (first[0] * static_cast<std::int64_t>(element) % 16 != 0)
    return fail(w, in, lane,
                fmt::format("misaligned tensor copy: its innermost coordinate is {}, of elements "
                            "of {} B each, which is no multiple of 16 B",
                            first[0], element),
                FindingKind::kMisaligned);
  out.base = address(load ? o.to : o.from, lane);
  if (load ? !(out.to = home(w, in, lane, out.base)) : !own(w, in, lane, out.base)) return false;
  out.bytes = count[0] * count[1] * count[2] * count[3] * count[4] * element;
  out.type = element_type(spec->type);
  out.nan = spec->fill == TensorMapSpec::Fill::kNan;
  out.as_tf32 = spec->type == TensorMapSpec::Type::kTf32;
  if (out.base % 128 != 0)
    return fail(w, in, lane,
                fmt::format("misaligned tensor {} at {} (a multiple of 128 B)",
                            load ? "write" : "read", b_.describe(kSharedBase + out.base)),
                FindingKind::kMisaligned);
  if (!in_shared(out.base, out.bytes))
    return fail(w, in, lane,
                fmt::format("out-of-bounds tensor {} of {} B at {}", load ? "write" : "read",
                            out.bytes, b_.describe(kSharedBase + out.base)),
                FindingKind::kOutOfBounds);
  std::uint64_t at = out.base;
  std::uint64_t k[5] = {};
  const std::uint64_t rows = out.bytes / element / count[0];
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::uint64_t address = spec->address;
    bool inside = true;
    for (int i = 1; i < rank; ++i) {
      const std::int64_t c = first[i] + static_cast<std::int64_t>(k[i] * spec->element_strides[i]);
      inside = inside && c >= 0 && static_cast<std::uint64_t>(c) < spec->sizes[i];
      address += static_cast<std::uint64_t>(c) * spec->strides[i - 1];
    }
    // Of this row, elements [from, to) are inside the tensor.
    const auto size = static_cast<std::int64_t>(spec->sizes[0]);
    const auto n = static_cast<std::int64_t>(count[0]);
    const std::int64_t from = inside ? std::clamp<std::int64_t>(-first[0], 0, n) : n;
    const std::int64_t to = inside ? std::clamp<std::int64_t>(size - first[0], from, n) : n;
    const auto add = [&](std::int64_t a, std::int64_t b, bool real) {
      std::uint64_t byte = static_cast<std::uint64_t>(a) * element;
      const std::uint64_t end = static_cast<std::uint64_t>(b) * element;
      while (byte < end) {
        std::uint64_t bytes = end - byte;
        if (spec->swizzle != TensorMapSpec::Swizzle::kNone)
          bytes = std::min(bytes, 16 - (at + byte) % 16);
        const std::uint64_t global =
            address + static_cast<std::uint64_t>(first[0] * static_cast<std::int64_t>(element)) +
            byte;
        out.list.push_back({swizzled(spec->swizzle, at + byte), real ? global : 0, bytes});
        byte += bytes;
      }
    };
    add(0, from, false);
    add(from, to, true);
    add(to, n, false);
    at += count[0] * element;
    for (int i = 1; i < rank; ++i) {
      if (++k[i] < count[i]) break;
      k[i] = 0;
    }
  }
  return true;
}

void Async::count_bulk(const Pieces& p, bool load, bool adds, bool integer) {
  if (!b_.counting_) return;
  Counters& c = b_.run_.counters;
  std::uint64_t sectors = 0;
  std::uint64_t global_lines = 0;
  const std::uint64_t before = b_.run_.touched_sectors;
  // A swizzle cuts rows into pieces of 16 bytes: those of one line are one request.
  std::uint64_t asked = 0;  // a line, and which of its sectors
  std::uint32_t mask = 0;
  const auto ask = [&] {
    if (mask == 0) return;
    sectors += static_cast<std::uint64_t>(std::popcount(mask));
    b_.touch_line(asked, mask);
    if (adds) b_.count_reduced_line(asked, mask, integer);
    ++global_lines;
    mask = 0;
  };
  for (const Pieces::Piece& piece : p.list) {
    if (!piece.global || !piece.bytes) continue;
    for (std::uint64_t line = piece.global >> 7; line <= (piece.global + piece.bytes - 1) >> 7;
         ++line) {
      const std::uint64_t lo = std::max(piece.global, line << 7);
      const std::uint64_t hi = std::min(piece.global + piece.bytes, (line + 1) << 7) - 1;
      if (line != asked) ask();
      asked = line;
      for (std::uint64_t s = (lo >> 5) & 3; s <= ((hi >> 5) & 3); ++s) mask |= 1u << s;
    }
  }
  ask();
  const std::uint64_t lines = (p.bytes + 127) / 128;
  c.shared_wavefronts += lines;
  if (load) {
    ++c.global_loads;
    ++c.shared_stores;
    c.global_load_sectors += sectors;
    c.l1_miss_sectors += sectors;
    c.global_load_lines += global_lines;
    c.l1_miss_lines += global_lines;
  } else {
    ++c.global_stores;
    ++c.shared_loads;
    c.global_store_sectors += sectors;
    c.global_store_lines += global_lines;
  }
  const double latency = b_.run_.touched_sectors != before ? b_.run_.profile->dram_latency
                                                           : b_.run_.profile->l2_latency;
  b_.access_latency_ =
      static_cast<std::uint32_t>(latency) + static_cast<std::uint32_t>(p.bytes / kBytesPerCycle);
}

bool Async::targets(Warp& w, const Inst& in, int lane, Async* to, std::vector<Async*>& out) {
  const AsyncOperands& o = operands(in);
  if (o.multicast == kNone) {
    out.push_back(to);
    return true;
  }
  for (std::uint32_t m = b_.reg32(o.multicast)[lane] & 0xFFFF; m; m &= m - 1) {
    std::uint64_t at = static_cast<std::uint64_t>(std::countr_zero(m) + 1) * kRankBytes;
    out.push_back(home(w, in, lane, at));
    if (!out.back()) return false;
  }
  return true;
}

// Reads what the pieces name; false: reported.
bool Async::fetch(Warp& w, const Inst& in, int lane, const Pieces& p, BulkLoad& load) {
  load.to = p.base;
  load.as_tf32 = p.as_tf32;
  load.data.assign(p.bytes, p.nan ? 0xFF : 0);  // all ones: a NaN of every type
  load.unknown.assign(p.bytes / 4 + 1, false);
  for (const Pieces::Piece& piece : p.list) {
    if (!piece.global) continue;
    const std::uint64_t at = piece.shared - p.base;
    std::uint64_t bad = 0;
    bool unknown = false;
    if (!read_global(piece.global, load.data.data() + at, piece.bytes, unknown, bad))
      return fail(w, in, lane,
                  fmt::format("out-of-bounds bulk read of {} B at {}", p.bytes, b_.describe(bad)),
                  FindingKind::kOutOfBounds);
    if (b_.tracking_ != Tracking::kOff &&
        !b_.note_global_bytes(w, in, lane, piece.global, piece.bytes, Touch::kRead, nullptr))
      return false;
    load.sources.emplace_back(at, piece.global, piece.bytes);
    if (unknown)
      for (std::uint64_t i = at / 4; i < (at + piece.bytes + 3) / 4; ++i) load.unknown[i] = true;
  }
  return true;
}

Block::Step Async::bulk_load(Warp& w, const Inst& in, std::uint32_t mask) {
  const AsyncOperands& o = operands(in);
  for (std::uint32_t k = mask; k; k &= k - 1) {
    const int lane = std::countr_zero(k);
    Pieces p;
    if (!(o.dimensions ? tensor_pieces(w, in, lane, true, p) : plain_pieces(w, in, lane, true, p)))
      return Step::kFail;
    BulkLoad load;
    std::vector<Async*> to;
    if (!targets(w, in, lane, p.to, to) || !fetch(w, in, lane, p, load)) return Step::kFail;
    count_bulk(p, true, false, false);
    load.due = due_of(w, b_.access_latency_);
    // A multicast completes the mbarrier at the same offset in each block.
    std::uint64_t barrier = address(o.barrier, lane);
    if (o.multicast == kNone ? !barrier_of(w, in, lane, *p.to, barrier)
                             : !home(w, in, lane, barrier))
      return Step::kFail;
    for (Async* there : to) {
      const bool last = there == to.back();
      if (!deliver(w, in, lane, *there, barrier, last ? std::move(load) : load)) return Step::kFail;
    }
  }
  return Step::kNext;
}

bool Async::settle_loads(MBarrier& m) {
  std::vector<BulkLoad> loads;
  loads.swap(m.loads);
  for (std::size_t k = 0; k < loads.size(); ++k) {
    BulkLoad& l = loads[k];
    if (b_.check_races_ && !still_same(l)) return false;
    if (l.as_tf32) round_to_tf32(l.data);
    const Stamp stamp{b_.clocks_.tick(kAsyncAgent), kAsyncAgent, kManyLanes, 0};
    if (l.reduce) land_reduction(l, stamp, loads, k + 1);
    for (std::uint64_t i = 0; !l.reduce && i < l.data.size(); i += 4)
      settle(l.to + i, l.data.data() + i,
             static_cast<std::uint32_t>(std::min<std::uint64_t>(4, l.data.size() - i)), stamp,
             l.unknown[i / 4]);
    if (b_.check_races_) b_.clocks_.release(kAsyncAgent, m.arriving);
    m.transactions -= static_cast<std::int64_t>(l.data.size());
    m.arrived.not_before(l.due);
    complete_if_done(m);
  }
  return true;
}

Block::Step Async::bulk_store(Warp& w, const Inst& in, std::uint32_t mask) {
  const AsyncOperands& o = operands(in);
  PerWarp& mine = of(w);
  for (std::uint32_t k = mask; k; k &= k - 1) {
    const int lane = std::countr_zero(k);
    Pieces p;
    if (!(o.dimensions ? tensor_pieces(w, in, lane, false, p)
                       : plain_pieces(w, in, lane, false, p)))
      return Step::kFail;
    if (p.as_tf32) {
      fail(w, in, lane,
           "what a copy through a tensor map of tf32 writes to global memory is unknown",
           FindingKind::kUnsupported);
      return Step::kFail;
    }
    BulkStore store;
    store.from = p.base;
    store.inst = &in;
    store.warp = w.index;
    store.lane = lane;
    store.function = w.stack.back().function;
    store.group = mine.bulk_group[lane];
    store.type = o.dimensions ? p.type : in.type;
    if (o.reduce && !reducible(o.op, store.type)) {
      fail(w, in, lane, "a reduction that the type of the tensor map does not have",
           FindingKind::kAsync);
      return Step::kFail;
    }
    store.data.assign(b_.shared_.begin() + static_cast<std::ptrdiff_t>(p.base),
                      b_.shared_.begin() + static_cast<std::ptrdiff_t>(p.base + p.bytes));
    for (const Pieces::Piece& piece : p.list) {
      if (!piece.global) continue;
      Span span;
      for (std::uint64_t at = 0; at < piece.bytes;) {
        if (!b_.run_.memory->span(piece.global + at, 1, span)) {
          fail(w, in, lane,
               fmt::format("out-of-bounds bulk write of {} B at {}", p.bytes,
                           b_.describe(piece.global + at)),
               FindingKind::kOutOfBounds);
          return Step::kFail;
        }
        at = span.lo + span.bytes - piece.global;
      }
      if (!claim_source(w, in, lane, piece.shared, piece.bytes)) return Step::kFail;
      if (b_.tracking_ != Tracking::kOff &&
          !b_.note_global_bytes(w, in, lane, piece.global, piece.bytes,
                                o.reduce ? Touch::kOrdered : Touch::kWrite,
                                store.data.data() + (piece.shared - p.base)))
        return Step::kFail;
      store.pieces.emplace_back(piece.shared - p.base, piece.global, piece.bytes);
    }
    count_bulk(p, false, o.reduce,
               store.type.kind != Type::kFloat && store.type.kind != Type::kBFloat);
    store.due = due_of(w, b_.access_latency_);
    mine.stores.push_back(std::move(store));
  }
  return Step::kNext;
}

// Reads shared memory in the name of the async proxy.
bool Async::claim_source(Warp& w, const Inst& in, int lane, std::uint64_t from,
                         std::uint64_t bytes) {
  if (!b_.check_races_ && !b_.check_init_) return true;
  const int shift = b_.shadow_.shift();
  for (std::uint64_t g = from >> shift; g < (from + bytes) >> shift; ++g) {
    if (b_.check_races_) {
      Cell& cell = b_.shadow_.cell(g);
      const Stamp writer = cell.writer;
      if (note_read(b_.clocks_, cell, w.index, lane, false) &&
          !b_.fail_race(w, in, lane, g << shift, cell))
        return false;
      if (b_.clocks_.misses_proxy_fence(writer.warp, writer.tick, w.index))
        return fail(w, in, lane,
                    fmt::format("missing fence.proxy.async: the bulk copy "
                                "reads {}, written by {} "
                                "without one in between",
                                b_.describe(kSharedBase + (g << shift)),
                                writer.lane == kManyLanes ? fmt::format("warp {}", writer.warp)
                                                          : thread_name(writer.warp, writer.lane)),
                    FindingKind::kAsync);
      cell.reader = {kNever, kAsyncAgent, kManyLanes, 0};
    }
    if (b_.check_init_ && !b_.shadow_.written()[g]) {
      b_.uninitialised_ =
          fmt::format("{} (read at line {})", b_.describe(kSharedBase + (g << shift)), in.line);
      if (!b_.tainted_value(w, in, 1u << lane, "is stored to global memory")) return false;
    }
  }
  return true;
}

// False: the source was written before.
bool Async::end_reading(Warp& w, BulkStore& s) {
  if (b_.check_races_ && !s.read) {
    const int shift = b_.shadow_.shift();
    for (const auto& [at, to, bytes] : s.pieces) {
      if (std::memcmp(b_.shared_.data() + s.from + at, s.data.data() + at, bytes) != 0)
        return fail(w, *s.inst, s.lane,
                    fmt::format("race: {} was written while a bulk copy that "
                                "reads it was in flight",
                                b_.describe(kSharedBase + s.from + at)),
                    FindingKind::kRace);
      for (std::uint64_t g = (s.from + at) >> shift; g < (s.from + at + bytes) >> shift; ++g) {
        Stamp& reader = b_.shadow_.cell(g).reader;
        if (reader.tick == kNever)
          reader = {b_.clocks_.tick(w.index), static_cast<std::uint8_t>(w.index),
                    static_cast<std::uint8_t>(s.lane), 0};
      }
    }
  }
  s.read = true;
  return true;
}

void Async::make_store(const BulkStore& s) {
  const AsyncOperands& o = b_.module_.functions[s.function].async[s.inst->extra];
  Inst element;
  element.type = s.type;
  element.sub = static_cast<std::uint8_t>(o.op);
  element.esize = element.type.bits / 8;
  if (o.reduce) ++b_.run_.counters.bulk_reductions;
  for (const auto& [at, to, bytes] : s.pieces) {
    for (std::uint64_t done = 0; done < bytes;) {
      Span& span = b_.span_;
      if (!span.holds(to + done, 1) && !b_.run_.memory->span(to + done, 1, span)) return;
      const std::uint64_t offset = to + done - span.lo;
      const std::uint64_t n = std::min(bytes - done, span.bytes - offset);
      if (!o.reduce) {
        std::memcpy(span.data + offset, s.data.data() + at + done, n);
      } else {
        for (std::uint64_t i = 0; i < n; i += element.esize) {
          std::uint64_t old = 0;
          std::uint64_t with = 0;
          std::memcpy(&old, span.data + offset + i, element.esize);
          std::memcpy(&with, s.data.data() + at + done + i, element.esize);
          const std::uint64_t next = apply_atomic(element, old, with);
          std::memcpy(span.data + offset + i, &next, element.esize);
        }
      }
      if (span.page->written) b_.set_written(span.page->written.get(), offset, n);
      span.allocation->written = true;
      if (o.reduce) span.allocation->added_to = true;
      done += n;
    }
  }
  ++b_.run_.changes;
}

Block::Step Async::bulk_wait(Warp& w, const Inst& in, std::uint32_t mask, bool commit) {
  PerWarp& mine = of(w);
  if (commit) {
    for (std::uint32_t k = mask; k; k &= k - 1) ++mine.bulk_group[std::countr_zero(k)];
    return Step::kNext;
  }
  const bool reads_only = operands(in).reads_only;
  std::size_t unwritten = 0;  // [B]
  for (auto s = mine.stores.rbegin(); s != mine.stores.rend(); ++s)
    s->late = reads_only && (unwritten += s->data.size()) <= kMostUnwritten;
  for (BulkStore& s : mine.stores) {
    if (!(mask >> s.lane & 1) ||
        s.group + static_cast<std::uint64_t>(in.imm) >= mine.bulk_group[s.lane])
      continue;
    const bool waits = b_.counting_ && !s.read;
    if (!end_reading(w, s)) return Step::kFail;
    if (waits) w.wait_until(s.due);
    if (s.late) continue;
    make_store(s);
    s.inst = nullptr;
  }
  std::erase_if(mine.stores, [](const BulkStore& s) { return !s.inst; });
  return Step::kNext;
}

bool Async::finish() {
  for (PerWarp& p : warps_) {
    for (const BulkStore& s : p.stores) {
      if (s.read) {
        make_store(s);
        continue;
      }
      return fail(b_.warps_[s.warp], *s.inst, s.lane,
                  "the block ends while its bulk copy may still read its "
                  "shared memory (no "
                  "cp.async.bulk.wait_group)",
                  FindingKind::kAsync);
    }
    p.stores.clear();
  }
  for (auto& [at, m] : barriers_) {
    for (const BulkLoad& l : m.loads)
      return l.by->fail(l.by->b_.warps_[l.warp], *l.inst, l.lane,
                        fmt::format("the block ends while {} into {} is in flight (nobody waits "
                                    "for its mbarrier)",
                                    copy_name(l), b_.describe(kSharedBase + l.to)),
                        FindingKind::kAsync);
  }
  return true;
}

}  // namespace hone::emulator
