// The video instructions: one, two or four parts of a register at once, with saturation and a
// second operation or a merge with c (PTX ISA, "Video instructions"; the forms of one part as ptxas
// 13.0 makes them, which an H200 confirmed). Rare, so a plain loop.
#include "evaluator/device/emulator/lanes/video.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {
namespace {

using u32 = std::uint32_t;
using s64 = std::int64_t;

s64 part(u32 v, int index, int bits, bool is_signed) {
  const u32 raw = bits == 32 ? v : v >> (index * bits) & ((1u << bits) - 1);
  if (!is_signed) return raw;
  return static_cast<s64>(static_cast<std::int32_t>(raw << (32 - bits))) >> (32 - bits);
}

s64 clamp_to(s64 v, int bits, bool is_signed) {
  const s64 one = 1;
  return is_signed ? std::clamp(v, -(one << (bits - 1)), (one << (bits - 1)) - 1)
                   : std::clamp(v, s64{0}, (one << bits) - 1);
}

bool holds(VideoCompare c, s64 a, s64 b) {
  switch (c) {
    case VideoCompare::kEq:
      return a == b;
    case VideoCompare::kNe:
      return a != b;
    case VideoCompare::kLt:
      return a < b;
    case VideoCompare::kLe:
      return a <= b;
    case VideoCompare::kGt:
      return a > b;
    default:
      return a >= b;
  }
}

s64 first(const Video& v, s64 a, s64 b) {
  switch (v.op) {
    case VideoOp::kAdd:
      return a + b;
    case VideoOp::kSub:
      return a - b;
    case VideoOp::kAbsDiff:
      return a < b ? b - a : a - b;
    case VideoOp::kMin:
      return std::min(a, b);
    case VideoOp::kMax:
      return std::max(a, b);
    case VideoOp::kAverage:
      return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case VideoOp::kSet:
      return holds(v.compare, a, b);
    default: {
      const s64 by = v.wrap ? b & 31 : std::min<s64>(b, 32);
      return v.op == VideoOp::kShl ? static_cast<s64>(static_cast<std::uint64_t>(a) << by)
                                   : a >> by;
    }
  }
}

s64 low_word(s64 t) { return static_cast<std::int32_t>(static_cast<u32>(t)); }

// No GPU since sm_70 has these: ptxas writes them out in 64-bit integers, and what its sequences
// make of a value beyond 32 bits is what counts here, not the clamping that the PTX ISA describes.
s64 saturate_one(const Video& v, s64 t) {
  if (v.op == VideoOp::kShl || v.op == VideoOp::kShr) {
    const auto low34 = static_cast<s64>(static_cast<std::uint64_t>(t) << 30) >> 30;
    return clamp_to(low34, 32, v.signed_d);
  }
  if (v.place_bits) {  // as an unsigned value, even where d is signed: what is below zero is large
    const s64 most = (s64{1} << (v.place_bits - (v.signed_d ? 1 : 0))) - 1;
    return t < 0 ? most : std::min(t, most);
  }
  return v.signed_d ? clamp_to(t, 32, true) : std::max<s64>(t, 0);  // not from above
}

// Which of t and c is the smaller: in 64 bits, of which a sum or a difference, and what a shift
// saturated, have only the lower half's sign.
bool second_less(const Video& v, s64 t, u32 c) {
  const bool shift = v.op == VideoOp::kShl || v.op == VideoOp::kShr;
  if (v.op == VideoOp::kAdd || v.op == VideoOp::kSub || (shift && v.saturate)) t = low_word(t);
  if (v.signed_d) return t < static_cast<std::int32_t>(c);
  return static_cast<std::uint64_t>(t) < c;
}

u32 one_part(const Video& v, u32 a, u32 b, u32 c) {
  s64 t = first(v, part(a, 0, 32, v.signed_a), part(b, 0, 32, v.signed_b));
  if (v.saturate) t = saturate_one(v, t);
  const auto result = static_cast<u32>(t);
  if (v.place_bits) {
    const u32 field = ((1u << v.place_bits) - 1) << v.place;
    // Into d.h1 ptxas (12.4, 13.0) puts the upper half of the result, which .sat has made zero.
    const bool upper = v.place_bits == 16 && v.place == 16;
    return ((upper ? result : result << v.place) & field) | (c & ~field);
  }
  switch (v.second) {
    case VideoSecond::kAdd:
      return result + c;
    case VideoSecond::kMin:
      return second_less(v, t, c) ? result : c;
    case VideoSecond::kMax:
      return second_less(v, t, c) ? c : result;
    default:
      return result;
  }
}

u32 many_parts(const Video& v, u32 a, u32 b, u32 c) {
  const int bits = 32 / v.parts;
  u32 d = v.second == VideoSecond::kAdd ? c : 0;
  for (int i = 0; i < v.parts; ++i) {
    const u32 field = ((1u << bits) - 1) << (i * bits);
    if (!(v.mask >> i & 1)) {
      if (v.second == VideoSecond::kNone) d |= c & field;
      continue;
    }
    s64 t = first(v, part(a, i, bits, v.signed_a), part(b, i, bits, v.signed_b));
    if (v.saturate) t = clamp_to(t, bits, v.signed_d);
    if (v.second == VideoSecond::kAdd)
      d += static_cast<u32>(t);
    else
      d |= static_cast<u32>(t) << (i * bits) & field;
  }
  return d;
}

void video(void* d, const void* a, const void* b, const void* c, u32 mask, u32 imm) {
  const Video v = Video::decode(imm);
  for (int i = 0; i < 32; ++i) {
    if (!(mask >> i & 1)) continue;
    const u32 x = static_cast<const u32*>(a)[i];
    const u32 y = static_cast<const u32*>(b)[i];
    const u32 z = static_cast<const u32*>(c)[i];
    static_cast<u32*>(d)[i] = v.parts == 1 ? one_part(v, x, y, z) : many_parts(v, x, y, z);
  }
}

}  // namespace

void fill_video(std::unordered_map<std::string, LaneFn>& table) { table["video"] = video; }

}  // namespace hone::emulator
