// The video instructions: one, two or four parts of a register at once, with saturation and a
// second operation or a merge with c (PTX ISA, "Video instructions"). Rare, so a plain loop.
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

u32 one_part(const Video& v, u32 a, u32 b, u32 c) {
  s64 t = first(v, part(a, 0, 32, v.signed_a), part(b, 0, 32, v.signed_b));
  const int bits = v.place_bits ? v.place_bits : 32;
  if (v.saturate) t = clamp_to(t, bits, v.signed_d);
  const auto result = static_cast<u32>(t);
  if (v.place_bits) {
    const u32 field = ((1u << bits) - 1) << v.place;
    return (result << v.place & field) | (c & ~field);
  }
  const auto less = [&](u32 x, u32 y) {
    return v.signed_d ? static_cast<std::int32_t>(x) < static_cast<std::int32_t>(y) : x < y;
  };
  switch (v.second) {
    case VideoSecond::kAdd:
      return result + c;
    case VideoSecond::kMin:
      return less(result, c) ? result : c;
    case VideoSecond::kMax:
      return less(result, c) ? c : result;
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
