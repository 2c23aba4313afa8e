// Buffers from a seed: integer arithmetic only, so that every machine makes the same bytes.
#include <bit>
#include <cstring>

#include "tests/differential/case.h"

namespace hone::differential {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

u64 mix(u64 x) {  // splitmix64
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// Sixteen edges each, the ones that pairs are made of first.
const u16 kEdges16[] = {0,      1,      0xFFFF, 0x7FFF, 0x8000, 2,      31,     0x00FF,
                        0x0100, 0x8001, 15,     16,     17,     0x5555, 0xAAAA, 3};
const u32 kEdges32[] = {0,          1,          0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 2,
                        31,         32,         33,         0x0000FFFF, 0x00010000, 0x80000001,
                        0x00800000, 0x55555555, 0xFEDCBA98, 7};
const u64 kEdges64[] = {0,
                        1,
                        ~0ull,
                        0x7FFFFFFFFFFFFFFF,
                        0x8000000000000000,
                        0xFFFFFFFF,
                        0x100000000,
                        0x80000000,
                        63,
                        64,
                        0xFFFFFFFF80000000,
                        0x8000000000000001,
                        0x123456789ABCDEF0,
                        3,
                        0x0020000000000001,
                        0x5555555555555555};
const u16 kEdgesF16[] = {0x0000, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E01, 0xFD55,
                         0x0001, 0x83FF, 0x0400, 0x7BFF, 0x3800, 0x4248, 0xFBFF, 0x3C01};
const u16 kEdgesBf16[] = {0x0000, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC1, 0xFFA5,
                          0x0001, 0x807F, 0x0080, 0x7F7F, 0x3F00, 0x4049, 0xFF7F, 0x3F81};
const u32 kEdgesF32[] = {0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000,
                         0x7FC00123, 0xFFA00001, 0x00000001, 0x807FFFFF, 0x00800000, 0x7F7FFFFF,
                         0x3F000000, 0x40490FDB, 0xFF7FFFFF, 0x3F800001};
const u64 kEdgesF64[] = {
    0x0000000000000000, 0x8000000000000000, 0x3FF0000000000000, 0xBFF0000000000000,
    0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000123, 0xFFF4000000000001,
    0x0000000000000001, 0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF,
    0x3FE0000000000000, 0x400921FB54442D18, 0xFFEFFFFFFFFFFFFF, 0x3FF0000000000001};
// Seldom edges of conversions: integers' limits, halves between two values, other formats' limits.
const u32 kMoreF32[] = {0x4F000000, 0xCF000000, 0x4EFFFFFF, 0x4F800000, 0x5F000000, 0xDF000000,
                        0x3F000001, 0x3EFFFFFF, 0x3FC00000, 0x40200000, 0xC0200000, 0x477FE000,
                        0x477FF000, 0x477FEFFF, 0x33000000, 0x33000001, 0x38800000, 0x387FC000,
                        0x43000000, 0xC3000000, 0x437F0000, 0x437F8000, 0x47000000, 0x477FFF00,
                        0x7F7F8000, 0x7F7FC000, 0x3F808000, 0x3F818000, 0x43E00000, 0x43E80000,
                        0x47600000, 0x47680000, 0x4B000001, 0x4AFFFFFF, 0x3F801000, 0x3F803000};
const u64 kMoreF64[] = {
    0x41DFFFFFFFC00000, 0x41E0000000000000, 0xC1E0000000000000, 0xC1E0000000200000,
    0x43E0000000000000, 0xC3E0000000000000, 0x41EFFFFFFFE00000, 0x43F0000000000000,
    0x3FE0000000000001, 0x3FDFFFFFFFFFFFFF, 0x3FF8000000000000, 0x4004000000000000,
    0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x36A0000000000000, 0x3690000000000000,
    0x3690000000000001, 0x380FFFFFFFFFFFFF, 0x3FF0000010000000, 0x3FF0000030000000,
    0x40EFFC0000000000, 0x3E60000000000000, 0x3FF0020000000000, 0x4330000000000001};

template <class T, std::size_t kEdges, std::size_t kMore>
T edge_or_any(const T (&edges)[kEdges], const T (&more)[kMore], const Buffer& b, u64 i, u64 r) {
  static_assert(kEdges == 16);
  // Pairs: a counts through the edges, b holds each for 16 elements, c is scattered.
  const u64 pairs = 256;
  if (b.grid == 1 && i < pairs) return edges[i % 16];
  if (b.grid == 16 && i < pairs) return edges[i / 16];
  if (b.grid > 16) return r % 3 == 0 ? static_cast<T>(r >> 11) : edges[(r >> 8) % 16];
  if (b.grid == 0 && i < 16) return edges[i];
  if (b.grid == 0 && i < 16 + kMore) return more[i - 16];
  return static_cast<T>(r >> (64 - 8 * sizeof(T)));
}

/// A float with any mantissa and an exponent near one: random bits alone are mostly huge or tiny.
u32 near_one32(u64 r) {
  return static_cast<u32>(r >> 41) | (static_cast<u32>(112 + r % 30) << 23) |
         (static_cast<u32>(r & 0x10000) << 15);
}
u64 near_one64(u64 r) { return (r >> 12) | ((1000 + (r & 63) % 47) << 52) | ((r & 0x100) << 55); }

template <class T>
T element(const Buffer& b, u64 i) {
  const u64 r = mix(mix(b.seed + 1) + i);
  const u32 hi = static_cast<u32>(r >> 32);
  const bool near = (r & 0x600) != 0 && i >= 80;
  switch (b.fill) {
    case Fill::kZero:
      return 0;
    case Fill::kBits:
      return static_cast<T>(r);
    case Fill::kInt16:
      return static_cast<T>(edge_or_any(kEdges16, kEdges16, b, i, r));
    case Fill::kInt32:
      return static_cast<T>(edge_or_any(kEdges32, kEdges32, b, i, r));
    case Fill::kInt64:
      return static_cast<T>(edge_or_any(kEdges64, kEdges64, b, i, r));
    case Fill::kF16:
      return static_cast<T>(edge_or_any(kEdgesF16, kEdgesF16, b, i, r));
    case Fill::kBf16: {
      const u16 v = edge_or_any(kEdgesBf16, kEdgesBf16, b, i, r);
      const bool any = (b.grid == 0 && i >= 32) || (b.grid && b.grid <= 16 && i >= 256);
      return static_cast<T>(any && near ? near_one32(r) >> 16 : v);
    }
    case Fill::kF32: {
      const u32 v = edge_or_any(kEdgesF32, kMoreF32, b, i, r);
      const bool any = (b.grid == 0 && i >= 52) || (b.grid && b.grid <= 16 && i >= 256);
      return static_cast<T>(any && near ? near_one32(r) : v);
    }
    case Fill::kF64: {
      const u64 v = edge_or_any(kEdgesF64, kMoreF64, b, i, r);
      const bool any = (b.grid == 0 && i >= 40) || (b.grid && b.grid <= 16 && i >= 256);
      return static_cast<T>(any && near ? near_one64(r) : v);
    }
    case Fill::kUnit32: {
      const auto v = static_cast<std::int32_t>(hi >> 8) - 0x800000;
      return static_cast<T>(std::bit_cast<u32>(static_cast<float>(v) * 0x1p-23f));
    }
    case Fill::kUnit64: {
      const auto v = static_cast<std::int64_t>(r >> 11) - (std::int64_t{1} << 52);
      return static_cast<T>(std::bit_cast<u64>(static_cast<double>(v) * 0x1p-52));
    }
    case Fill::kPositive:
      return static_cast<T>((hi & 0x7FFFFF) | ((67 + (r & 0xFFFF) % 120) << 23));
    case Fill::kSmallInt:
      return static_cast<T>(hi & 63);
    case Fill::kIota:
      return static_cast<T>(i);
    case Fill::kHalfInts: {
      static const u16 kInts[] = {0x0000, 0x3C00, 0x4000, 0x4200, 0x4400,
                                  0x4500, 0x4600, 0x4700, 0x4800};
      return static_cast<T>(kInts[hi % 9] | (r & 0x8000));
    }
    case Fill::kBf16Ints: {
      static const u16 kInts[] = {0x0000, 0x3F80, 0x4000, 0x4040, 0x4080,
                                  0x40A0, 0x40C0, 0x40E0, 0x4100};
      return static_cast<T>(kInts[hi % 9] | (r & 0x8000));
    }
    case Fill::kF32Ints: {
      const auto v = static_cast<float>(static_cast<std::int32_t>(hi % 17) - 8);
      return static_cast<T>(std::bit_cast<u32>(v));
    }
    case Fill::kHalfUnit:
      return static_cast<T>((hi & 0x3FF) | ((9 + (r & 0xFF) % 6) << 10) | (r & 0x8000));
    case Fill::kBf16Unit:
      return static_cast<T>((hi & 0x7F) | ((120 + (r & 0xFF) % 7) << 7) | (r & 0x8000));
  }
  return 0;
}

template <class T>
std::vector<std::uint8_t> elements(const Buffer& b) {
  std::vector<std::uint8_t> bytes(b.bytes);
  for (u64 i = 0; (i + 1) * sizeof(T) <= b.bytes; ++i) {
    const T v = element<T>(b, i);
    std::memcpy(bytes.data() + i * sizeof(T), &v, sizeof v);
  }
  return bytes;
}

}  // namespace

std::vector<std::uint8_t> contents(const Buffer& b) {
  switch (b.fill) {
    case Fill::kInt16:
    case Fill::kF16:
    case Fill::kBf16:
    case Fill::kHalfInts:
    case Fill::kBf16Ints:
    case Fill::kHalfUnit:
    case Fill::kBf16Unit:
      return elements<u16>(b);
    case Fill::kInt64:
    case Fill::kF64:
    case Fill::kUnit64:
      return elements<u64>(b);
    default:
      return elements<u32>(b);
  }
}

}  // namespace hone::differential
