// Instructions of whole warps: shuffles, votes, atomics, barriers that reduce, special registers.
#include <fmt/format.h>

#include <bit>
#include <functional>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s32 = std::int32_t;

std::vector<u32> warp(const std::string& body, const std::vector<u32>& in) {
  auto module = load(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .pred %p<10>; .reg .b32 %r<30>; .reg .b64 %rd<30>; .reg .f32 %f<9>; .reg .f64 %fd<9>;
.shared .align 8 .b8 cell[64];
mov.u32 %r20, %tid.x;
ld.param.u64 %rd20, [in]; ld.param.u64 %rd21, [out];
mad.wide.u32 %rd22, %r20, 4, %rd20; mad.wide.u32 %rd21, %r20, 4, %rd21;
ld.global.u32 %r1, [%rd22];
)" + body + "\nst.global.u32 [%rd21], %r10;\nret;\n}\n");
  Launch l("k", {1, 1, 1}, {32, 1, 1});
  l.in("in", in).out("out", 128);
  const RunReport r = l.run(module);
  EXPECT_EQ(r.verdict, Verdict::kOk) << body << ": " << r.detail;
  return l.read<u32>("out", 32);
}
std::vector<u32> squares() {
  std::vector<u32> v(32);
  for (u32 i = 0; i < 32; ++i) v[i] = i * i + 3;
  return v;
}
std::vector<u32> each(const std::function<u32(u32)>& f) {
  std::vector<u32> v(32);
  for (u32 i = 0; i < 32; ++i) v[i] = f(i);
  return v;
}

TEST(Opcodes, Shuffles) {
  const auto v = squares();
  EXPECT_EQ(
      warp("shfl.sync.up.b32 %r10|%p1, %r1, 3, 0, 0xffffffff; @!%p1 add.u32 %r10, %r10, 1000;", v),
      each([&](u32 i) { return i >= 3 ? v[i - 3] : v[i] + 1000; }));
  EXPECT_EQ(
      warp("shfl.sync.down.b32 %r10|%p1, %r1, 5, 31, 0xffffffff; @!%p1 add.u32 %r10, %r10, 1000;",
           v),
      each([&](u32 i) { return i + 5 <= 31 ? v[i + 5] : v[i] + 1000; }));
  EXPECT_EQ(warp("shfl.sync.bfly.b32 %r10, %r1, 9, 31, 0xffffffff;", v),
            each([&](u32 i) { return v[i ^ 9]; }));
  EXPECT_EQ(warp("shfl.sync.idx.b32 %r10, %r1, 2, 31, 0xffffffff;", v),
            each([&](u32) { return v[2]; }));
  // Segments of eight lanes.
  EXPECT_EQ(warp("shfl.sync.idx.b32 %r10, %r1, 3, 0x181f, 0xffffffff;", v),
            each([&](u32 i) { return v[(i & 24) + 3]; }));
  EXPECT_EQ(warp("shfl.sync.down.b32 %r10, %r1, 2, 0x181f, 0xffffffff;", v),
            each([&](u32 i) { return (i & 7) + 2 < 8 ? v[i + 2] : v[i]; }));
  EXPECT_EQ(warp("shfl.sync.up.b32 %r10, %r1, 1, 0x1800, 0xffffffff;", v),
            each([&](u32 i) { return i & 7 ? v[i - 1] : v[i]; }));
}

TEST(Opcodes, VotesMatchesAndReductions) {
  const auto v = squares();
  EXPECT_EQ(warp("setp.gt.u32 %p1, %r20, 11; vote.sync.ballot.b32 %r10, %p1, 0xffffffff;", v),
            each([](u32) { return 0xFFFFF000u; }));
  EXPECT_EQ(
      warp("setp.gt.u32 %p1, %r20, 11; vote.sync.any.pred %p2, %p1, 0xffffffff; vote.sync.all.pred "
           "%p3, !%p1, 0xffffffff; selp.u32 %r10, 1, 0, %p2; @%p3 add.u32 %r10, %r10, 2;",
           v),
      each([](u32) { return 1u; }));
  EXPECT_EQ(warp("and.b32 %r2, %r20, 3; match.any.sync.b32 %r10, %r2, 0xffffffff;", v),
            each([](u32 i) { return 0x11111111u << (i & 3); }));
  EXPECT_EQ(warp("match.all.sync.b32 %r10|%p1, 7, 0xffffffff; @!%p1 mov.u32 %r10, 0;", v),
            each([](u32) { return ~0u; }));
  EXPECT_EQ(warp("redux.sync.add.s32 %r10, %r1, 0xffffffff;", v),
            each([](u32) { return 31u * 32 * 63 / 6 + 96; }));
  EXPECT_EQ(warp("redux.sync.max.u32 %r10, %r1, 0xffffffff;", v), each([](u32) { return 964u; }));
  EXPECT_EQ(
      warp("setp.lt.u32 %p1, %r20, 5; mov.u32 %r10, 0; @!%p1 bra L; activemask.b32 %r10; L:", v),
      each([](u32 i) { return i < 5 ? 31u : 0u; }));
}

TEST(Opcodes, AtomicsReturnTheOldValue) {
  const auto v = squares();
  // Lanes run in order, so that the old values are known.
  const std::string init =
      "mov.u64 %rd1, cell; setp.eq.u32 %p1, %r20, 0; @%p1 st.shared.u64 [%rd1], 0; @%p1 "
      "st.shared.u64 [%rd1+8], 100; bar.sync 0;";
  EXPECT_EQ(warp(init + "atom.shared.add.u32 %r10, [%rd1], 2;", v),
            each([](u32 i) { return 2 * i; }));
  EXPECT_EQ(warp(init + "atom.shared.inc.u32 %r10, [%rd1], 4;", v),
            each([](u32 i) { return i % 5; }));
  EXPECT_EQ(warp(init + "atom.shared.dec.u32 %r10, [%rd1], 4;", v),
            each([](u32 i) { return (5 - i % 5) % 5; }));
  EXPECT_EQ(warp(init + "atom.shared.max.s32 %r10, [%rd1], %r20;", v),
            each([](u32 i) { return i ? i - 1 : 0; }));
  EXPECT_EQ(warp(init + "atom.shared.exch.b32 %r10, [%rd1], %r20;", v),
            each([](u32 i) { return i ? i - 1 : 0; }));
  EXPECT_EQ(warp(init + "add.u32 %r2, %r20, 1; atom.shared.cas.b32 %r10, [%rd1], %r20, %r2;", v),
            each([](u32 i) { return i; }));
  EXPECT_EQ(warp(init + "shl.b32 %r2, 1, %r20; atom.shared.or.b32 %r10, [%rd1], %r2;", v),
            each([](u32 i) { return (1u << i) - 1; }));
  EXPECT_EQ(warp(init + "mov.f32 %f1, 0f3FC00000; atom.shared.add.f32 %f2, [%rd1], %f1; add.f32 "
                        "%f2, %f2, %f2; cvt.rzi.u32.f32 %r10, %f2;",
                 v),
            each([](u32 i) { return 3 * i; }));
  EXPECT_EQ(warp(init + "cvt.u64.u32 %rd2, %r20; cvta.shared.u64 %rd3, %rd1; atom.add.u64 %rd4, "
                        "[%rd3+8], %rd2; cvt.u32.u64 %r10, %rd4;",
                 v),
            each([](u32 i) { return 100 + i * (i - 1) / 2; }));
  EXPECT_EQ(warp(init + "mov.b32 %r2, 0x3C004000; atom.shared.add.noftz.f16x2 %r3, [%rd1], %r2; "
                        "bar.sync 0; ld.shared.u32 %r10, [%rd1];",
                 v),
            each([](u32) { return 0x50005400u; }));
  EXPECT_EQ(warp("mov.u32 %r2, 1; red.global.add.u32 [%rd20], %r2; membar.gl; bar.sync 0; "
                 "ld.volatile.global.u32 %r10, [%rd20];",
                 v),
            each([](u32) { return 3 + 32u; }));
}

TEST(Opcodes, BarriersThatReduce) {
  const auto v = squares();
  EXPECT_EQ(warp("setp.lt.u32 %p1, %r20, 7; barrier.red.popc.u32 %r10, 0, %p1;", v),
            each([](u32) { return 7u; }));
  EXPECT_EQ(warp("setp.lt.u32 %p1, %r20, 7; bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, "
                 "%p1; selp.u32 %r10, 1, 0, %p2; @%p3 add.u32 %r10, %r10, 2;",
                 v),
            each([](u32) { return 2u; }));
}

TEST(Opcodes, SpecialRegisters) {
  EXPECT_EQ(warp("mov.u32 %r2, %lanemask_lt; mov.u32 %r3, %ntid.x; mov.u32 %r4, %nctaid.y; "
                 "mad.lo.u32 %r10, %r3, %r4, %r2;",
                 squares()),
            each([](u32 i) { return 32 + ((1u << i) - 1); }));
  EXPECT_EQ(warp("mov.u64 %rd1, %clock64; add.u32 %r10, %r1, %r1; mov.u64 %rd2, %clock64; "
                 "setp.ge.u64 %p1, %rd2, %rd1; selp.u32 %r10, 1, 0, %p1;",
                 squares()),
            each([](u32) { return 1u; }));
}

}  // namespace
}  // namespace hone::emulator
