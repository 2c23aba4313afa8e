// When the emulator agrees with the hardware, and the fingerprint that ties a recording to a case.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/differential/case.h"

namespace hone::differential {
namespace {

using u64 = std::uint64_t;
using Element = Rule::Element;

double half_value(std::uint32_t h) {
  const int e = static_cast<int>(h >> 10 & 31);
  const int m = static_cast<int>(h & 0x3FF);
  double v = e == 0    ? std::ldexp(m, -24)
             : e == 31 ? (m ? std::numeric_limits<double>::quiet_NaN()
                            : std::numeric_limits<double>::infinity())
                       : std::ldexp(1024 + m, e - 25);
  return h & 0x8000 ? -v : v;
}
double value_of(u64 bits, Element e) {
  switch (e) {
    case Element::kF16:
      return half_value(static_cast<std::uint32_t>(bits));
    case Element::kBf16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
    case Element::kF32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Element::kF64:
      return std::bit_cast<double>(bits);
    default:
      return static_cast<double>(bits);
  }
}
/// One unit in the last place at v.
double unit(double v, Element e) {
  const int digits = e == Element::kF16    ? 11
                     : e == Element::kBf16 ? 8
                     : e == Element::kF32  ? 24
                                           : 53;
  const int least = e == Element::kF16    ? -24
                    : e == Element::kBf16 ? -133
                    : e == Element::kF32  ? -149
                                          : -1074;
  if (v == 0 || !std::isfinite(v)) return std::ldexp(1.0, least);
  return std::ldexp(1.0, std::max(std::ilogb(v) - digits + 1, least));
}

bool agree(u64 want, u64 got, const Rule& rule) {
  if (want == got) return true;
  if (rule.kind == Rule::Kind::kBits) return false;
  const double w = value_of(want, rule.element);
  const double g = value_of(got, rule.element);
  if (std::isnan(w) || std::isnan(g)) return std::isnan(w) && std::isnan(g);
  if (std::isinf(w) || std::isinf(g)) return false;
  const double difference = std::fabs(w - g);
  switch (rule.kind) {
    case Rule::Kind::kUlp:
      return difference <= rule.bound * unit(w, rule.element);
    case Rule::Kind::kAbsolute:
      return difference <= rule.bound;
    case Rule::Kind::kRelative:
      return difference <= std::max(rule.bound * std::fabs(w), rule.floor);
    default:
      return false;
  }
}

void hash(u64& h, const void* data, std::size_t bytes) {  // FNV-1a
  const auto* p = static_cast<const std::uint8_t*>(data);
  for (std::size_t i = 0; i < bytes; ++i) h = (h ^ p[i]) * 0x100000001B3ull;
}

}  // namespace

int bytes_of(Element e) {
  switch (e) {
    case Element::kU8:
      return 1;
    case Element::kU16:
    case Element::kF16:
    case Element::kBf16:
      return 2;
    case Element::kU64:
    case Element::kF64:
      return 8;
    default:
      return 4;
  }
}

std::uint64_t fingerprint(const Case& c) {
  u64 h = 0xCBF29CE484222325ull;
  hash(h, c.ptx.data(), c.ptx.size());
  hash(h, c.grid.data(), sizeof c.grid);
  hash(h, c.block.data(), sizeof c.block);
  hash(h, &c.shared_bytes, sizeof c.shared_bytes);
  for (const Buffer& b : c.buffers) {
    const std::vector<std::uint8_t> bytes = contents(b);
    hash(h, bytes.data(), bytes.size());
    hash(h, &b.output, 1);
  }
  hash(h, c.words.data(), c.words.size() * 8);
  return h;
}

std::string compare(const Case& c, const std::vector<std::uint8_t>& want,
                    const std::vector<std::uint8_t>& got) {
  if (want.size() != got.size())
    return fmt::format("{} B of outputs, recorded {} B", got.size(), want.size());
  std::string report;
  int differing = 0;
  int shown = 0;  // of the instruction in hand
  std::string last;
  u64 start = 0;
  for (int b = 0; b < static_cast<int>(c.buffers.size()); ++b) {
    if (!c.buffers[b].output) continue;
    const u64 size = c.buffers[b].bytes;
    u64 at = 0;
    while (at < size) {
      Rule rule;
      std::string what;
      u64 first = 0;
      for (const Region& r : c.regions) {
        if (r.buffer != b || at < r.offset || at >= r.offset + r.bytes) continue;
        rule = r.rule;
        what = r.what;
        first = r.offset;
        break;
      }
      const int step =
          static_cast<int>(std::min<u64>(static_cast<u64>(bytes_of(rule.element)), size - at));
      u64 w = 0;
      u64 g = 0;
      std::memcpy(&w, want.data() + start + at, step);
      std::memcpy(&g, got.data() + start + at, step);
      if (!agree(w, g, rule)) {
        ++differing;
        if (what != last) shown = 0;
        last = what;
        if (++shown <= 3)
          report += fmt::format("  buffer {} +{} (element {}) {}: hardware {:#x}, emulator {:#x}\n",
                                b, at, (at - first) / static_cast<u64>(step), what, w, g);
      }
      at += step;
    }
    start += size;
  }
  if (differing) report += fmt::format("  {} elements differ\n", differing);
  return report;
}

}  // namespace hone::differential
