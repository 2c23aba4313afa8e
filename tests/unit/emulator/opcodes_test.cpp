// One opcode family at a time: a hand-written kernel applies a few instructions to 256 triples of
// values, edges first, and every result is compared with the same thing said in C++.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

// %rd1..3 hold the triple, %r1..3 its low halves, %f1..3 and %fd1..3 the same bits, %h1..3 the
// low 16. The result is what the body leaves in %rd10.
std::string kernel_text(const std::string& body) {
  return R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .pred %p<10>; .reg .b16 %h<20>; .reg .b32 %r<30>; .reg .f32 %f<20>; .reg .f64 %fd<20>; .reg .b64 %rd<30>;
mov.u32 %r20, %tid.x;
ld.param.u64 %rd20, [in];
ld.param.u64 %rd21, [out];
mad.wide.u32 %rd20, %r20, 24, %rd20;
mad.wide.u32 %rd21, %r20, 8, %rd21;
ld.global.u64 %rd1, [%rd20];
ld.global.u64 %rd2, [%rd20+8];
ld.global.u64 %rd3, [%rd20+16];
cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3;
mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;
mov.b64 %fd1, %rd1; mov.b64 %fd2, %rd2; mov.b64 %fd3, %rd3;
cvt.u16.u64 %h1, %rd1; cvt.u16.u64 %h2, %rd2; cvt.u16.u64 %h3, %rd3;
mov.u64 %rd10, 0;
)" + body +
         R"(
st.global.u64 [%rd21], %rd10;
ret;
}
)";
}

const std::vector<u64>& triples() {
  static const std::vector<u64> kValues = [] {
    const u64 edges[] = {0,
                         1,
                         2,
                         31,
                         32,
                         33,
                         63,
                         64,
                         255,
                         0x7FFF,
                         0x8000,
                         0xFFFF,
                         0x7FFFFFFF,
                         0x80000000,
                         0xFFFFFFFF,
                         0x7FFFFFFFFFFFFFFF,
                         0x8000000000000000,
                         ~0ull,
                         0x3F800000,
                         0xBF800000,
                         0x3F000000,
                         0x7F800000,
                         0xFF800000,
                         0x7FC00000,
                         0x00000001,
                         0x80000001,
                         0x3FF0000000000000,
                         0xBFE8000000000000,
                         0x7FF0000000000000,
                         0x7FF8000000000000,
                         0x4F000000,
                         0x4B000001,
                         0x3C003C00};
    std::mt19937_64 random(7);
    std::vector<u64> v;
    for (int i = 0; i < 256 * 3; ++i) {
      const u64 r = random();
      if (i < 3 * 180)
        v.push_back(edges[r % std::size(edges)]);
      else if (i % 2)  // floats of moderate size, in either width
        v.push_back(
            std::bit_cast<u32>(static_cast<float>(static_cast<s64>(r % 20001) - 10000) / 64) |
            (r & 0xFFFFFFFF00000000));
      else
        v.push_back(
            std::bit_cast<u64>(static_cast<double>(static_cast<s64>(r % 20001) - 10000) / 64));
    }
    return v;
  }();
  return kValues;
}

using Expected = std::function<u64(u64, u64, u64)>;

void check(const std::string& body, const Expected& expected) {
  auto module = load(kernel_text(body));
  ASSERT_NE(module, nullptr) << body;
  Launch l("k", {1, 1, 1}, {256, 1, 1});
  l.in("in", triples()).out("out", 2048);
  const RunReport r = l.run(module);
  ASSERT_EQ(r.verdict, Verdict::kOk) << body << ": " << r.detail;
  const auto got = l.read<u64>("out", 256);
  int wrong = 0;
  for (int t = 0; t < 256 && wrong < 3; ++t) {
    const u64 a = triples()[3 * t], b = triples()[3 * t + 1], c = triples()[3 * t + 2];
    const u64 want = expected(a, b, c);
    if (got[t] == want) continue;
    ++wrong;
    ADD_FAILURE() << body
                  << fmt::format("\n  a {:#x} b {:#x} c {:#x}: got {:#x}, expected {:#x}", a, b, c,
                                 got[t], want);
  }
}

// 32-bit integer results in %r10.
void check32(const std::string& body, const std::function<u32(u32, u32, u32)>& f) {
  check(body + " cvt.u64.u32 %rd10, %r10;", [f](u64 a, u64 b, u64 c) {
    return u64{f(static_cast<u32>(a), static_cast<u32>(b), static_cast<u32>(c))};
  });
}
u64 bits(double d) { return d != d ? 0x7FF8ull << 48 : std::bit_cast<u64>(d); }
u32 bits(float f) { return f != f ? 0x7FC00000u : std::bit_cast<u32>(f); }
// Floats: NaNs are all one.
void checkf(const std::string& body, const std::function<float(float, float, float)>& f) {
  check32(
      body +
          " testp.notanumber.f32 %p9, %f10; mov.b32 %r10, %f10; selp.b32 %r10, 0x7FC00000, %r10, "
          "%p9;",
      [f](u32 a, u32 b, u32 c) {
        return bits(f(std::bit_cast<float>(a), std::bit_cast<float>(b), std::bit_cast<float>(c)));
      });
}
void checkd(const std::string& body, const std::function<double(double, double, double)>& f) {
  check(body +
            " testp.notanumber.f64 %p9, %fd10; mov.b64 %rd10, %fd10; selp.b64 %rd10, "
            "0x7FF8000000000000, %rd10, %p9;",
        [f](u64 a, u64 b, u64 c) {
          return bits(
              f(std::bit_cast<double>(a), std::bit_cast<double>(b), std::bit_cast<double>(c)));
        });
}

TEST(Opcodes, Integer32) {
  check32("add.s32 %r10, %r1, %r2;", [](u32 a, u32 b, u32) { return a + b; });
  check32("sub.u32 %r10, %r1, %r2;", [](u32 a, u32 b, u32) { return a - b; });
  check32("mul.lo.s32 %r10, %r1, %r2;", [](u32 a, u32 b, u32) { return a * b; });
  check32("mul.hi.u32 %r10, %r1, %r2;",
          [](u32 a, u32 b, u32) { return static_cast<u32>(u64{a} * b >> 32); });
  check32("mul.hi.s32 %r10, %r1, %r2;", [](u32 a, u32 b, u32) {
    return static_cast<u32>((s64{static_cast<s32>(a)} * static_cast<s32>(b)) >> 32);
  });
  check32("mad.lo.u32 %r10, %r1, %r2, %r3;", [](u32 a, u32 b, u32 c) { return a * b + c; });
  check32("max.s32 %r10, %r1, 1; div.s32 %r10, %r2, %r10;", [](u32 a, u32 b, u32) {
    return static_cast<u32>(static_cast<s32>(b) / std::max(static_cast<s32>(a), 1));
  });
  check32("max.u32 %r10, %r1, 1; rem.u32 %r10, %r2, %r10;",
          [](u32 a, u32 b, u32) { return b % std::max(a, 1u); });
  check32("abs.s32 %r10, %r1; neg.s32 %r10, %r10;",
          [](u32 a, u32, u32) { return static_cast<s32>(a) < 0 ? a : 0 - a; });
  check32("min.s32 %r10, %r1, %r2;", [](u32 a, u32 b, u32) {
    return static_cast<u32>(std::min(static_cast<s32>(a), static_cast<s32>(b)));
  });
  check32("add.sat.s32 %r10, %r1, %r2;", [](u32 a, u32 b, u32) {
    const s64 v = s64{static_cast<s32>(a)} + static_cast<s32>(b);
    return static_cast<u32>(std::clamp<s64>(v, INT32_MIN, INT32_MAX));
  });
  check32("sad.u32 %r10, %r1, %r2, %r3;",
          [](u32 a, u32 b, u32 c) { return c + (a < b ? b - a : a - b); });
  check32("dp4a.s32.u32 %r10, %r1, %r2, %r3;", [](u32 a, u32 b, u32 c) {
    for (int k = 0; k < 4; ++k)
      c += static_cast<u32>(s32{static_cast<s8>(a >> 8 * k)} * s32{static_cast<u8>(b >> 8 * k)});
    return c;
  });
}

TEST(Opcodes, Integer64AndWide) {
  check("add.s64 %rd10, %rd1, %rd2;", [](u64 a, u64 b, u64) { return a + b; });
  check("mul.lo.u64 %rd10, %rd1, %rd2;", [](u64 a, u64 b, u64) { return a * b; });
  check("mul.hi.s64 %rd10, %rd1, %rd2;", [](u64 a, u64 b, u64) {
    return static_cast<u64>((static_cast<__int128>(static_cast<s64>(a)) * static_cast<s64>(b)) >>
                            64);
  });
  check("mad.wide.s32 %rd10, %r1, %r2, %rd3;", [](u64 a, u64 b, u64 c) {
    return static_cast<u64>(s64{static_cast<s32>(a)} * static_cast<s32>(b)) + c;
  });
  check("mul.wide.u32 %rd10, %r1, %r2;",
        [](u64 a, u64 b, u64) { return u64{static_cast<u32>(a)} * static_cast<u32>(b); });
  check("max.u64 %rd10, %rd1, 1; rem.u64 %rd10, %rd2, %rd10;",
        [](u64 a, u64 b, u64) { return b % std::max<u64>(a, 1); });
  check("add.cc.u32 %r10, %r1, %r2; addc.u32 %r11, %r3, 0; mov.b64 %rd10, {%r10, %r11};",
        [](u64 a, u64 b, u64 c) {
          return u64{static_cast<u32>(a)} + static_cast<u32>(b) + (u64{static_cast<u32>(c)} << 32);
        });
  check("sub.cc.u32 %r10, %r1, %r2; subc.u32 %r11, %r3, 0; mov.b64 %rd10, {%r10, %r11};",
        [](u64 a, u64 b, u64 c) {
          const bool borrow = static_cast<u32>(a) < static_cast<u32>(b);
          return u64{static_cast<u32>(a - b)} | u64{static_cast<u32>(static_cast<u32>(c) - borrow)}
                                                    << 32;
        });
  check(
      "mad.lo.cc.u32 %r10, %r1, %r2, %r3; madc.hi.u32 %r11, %r1, %r2, 0; mov.b64 %rd10, {%r10, "
      "%r11};",
      [](u64 a, u64 b, u64 c) {
        return u64{static_cast<u32>(a)} * static_cast<u32>(b) + static_cast<u32>(c);
      });
}

TEST(Opcodes, Bits) {
  check32("and.b32 %r10, %r1, %r2; xor.b32 %r10, %r10, %r3; not.b32 %r10, %r10;",
          [](u32 a, u32 b, u32 c) { return ~((a & b) ^ c); });
  check32("shl.b32 %r10, %r1, %r2;", [](u32 a, u32 b, u32) { return b > 31 ? 0 : a << b; });
  check32("shr.u32 %r10, %r1, %r2;", [](u32 a, u32 b, u32) { return b > 31 ? 0 : a >> b; });
  check32("shr.s32 %r10, %r1, %r2;", [](u32 a, u32 b, u32) {
    return static_cast<u32>(static_cast<s32>(a) >> std::min(b, 31u));
  });
  check("shl.b64 %rd10, %rd1, %r2;",
        [](u64 a, u64 b, u64) { return static_cast<u32>(b) > 63 ? 0 : a << static_cast<u32>(b); });
  check32("shf.l.wrap.b32 %r10, %r1, %r2, %r3;", [](u32 a, u32 b, u32 c) {
    return static_cast<u32>(((u64{b} << 32 | a) << (c & 31)) >> 32);
  });
  check32("shf.r.clamp.b32 %r10, %r1, %r2, %r3;", [](u32 a, u32 b, u32 c) {
    return static_cast<u32>((u64{b} << 32 | a) >> std::min(c, 32u));
  });
}

TEST(Opcodes, BitCounts) {
  check("popc.b64 %r10, %rd1; clz.b32 %r11, %r2; mov.b64 %rd10, {%r10, %r11};",
        [](u64 a, u64 b, u64) {
          return static_cast<u64>(std::popcount(a)) |
                 static_cast<u64>(std::countl_zero(static_cast<u32>(b))) << 32;
        });
  check32("bfind.u32 %r10, %r1;",
          [](u32 a, u32, u32) { return a ? 31u - static_cast<u32>(std::countl_zero(a)) : ~0u; });
  check32("bfind.s32 %r10, %r1;", [](u32 a, u32, u32) {
    const u32 v = static_cast<s32>(a) < 0 ? ~a : a;
    return v ? 31u - static_cast<u32>(std::countl_zero(v)) : ~0u;
  });
  check32("brev.b32 %r10, %r1;", [](u32 a, u32, u32) {
    u32 r = 0;
    for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
    return r;
  });
  check32("bfe.u32 %r10, %r1, %r2, 7;", [](u32 a, u32 b, u32) {
    const u32 p = b & 255;
    return p > 31 ? 0 : (a >> p) & 127;
  });
  check32("bfe.s32 %r10, %r1, 5, 9;",
          [](u32 a, u32, u32) { return static_cast<u32>(static_cast<s32>(a << 18) >> 23); });
  check32("bfi.b32 %r10, %r1, %r2, 4, 12;",
          [](u32 a, u32 b, u32) { return (b & ~0xFFF0u) | (a << 4 & 0xFFF0u); });
  check32("prmt.b32 %r10, %r1, %r2, 0x9610;", [](u32 a, u32 b, u32) {
    // nibbles: 0 -> byte 0 of a, 1 -> byte 1 of a, 6 -> byte 2 of b, 9 -> sign of byte 1 of a
    return (a & 0xFFFF) | (b >> 16 & 0xFF) << 16 | ((a >> 15 & 1) ? 0xFF000000u : 0);
  });
  check32("lop3.b32 %r10, %r1, %r2, %r3, 0x96;", [](u32 a, u32 b, u32 c) { return a ^ b ^ c; });
  check32("lop3.b32 %r10, %r1, %r2, %r3, 0xE2;",
          [](u32 a, u32 b, u32 c) { return (c & ~b) | (a & b); });
}

TEST(Opcodes, SelectionAndPredicates) {
  check32("setp.lt.s32 %p1, %r1, %r2; selp.u32 %r10, %r3, 7, %p1;",
          [](u32 a, u32 b, u32 c) { return static_cast<s32>(a) < static_cast<s32>(b) ? c : 7; });
  check32(
      "setp.hi.u32 %p1, %r1, %r2; setp.eq.and.u32 %p2|%p3, %r2, %r3, %p1; selp.u32 %r10, 1, 0, "
      "%p2; selp.u32 %r11, 2, 0, %p3; or.b32 %r10, %r10, %r11;",
      [](u32 a, u32 b, u32 c) {
        const bool p = a > b;
        return (b == c && p ? 1u : 0u) | (b != c && p ? 2u : 0u);
      });
  check32("set.ge.u32.s32 %r10, %r1, %r2;",
          [](u32 a, u32 b, u32) { return static_cast<s32>(a) >= static_cast<s32>(b) ? ~0u : 0u; });
  check32("slct.u32.s32 %r10, %r1, %r2, %r3;",
          [](u32 a, u32 b, u32 c) { return static_cast<s32>(c) >= 0 ? a : b; });
  check32(
      "setp.ltu.f32 %p1, %f1, %f2; not.pred %p2, %p1; setp.ne.f32 %p3, %f1, %f2; xor.pred %p4, "
      "%p2, %p3; selp.u32 %r10, 5, 6, %p4;",
      [](u32 a, u32 b, u32) {
        const float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
        const bool ltu = !(x >= y), ne = x < y || x > y;
        return (!ltu) != ne ? 5u : 6u;
      });
  check32(
      "setp.nan.f32 %p1, %f1, %f2; mov.u32 %r10, 3; @%p1 mov.u32 %r10, 4; @!%p1 add.u32 %r10, "
      "%r10, %r3;",
      [](u32 a, u32 b, u32 c) {
        return std::isnan(std::bit_cast<float>(a)) || std::isnan(std::bit_cast<float>(b)) ? 4u
                                                                                          : 3u + c;
      });
}

TEST(Opcodes, Float32) {
  checkf("add.f32 %f10, %f1, %f2;", [](float a, float b, float) { return a + b; });
  checkf("mul.rn.f32 %f10, %f1, %f2; sub.f32 %f10, %f10, %f3;", [](float a, float b, float c) {
    volatile float p = a * b;
    return p - c;
  });
  checkf("fma.rn.f32 %f10, %f1, %f2, %f3;",
         [](float a, float b, float c) { return std::fma(a, b, c); });
  checkf("div.rn.f32 %f10, %f1, %f2;", [](float a, float b, float) { return a / b; });
  checkf("sqrt.rn.f32 %f10, %f1;", [](float a, float, float) { return std::sqrt(a); });
  checkf("min.f32 %f10, %f1, %f2;", [](float a, float b, float) {
    return std::isnan(a) ? b : std::isnan(b) ? a : a < b || (a == b && std::signbit(a)) ? a : b;
  });
  checkf("max.NaN.f32 %f10, %f1, %f2;", [](float a, float b, float) {
    return std::isnan(a) || std::isnan(b)          ? std::nanf("")
           : a > b || (a == b && !std::signbit(a)) ? a
                                                   : b;
  });
  checkf("abs.f32 %f10, %f1; neg.f32 %f10, %f10;",
         [](float a, float, float) { return -std::fabs(a); });
  checkf("add.sat.f32 %f10, %f1, %f2;", [](float a, float b, float) {
    const float v = a + b;
    return v > 0 ? std::min(v, 1.f) : 0.f;
  });
  checkf("add.ftz.f32 %f10, %f1, 0f80000000;", [](float a, float, float) {
    return std::isnormal(a) || !std::isfinite(a) ? a : std::copysign(0.f, a);
  });
  checkf("copysign.f32 %f10, %f1, %f2;",
         [](float a, float b, float) { return std::copysign(b, a); });
  // Directed: quarters make every sum below 2^20 exact in double.
  const std::string quarters =
      "and.b32 %r4, %r1, 0xFFFFFFF; cvt.rn.f32.u32 %f4, %r4; mov.f32 %f5, 0f3E800000;";
  check32(quarters + "add.rz.f32 %f10, %f4, %f5; mov.b32 %r10, %f10;", [](u32 a, u32, u32) {
    const float x = static_cast<float>(a & 0xFFFFFFF);
    const double exact = static_cast<double>(x) + 0.25;
    const float r = static_cast<float>(exact);
    return std::bit_cast<u32>(static_cast<double>(r) > exact ? std::nextafter(r, 0.f) : r);
  });
  check32(quarters + "add.rp.f32 %f10, %f4, %f5; mov.b32 %r10, %f10;", [](u32 a, u32, u32) {
    const float x = static_cast<float>(a & 0xFFFFFFF);
    const double exact = static_cast<double>(x) + 0.25;
    const float r = static_cast<float>(exact);
    return std::bit_cast<u32>(static_cast<double>(r) < exact ? std::nextafter(r, 1e30f) : r);
  });
}

TEST(Opcodes, ApproximateFunctions) {
  const auto close = [](const std::string& op, const std::function<double(double)>& f,
                        double relative, double absolute, auto in_range) {
    auto module =
        load(kernel_text(op + ".f32 %f10, %f1; mov.b32 %r10, %f10; cvt.u64.u32 %rd10, %r10;"));
    Launch l("k", {1, 1, 1}, {256, 1, 1});
    l.in("in", triples()).out("out", 2048);
    const RunReport r = l.run(module);
    ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
    const auto got = l.read<u64>("out", 256);
    int compared = 0;
    for (int t = 0; t < 256; ++t) {
      const float a = std::bit_cast<float>(static_cast<u32>(triples()[3 * t]));
      if (!in_range(a)) continue;
      ++compared;
      const double want = f(a);
      EXPECT_NEAR(std::bit_cast<float>(static_cast<u32>(got[t])), want,
                  std::fabs(want) * relative + absolute)
          << op << " " << a;
    }
    EXPECT_GT(compared, 20) << op;
  };
  const auto any = [](float a) { return std::isnormal(a) && std::fabs(a) < 1e30f; };
  const auto positive = [](float a) { return std::isnormal(a) && a > 0 && a < 1e30f; };
  const auto small = [](float a) { return std::fabs(a) < 100 && (a == 0 || std::isnormal(a)); };
  close("rcp.approx", [](double a) { return 1 / a; }, 1.2e-7, 0, any);
  close("rsqrt.approx", [](double a) { return 1 / std::sqrt(a); }, 2.4e-7, 0, positive);
  close("sqrt.approx", [](double a) { return std::sqrt(a); }, 2.4e-7, 0, positive);
  close("ex2.approx", [](double a) { return std::exp2(a); }, 2.4e-7, 1e-37, small);
  close("lg2.approx", [](double a) { return std::log2(a); }, 2.4e-7, 1e-7, positive);
  close("sin.approx", [](double a) { return std::sin(a); }, 0, 1e-6, small);
  close("cos.approx", [](double a) { return std::cos(a); }, 0, 1e-6, small);
  close("tanh.approx", [](double a) { return std::tanh(a); }, 5e-4, 0, small);
}

TEST(Opcodes, Float64) {
  checkd("add.f64 %fd10, %fd1, %fd2;", [](double a, double b, double) { return a + b; });
  checkd("fma.rn.f64 %fd10, %fd1, %fd2, %fd3;",
         [](double a, double b, double c) { return std::fma(a, b, c); });
  checkd("div.rn.f64 %fd10, %fd1, %fd2;", [](double a, double b, double) { return a / b; });
  checkd("sqrt.rn.f64 %fd10, %fd1;", [](double a, double, double) { return std::sqrt(a); });
  checkd("neg.f64 %fd10, %fd1; max.f64 %fd10, %fd10, %fd2;", [](double a, double b, double) {
    a = -a;
    return std::isnan(a) ? b : std::isnan(b) ? a : a > b || (a == b && !std::signbit(a)) ? a : b;
  });
}

/// What is left of a NaN's payload may be zero: it does not become an infinity.
TEST(Opcodes, NanStaysOneInTf32) {
  check32(
      "and.b32 %r5, %r1, 0x80001FFF; or.b32 %r5, %r5, 0x7F800000; mov.b32 %f5, %r5;"
      "cvt.rna.tf32.f32 %r10, %f5;",
      [](u32 a, u32, u32) { return (a & 0x80000000) | (a & 0x1FFF ? 0x7FC00000u : 0x7F800000u); });
}

TEST(Opcodes, Conversions) {
  const auto clamp32 = [](double v) {
    return std::isnan(v) ? 0 : static_cast<s32>(std::clamp(v, -2147483648.0, 2147483647.0));
  };
  check32("cvt.rzi.s32.f32 %r10, %f1;", [&](u32 a, u32, u32) {
    return static_cast<u32>(clamp32(std::trunc(std::bit_cast<float>(a))));
  });
  check32("cvt.rni.s32.f32 %r10, %f1;", [&](u32 a, u32, u32) {
    return static_cast<u32>(clamp32(std::nearbyint(std::bit_cast<float>(a))));
  });
  check32("cvt.rmi.s32.f32 %r10, %f1;", [&](u32 a, u32, u32) {
    return static_cast<u32>(clamp32(std::floor(std::bit_cast<float>(a))));
  });
  check32("cvt.rpi.u32.f32 %r10, %f1;", [](u32 a, u32, u32) {
    const double v = std::ceil(std::bit_cast<float>(a));
    return std::isnan(v) ? 0u : static_cast<u32>(std::clamp(v, 0.0, 4294967295.0));
  });
  check32("cvt.rzi.u8.f32 %h10, %f1; cvt.u32.u16 %r10, %h10;", [](u32 a, u32, u32) {
    const double v = std::trunc(std::bit_cast<float>(a));
    return std::isnan(v) ? 0u : static_cast<u32>(std::clamp(v, 0.0, 255.0));
  });
  checkf("cvt.rn.f32.s32 %f10, %r1;",
         [](float a, float, float) { return static_cast<float>(std::bit_cast<s32>(a)); });
  check("cvt.rn.f32.u64 %f10, %rd1; mov.b32 %r10, %f10; cvt.u64.u32 %rd10, %r10;",
        [](u64 a, u64, u64) { return u64{std::bit_cast<u32>(static_cast<float>(a))}; });
  checkf("cvt.rz.f32.u32 %f10, %r1;", [](float a, float, float) {
    u32 v = std::bit_cast<u32>(a);
    if (const int extra = 8 - std::countl_zero(v); v && extra > 0) v &= ~((1u << extra) - 1);
    return static_cast<float>(v);
  });
  check("cvt.s64.s32 %rd10, %r1;",
        [](u64 a, u64, u64) { return static_cast<u64>(s64{static_cast<s32>(a)}); });
  check("cvt.s32.s8 %r10, %r1; cvt.u64.u32 %rd10, %r10;",
        [](u64 a, u64, u64) { return u64{static_cast<u32>(s32{static_cast<s8>(a)})}; });
  check("cvt.sat.u8.s32 %h10, %r1; cvt.u64.u16 %rd10, %h10;",
        [](u64 a, u64, u64) { return static_cast<u64>(std::clamp(static_cast<s32>(a), 0, 255)); });
}

TEST(Opcodes, ConversionsBetweenFloats) {
  check(
      "cvt.f64.f32 %fd10, %f1; setp.nan.f64 %p1, %fd10, %fd10; mov.b64 %rd10, %fd10; selp.b64 "
      "%rd10, 0, %rd10, %p1;",
      [](u64 a, u64, u64) {
        const double v = std::bit_cast<float>(static_cast<u32>(a));
        return v != v ? 0 : std::bit_cast<u64>(v);
      });
  check(
      "cvt.rn.f32.f64 %f10, %fd1; setp.nan.f32 %p1, %f10, %f10; mov.b32 %r10, %f10; selp.b32 %r10, "
      "0, %r10, %p1; cvt.u64.u32 %rd10, %r10;",
      [](u64 a, u64, u64) {
        const float v = static_cast<float>(std::bit_cast<double>(a));
        return v != v ? 0 : u64{std::bit_cast<u32>(v)};
      });
  // Every half survives the way up and down, and NaNs stay NaNs.
  check(
      "mov.b16 %h4, %h1; cvt.f32.f16 %f10, %h4; cvt.rn.f16.f32 %h10, %f10; setp.nan.f32 %p1, %f10, "
      "%f10; cvt.u64.u16 %rd10, %h10; selp.b64 %rd10, 1, %rd10, %p1;",
      [](u64 a, u64, u64) {
        const u64 h = a & 0xFFFF;
        return (h & 0x7FFF) > 0x7C00 ? 1 : h;
      });
  check(
      "cvt.f32.bf16 %f10, %h1; cvt.rn.bf16.f32 %h10, %f10; setp.nan.f32 %p1, %f10, %f10; "
      "cvt.u64.u16 %rd10, %h10; selp.b64 %rd10, 1, %rd10, %p1;",
      [](u64 a, u64, u64) {
        const u64 h = a & 0xFFFF;
        return (h & 0x7FFF) > 0x7F80 ? 1 : h;
      });
  // f32 to half by its definition: the nearest of the two neighbours, ties to even.
  check(
      "cvt.rn.f16.f32 %h10, %f1; setp.nan.f32 %p1, %f1, %f1; cvt.u64.u16 %rd10, %h10; selp.b64 "
      "%rd10, 1, %rd10, %p1;",
      [](u64 a, u64, u64) -> u64 {
        const float f = std::bit_cast<float>(static_cast<u32>(a));
        if (f != f) return 1;
        const u64 sign = std::signbit(f) ? 0x8000 : 0;
        const double v = std::fabs(static_cast<double>(f));
        if (v >= 65520) return sign | 0x7C00;
        const int e = v < 0x1p-14 ? -14 : std::ilogb(v);
        const double q = std::nearbyint(std::ldexp(v, 10 - e));
        return sign | (q >= 1024 ? (static_cast<u64>(e + 14) << 10) + static_cast<u64>(q)
                                 : static_cast<u64>(q));
      });
  check(
      "cvt.rz.f16.f32 %h10, %f1; cvt.u64.u16 %rd10, %h10; setp.nan.f32 %p1, %f1, %f1; selp.b64 "
      "%rd10, 1, %rd10, %p1;",
      [](u64 a, u64, u64) -> u64 {
        const float f = std::bit_cast<float>(static_cast<u32>(a));
        if (f != f) return 1;
        const u64 sign = std::signbit(f) ? 0x8000 : 0;
        const double v = std::fabs(static_cast<double>(f));
        if (std::isinf(v)) return sign | 0x7C00;
        if (v >= 65504) return sign | 0x7BFF;
        const int e = v < 0x1p-14 ? -14 : std::ilogb(v);
        const double q = std::trunc(std::ldexp(v, 10 - e));
        return sign | (q >= 1024 ? (static_cast<u64>(e + 14) << 10) + static_cast<u64>(q)
                                 : static_cast<u64>(q));
      });
}

// Halves from small integers: sums and products are exact, so the format decides every bit.
TEST(Opcodes, Halves) {
  const std::string make =
      "and.b32 %r4, %r1, 31; and.b32 %r5, %r2, 31; and.b32 %r6, %r3, 31; cvt.rn.f16.u32 %h4, %r4; "
      "cvt.rn.f16.u32 %h5, %r5; cvt.rn.f16.u32 %h6, %r6;";
  const std::string back = "cvt.rzi.s32.f16 %r10, %h10;";
  check32(make + "add.f16 %h10, %h4, %h5; sub.f16 %h10, %h10, %h6;" + back,
          [](u32 a, u32 b, u32 c) { return (a & 31) + (b & 31) - (c & 31); });
  check32(make + "fma.rn.f16 %h10, %h4, %h5, %h6;" + back,
          [](u32 a, u32 b, u32 c) { return (a & 31) * (b & 31) + (c & 31); });
  check32(make +
              "mov.b32 %r7, {%h4, %h5}; mov.b32 %r8, {%h6, %h6}; mul.f16x2 %r7, %r7, %r8; mov.b32 "
              "{%h7, %h8}, %r7; cvt.rzi.u32.f16 %r10, %h7; cvt.rzi.u32.f16 %r11, %h8; mad.lo.u32 "
              "%r10, %r11, 1000, %r10;",
          [](u32 a, u32 b, u32 c) { return (a & 31) * (c & 31) + 1000 * (b & 31) * (c & 31); });
  check32(make + "max.f16 %h10, %h4, %h5; neg.f16 %h10, %h10;" + back,
          [](u32 a, u32 b, u32) { return 0u - std::max(a & 31, b & 31); });
  check32(make + "setp.lt.f16 %p1, %h4, %h5; selp.u32 %r10, 1, 0, %p1;",
          [](u32 a, u32 b, u32) { return (a & 31) < (b & 31) ? 1u : 0u; });
  check32(
      "and.b32 %r4, %r1, 15; and.b32 %r5, %r2, 15; cvt.rn.bf16.u32 %h4, %r4; cvt.rn.bf16.u32 %h5, "
      "%r5; fma.rn.bf16 %h10, %h4, %h5, %h5; cvt.f32.bf16 %f10, %h10; cvt.rzi.u32.f32 %r10, %f10;",
      [](u32 a, u32 b, u32) { return (a & 15) * (b & 15) + (b & 15); });
  check32(make +
              "mov.b32 %r7, {%h4, %h5}; mov.b32 %r8, {%h6, %h6}; set.lt.f16x2.f16x2 %r10, %r7, "
              "%r8; set.ge.u32.f16x2 %r11, %r7, %r8; xor.b32 %r10, %r10, %r11;",
          [](u32 a, u32 b, u32 c) {
            return ((a & 31) < (c & 31) ? 0x3C00u : 0xFFFFu) |
                   ((b & 31) < (c & 31) ? 0x3C00u : 0xFFFFu) << 16;
          });
  // cvt.f16x2 puts its first source on top.
  check32("cvt.rn.f32.u32 %f4, 3; cvt.rn.f32.u32 %f5, 5; cvt.rn.f16x2.f32 %r10, %f4, %f5;",
          [](u32, u32, u32) { return 0x42004500u; });
}

TEST(Opcodes, VectorsAndBytesInMemory) {
  // A local array, written in one width and read in another.
  check(
      ".local .align 16 .b8 buf[32]; mov.u64 %rd4, buf; st.local.v2.b64 [%rd4], {%rd1, %rd2}; "
      "ld.local.v4.u32 {%r4, %r5, %r6, %r7}, [%rd4]; ld.local.s8 %r8, [%rd4+9]; add.u32 %r4, %r4, "
      "%r7; xor.b32 %r5, %r5, %r6; add.u32 %r5, %r5, %r8; mov.b64 %rd10, {%r4, %r5};",
      [](u64 a, u64 b, u64) {
        const u32 lo = static_cast<u32>(a) + static_cast<u32>(b >> 32);
        const u32 hi = (static_cast<u32>(a >> 32) ^ static_cast<u32>(b)) +
                       static_cast<u32>(s32{static_cast<s8>(b >> 8)});
        return u64{lo} | u64{hi} << 32;
      });
  // The same through a generic address, with 16-bit pieces.
  check(
      ".local .align 8 .b8 buf[16]; mov.u64 %rd4, buf; cvta.local.u64 %rd5, %rd4; st.u64 [%rd5+8], "
      "%rd1; ld.u16 %h4, [%rd5+10]; ld.s16 %r4, [%rd5+14]; cvt.u64.u16 %rd6, %h4; cvt.s64.s32 "
      "%rd7, %r4; add.s64 %rd10, %rd6, %rd7;",
      [](u64 a, u64, u64) {
        return (a >> 16 & 0xFFFF) + static_cast<u64>(s64{static_cast<s16>(a >> 48)});
      });
}

TEST(Opcodes, LanesAtOtherWordsOfLocalMemory) {
  // All lanes at one place, then each at its own, then some of them at one place.
  check(
      ".local .align 16 .b8 buf[16]; mov.u64 %rd4, buf; st.local.v4.u32 [%rd4], {%r1, %r2, %r3, "
      "%r1}; and.b32 %r4, %r1, 3; mad.wide.u32 %rd5, %r4, 4, %rd4; st.local.u32 [%rd5], %r2; "
      "and.b32 %r5, %r3, 1; setp.eq.u32 %p1, %r5, 1; @%p1 st.local.b64 [%rd4+8], %rd3; and.b32 "
      "%r6, %r2, 1; mad.wide.u32 %rd6, %r6, 8, %rd4; ld.local.b64 %rd10, [%rd6];",
      [](u64 a, u64 b, u64 c) {
        std::array<u32, 4> words = {static_cast<u32>(a), static_cast<u32>(b), static_cast<u32>(c),
                                    static_cast<u32>(a)};
        words[a & 3] = static_cast<u32>(b);
        if (c & 1) {
          words[2] = static_cast<u32>(c);
          words[3] = static_cast<u32>(c >> 32);
        }
        return u64{words[2 * (b & 1)]} | u64{words[2 * (b & 1) + 1]} << 32;
      });
}

// As cuda_fp16.h writes it in inline assembly.
TEST(Opcodes, DirectivesWithoutSpaces) {
  check32("{.reg.b16 low,high; mov.b32 {low,high}, %r1; mov.b32 %r10, {high,low};}",
          [](u32 a, u32, u32) { return a >> 16 | a << 16; });
}

TEST(Opcodes, ScopesShadowRegistersAndLabels) {
  check32(
      "mov.u32 %r10, %r1; { .reg .b32 %r10; .reg .pred p; mov.u32 %r10, 5; setp.gt.u32 p, %r2, 9; "
      "@p bra L; mov.u32 %r10, 6; L: mov.u32 %r11, %r10; } { .reg .pred p; setp.gt.u32 p, %r3, 9; "
      "@p bra L; add.u32 %r11, %r11, 10; L: } add.u32 %r10, %r10, %r11;",
      [](u32 a, u32 b, u32 c) { return a + (b > 9 ? 5 : 6) + (c > 9 ? 0 : 10); });
}

}  // namespace
}  // namespace hone::emulator
