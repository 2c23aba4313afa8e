// wgmma: each of the four warps multiplies its 16 rows of A with all of B, whose elements come from
// shared memory by a descriptor (PTX ISA, "Matrix Descriptor Format"): bits 0-13 the address / 16,
// 16-29 the leading and 32-45 the stride offset / 16, 49-51 the base offset, 62-63 the swizzle.
//
// Memory is made of 16-byte pieces. With W = 1, 2, 4, 8 pieces for no swizzle, 32, 64 and 128 B,
// rows r of the result's dimension and pieces c along k (two of them):
//   k contiguous:  (r % 8) 16 W + (r / 8) stride + c (16, or leading without swizzle)
//   r contiguous:  piece p of rows, step j of k: without swizzle p stride + (j % 8) 16 + (j / 8)
//                  leading, else (p % W) 16 + (p / W) leading + (j % 8) 16 W + (j / 8) stride
// and bits 4.. of the address are then flipped by bits 7.., as many as the swizzle has (1, 2, 3).
//
// Values are read and sums made when the instruction runs; what may not be done before the wait is
// reported: results count as uninitialised until then (plain copies apart, which compilers make),
// and pieces that a product in flight reads may not be written.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/lanes/dot.h"
#include "evaluator/device/emulator/ptx/parser.h"
#include "evaluator/device/emulator/sim/async.h"
#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/shadow_fast.h"
#include "evaluator/device/emulator/sim/tensor_types.h"

namespace hone::emulator {
namespace {

constexpr int kPieceBytes = 16;
constexpr std::size_t kFinishedKept = 64;  // products; older ones are long overwritten
constexpr int kMaxColumns = 256;
constexpr int kMaxWarpgroupK = 32;

struct Descriptor {
  std::uint64_t start, leading, stride;
  int base, swizzle;  ///< swizzle: address bits flipped
  explicit Descriptor(std::uint64_t d)
      : start((d & 0x3FFF) << 4),
        leading((d >> 16 & 0x3FFF) << 4),
        stride((d >> 32 & 0x3FFF) << 4),
        base(static_cast<int>(d >> 49 & 7)),
        swizzle((d >> 62) == 0 ? 0 : 4 - static_cast<int>(d >> 62)) {}
  [[nodiscard]] std::uint64_t flip(std::uint64_t address) const {
    const std::uint64_t mask = (1u << swizzle) - 1;
    return address ^ ((address >> 7 & mask) << 4);
  }
  /// Piece c along k of row r.
  [[nodiscard]] std::uint64_t along(int r, int c) const {
    const std::uint64_t width = 16u << swizzle;
    return flip(start + static_cast<std::uint64_t>(r % 8) * width +
                static_cast<std::uint64_t>(r / 8) * stride +
                static_cast<std::uint64_t>(c) * (swizzle ? 16 : leading));
  }
  /// Piece p of rows at step j of k.
  [[nodiscard]] std::uint64_t across(int p, int j) const {
    const int pieces = 1 << swizzle;
    const auto u = [](int v) { return static_cast<std::uint64_t>(v); };
    if (swizzle == 0) return start + u(p) * stride + u(j % 8) * 16 + u(j / 8) * leading;
    return flip(start + u(p % pieces) * 16 + u(p / pieces) * leading + u(j % 8) * 16 * u(pieces) +
                u(j / 8) * stride);
  }
};

template <class Element>
void widen_elements(const std::uint8_t* piece, std::uint32_t* to, int step) {
  Element from[kPieceBytes / sizeof(Element)];
  std::memcpy(from, piece, sizeof from);
  if (step == 1)
    for (const Element v : from) *to++ = v;
  else
    for (const Element v : from) {
      *to = v;
      to += step;
    }
}

/// The elements of a piece, zero-extended, `step` places apart.
void widen_piece(int element, const std::uint8_t* piece, std::uint32_t* to, int step) {
  if (element == 4) return widen_elements<std::uint32_t>(piece, to, step);
  if (element == 2) return widen_elements<std::uint16_t>(piece, to, step);
  widen_elements<std::uint8_t>(piece, to, step);
}

template <class T>
using Aligned = std::vector<T, CacheLineAllocator<T>>;

}  // namespace

bool Block::wgmma(Warp& w, const Inst& in, const TensorOp& op) {
  using What = TensorOp::What;
  if ((static_cast<std::size_t>(w.index) | 3) >= warps_.size())
    return fail(FindingKind::kWarpMask,
                fmt::format("wgmma needs a warpgroup: warps {} to {} of a block that has {}",
                            w.index & ~3, w.index | 3, warps_.size()),
                w, 0, in);
  switch (op.what) {
    case What::kWgmmaFence:
      w.wgmma_fenced = true;
      return true;
    case What::kWgmmaCommit:
      ++w.wgmma_group;
      return true;
    case What::kWgmmaWait:
      if (w.wgmma_group - 1 > op.pending) wgmma_wait(w, w.wgmma_group - 1 - op.pending);
      return true;
    default:
      return wgmma_product(w, in, op);
  }
}

// A product may read until its wait: what the warp published in between does not cover that.
void Block::finish_reads(const AsyncReads& r) {
  if (!check_races_ || r.tick == clocks_.tick(r.warp)) return;
  const int shift = shadow_.shift();
  for (std::size_t k = 0; k < r.pieces.size(); ++k)
    for (std::uint64_t m = r.pieces[k]; m; m &= m - 1) {
      const std::uint64_t at = (k << 10) + (static_cast<std::uint64_t>(std::countr_zero(m)) << 4);
      for (std::uint64_t g = at >> shift; g < (at + kPieceBytes) >> shift; ++g) {
        Cell& cell = shadow_.cell(g);
        if (cell.reader.tick != kNever) (void)note_read(clocks_, cell, r.warp, 0, false);
      }
    }
}

// The four warps' products are one: none is complete before all have begun theirs.
bool Block::awaits_warpgroup(const Warp& w, std::uint32_t group) const {
  const std::size_t first = static_cast<std::size_t>(w.index) & ~std::size_t{3};
  for (std::size_t i = first; i < first + 4 && i < warps_.size(); ++i)
    if (!warps_[i].done() && warps_[i].wgmma_group <= group) return true;
  return false;
}

bool Block::wait_for_warpgroup(Warp& w, const TensorOp& op) {
  if (w.wgmma_group - 1 <= op.pending) return false;
  const std::uint32_t group = w.wgmma_group - 1 - op.pending;
  if (group <= w.wgmma_done || !awaits_warpgroup(w, group)) return false;
  w.barrier = kAtWarpgroup;
  w.wgmma_awaited = group;
  w.barrier_inst = w.stack.back().pc;
  w.barrier_function = w.stack.back().function;
  return true;
}

bool Block::release_warpgroups() {
  bool any = false;
  for (Warp& w : warps_) {
    if (w.barrier != kAtWarpgroup || awaits_warpgroup(w, w.wgmma_awaited)) continue;
    w.barrier = -1;
    any = true;
  }
  return any;
}

// Groups up to `done` are complete: their results are values now.
void Block::wgmma_wait(Warp& w, std::uint32_t done) {
  if (done <= w.wgmma_done) return;
  w.wgmma_done = done;
  const int first = w.index & ~3;
  std::erase_if(async_reads_, [&](const AsyncReads& r) {
    if ((r.warp & ~3) != first || r.group > done) return false;
    finish_reads(r);
    auto f = std::find_if(finished_reads_.begin(), finished_reads_.end(),
                          [&](const auto& x) { return x.first == first && x.group == r.group; });
    if (f == finished_reads_.end()) {
      finished_reads_.push_back({first, r.group, r.pieces, {}});
      return true;
    }
    for (std::size_t k = 0; k < r.pieces.size(); ++k) f->pieces[k] |= r.pieces[k];
    return true;
  });
  for (FinishedReads& f : finished_reads_)
    if (f.first == first && f.group <= done && f.since[w.index & 3] == 0)
      f.since[w.index & 3] = clocks_.tick(w.index);
  if (finished_reads_.size() > kFinishedKept) finished_reads_.erase(finished_reads_.begin());
  if (!w.tainting) return;
  std::uint32_t* taint = taints(w);
  bool any = false;
  for (std::size_t i = 0; i + 1 < w.wgmma_writes.size(); i += 2) {
    std::uint32_t& group = w.wgmma_writes[i];
    if (group != 0 && group <= done) {
      taint[i / 2] = w.wgmma_writes[i + 1];
      group = 0;
    }
  }
  for (std::size_t i = 0; i < function_->reg_slots.size() && !any; ++i) any = taint[i] != 0;
  if (!any && w.stack.back().depth == 0) w.tainting = !w.doubts.empty();
}

void follow_wgmma(Warp& w, const Function& function, const Inst& in, std::uint32_t mask) {
  static const LaneFn kMove = find_lane("mov.b32");
  if (w.stack.back().depth != 0) return;
  const std::uint32_t* r = function.regs.data() + in.regs;
  const bool copy =
      in.kind == Kind::kLane && in.fn == kMove && in.sources == 1 && mask == 0xFFFFFFFFu;
  for (int k = in.sources; k < in.sources + in.destinations; ++k) {
    w.wgmma_writes[2 * r[k]] = copy ? w.wgmma_writes[2 * r[0]] : 0;
    w.wgmma_writes[2 * r[k] + 1] = copy ? w.wgmma_writes[2 * r[0] + 1] : 0;
  }
}

// A or B of one product as raw elements: A k-major with 16 rows, B row-major by columns. `unknown`:
// bits of rows or columns that hold something uninitialised.
bool Block::wgmma_operand(Warp& w, const Inst& in, const TensorOp& op, bool is_a, AsyncReads& reads,
                          std::uint32_t* raw, std::uint64_t* unknown) {
  const std::uint64_t bits_of = reg64(is_a ? in.a : in.b)[0];
  for (int lane = 1; lane < 32; ++lane)
    if (reg64(is_a ? in.a : in.b)[lane] != bits_of)
      return fail(FindingKind::kOther,
                  fmt::format("wgmma: lanes 0 and {} give different descriptors", lane), w, lane,
                  in);
  const Descriptor d(bits_of);
  if (d.base != 0)
    return fail(FindingKind::kUnsupported,
                "the emulator does not cover a wgmma descriptor with a base offset", w, 0, in);
  const int element = tensor_bits(is_a ? op.a : op.b) / 8;
  const int each = kPieceBytes / element;
  const int first = is_a ? (w.index & 3) * 16 : 0;
  const int rows = is_a ? 16 : op.n;
  const bool across = is_a ? op.a_across : op.b_across;
  const int shift = shadow_.shift();
  const int step = is_a == across ? 1 : is_a ? kDotRows : op.k;
  const FastShadow fast(clocks_, w.index, false);
  std::uint32_t fenced_tick = 0, fenced_warp = 0;  // of the last stores that were looked at
  const auto surely_fine = [&](std::uint64_t at) {
    if (!check_races_ && !check_init_) return true;
    if (shadow_.keeps_sites()) return false;
    bool good = true;
    const std::uint64_t first = at >> shift;
    for (std::uint64_t g = first; g < first + (kPieceBytes >> shift); ++g) {
      if (check_init_) good &= shadow_.written()[g] != 0;
      if (!check_races_) continue;
      const Stamp& writer = shadow_.cell(g).writer;
      if (writer.tick != fenced_tick || writer.warp != fenced_warp) {
        good &= !clocks_.misses_proxy_fence(writer.warp, writer.tick, w.index);
        fenced_tick = writer.tick;
        fenced_warp = writer.warp;
      }
      good &= fast.read(shadow_.cell(g), 0, false);
    }
    return good;
  };
  const auto piece = [&](std::uint64_t at, int row, int k) {
    if (at + kPieceBytes > run_.shared_bytes)
      return fail_access(w, in, 0, kSharedBase + at, "out-of-bounds");
    std::uint32_t* const to = raw + (is_a ? k * kDotRows + row : row * op.k + k);
    widen_piece(element, shared_.data() + at, to, step);
    if (check_races_) reads.pieces[at >> 10] |= 1ull << (at >> 4 & 63);
    if (surely_fine(at)) return true;
    for (int g = 0; g < kPieceBytes >> shift; ++g) {
      const std::uint64_t granule = (at >> shift) + static_cast<std::uint64_t>(g);
      if (check_races_) {
        Cell& cell = shadow_.cell(granule);
        if (note_read(clocks_, cell, w.index, 0, false) &&
            !fail_race(w, in, 0, granule << shift, cell))
          return false;
        if (clocks_.misses_proxy_fence(cell.writer.warp, cell.writer.tick, w.index))
          return fail(FindingKind::kAsync,
                      fmt::format("missing fence.proxy.async: the wgmma reads {}, written by {} "
                                  "without one in between",
                                  describe(kSharedBase + (granule << shift)), toucher(cell.writer)),
                      w, 0, in);
        if (shadow_.keeps_sites()) shadow_.sites(granule).reader = in.place;
      }
      if (check_init_ && !shadow_.written()[granule]) {
        if (async_) {  // a copy that has not landed
          bool ok = false;
          if (async_->conflict("read", granule << shift, nullptr, w, in, 0, ok)) {
            if (!ok) return false;
            continue;
          }
        }
        uninitialised_ = fmt::format("{} (read at line {})",
                                     describe(kSharedBase + (granule << shift)), in.line);
        uninitialised_global_ = false;
        for (int i = 0; i < (across ? each : 1); ++i)
          unknown[(row + i) / 64] |= 1ull << ((row + i) % 64);
      }
    }
    return true;
  };
  if (across) {
    for (int p = 0; p < rows / each; ++p)
      for (int k = 0; k < op.k; ++k)
        if (!piece(d.across(first / each + p, k), p * each, k)) return false;
    return true;
  }
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < op.k / each; ++c)
      if (!piece(d.along(first + r, c), r, c * each)) return false;
  return true;
}

bool Block::wgmma_product(Warp& w, const Inst& in, const TensorOp& op) {
  const Slot* d = function_->extra.data() + in.extra;
  const int results = op.column_blocks() * op.d_regs;
  const Slot* a = d + results;
  if (!w.wgmma_fenced)
    return fail(FindingKind::kOther, "wgmma.mma_async before any wgmma.fence", w, 0, in);
  const std::uint64_t place = static_cast<std::uint64_t>(&in - function_->code.data());
  w.wgmma_history = (w.wgmma_history ^ (place + 1)) * 0x9E3779B97F4A7C15ull;
  w.wgmma_history ^= reg64(in.b)[0] + w.wgmma_history % 1000003;
  if (check_races_) clocks_.warp_sync(w.index);  // .aligned: the lanes have met

  AsyncReads reads{w.index, w.wgmma_group, {}, clocks_.tick(w.index)};
  if (check_races_) reads.pieces.assign((run_.shared_bytes >> 10) + 1, 0);
  static thread_local Aligned<std::uint32_t> raw_b(kMaxColumns * kMaxWarpgroupK);
  static thread_local Aligned<float> value_b(kMaxColumns * kMaxWarpgroupK);
  static thread_local Aligned<std::int16_t> exponent_b(kMaxColumns * kMaxWarpgroupK);
  static thread_local Aligned<float> sums(kMaxColumns * kDotRows);
  static thread_local std::vector<std::uint8_t> redo(kMaxColumns * kDotRows / 4);
  alignas(64) std::uint32_t raw_a[kMaxWarpgroupK * kDotRows];
  alignas(64) float value_a[kMaxWarpgroupK * kDotRows];
  alignas(64) std::int16_t exponent_a[kMaxWarpgroupK * kDotRows];
  std::uint64_t rows = 0;
  std::uint64_t columns[kMaxColumns / 64] = {};
  const DotLoops& loops = dot_loops();
  if (op.a_shared) {
    if (!wgmma_operand(w, in, op, true, reads, raw_a, &rows)) return false;
  } else {
    const std::uint32_t* regs_a[4];
    for (int r = 0; r < op.a_regs; ++r) {
      regs_a[r] = reg32(a[r]);
      const std::uint32_t taint = w.tainting ? slot_taint(w, in, a[r]) : 0;
      for (std::uint32_t t = taint; t; t &= t - 1)
        rows |= 1ull << ((std::countr_zero(t) >> 2) + 8 * (r & 1));
    }
    loops.fragment_a(tensor_bits(op.a), op.a_regs, true, regs_a, raw_a);
  }
  if (!wgmma_operand(w, in, op, false, reads, raw_b.data(), columns)) return false;
  const std::uint32_t sign = 1u << (tensor_bits(op.a) - 1);
  if (op.a_negated)
    for (int i = 0; i < op.k * kDotRows; ++i) raw_a[i] ^= sign;
  if (op.b_negated)
    for (int i = 0; i < op.k * op.n; ++i) raw_b[i] ^= sign;

  // The accumulators; scale-d says whether the old ones count.
  const std::uint32_t keep_d = *reg32(in.c);
  const bool half = op.d == TensorType::kF16;
  const bool integers = op.d == TensorType::kS32;
  auto* words = reinterpret_cast<std::uint32_t*>(sums.data());
  for (int block = 0; block < op.column_blocks(); ++block) {
    const std::uint32_t* regs_c[4];
    std::uint32_t kept[4][32];
    for (int r = 0; r < op.d_regs; ++r) {
      regs_c[r] = reg32(d[block * op.d_regs + r]);
      if (keep_d == 0xFFFFFFFFu) continue;
      for (int lane = 0; lane < 32; ++lane)
        kept[r][lane] = (keep_d >> lane & 1) ? regs_c[r][lane] : 0;
      regs_c[r] = kept[r];
    }
    loops.load_sums(half, true, regs_c, words + block * 8 * kDotRows);
  }
  if (integers) {
    loops.convert_integer(op.a == TensorType::kS8, 8, raw_a, op.k * kDotRows, value_a);
    loops.convert_integer(op.b == TensorType::kS8, 8, raw_b.data(), op.k * op.n, value_b.data());
    loops.integer(op.n, op.k, value_a, value_b.data(), op.saturate,
                  reinterpret_cast<std::int32_t*>(words));
  } else {
    const DotModel& model = model_of(op);
    const DotInput type_a = dot_input(op.a);
    const DotInput type_b = dot_input(op.b);
    const bool plain_a = loops.convert(type_a, raw_a, op.k * kDotRows, value_a, exponent_a);
    const bool plain_b =
        loops.convert(type_b, raw_b.data(), op.k * op.n, value_b.data(), exponent_b.data());
    std::fill(redo.begin(), redo.end(), 1);
    static_assert(sizeof(bool) == 1);
    const bool again =
        !plain_a || !plain_b ||
        loops.dot(model, op.n, op.k, value_a, exponent_a, value_b.data(), exponent_b.data(),
                  sums.data(), reinterpret_cast<bool*>(redo.data()));
    for (int at = 0; again && at < op.n * kDotRows; ++at)
      if (redo[at / loops.lanes])
        sums[at] = dot_slow(model, type_a, type_b, op.k, raw_a + at % kDotRows, kDotRows,
                            raw_b.data() + at / kDotRows * op.k, sums[at]);
  }
  // What the results will be worth, when the wait comes.
  std::vector<std::uint32_t> unknown(static_cast<std::size_t>(results));
  const bool follow = check_init_ && w.stack.back().depth == 0;  // not through calls
  if (follow) {
    for (int r = 0; w.tainting && r < results; ++r) {
      const std::uint32_t number = function_->regs[in.regs + in.sources + r];
      const bool flying = !w.wgmma_writes.empty() && w.wgmma_writes[2 * number] != 0;
      unknown[r] = (flying ? w.wgmma_writes[2 * number + 1] : taints(w)[number]) & keep_d;
    }
    std::uint64_t some = rows;
    for (const std::uint64_t c : columns) some |= c;
    for (int e = 0; some != 0 && e < op.n / 2; ++e)
      for (int lane = 0; lane < 32; ++lane) {
        const int column = 8 * (e / 4) + 2 * (lane & 3) + (e & 1);
        const int row = (lane >> 2) + 8 * (e / 2 % 2);
        if ((rows >> row & 1) || (columns[column / 64] >> (column % 64) & 1))
          unknown[half ? e / 2 : e] |= 1u << lane;
      }
  }
  for (int block = 0; block < op.column_blocks(); ++block) {
    std::uint32_t* regs_d[4];
    for (int r = 0; r < op.d_regs; ++r) regs_d[r] = reg32(d[block * op.d_regs + r]);
    loops.store_sums(half, true, words + block * 8 * kDotRows, regs_d);
  }
  if (follow) {
    w.wgmma_writes.resize(2 * function_->reg_slots.size());
    w.tainting = true;
    bool some = false;
    for (int r = 0; r < results; ++r) {
      const std::uint32_t number = function_->regs[in.regs + in.sources + r];
      w.wgmma_writes[2 * number] = w.wgmma_group;
      w.wgmma_writes[2 * number + 1] = unknown[r];
      taints(w)[number] = 0xFFFFFFFFu;
      some = some || unknown[r] != 0;
    }
    if (!some) {
      uninitialised_ = fmt::format("a wgmma (line {}) before its wait_group", in.line);
      uninitialised_global_ = false;
    }
  }
  if (check_races_) async_reads_.push_back(std::move(reads));
  if (counting_) {
    // B is read once for the four warps.
    const int bytes = tensor_bits(op.b) / 8;
    run_.counters.shared_wavefronts +=
        static_cast<std::uint64_t>((op.n / 4 + (op.a_shared ? 16 : 0)) * op.k * bytes + 127) / 128;
    access_latency_ = static_cast<std::uint32_t>(run_.profile->tensor_latency) +
                      static_cast<std::uint32_t>(op.n) / 2;
  }
  return true;
}

bool Block::wgmma_free(const Warp& w, const Inst& in, int lane, std::uint64_t offset,
                       std::uint32_t bytes) {
  for (std::uint64_t piece = offset >> 4; piece <= (offset + bytes - 1) >> 4; ++piece)
    for (const AsyncReads& r : async_reads_)
      if (r.pieces[piece >> 6] >> (piece & 63) & 1)
        return fail(FindingKind::kRace,
                    fmt::format("{} is written while a wgmma of warp {} may read it: no "
                                "wgmma.wait_group since",
                                describe(kSharedBase + offset), r.warp),
                    w, lane, in);
  return true;
}

bool Block::wgmma_agree() {
  for (std::size_t i = 0; i + 3 < warps_.size(); i += 4)
    for (std::size_t k = 1; k < 4; ++k) {
      if (warps_[i].wgmma_history == warps_[i + k].wgmma_history) continue;
      const Warp& w = warps_[i + k];
      const Inst& in = module_.functions[run_.function].code.back();
      return fail(FindingKind::kWarpMask,
                  fmt::format("the warps {} to {} of a warpgroup did not run the same wgmma "
                              "instructions: {} differs",
                              i, i + 3, w.index),
                  w, 0, in);
    }
  return true;
}

}  // namespace hone::emulator
