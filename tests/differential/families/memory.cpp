// Loads and stores: widths, vectors, spaces, cache operators, constants, parameters, local memory.
#include <fmt/format.h>

#include "tests/differential/families/raw.h"

namespace hone::differential {

void add_memory_cases(std::vector<Case>& cases) {
  // Every element type, into registers wider than it.
  add_raw(cases, {"memory/extend_loads", {in(4096, Fill::kBits, 3), out(64 * 64)}, R"(
  mad.wide.u32 %x0, %i, 8, %p0;
  mad.wide.u32 %x1, %i, 64, %p1;
  ld.global.u8 %r0, [%x0];
  ld.global.s8 %r1, [%x0+1];
  ld.global.u16 %r2, [%x0+2];
  ld.global.s16 %r3, [%x0+4];
  ld.global.s8 %h0, [%x0+3];
  ld.global.u8 %h1, [%x0+5];
  ld.global.s32 %x2, [%x0];
  ld.global.u32 %x3, [%x0+4];
  ld.global.s16 %x4, [%x0+6];
  ld.global.b8 %r4, [%x0+7];
  ld.global.s8 %x5, [%x0+7];
  cvt.s32.s16 %r5, %h0;
  cvt.u32.u16 %r6, %h1;
  st.global.v4.u32 [%x1], {%r0, %r1, %r2, %r3};
  st.global.v2.u64 [%x1+16], {%x2, %x3};
  st.global.v2.u64 [%x1+32], {%x4, %x5};
  st.global.v4.u32 [%x1+48], {%r4, %r5, %r6, %r0};
)"});
  add_raw(cases, {"memory/narrow_stores", {in(4096, Fill::kBits, 4), out(64 * 32)}, R"(
  mad.wide.u32 %x0, %i, 16, %p0;
  mad.wide.u32 %x1, %i, 32, %p1;
  ld.global.v2.u64 {%x2, %x3}, [%x0];
  ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%x0];
  st.global.u8 [%x1], %r0;
  st.global.s8 [%x1+1], %x2;
  st.global.u16 [%x1+2], %r1;
  st.global.b16 [%x1+4], %x3;
  st.global.u32 [%x1+8], %x2;
  st.global.v2.u8 [%x1+6], {%r2, %r3};
  st.global.v4.u8 [%x1+12], {%r0, %r1, %r2, %r3};
  st.global.v4.u16 [%x1+16], {%r0, %r1, %r2, %r3};
  st.global.v2.u32 [%x1+24], {%r3, %r0};
)"});
  std::string body = "  mad.wide.u32 %x0, %i, 16, %p0;\n  mad.wide.u32 %x1, %i, 64, %p1;\n";
  int at = 0;
  for (const char* v : {"v2.u8 {%r0, %r1}", "v4.s8 {%r0, %r1, %r2, %r3}", "v2.u16 {%r0, %r1}",
                        "v4.s16 {%r0, %r1, %r2, %r3}", "v2.f32 {%f0, %f1}",
                        "v4.b32 {%r0, _, %r2, %r3}", "v2.s64 {%x2, %x3}", "v2.f64 {%d0, %d1}"}) {
    const std::string text = v;
    const std::size_t space = text.find(' ');
    body += "  mov.u32 %r0, 0; mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;\n";
    body += fmt::format("  ld.global.{}{}, [%x0];\n", text.substr(0, space + 1),
                        text.substr(space + 1));
    if (text.find("f32") != std::string::npos) body += "  mov.b32 %r0, %f0; mov.b32 %r1, %f1;\n";
    if (text.find("64") == std::string::npos)
      body +=
          "  xor.b32 %r0, %r0, %r1; shl.b32 %r2, %r2, 3; xor.b32 %r0, %r0, %r2; xor.b32 %r0, "
          "%r0, %r3; cvt.u64.u32 %x2, %r0;\n";
    if (text.find("f64") != std::string::npos) body += "  mov.b64 %x2, %d0; mov.b64 %x3, %d1;\n";
    if (text.find("64") != std::string::npos) body += "  sub.u64 %x2, %x2, %x3;\n";
    body += fmt::format("  st.global.u64 [%x1+{}], %x2;\n", 8 * at++);
  }
  add_raw(cases, {"memory/vector_loads", {in(4096, Fill::kBits, 5), out(64 * 64)}, body});
  body = "  mad.wide.u32 %x0, %i, 4, %p0;\n  mad.wide.u32 %x1, %i, 4, %p1;\n  mov.u32 %r1, 0;\n";
  for (const char* op :
       {"ld.global.ca", "ld.global.cg", "ld.global.cs", "ld.global.lu", "ld.global.cv",
        "ld.global.nc", "ld.volatile.global", "ld.relaxed.gpu.global", "ld.acquire.sys.global",
        "ld.weak.global", "ld.global.nc.L1::no_allocate", "ld.global.L1::evict_last",
        "ld.global.L2::128B", "ld.global.nc.L1::evict_first.L2::256B", "ldu.global"})
    body += fmt::format("  {}.u32 %r0, [%x0];\n  mad.lo.u32 %r1, %r1, 3, %r0;\n", op);
  body += "  prefetch.global.L2 [%x0];\n";
  int slot = 0;
  for (const char* op : {"st.global.wb", "st.global.cg", "st.global.cs", "st.global.wt",
                         "st.volatile.global", "st.relaxed.cta.global", "st.release.gpu.global",
                         "st.weak.global", "st.global.L1::no_allocate", "st.relaxed.sys.global"}) {
    body +=
        fmt::format("  add.u32 %r1, %r1, {};\n  {}.u32 [%x1+{}], %r1;\n", slot + 1, op, 256 * slot);
    ++slot;
  }
  add_raw(cases, {"memory/cache_operators", {in(256, Fill::kBits, 6), out(2560)}, body});
  add_raw(cases, {"memory/generic", {in(256, Fill::kBits, 7), out(64 * 24)}, R"(
  .shared .align 8 .b8 s[256];
  .local .align 8 .b8 l[16];
  mad.wide.u32 %x0, %i, 4, %p0;
  mad.wide.u32 %x1, %i, 24, %p1;
  ld.u32 %r0, [%x0];
  mov.u64 %x2, s;
  cvta.shared.u64 %x3, %x2;
  mad.wide.u32 %x3, %i, 4, %x3;
  st.u32 [%x3], %r0;
  mov.u64 %x4, l;
  cvta.local.u64 %x5, %x4;
  not.b32 %r1, %r0;
  st.u32 [%x5+4], %r1;
  cvta.to.shared.u64 %x6, %x3;
  ld.shared.u32 %r2, [%x6];
  cvta.to.local.u64 %x7, %x5;
  ld.local.u32 %r3, [%x7+4];
  isspacep.shared %q0, %x3; isspacep.global %q1, %x3; isspacep.local %q2, %x5; isspacep.global %q3, %x0;
  selp.u32 %r4, 1, 0, %q0; selp.u32 %r5, 2, 0, %q1; selp.u32 %r6, 4, 0, %q2; selp.u32 %r7, 8, 0, %q3;
  or.b32 %r4, %r4, %r5; or.b32 %r6, %r6, %r7; or.b32 %r4, %r4, %r6;
  // Some lanes one space, some another.
  and.b32 %r8, %i, 1; setp.eq.u32 %q4, %r8, 0;
  selp.b64 %x8, %x3, %x0, %q4;
  ld.u32 %r9, [%x8];
  st.u32 [%x1], %r2; st.global.u32 [%x1+4], %r3; st.u32 [%x1+8], %r4; st.u32 [%x1+12], %r9;
  ld.u32 %r10, [%x5+4]; ld.u32 %r11, [%x3]; st.v2.u32 [%x1+16], {%r10, %r11};
)"});
  add_raw(cases, {"memory/constants_and_globals",
                  {out(64 * 32)},
                  R"(
  and.b32 %r0, %i, 7;
  mul.wide.u32 %x0, %r0, 4;
  mov.u64 %x1, ctable;
  add.u64 %x1, %x1, %x0;
  ld.const.u32 %r1, [%x1];
  ld.const.s16 %r2, [chalf+2];
  ld.const.f64 %d0, [cdouble];
  mov.b64 %x2, %d0;
  cvta.const.u64 %x3, %x1;
  ld.u32 %r3, [%x3];
  mov.u64 %x4, gtable;
  add.u64 %x4, %x4, %x0;
  ld.global.u32 %r4, [%x4];
  ld.global.v2.u32 {%r5, %r6}, [gtable+8];
  ld.global.u64 %x5, [gpointer];
  ld.u32 %r7, [%x5];
  ld.global.u8 %r8, [gbytes+5];
  mad.wide.u32 %x6, %i, 32, %p0;
  xor.b32 %r5, %r5, %r6;
  st.global.v4.u32 [%x6], {%r1, %r2, %r3, %r4};
  xor.b32 %r7, %r7, %r8;
  cvt.u64.u32 %x7, %r7; shl.b64 %x7, %x7, 32; cvt.u64.u32 %x8, %r5; or.b64 %x7, %x7, %x8;
  st.global.v2.u64 [%x6+16], {%x2, %x7};
)",
                  {1, 1, 1},
                  {64, 1, 1},
                  0,
                  R"(
.const .align 4 .u32 ctable[8] = {1, 2, 0xFFFFFFFF, 4, 5, 010, 7, 80};
.const .s16 chalf[4] = {-1, -300, 5};
.const .f64 cdouble = 0d400921FB54442D18;
.global .align 8 .u32 gtable[10] = {11, 22, 33, 44, 55, 66, 77};
.global .u64 gpointer = generic(gtable)+12;
.global .align 1 .b8 gbytes[8] = {1, 2, 3, 4, 5, 250};
)"});
  add_raw(cases, {"memory/parameters",
                  {out(64 * 32)},
                  R"(
  ld.param.u64 %x0, [w0];
  ld.param.u32 %r0, [w1];
  ld.param.u32 %r1, [w1+4];
  ld.param.s8 %r2, [w2+3];
  ld.param.u16 %r3, [w2+6];
  ld.param.f32 %f0, [w0+4];
  mov.b32 %r4, %f0;
  ld.param.v2.u32 {%r5, %r6}, [w2];
  mov.b64 %x5, w1;
  cvta.param.u64 %x6, %x5;
  ld.u32 %r7, [%x6];
  mad.wide.u32 %x1, %i, 32, %p0;
  st.global.u64 [%x1], %x0;
  st.global.v2.u32 [%x1+8], {%r0, %r1};
  xor.b32 %r5, %r5, %r6;
  xor.b32 %r7, %r7, %r5;
  st.global.v4.u32 [%x1+16], {%r2, %r3, %r4, %r7};
)",
                  {1, 1, 1},
                  {64, 1, 1},
                  0,
                  "",
                  "sm_80",
                  "8.0",
                  {0x123456789ABCDEF0, 0xFEDCBA9876543210, 0x8899AABBCCDDEEFF}});
  add_raw(cases, {"memory/local_array", {in(256, Fill::kBits, 8), out(256)}, R"(
  .local .align 4 .b8 a[128];
  mad.wide.u32 %x0, %i, 4, %p0;
  mad.wide.u32 %x1, %i, 4, %p1;
  ld.global.u32 %r0, [%x0];
  mov.u64 %x2, a;
  mov.u32 %r1, 0;
FILL:
  mul.wide.u32 %x3, %r1, 4;
  add.u64 %x4, %x2, %x3;
  mad.lo.u32 %r0, %r0, 1664525, 1013904223;
  st.local.u32 [%x4], %r0;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %q0, %r1, 32;
  @%q0 bra FILL;
  mov.u32 %r2, 0; mov.u32 %r1, 0; mov.u32 %r5, %i;
WALK:
  and.b32 %r3, %r5, 31;
  mul.wide.u32 %x3, %r3, 4;
  add.u64 %x4, %x2, %x3;
  ld.local.u32 %r5, [%x4];
  xor.b32 %r2, %r2, %r5;
  st.local.u32 [%x4], %r1;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %q0, %r1, 50;
  @%q0 bra WALK;
  st.global.u32 [%x1], %r2;
)"});
  add_raw(cases, {"memory/shared_exchange",
                  {in(1024, Fill::kBits, 9), out(1024)},
                  R"(
  .shared .align 16 .b8 s[1024];
  mad.wide.u32 %x0, %i, 4, %p0;
  ld.global.u32 %r0, [%x0];
  mov.u32 %r1, s;
  shl.b32 %r2, %ti, 2;
  add.u32 %r3, %r1, %r2;
  st.shared.u32 [%r3], %r0;
  bar.sync 0;
  xor.b32 %r4, %ti, 255;
  shl.b32 %r4, %r4, 2;
  add.u32 %r4, %r4, %r1;
  ld.shared.u32 %r5, [%r4];
  bar.sync 0;
  and.b32 %r6, %ti, 63; shl.b32 %r6, %r6, 4; add.u32 %r6, %r6, %r1;
  st.shared.u32 [%r3], %r5;
  bar.sync 0;
  ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%r6];
  xor.b32 %r7, %r7, %r8; add.u32 %r9, %r9, %r10; xor.b32 %r7, %r7, %r9;
  mad.wide.u32 %x1, %i, 4, %p1;
  st.global.u32 [%x1], %r7;
)",
                  {1, 1, 1},
                  {256, 1, 1}});
  add_raw(cases, {"memory/dynamic_shared",
                  {in(512, Fill::kBits, 10), out(512)},
                  R"(
  mad.wide.u32 %x0, %i, 4, %p0;
  ld.global.u32 %r0, [%x0];
  mov.u64 %x2, dyn;
  mad.wide.u32 %x3, %ti, 4, %x2;
  st.shared.u32 [%x3+64], %r0;
  barrier.sync 1;
  mov.u32 %r9, %ntid.x; sub.u32 %r1, %r9, %ti; sub.u32 %r1, %r1, 1;
  mad.wide.u32 %x4, %r1, 4, %x2;
  ld.shared.u32 %r2, [%x4+64];
  mov.u32 %r3, %dynamic_smem_size;
  xor.b32 %r2, %r2, %r3;
  mad.wide.u32 %x1, %i, 4, %p1;
  st.global.u32 [%x1], %r2;
)",
                  {2, 1, 1},
                  {64, 1, 1},
                  512,
                  ".extern .shared .align 16 .b8 dyn[];"});
  add_raw(cases, {"memory/wide_128",
                  {in(1024, Fill::kBits, 11), out(2048)},
                  R"(
  .reg .b128 %w<4>;
  mad.wide.u32 %x0, %i, 16, %p0;
  mad.wide.u32 %x1, %i, 32, %p1;
  ld.global.b128 %w0, [%x0];
  mov.b128 {%x2, %x3}, %w0;
  mov.b128 %w1, {%x3, %x2};
  st.global.b128 [%x1], %w1;
  st.global.b128 [%x1+16], %w0;
)",
                  {1, 1, 1},
                  {64, 1, 1},
                  0,
                  "",
                  "sm_80",
                  "8.3"});
  add_raw(cases, {"memory/vector_registers", {in(1024, Fill::kBits, 12), out(1024)}, R"(
  .reg .v4 .b32 %v;
  .reg .v2 .b32 %w;
  mad.wide.u32 %x0, %i, 16, %p0;
  mad.wide.u32 %x1, %i, 16, %p1;
  ld.global.v4.u32 %v, [%x0];
  mov.b32 %r0, %v.x;
  add.u32 %r1, %v.y, %v.z;
  mov.v2.u32 %w, {%r0, %r1};
  mov.v4.u32 %v, {%r1, %v.w, %w.x, %w.y};
  st.global.v4.u32 [%x1], %v;
)"});
  add_raw(cases, {"memory/special_registers",
                  {out(32 * 2 * 96)},
                  R"(
  mov.u32 %r0, %tid.y; mov.u32 %r1, %tid.z; mov.u32 %r2, %ntid.y; mov.u32 %r3, %ctaid.y;
  mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y; mov.u32 %r6, %laneid;
  mov.u32 %r7, %lanemask_lt; mov.u32 %r8, %lanemask_ge; mov.u32 %r9, %lanemask_eq;
  mov.u32 %r10, %lanemask_le; mov.u32 %r11, %lanemask_gt; mov.u32 %r12, %ntid.z; mov.u32 %r15, %nctaid.z;
  mov.u32 %r16, %ctaid.z;
  mov.u32 %r20, %ntid.x;
  mad.lo.u32 %r13, %r1, %r2, %r0; mad.lo.u32 %r13, %r13, %r20, %ti;
  mul.lo.u32 %r14, %r2, %r20; mul.lo.u32 %r14, %r14, %r12;
  mad.lo.u32 %r17, %r3, %r4, %cta;
  mad.lo.u32 %r13, %r17, %r14, %r13;
  mad.wide.u32 %x0, %r13, 64, %p0;
  st.global.v4.u32 [%x0], {%r0, %r1, %r2, %r3};
  st.global.v4.u32 [%x0+16], {%r4, %r5, %r6, %r7};
  st.global.v4.u32 [%x0+32], {%r8, %r9, %r10, %r11};
  st.global.v4.u32 [%x0+48], {%r12, %r15, %r16, %ti};
)",
                  {2, 1, 1},
                  {8, 3, 2}});
}

}  // namespace hone::differential
