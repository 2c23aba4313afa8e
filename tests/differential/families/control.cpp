// Branches, loops, calls and tables.
#include "tests/differential/families/raw.h"

namespace hone::differential {

void add_control_cases(std::vector<Case>& cases) {
  const std::string load = R"(
  mad.wide.u32 %x0, %i, 4, %p0;
  mad.wide.u32 %x1, %i, 4, %p1;
  ld.global.u32 %r0, [%x0];
)";
  const std::string store = "  st.global.u32 [%x1], %r1;\n";
  const auto add = [&](const char* name, const std::string& body, const std::string& module = "",
                       Fill fill = Fill::kBits, const char* version = "8.0") {
    add_raw(cases, {std::string("control/") + name,
                    {in(1024, fill, 61), out(1024)},
                    load + body + store,
                    {2, 1, 1},
                    {128, 1, 1},
                    0,
                    module,
                    "sm_80",
                    version});
  };
  add("nested_if", R"(
  mov.u32 %r1, 1;
  and.b32 %r2, %r0, 1; setp.eq.u32 %q0, %r2, 0;
  @%q0 bra A;
  and.b32 %r2, %r0, 2; setp.eq.u32 %q1, %r2, 0;
  @%q1 bra B;
  add.u32 %r1, %r1, 100;
  bra C;
B:
  mul.lo.u32 %r1, %r1, 7;
  and.b32 %r2, %r0, 4; setp.ne.u32 %q2, %r2, 0;
  @!%q2 bra C;
  xor.b32 %r1, %r1, %r0;
C:
  add.u32 %r1, %r1, 3;
  bra D;
A:
  sub.u32 %r1, %r1, %r0;
D:
  add.u32 %r1, %r1, %r0;
)");
  add("collatz", R"(
  and.b32 %r2, %r0, 1023; add.u32 %r2, %r2, 1;
  mov.u32 %r1, 0;
LOOP:
  setp.eq.u32 %q0, %r2, 1;
  @%q0 bra DONE;
  and.b32 %r3, %r2, 1;
  setp.eq.u32 %q1, %r3, 1;
  @%q1 mad.lo.u32 %r2, %r2, 3, 1;
  @!%q1 shr.u32 %r2, %r2, 1;
  add.u32 %r1, %r1, 1;
  bra LOOP;
DONE:
)");
  add("nested_loops_break", R"(
  mov.u32 %r1, 0; mov.u32 %r2, 0;
OUTER:
  mov.u32 %r3, 0;
INNER:
  mad.lo.u32 %r0, %r0, 1664525, 1013904223;
  shr.u32 %r4, %r0, 28;
  add.u32 %r1, %r1, %r4;
  setp.gt.u32 %q0, %r4, 13;
  @%q0 bra BREAK;
  setp.lt.u32 %q1, %r4, 3;
  @%q1 bra NEXT;
  xor.b32 %r1, %r1, %r2;
NEXT:
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %q2, %r3, %r4;
  @%q2 bra INNER;
BREAK:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %q3, %r2, 9;
  @%q3 bra OUTER;
)");
  add("early_exit", R"(
  mov.u32 %r1, %r0;
  and.b32 %r2, %r0, 3; setp.eq.u32 %q0, %r2, 3;
  st.global.u32 [%x1], %r2;
  @%q0 exit;
  setp.eq.u32 %q1, %r2, 2;
  @%q1 ret;
  not.b32 %r1, %r1;
)");
  add("jump_table", R"(
  and.b32 %r2, %r0, 3;
  mov.u32 %r1, 5;
TABLE: .branchtargets A, B, C, A;
  brx.idx %r2, TABLE;
A:
  add.u32 %r1, %r1, %r0;
  bra E;
B:
  mul.lo.u32 %r1, %r0, 3;
C:
  xor.b32 %r1, %r1, %r0;
E:
  add.u32 %r1, %r1, 1;
)");
  add("scopes", R"(
  { .reg .u32 %z; mov.u32 %z, 3; { .reg .u32 %z; mov.u32 %z, %r0; add.u32 %z, %z, 1; mov.u32 %r1, %z; }
    add.u32 %r1, %r1, %z; bra INSIDE; add.u32 %r1, %r1, 1000;
INSIDE:
    mul.lo.u32 %r1, %r1, 5; }
)");
  add("call_params", R"(
  { .param .b32 a0; .param .b32 a1; .param .b64 a2; .param .f32 a3; .param .align 8 .b8 a4[16]; .param .b32 ret0;
    st.param.b32 [a0], %r0; st.param.b32 [a1], %i;
    cvt.u64.u32 %x4, %r0; st.param.b64 [a2], %x4;
    mov.f32 %f0, 0f40400000; st.param.f32 [a3], %f0;
    st.param.b32 [a4], %i; st.param.b32 [a4+4], 7; st.param.b64 [a4+8], %x4;
    call.uni (ret0), mix, (a0, a1, a2, a3, a4);
    ld.param.b32 %r1, [ret0]; }
)",
      R"(
.func (.param .b32 result) mix(.param .b32 a, .param .b32 b, .param .b64 c, .param .f32 d, .param .align 8 .b8 e[16])
{
  .reg .b32 %r<10>; .reg .b64 %x<4>; .reg .f32 %f<3>;
  ld.param.b32 %r0, [a]; ld.param.b32 %r1, [b]; ld.param.b64 %x0, [c]; ld.param.f32 %f0, [d];
  ld.param.b32 %r2, [e]; ld.param.b32 %r3, [e+4]; ld.param.b64 %x1, [e+8];
  add.u32 %r4, %r0, %r1; mul.lo.u32 %r5, %r2, %r3; add.u64 %x2, %x0, %x1; cvt.u32.u64 %r6, %x2;
  cvt.rzi.u32.f32 %r7, %f0; add.u32 %r4, %r4, %r5; xor.b32 %r4, %r4, %r6; add.u32 %r4, %r4, %r7;
  st.param.b32 [result], %r4;
  ret;
}
)");
  add("call_registers", R"(
  .reg .u32 %y;
  call (%r1), twist, (%r0, %i);
  call (%y), twist, (%r1, 77);
  xor.b32 %r1, %r1, %y;
)",
      R"(
.func (.reg .u32 %out) twist(.reg .u32 %a, .reg .u32 %b)
{
  .reg .pred %p;
  setp.lt.u32 %p, %a, %b;
  mad.lo.u32 %out, %a, 3, %b;
  @%p ret;
  sub.u32 %out, %out, %b;
  ret;
}
)");
  add("recursion", R"(
  { .param .b32 a0; .param .b32 r0;
    and.b32 %r2, %r0, 7; add.u32 %r2, %r2, 4;
    st.param.b32 [a0], %r2;
    call (r0), fib, (a0);
    ld.param.b32 %r1, [r0]; }
)",
      R"(
.func (.param .b32 r) fib(.param .b32 n)
;
.func (.param .b32 r) fib(.param .b32 n)
{
  .reg .b32 %r<8>; .reg .pred %p;
  ld.param.b32 %r0, [n];
  setp.lt.u32 %p, %r0, 2;
  @%p bra LEAF;
  { .param .b32 a; .param .b32 b; sub.u32 %r1, %r0, 1; st.param.b32 [a], %r1; call (b), fib, (a); ld.param.b32 %r2, [b]; }
  { .param .b32 a; .param .b32 b; sub.u32 %r1, %r0, 2; st.param.b32 [a], %r1; call (b), fib, (a); ld.param.b32 %r3, [b]; }
  add.u32 %r0, %r2, %r3;
LEAF:
  st.param.b32 [r], %r0;
  ret;
}
)");
  add("indirect_call", R"(
  { .param .b32 a0; .param .b32 r0;
    and.b32 %r2, %r0, 1; setp.eq.u32 %q0, %r2, 0;
    mov.u64 %x3, first; mov.u64 %x4, second; selp.b64 %x5, %x3, %x4, %q0;
    st.param.b32 [a0], %r0;
    PROTO: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (r0), %x5, (a0), PROTO;
    ld.param.b32 %r1, [r0]; }
)",
      R"(
.func (.param .b32 r) first(.param .b32 n)
{ .reg .b32 %a; ld.param.b32 %a, [n]; add.u32 %a, %a, 17; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) second(.param .b32 n)
{ .reg .b32 %a; ld.param.b32 %a, [n]; mul.lo.u32 %a, %a, 9; st.param.b32 [r], %a; ret; }
)");
  add("switch_table", R"(
  and.b32 %r2, %r0, 7; mul.wide.u32 %x3, %r2, 8;
  mov.u64 %x4, table; add.u64 %x4, %x4, %x3; ld.global.u64 %x5, [%x4];
  { .param .b32 a0; .param .b32 r0; st.param.b32 [a0], %r0;
    PROTO: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (r0), %x5, (a0), PROTO;
    ld.param.b32 %r1, [r0]; }
)",
      R"(
.func (.param .b32 r) f0(.param .b32 n) { .reg .b32 %a; ld.param.b32 %a, [n]; add.u32 %a, %a, 1; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) f1(.param .b32 n) { .reg .b32 %a; ld.param.b32 %a, [n]; shl.b32 %a, %a, 3; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) f2(.param .b32 n) { .reg .b32 %a; ld.param.b32 %a, [n]; not.b32 %a, %a; st.param.b32 [r], %a; ret; }
.global .align 8 .u64 table[8] = {f0, f1, f2, f0, f1, f2, f1, f0};
)");
  add("alloca", R"(
  and.b32 %r2, %r0, 7; add.u32 %r2, %r2, 1; shl.b32 %r3, %r2, 2; cvt.u64.u32 %x3, %r3;
  alloca.u64 %x4, %x3, 16;
  mov.u32 %r4, 0;
W:
  mul.wide.u32 %x5, %r4, 4; add.u64 %x6, %x4, %x5;
  mad.lo.u32 %r5, %r4, %r4, %r0;
  st.local.u32 [%x6], %r5;
  add.u32 %r4, %r4, 1; setp.lt.u32 %q0, %r4, %r2; @%q0 bra W;
  mov.u32 %r1, 0; mov.u32 %r4, 0;
R:
  mul.wide.u32 %x5, %r4, 4; add.u64 %x6, %x4, %x5;
  ld.local.u32 %r5, [%x6]; xor.b32 %r1, %r1, %r5; shl.b32 %r1, %r1, 1;
  add.u32 %r4, %r4, 1; setp.lt.u32 %q0, %r4, %r2; @%q0 bra R;
)");
  add("fences_and_clock", R"(
  membar.cta; membar.gl; membar.sys; fence.sc.gpu; fence.acq_rel.cta; fence.acq_rel.sys;
  mov.u64 %x3, %clock64; mov.u32 %r2, %clock; nanosleep.u32 20; mov.u64 %x4, %clock64;
  setp.ge.u64 %q0, %x4, %x3;
  selp.u32 %r1, %r0, 0, %q0;
)");
  add("uniform_branches", R"(
  mov.u32 %r1, 0; mov.u32 %r3, 10;
L:
  add.u32 %r1, %r1, %r0; sub.u32 %r3, %r3, 1; setp.ne.u32 %q0, %r3, 0;
  @%q0 bra.uni L;
  setp.lt.u32 %q1, %cta, 1;
  @%q1 bra.uni M;
  not.b32 %r1, %r1;
M:
)");
  add("divergent_barrier_free", R"(
  .shared .align 4 .b8 s[512];
  mov.u64 %x3, s; mad.wide.u32 %x3, %ti, 4, %x3;
  st.shared.u32 [%x3], %r0;
  bar.sync 0;
  mov.u32 %r1, 0; and.b32 %r2, %lane, 7;
L:
  ld.shared.u32 %r4, [%x3]; add.u32 %r1, %r1, %r4;
  setp.eq.u32 %q0, %r2, 0; @%q0 bra O;
  sub.u32 %r2, %r2, 1; bra L;
O:
  bar.sync 0;
  xor.b32 %r5, %ti, 1; mul.wide.u32 %x4, %r5, 4; mov.u64 %x5, s; add.u64 %x4, %x4, %x5;
  ld.shared.u32 %r6, [%x4]; add.u32 %r1, %r1, %r6;
)");
}

}  // namespace hone::differential
