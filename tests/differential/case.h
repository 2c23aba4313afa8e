// One case of the differential test: a kernel, its launch, its buffers, and how closely the
// emulator must agree with the hardware. Made the same way everywhere, from code and from files of
// kernels/, so that only the hardware's outputs are data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace hone::differential {

/// How a buffer's first bytes come from a seed (fill.cpp). Each type's own extremes come first.
enum class Fill : std::uint8_t {
  kZero,
  kBits,      ///< any bits, in 32-bit words
  kInt16,     ///< edges of 16-bit integers, then any
  kInt32,     ///< edges of 32-bit integers, then any
  kInt64,     ///< edges of 64-bit integers, then any
  kF16,       ///< zeros, subnormals, infinities, NaNs with payloads, extremes, then any
  kBf16,      ///< the same
  kF32,       ///< the same
  kF64,       ///< the same
  kUnit32,    ///< f32 in [-1, 1), multiples of 2^-23
  kUnit64,    ///< f64 in [-1, 1)
  kPositive,  ///< f32 in [2^-60, 2^60), any mantissa
  kSmallInt,  ///< u32 in [0, 64)
  kIota,      ///< u32 0, 1, 2, ...
  kHalfInts,  ///< f16 small integers in [-8, 8]
  kBf16Ints,  ///< bf16 small integers in [-8, 8]
  kF32Ints,   ///< f32 small integers in [-8, 8]
  kHalfUnit,  ///< f16 in [-1, 1]
  kBf16Unit,  ///< bf16 in [-1, 1]
};

struct Buffer {
  std::uint64_t bytes = 0;
  Fill fill = Fill::kZero;
  std::uint32_t seed = 0;
  std::uint32_t grid = 0;  ///< the edges' order: 0: as in the table; else each held this long
  bool output = false;     ///< recorded and compared
};

/// What two elements of an output must be to each other.
struct Rule {
  enum class Kind : std::uint8_t {
    kBits,      ///< the same bits
    kFloat,     ///< the same bits, or both NaN
    kUlp,       ///< at most `bound` units in the last place of the hardware's value
    kAbsolute,  ///< |difference| <= bound
    kRelative,  ///< |difference| <= max(bound * |hardware's value|, floor)
  };
  enum class Element : std::uint8_t { kU8, kU16, kU32, kU64, kF16, kBf16, kF32, kF64 };
  Kind kind = Kind::kBits;
  Element element = Element::kU32;
  double bound = 0;
  double floor = 0;  ///< of kRelative
};
[[nodiscard]] int bytes_of(Rule::Element element);

/// A rule for a range of one output.
struct Region {
  int buffer = 0;
  std::uint64_t offset = 0, bytes = 0;
  Rule rule;
  std::string what;  ///< the instruction, for the message
};

struct Case {
  std::string name;  ///< unique: "family/what"
  std::string ptx;   ///< one entry `k`, whose parameters are the buffers' addresses, then `words`
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{32, 1, 1};
  std::uint32_t shared_bytes = 0;  ///< dynamic
  std::vector<Buffer> buffers;
  std::vector<std::uint64_t> words;  ///< further parameters, 8 bytes each
  std::vector<Region> regions;       ///< what no region names is compared by its bits
};

[[nodiscard]] std::vector<std::uint8_t> contents(const Buffer& buffer);

/// Of everything that decides the outputs: a recording made from another text is stale.
[[nodiscard]] std::uint64_t fingerprint(const Case& c);

/// Every case there is, in a fixed order.
[[nodiscard]] std::vector<Case> all_cases();

/// Empty when `got` agrees with `want` (both: the outputs one after another), else what differs.
[[nodiscard]] std::string compare(const Case& c, const std::vector<std::uint8_t>& want,
                                  const std::vector<std::uint8_t>& got);

struct Emulated {
  bool ok = false;
  std::string detail;
  std::vector<std::uint8_t> outputs;
  int threads = 1;  ///< that took part
};
/// `threads` of the host, and then without counters, which would keep it to one.
[[nodiscard]] Emulated emulate(const Case& c, int threads = 1);

}  // namespace hone::differential
