// What the lanes of a warp, and the warps of a block, do together.
#include <fmt/format.h>

#include "tests/differential/families/raw.h"

namespace hone::differential {

void add_warp_cases(std::vector<Case>& cases) {
  const auto stored = [](int count) {  // %r0.. of each thread
    std::string body = fmt::format("  mad.wide.u32 %x1, %i, {}, %p1;\n", 4 * count);
    for (int k = 0; k < count; ++k)
      body += fmt::format("  st.global.u32 [%x1+{}], %r{};\n", 4 * k, k);
    return body;
  };
  const std::string load = "  mad.wide.u32 %x0, %i, 4, %p0;\n  ld.global.u32 %r63, [%x0];\n";
  for (const char* mode : {"up", "down", "bfly", "idx"}) {
    for (const char* width : {"", "_segments"}) {
      std::string body = load;
      int k = 0;
      for (const char* by : {"1", "2", "5", "16", "31", "%r62"}) {
        const bool up = std::string(mode) == "up";
        // c: clamp in the low five bits, segment mask from bit 8.
        const int c = *width ? (up ? 0x1800 : 0x1807) : (up ? 0 : 31);
        body += fmt::format(
            "  and.b32 %r62, %r63, 31;\n  shfl.sync.{0}.b32 %r{1}|%q1, %r63, {2}, {3}, -1;\n"
            "  selp.u32 %r{4}, 1, 0, %q1;\n",
            mode, k, by, c, k + 1);
        k += 2;
      }
      body += stored(12);
      add_raw(cases, {fmt::format("warp/shfl_{}{}", mode, width),
                      {in(256, Fill::kBits, 41), out(64 * 48)},
                      body});
    }
  }
  add_raw(cases, {"warp/vote", {in(256, Fill::kSmallInt, 42), out(64 * 32)}, load + R"(
  setp.lt.u32 %q0, %r63, 40;
  vote.sync.ballot.b32 %r0, %q0, -1;
  vote.sync.all.pred %q1, %q0, -1; selp.u32 %r1, 1, 0, %q1;
  vote.sync.any.pred %q1, %q0, -1; selp.u32 %r2, 1, 0, %q1;
  vote.sync.uni.pred %q1, %q0, -1; selp.u32 %r3, 1, 0, %q1;
  setp.lt.u32 %q2, %r63, 64;
  vote.sync.all.pred %q1, %q2, -1; selp.u32 %r4, 1, 0, %q1;
  vote.sync.uni.pred %q1, !%q2, -1; selp.u32 %r5, 1, 0, %q1;
  vote.sync.ballot.b32 %r6, !%q0, -1;
  activemask.b32 %r7;
)" + stored(8)});
  add_raw(cases, {"warp/match", {in(256, Fill::kSmallInt, 43), out(64 * 32)}, load + R"(
  shr.u32 %r60, %r63, 3;
  match.any.sync.b32 %r0, %r60, -1;
  match.all.sync.b32 %r1|%q0, %r60, -1; selp.u32 %r2, 1, 0, %q0;
  shr.u32 %r61, %r63, 7;
  match.all.sync.b32 %r3|%q0, %r61, -1; selp.u32 %r4, 1, 0, %q0;
  cvt.u64.u32 %x5, %r60; shl.b64 %x5, %x5, 33;
  match.any.sync.b64 %r5, %x5, -1;
  match.all.sync.b64 %r6|%q0, %x5, -1; selp.u32 %r7, 1, 0, %q0;
)" + stored(8)});
  add_raw(cases, {"warp/redux", {in(256, Fill::kBits, 44), out(64 * 32)}, load + R"(
  redux.sync.add.u32 %r0, %r63, -1;
  redux.sync.min.u32 %r1, %r63, -1;
  redux.sync.max.s32 %r2, %r63, -1;
  redux.sync.and.b32 %r3, %r63, -1;
  redux.sync.or.b32 %r4, %r63, -1;
  redux.sync.xor.b32 %r5, %r63, -1;
  redux.sync.min.s32 %r6, %r63, -1;
  redux.sync.max.u32 %r7, %r63, -1;
)" + stored(8)});
  // Parts of a warp, each on its own side of a branch.
  add_raw(cases, {"warp/partial_masks", {in(256, Fill::kBits, 45), out(64 * 32)}, load + R"(
  and.b32 %r60, %lane, 3;
  setp.eq.u32 %q0, %r60, 0;
  mov.u32 %r4, 0; mov.u32 %r5, 0;
  @%q0 bra THEN;
  shfl.sync.bfly.b32 %r0, %r63, 4, 31, 0xEEEEEEEE;
  redux.sync.add.u32 %r1, %r63, 0xEEEEEEEE;
  setp.gt.s32 %q1, %r63, 0;
  vote.sync.ballot.b32 %r2, %q1, 0xEEEEEEEE;
  match.any.sync.b32 %r3, %r60, 0xEEEEEEEE;
  activemask.b32 %r4;
  bra JOIN;
THEN:
  shfl.sync.down.b32 %r0, %r63, 4, 31, 0x11111111;
  redux.sync.max.s32 %r1, %r63, 0x11111111;
  setp.lt.s32 %q1, %r63, 0;
  vote.sync.ballot.b32 %r2, %q1, 0x11111111;
  match.all.sync.b32 %r3|%q2, %r60, 0x11111111;
  activemask.b32 %r5;
JOIN:
  bar.warp.sync -1;
  vote.sync.ballot.b32 %r6, %q0, -1;
  shfl.sync.idx.b32 %r7, %r0, 7, 31, -1;
)" + stored(8)});
  add_raw(cases, {"warp/elect",
                  {in(256, Fill::kBits, 46), out(64 * 8)},
                  load + R"(
  elect.sync %r0|%q0, -1; selp.u32 %r1, 1, 0, %q0;
)" + stored(2),
                  {1, 1, 1},
                  {64, 1, 1},
                  0,
                  "",
                  "sm_90"});
  add_raw(cases, {"warp/scan",
                  {in(512, Fill::kBits, 47), out(128 * 8)},
                  load + R"(
  mov.u32 %r0, %r63;
  shfl.sync.up.b32 %r2|%q0, %r0, 1, 0, -1; @%q0 add.u32 %r0, %r0, %r2;
  shfl.sync.up.b32 %r2|%q0, %r0, 2, 0, -1; @%q0 add.u32 %r0, %r0, %r2;
  shfl.sync.up.b32 %r2|%q0, %r0, 4, 0, -1; @%q0 add.u32 %r0, %r0, %r2;
  shfl.sync.up.b32 %r2|%q0, %r0, 8, 0, -1; @%q0 add.u32 %r0, %r0, %r2;
  shfl.sync.up.b32 %r2|%q0, %r0, 16, 0, -1; @%q0 add.u32 %r0, %r0, %r2;
  shfl.sync.idx.b32 %r1, %r0, 31, 31, -1;
)" + stored(2),
                  {2, 1, 1},
                  {64, 1, 1}});
  add_raw(cases, {"warp/barrier_red",
                  {in(512, Fill::kBits, 48), out(128 * 16)},
                  load + R"(
  setp.gt.s32 %q0, %r63, 0;
  barrier.red.popc.u32 %r0, 0, %q0;
  bar.red.and.pred %q1, 1, %q0; selp.u32 %r1, 1, 0, %q1;
  bar.red.or.pred %q1, 2, 128, !%q0; selp.u32 %r2, 1, 0, %q1;
  barrier.cta.red.popc.aligned.u32 %r3, 3, !%q0;
)" + stored(4),
                  {1, 1, 1},
                  {128, 1, 1}});
  // Producers arrive, consumers wait.
  add_raw(cases, {"warp/named_barriers",
                  {in(512, Fill::kBits, 49), out(128 * 4)},
                  load + R"(
  .shared .align 4 .b8 s[512];
  mov.u64 %x2, s;
  mad.wide.u32 %x3, %ti, 4, %x2;
  setp.ge.u32 %q0, %ti, 64;
  mov.u32 %r0, %r63;
  @%q0 bra CONSUMER;
  st.shared.u32 [%x3], %r63;
  bar.arrive 1, 128;
  bra END;
CONSUMER:
  bar.sync 1, 128;
  ld.shared.u32 %r0, [%x3+-256];
END:
)" + stored(1),
                  {1, 1, 1},
                  {128, 1, 1}});
  add_raw(cases, {"warp/half_last_warp",
                  {in(512, Fill::kBits, 50), out(80 * 12)},
                  load + R"(
  activemask.b32 %r0;
  setp.lt.s32 %q0, %r63, 0;
  vote.sync.ballot.b32 %r1, %q0, %r0;
  redux.sync.xor.b32 %r2, %r63, %r0;
  bar.sync 0;
)" + stored(3),
                  {1, 1, 1},
                  {80, 1, 1}});
}

}  // namespace hone::differential
