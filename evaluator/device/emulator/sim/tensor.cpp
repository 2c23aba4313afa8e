// mma.sync, wmma.mma, and what ldmatrix, stmatrix and movmatrix do between lanes.
//
// Fragments (PTX ISA, "Warp-level matrix instructions"): lane = 4 g + t, a register holds E = 32 /
// bits elements (one for f64). A: register r of a 16-row block holds row g + 8 (r % 2), columns
// E t + 4 E (r / 2) + i; of an 8-row block row g, columns E t + 4 E r + i. B: rows E t + 4 E r + i,
// column g. C and D: element e is row g + 8 (e / 2), column 2 t + e % 2.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "evaluator/device/emulator/lanes/dot.h"
#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/tensor_types.h"

namespace hone::emulator {
namespace {

constexpr int kMaxK = 64;  // elements, but for b1

/// c[j][16] from or to the registers of one block of f64. `at`: of the element.
template <class Visit>
void each_accumulator(int rows, Visit visit) {
  for (int e = 0; e < rows / 4; ++e)
    for (int lane = 0; lane < 32; ++lane)
      visit(e, lane, (2 * (lane & 3) + (e & 1)) * kDotRows + (lane >> 2) + 8 * (e >> 1));
}

/// fp8 to f16. Subnormal e4m3 become normal there, with smaller exponents: less is cut off.
void to_half(DotInput type, std::uint32_t* raw, int count) {
  using Table = std::array<std::uint16_t, 256>;
  const auto table_of = [](DotInput from) {
    Table table;
    for (std::uint32_t i = 0; i < 256; ++i) table[i] = half_bits(dot_value(from, i));
    return table;
  };
  static const Table kE4M3 = table_of(DotInput::kE4M3);
  static const Table kE5M2 = table_of(DotInput::kE5M2);
  const Table& table = type == DotInput::kE4M3 ? kE4M3 : kE5M2;
  for (int i = 0; i < count; ++i) raw[i] = table[raw[i] & 0xFF];
}

/// Hopper has no mma.sync of fp8: ptxas makes two f16 products of it, of the lower and of the upper
/// two elements in each register, adds them from zero on, and then the accumulator.
void halve(const TensorOp& op, std::uint32_t* a, std::uint32_t* b) {
  std::uint32_t old_a[32 * kDotRows];
  std::uint32_t old_b[8 * 32];
  std::memcpy(old_a, a, sizeof(std::uint32_t) * op.k * kDotRows);
  std::memcpy(old_b, b, sizeof(std::uint32_t) * op.k * 8);
  for (int k = 0; k < op.k; ++k) {
    const int to = k / 4 * 2 + k % 2 + (k & 2 ? op.k / 2 : 0);
    std::memcpy(a + to * kDotRows, old_a + k * kDotRows, sizeof(std::uint32_t) * kDotRows);
    for (int j = 0; j < 8; ++j) b[j * op.k + to] = old_b[j * op.k + k];
  }
}

float plain_sum(float x, float y, bool half) {
  const double exact = double{x} + y;  // of two halves, or rounded twice at most to a float
  if (std::isnan(exact)) return std::bit_cast<float>(0x7FFFFFFFu);
  return half ? half_value(half_nearest(exact)) : x + y;
}

/// One 16 x 8 block of floating-point products, with the registers it comes from and goes to.
void float_block(const DotModel& arch_model, const TensorOp& op, const std::uint32_t* const* a,
                 const std::uint32_t* const* b, float* c) {
  const DotLoops& loops = dot_loops();
  alignas(64) std::uint32_t raw_a[kMaxK * kDotRows];
  alignas(64) std::uint32_t raw_b[8 * kMaxK];
  alignas(64) float value_a[kMaxK * kDotRows];
  alignas(64) float value_b[8 * kMaxK];
  alignas(64) std::int16_t exponent_a[kMaxK * kDotRows];
  alignas(64) std::int16_t exponent_b[8 * kMaxK];
  loops.fragment_a(tensor_bits(op.a), op.a_regs, op.rows() == 16, a, raw_a);
  loops.fragment_b(tensor_bits(op.b), op.b_regs, op.k, b, raw_b);
  DotModel model = arch_model;
  DotInput type_a = dot_input(op.a);
  DotInput type_b = dot_input(op.b);
  float own[8 * kDotRows];
  if (model.halves) {
    halve(op, raw_a, raw_b);
    to_half(std::exchange(type_a, DotInput::kF16), raw_a, op.k * kDotRows);
    to_half(std::exchange(type_b, DotInput::kF16), raw_b, op.k * 8);
    model.chunk = op.k / 2;
    std::memcpy(own, c, sizeof own);
    std::fill(c, c + 8 * kDotRows, 0.0f);
  }
  const bool plain_a = loops.convert(type_a, raw_a, op.k * kDotRows, value_a, exponent_a);
  const bool plain_b = loops.convert(type_b, raw_b, op.k * 8, value_b, exponent_b);
  bool redo[32];
  std::memset(redo, 1, sizeof redo);
  if (!plain_a || !plain_b ||
      loops.dot(model, 8, op.k, value_a, exponent_a, value_b, exponent_b, c, redo))
    for (int at = 0; at < 8 * kDotRows; ++at)
      if (redo[at / loops.lanes])
        c[at] = dot_slow(model, type_a, type_b, op.k, raw_a + at % kDotRows, kDotRows,
                         raw_b + at / kDotRows * op.k, c[at]);
  if (model.halves)
    for (int at = 0; at < 8 * kDotRows; ++at)
      c[at] = plain_sum(own[at], c[at], model.output == DotModel::Output::kF16);
}

void integer_block(const TensorOp& op, const std::uint32_t* const* a, const std::uint32_t* const* b,
                   std::int32_t* c) {
  const DotLoops& loops = dot_loops();
  alignas(64) std::uint32_t raw[kMaxK * kDotRows];
  alignas(64) float value_a[kMaxK * kDotRows];
  alignas(64) float value_b[8 * kMaxK];
  const auto is_signed = [](TensorType t) { return t == TensorType::kS8 || t == TensorType::kS4; };
  loops.fragment_a(tensor_bits(op.a), op.a_regs, op.rows() == 16, a, raw);
  loops.convert_integer(is_signed(op.a), tensor_bits(op.a), raw, op.k * kDotRows, value_a);
  loops.fragment_b(tensor_bits(op.b), op.b_regs, op.k, b, raw);
  loops.convert_integer(is_signed(op.b), tensor_bits(op.b), raw, op.k * 8, value_b);
  loops.integer(8, op.k, value_a, value_b, op.saturate, c);
}

void bit_block(const TensorOp& op, const std::uint32_t* const* a, const std::uint32_t* const* b,
               std::int32_t* c) {
  const bool tall = op.rows() == 16;
  for (int row = 0; row < op.rows(); ++row)
    for (int j = 0; j < 8; ++j) {
      std::uint32_t sum = static_cast<std::uint32_t>(c[j * kDotRows + row]);
      for (int word = 0; word < op.k / 32; ++word) {
        const int ra = tall ? (word / 4) * 2 + (row / 8) : word / 4;
        const std::uint32_t x = a[ra][(row % 8) * 4 + word % 4];
        const std::uint32_t y = b[word / 4][j * 4 + word % 4];
        sum += static_cast<std::uint32_t>(std::popcount(op.b1_and ? x & y : x ^ y));
      }
      c[j * kDotRows + row] = static_cast<std::int32_t>(sum);
    }
}

void double_block(const TensorOp& op, const std::uint64_t* const* a, const std::uint64_t* const* b,
                  double* c) {
  alignas(64) double value_a[16 * kDotRows] = {};
  alignas(64) double value_b[8 * 16];
  const bool tall = op.rows() == 16;
  for (int r = 0; r < op.a_regs; ++r)
    for (int lane = 0; lane < 32; ++lane)
      value_a[(4 * (tall ? r >> 1 : r) + (lane & 3)) * kDotRows + (tall ? 8 * (r & 1) : 0) +
              (lane >> 2)] = std::bit_cast<double>(a[r][lane]);
  for (int r = 0; r < op.b_regs; ++r)
    for (int lane = 0; lane < 32; ++lane)
      value_b[(lane >> 2) * op.k + 4 * r + (lane & 3)] = std::bit_cast<double>(b[r][lane]);
  dot_loops().real64(8, op.k, value_a, value_b, c);
}

}  // namespace

// A product names every lane of the warp; those that are gone, or never were, are missing.
Block::Step Block::whole_warp(Warp& w, const Inst& in, std::uint32_t mask) {
  Step step = Step::kNext;
  if (w.alive != 0xFFFFFFFFu) {
    const int lane = std::countr_zero(mask);
    if (w.launched != 0xFFFFFFFFu)
      fail(FindingKind::kWarpMask,
           fmt::format("a matrix instruction needs a whole warp, this one has {} threads",
                       std::popcount(w.launched)),
           w, lane, in);
    else
      fail(FindingKind::kWarpMask,
           fmt::format("a matrix instruction needs a whole warp: lane {} has exited",
                       std::countr_one(w.alive)),
           w, lane, in);
    return Step::kFail;
  }
  if (!in.guarded && mask == 0xFFFFFFFFu) return step;
  if (!gather_lanes(w, 0xFFFFFFFFu, step)) return step;
  if (in.guarded) {
    const std::uint32_t p = *reg32(in.guard);
    const std::uint32_t on = w.stack.back().mask & (in.guard_negated ? ~p : p);
    if (on != 0xFFFFFFFFu) {
      fail(FindingKind::kWarpMask,
           fmt::format("a matrix instruction is predicated off in lane {} but not in lane {}",
                       std::countr_one(on), std::countr_zero(on)),
           w, std::countr_zero(on), in);
      return Step::kFail;
    }
  }
  return step;
}

Block::Step Block::tensor(Warp& w, const Inst& in, std::uint32_t mask) {
  const TensorOp& op = function_->tensors[in.imm];
  const Step step = whole_warp(w, in, mask);
  if (step != Step::kNext) return step;
  switch (op.what) {
    case TensorOp::What::kGather:
      break;
    case TensorOp::What::kMatch:
      return same_in_warp(w, in, op) ? Step::kNext : Step::kFail;
    case TensorOp::What::kMma:
      access_latency_ = static_cast<std::uint32_t>(run_.profile->tensor_latency);
      mma(w, in, op);
      break;
    case TensorOp::What::kWgmma:
    case TensorOp::What::kWgmmaFence:
    case TensorOp::What::kWgmmaCommit:
    case TensorOp::What::kWgmmaWait:
      if (op.what == TensorOp::What::kWgmmaWait && wait_for_warpgroup(w, op)) return Step::kYield;
      return wgmma(w, in, op) ? Step::kNext : Step::kFail;
    case TensorOp::What::kSpread:
    case TensorOp::What::kCollect:
    case TensorOp::What::kTranspose:
      matrix_rows(w, in, op);
      break;
    default:
      fail(FindingKind::kUnsupported, "the emulator does not cover a tensor-core instruction", w, 0,
           in);
      return Step::kFail;
  }
  return Step::kNext;
}

// wmma.load and wmma.store: one pointer and one stride for the warp.
bool Block::same_in_warp(Warp& w, const Inst& in, const TensorOp& op) {
  if (w.tainting) {
    const std::uint32_t t = slot_taint(w, in, in.a) | slot_taint(w, in, in.b);
    if (t && !tainted_value(w, in, t, "is used as an address")) return false;
  }
  const auto pointer = [&](int lane) {
    return (in.addr_wide ? reg64(in.a)[lane] : std::uint64_t{reg32(in.a)[lane]}) +
           static_cast<std::uint64_t>(op.offset);
  };
  const std::uint32_t* stride = reg32(in.b);
  for (int lane = 1; lane < 32; ++lane) {
    if (pointer(lane) == pointer(0) && stride[lane] == stride[0]) continue;
    return fail(FindingKind::kOther,
                fmt::format("wmma: lanes 0 and {} give different {}", lane,
                            pointer(lane) == pointer(0) ? "strides" : "pointers"),
                w, lane, in);
  }
  if (pointer(0) % op.align != 0)
    return fail(FindingKind::kMisaligned,
                fmt::format("misaligned matrix: wmma wants {} at a multiple of {} B",
                            describe(pointer(0)), op.align),
                w, 0, in);
  if (stride[0] % op.ld_align != 0)
    return fail(FindingKind::kOther,
                fmt::format("wmma wants a stride that is a multiple of {} elements, not {}",
                            op.ld_align, stride[0]),
                w, 0, in);
  return true;
}

const DotModel& Block::model_of(const TensorOp& op) {
  if (modelled_ == &op) return model_;
  modelled_ = &op;
  const bool wgmma = op.what == TensorOp::What::kWgmma;
  model_ = dot_model(*run_.profile, op.a, op.d, wgmma);
  // wmma's m16n16k8 is HMMA.1684, four products at a time, on Hopper too (seen in its SASS).
  if (!wgmma && op.a == TensorType::kTF32 && op.n == 16) model_.chunk = 4;
  return model_;
}

void Block::mma(Warp& w, const Inst& in, const TensorOp& op) {
  const int rb = op.row_blocks();
  const int cb = op.column_blocks();
  const Slot* d = function_->extra.data() + in.extra;
  const Slot* a = d + rb * cb * op.d_regs;
  const Slot* b = a + rb * op.a_regs;
  const Slot* c = b + cb * op.b_regs;
  if (w.tainting) mma_taint(w, in, op);
  const DotLoops& loops = dot_loops();
  const bool tall = op.rows() == 16;
  const void* regs_a[8];
  const void* regs_b[8];
  // All of it before anything is written: D may lie where A, B or C are.
  alignas(64) std::uint64_t sums[4][8 * kDotRows];
  const DotModel& model = model_of(op);
  for (int i = 0; i < rb; ++i) {
    for (int j = 0; j < cb; ++j) {
      const int block = i * cb + j;
      for (int r = 0; r < op.a_regs; ++r) regs_a[r] = reg(a[i * op.a_regs + r]);
      for (int r = 0; r < op.b_regs; ++r) regs_b[r] = reg(b[j * op.b_regs + r]);
      const Slot* own = c + block * op.c_regs;
      if (op.a == TensorType::kF64) {
        auto* sum = reinterpret_cast<double*>(sums[block]);
        each_accumulator(op.rows(), [&](int e, int lane, int at) {
          sum[at] = std::bit_cast<double>(reg64(own[e])[lane]);
        });
        double_block(op, reinterpret_cast<const std::uint64_t* const*>(regs_a),
                     reinterpret_cast<const std::uint64_t* const*>(regs_b), sum);
        continue;
      }
      const auto* words_a = reinterpret_cast<const std::uint32_t* const*>(regs_a);
      const auto* words_b = reinterpret_cast<const std::uint32_t* const*>(regs_b);
      auto* sum = reinterpret_cast<std::uint32_t*>(sums[block]);
      const std::uint32_t* regs_c[4];
      for (int r = 0; r < op.c_regs; ++r) regs_c[r] = reg32(own[r]);
      loops.load_sums(op.c == TensorType::kF16, tall, regs_c, sum);
      if (op.c != TensorType::kS32)
        float_block(model, op, words_a, words_b, reinterpret_cast<float*>(sum));
      else if (op.a == TensorType::kB1)
        bit_block(op, words_a, words_b, reinterpret_cast<std::int32_t*>(sum));
      else
        integer_block(op, words_a, words_b, reinterpret_cast<std::int32_t*>(sum));
    }
  }
  for (int block = 0; block < rb * cb; ++block) {
    const Slot* own = d + block * op.d_regs;
    if (op.d == TensorType::kF64) {
      each_accumulator(op.rows(),
                       [&](int e, int lane, int at) { reg64(own[e])[lane] = sums[block][at]; });
      continue;
    }
    std::uint32_t* regs_d[4];
    for (int r = 0; r < op.d_regs; ++r) regs_d[r] = reg32(own[r]);
    loops.store_sums(op.d == TensorType::kF16, tall,
                     reinterpret_cast<const std::uint32_t*>(sums[block]), regs_d);
  }
}

// An uninitialised element of A spoils its row, one of B its column, one of C itself.
void Block::mma_taint(Warp& w, const Inst& in, const TensorOp& op) {
  const int rb = op.row_blocks();
  const int cb = op.column_blocks();
  const Slot* d = function_->extra.data() + in.extra;
  const Slot* a = d + rb * cb * op.d_regs;
  const Slot* b = a + rb * op.a_regs;
  const Slot* c = b + cb * op.b_regs;
  const bool tall = op.rows() == 16;
  const auto group = [](std::uint32_t lanes) {  // bit g: some lane of 4 g + t
    std::uint32_t groups = 0;
    for (std::uint32_t m = lanes; m; m &= m - 1) groups |= 1u << (std::countr_zero(m) / 4);
    return groups;
  };
  std::uint32_t rows[2] = {};
  std::uint32_t columns[4] = {};
  for (int i = 0; i < rb; ++i)
    for (int r = 0; r < op.a_regs; ++r)
      rows[i] |= group(slot_taint(w, in, a[i * op.a_regs + r])) << (tall && (r & 1) ? 8 : 0);
  for (int j = 0; j < cb; ++j)
    for (int r = 0; r < op.b_regs; ++r)
      columns[j] |= group(slot_taint(w, in, b[j * op.b_regs + r]));
  std::uint32_t result[32] = {};
  const bool packed = op.d == TensorType::kF16;
  for (int i = 0; i < rb; ++i) {
    for (int j = 0; j < cb; ++j) {
      const int block = i * cb + j;
      each_accumulator(op.rows(), [&](int e, int lane, int) {
        const int row = (lane >> 2) + 8 * (e >> 1);
        const int column = 2 * (lane & 3) + (e & 1);
        const int own = op.c == TensorType::kF16 ? e / 2 : e;
        const bool bad = (rows[i] >> row & 1) || (columns[j] >> column & 1) ||
                         (slot_taint(w, in, c[block * op.c_regs + own]) >> lane & 1);
        if (bad) result[block * op.d_regs + (packed ? e / 2 : e)] |= 1u << lane;
      });
    }
  }
  const auto& slots = function_->reg_slots;
  for (int r = 0; r < rb * cb * op.d_regs; ++r)
    for (std::size_t k = 0; k < in.destinations; ++k) {
      const std::uint32_t number = function_->regs[in.regs + in.sources + k];
      if (slots[number] == d[r]) taints(w)[number] = result[r];
    }
}

// Between the rows of 8x8 matrices of 16-bit elements, held by one lane each, and fragments.
void Block::matrix_rows(Warp& w, const Inst& in, const TensorOp& op) {
  using What = TensorOp::What;
  const auto half = [](std::uint32_t pair, int which) {
    return which ? pair >> 16 : pair & 0xFFFF;
  };
  const auto taint_of = [&](Slot slot) { return w.tainting ? slot_taint(w, in, slot) : 0; };
  std::uint32_t value[4][32];
  std::uint32_t taint[4] = {};
  const Slot* out = nullptr;
  int outputs = op.matrices;
  if (op.what == What::kTranspose) {
    out = &in.d;
    const std::uint32_t* a = reg32(in.a);
    const std::uint32_t t = taint_of(in.a);
    for (int lane = 0; lane < 32; ++lane) {
      const int column = lane >> 2;
      const int row = 2 * (lane & 3);
      const int from = row * 4 + column / 2;
      value[0][lane] = half(a[from], column & 1) | half(a[from + 4], column & 1) << 16;
      taint[0] |= ((t >> from | t >> (from + 4)) & 1) << lane;
    }
  } else if (op.what == What::kSpread) {
    const Slot* rows = function_->extra.data() + in.extra;
    out = rows + 4;
    std::uint32_t t[4];
    for (int k = 0; k < 4; ++k) t[k] = taint_of(rows[k]);
    for (int r = 0; r < op.matrices; ++r)
      for (int lane = 0; lane < 32; ++lane) {
        if (!op.transpose) {
          const int from = 8 * r + (lane >> 2);
          value[r][lane] = reg32(rows[lane & 3])[from];
          taint[r] |= (t[lane & 3] >> from & 1) << lane;
          continue;
        }
        const int column = lane >> 2;
        const int from = 8 * r + 2 * (lane & 3);
        const std::uint32_t* word = reg32(rows[column / 2]);
        value[r][lane] = half(word[from], column & 1) | half(word[from + 1], column & 1) << 16;
        taint[r] |= ((t[column / 2] >> from | t[column / 2] >> (from + 1)) & 1) << lane;
      }
  } else {
    out = function_->extra.data() + in.extra;
    const Slot* from = out + 4;
    outputs = 4;
    std::memset(value, 0, sizeof value);
    for (int r = 0; r < op.matrices; ++r) {
      const std::uint32_t* v = reg32(from[r]);
      const std::uint32_t t = taint_of(from[r]);
      for (int row = 0; row < 8; ++row)
        for (int k = 0; k < 4; ++k) {
          const int lane = 8 * r + row;
          if (!op.transpose) {
            value[k][lane] = v[row * 4 + k];
            taint[k] |= (t >> (row * 4 + k) & 1) << lane;
            continue;
          }
          const int first = 2 * k * 4 + row / 2;  // columns 2 k and 2 k + 1 are rows there
          value[k][lane] = half(v[first], row & 1) | half(v[first + 4], row & 1) << 16;
          taint[k] |= ((t >> first | t >> (first + 4)) & 1) << lane;
        }
    }
  }
  for (int r = 0; r < outputs; ++r) {
    std::memcpy(reg(out[r]), value[r], sizeof value[r]);
    if (!w.tainting) continue;
    for (std::size_t k = 0; k < in.destinations; ++k) {
      const std::uint32_t number = function_->regs[in.regs + in.sources + k];
      if (function_->reg_slots[number] == out[r]) taints(w)[number] = taint[r];
    }
  }
}

}  // namespace hone::emulator
