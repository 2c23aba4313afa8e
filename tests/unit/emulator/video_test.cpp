// Video instructions, against what the PTX ISA says of each, written down again part by part; those
// of one value as ptxas makes them where it does something else (lanes/video.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <random>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

using u32 = std::uint32_t;
using s64 = std::int64_t;
using Expected = std::function<u32(u32, u32, u32)>;

void check(const std::string& instruction, const Expected& expected) {
  const auto module = load(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .b32 %r<9>; .reg .b64 %x<9>;
mov.u32 %r0, %tid.x;
ld.param.u64 %x0, [in]; ld.param.u64 %x1, [out];
mad.wide.u32 %x0, %r0, 12, %x0; mad.wide.u32 %x1, %r0, 4, %x1;
ld.global.u32 %r1, [%x0]; ld.global.u32 %r2, [%x0+4]; ld.global.u32 %r3, [%x0+8];
)" + instruction + "\nst.global.u32 [%x1], %r4;\nret;\n}\n");
  ASSERT_TRUE(module) << instruction;
  const u32 edges[] = {0,          1,          0x7F,       0x80,       0xFF,       0x7FFF,
                       0x8000,     0xFFFF,     0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01,
                       0x7F80FF01, 0x01020304, 0xFFFE0001, 0x80007FFF};
  std::mt19937 random(5);
  std::vector<u32> in;
  for (int i = 0; i < 3 * 256; ++i) in.push_back(i < 400 ? edges[random() % 16] : random());
  Launch l("k", {1, 1, 1}, {256, 1, 1});
  l.in("in", in).out("out", 1024);
  const RunReport r = l.run(module);
  ASSERT_EQ(r.verdict, Verdict::kOk) << instruction << ": " << r.detail;
  const auto got = l.read<u32>("out", 256);
  int wrong = 0;
  for (int i = 0; i < 256 && wrong < 3; ++i) {
    const u32 want = expected(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
    if (got[i] == want) continue;
    ++wrong;
    ADD_FAILURE() << fmt::format("{}\n  a {:#x} b {:#x} c {:#x}: got {:#x}, expected {:#x}",
                                 instruction, in[3 * i], in[3 * i + 1], in[3 * i + 2], got[i],
                                 want);
  }
}

s64 u8at(u32 v, int i) { return v >> (8 * i) & 0xFF; }
s64 s8at(u32 v, int i) { return static_cast<std::int8_t>(v >> (8 * i)); }
s64 u16at(u32 v, int i) { return v >> (16 * i) & 0xFFFF; }
s64 s16at(u32 v, int i) { return static_cast<std::int16_t>(v >> (16 * i)); }
s64 s32of(u32 v) { return static_cast<std::int32_t>(v); }

TEST(Video, OneValue) {
  check("vadd.s32.u32.s32 %r4, %r1, %r2;", [](u32 a, u32 b, u32) { return a + b; });
  check("vadd.s32.u32.s32.sat %r4, %r1, %r2;", [](u32 a, u32 b, u32) {
    return static_cast<u32>(std::clamp<s64>(s64{a} + s32of(b), INT32_MIN, INT32_MAX));
  });
  check("vsub.u32.u32.u32.sat %r4, %r1, %r2;", [](u32 a, u32 b, u32) { return a < b ? 0 : a - b; });
  check("vabsdiff.u32.s32.s32.add %r4, %r1, %r2, %r3;",
        [](u32 a, u32 b, u32 c) { return static_cast<u32>(std::abs(s32of(a) - s32of(b))) + c; });
  check("vmax.s32.s32.u32.min %r4, %r1.b3, %r2.h1, %r3;", [](u32 a, u32 b, u32 c) {
    return static_cast<u32>(std::min(std::max(s8at(a, 3), u16at(b, 1)), s32of(c)));
  });
  check("vadd.u32.u32.u32.sat %r4.b2, %r1.b0, %r2.b1, %r3;", [](u32 a, u32 b, u32 c) {
    return (c & 0xFF00FFFF) | static_cast<u32>(std::min<s64>(u8at(a, 0) + u8at(b, 1), 255)) << 16;
  });
  check("vmin.s32.s32.s32.sat %r4.h0, %r1, %r2, %r3;", [](u32 a, u32 b, u32 c) {
    const s64 v = std::min(s32of(a), s32of(b));
    return (c & 0xFFFF0000) | static_cast<u32>(v < 0 ? 32767 : std::min<s64>(v, 32767));
  });
  check("vadd.s32.s32.s32 %r4.h1, %r1, %r2, %r3;",
        [](u32 a, u32 b, u32 c) { return ((a + b) & 0xFFFF0000) | (c & 0xFFFF); });
  check("vadd.u32.u32.u32.sat %r4, %r1, %r2;", [](u32 a, u32 b, u32) { return a + b; });
  check("vsub.u32.u32.u32.max %r4, %r1.b1, %r2.b2, %r3;", [](u32 a, u32 b, u32 c) {
    const s64 t = u8at(a, 1) - u8at(b, 2);
    return t < 0 ? static_cast<u32>(t) : std::max(static_cast<u32>(t), c);
  });
  check("vset.s32.u32.lt.add %r4, %r1, %r2, %r3;",
        [](u32 a, u32 b, u32 c) { return c + (s32of(a) < s64{b} ? 1u : 0u); });
  check("vshl.u32.u32.u32.clamp %r4, %r1, %r2;",
        [](u32 a, u32 b, u32) { return b > 31 ? 0 : a << b; });
  // Of the shifted value 34 bits are clamped.
  check("vshl.s32.s32.u32.sat.wrap %r4, %r1, %r2;", [](u32 a, u32 b, u32) {
    s64 t = (s32of(a) * (s64{1} << (b & 31))) & 0x3FFFFFFFF;
    if (t >= 0x200000000) t -= 0x400000000;
    return static_cast<u32>(std::clamp<s64>(t, INT32_MIN, INT32_MAX));
  });
  check("vshr.s32.s32.u32.wrap %r4, %r1, %r2;",
        [](u32 a, u32 b, u32) { return static_cast<u32>(s32of(a) >> (b & 31)); });
}

TEST(Video, TwoHalves) {
  const auto halves = [](auto f) {
    return [f](u32 a, u32 b, u32 c) {
      u32 d = 0;
      for (int i = 0; i < 2; ++i) d |= (static_cast<u32>(f(a, b, c, i)) & 0xFFFF) << (16 * i);
      return d;
    };
  };
  check("vadd2.s32.s32.s32.sat %r4, %r1, %r2, %r3;", halves([](u32 a, u32 b, u32, int i) {
          return std::clamp<s64>(s16at(a, i) + s16at(b, i), -32768, 32767);
        }));
  check("vabsdiff2.u32.u32.u32 %r4, %r1, %r2, %r3;",
        halves([](u32 a, u32 b, u32, int i) { return std::abs(u16at(a, i) - u16at(b, i)); }));
  check("vavrg2.s32.s32.s32 %r4, %r1, %r2, %r3;", halves([](u32 a, u32 b, u32, int i) {
          const s64 sum = s16at(a, i) + s16at(b, i);
          return sum >= 0 ? (sum + 1) >> 1 : sum >> 1;
        }));
  check("vabsdiff2.u32.s32.s32.add %r4, %r1, %r2, %r3;", [](u32 a, u32 b, u32 c) {
    for (int i = 0; i < 2; ++i) c += static_cast<u32>(std::abs(s16at(a, i) - s16at(b, i)));
    return c;
  });
  check("vmax2.u32.u32.u32 %r4.h1, %r1.h01, %r2.h32, %r3;", [](u32 a, u32 b, u32 c) {
    // The upper half of the result: a's lower one against b's upper one.
    return (c & 0xFFFF) | static_cast<u32>(std::max(u16at(a, 0), u16at(b, 1))) << 16;
  });
}

TEST(Video, FourBytes) {
  const auto bytes = [](auto f) {
    return [f](u32 a, u32 b, u32 c) {
      u32 d = 0;
      for (int i = 0; i < 4; ++i) d |= (static_cast<u32>(f(a, b, c, i)) & 0xFF) << (8 * i);
      return d;
    };
  };
  check("vsub4.u32.u32.u32.sat %r4, %r1, %r2, %r3;",
        bytes([](u32 a, u32 b, u32, int i) { return std::max<s64>(u8at(a, i) - u8at(b, i), 0); }));
  check("vabsdiff4.s32.s32.s32.sat %r4, %r1, %r2, %r3;", bytes([](u32 a, u32 b, u32, int i) {
          return std::min<s64>(std::abs(s8at(a, i) - s8at(b, i)), 127);
        }));
  check("vabsdiff4.u32.u32.u32.add %r4, %r1, %r2, %r3;", [](u32 a, u32 b, u32 c) {
    for (int i = 0; i < 4; ++i) c += static_cast<u32>(std::abs(u8at(a, i) - u8at(b, i)));
    return c;
  });
  check("vset4.s32.s32.ge %r4.b20, %r1, %r2, %r3;", bytes([](u32 a, u32 b, u32 c, int i) {
          return i % 2 ? u8at(c, i) : s8at(a, i) >= s8at(b, i) ? s64{1} : s64{0};
        }));
  check("vavrg4.u32.u32.u32 %r4, %r1.b0123, %r2.b7610, %r3;", bytes([](u32 a, u32 b, u32, int i) {
          const s64 other = i >= 2 ? u8at(b, i) : u8at(a, i);
          return (u8at(a, 3 - i) + other + 1) >> 1;
        }));
}

}  // namespace
}  // namespace hone::emulator
