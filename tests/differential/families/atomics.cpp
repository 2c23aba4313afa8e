// atom and red: every operation, type and scope, with results that no order changes.
#include <fmt/format.h>

#include "tests/differential/families/raw.h"

namespace hone::differential {
namespace {

/// Register and fill for a type's operand.
struct Kind {
  const char* type;
  const char* load;
  const char* reg;
  int bytes;
  Fill fill;
};

}  // namespace

void add_atomic_cases(std::vector<Case>& cases) {
  // Contended: all threads of two blocks on eight places; the final contents do not depend on
  // order.
  const Kind kinds[] = {
      {"u32", "u32", "%r1", 4, Fill::kBits},   {"s32", "u32", "%r1", 4, Fill::kBits},
      {"b32", "u32", "%r1", 4, Fill::kBits},   {"u64", "u64", "%x1", 8, Fill::kBits},
      {"s64", "u64", "%x1", 8, Fill::kBits},   {"b64", "u64", "%x1", 8, Fill::kBits},
      {"f32", "f32", "%f1", 4, Fill::kF32Ints}};
  for (const Kind& k : kinds) {
    const std::string type = k.type;
    std::vector<std::string> ops;
    if (type[0] == 'b')
      ops = {"and", "or", "xor"};
    else if (type == "f32")
      ops = {"add"};
    else
      ops = {"add", "min", "max"};
    if (type == "u32") ops.insert(ops.end(), {"inc", "dec"});
    if (type == "s64") ops = {"min", "max"};
    for (const std::string& op : ops) {
      if (op == "dec" || op == "inc") continue;
      std::string body = fmt::format(
          "  mad.wide.u32 %x0, %i, {0}, %p0;\n  ld.global.{1} {2}, [%x0];\n"
          "  and.b32 %r0, %i, 7;\n  mad.wide.u32 %x2, %r0, {0}, %p1;\n",
          k.bytes, k.load, k.reg);
      const bool f = type == "f32";
      const std::string result = f ? "%f2" : k.bytes == 8 ? "%x5" : "%r2";
      body += fmt::format("  red.global.{}.{} [%x2], {};\n", op, type, k.reg);
      body += fmt::format("  atom.global.{}.{} {}, [%x2+{}], {};\n", op, type, result, 8 * k.bytes,
                          k.reg);
      body += fmt::format("  red.relaxed.gpu.global.{}.{} [%x2+{}], {};\n", op, type, 16 * k.bytes,
                          k.reg);
      body += fmt::format("  atom.acq_rel.sys.{}.{} {}, [%x2+{}], {};\n", op, type, result,
                          24 * k.bytes, k.reg);
      // In shared memory, then out.
      body += fmt::format(
          "  .shared .align 8 .b8 s[64];\n  setp.lt.u32 %q0, %ti, 16;\n  mul.wide.u32 %x6, %ti, "
          "4;\n"
          "  mov.u64 %x7, s;\n  add.u64 %x6, %x6, %x7;\n  mov.u32 %r5, 0;\n  @%q0 st.shared.u32 "
          "[%x6], %r5;\n  bar.sync 0;\n  mad.wide.u32 %x8, %r0, {0}, %x7;\n"
          "  red.shared.{1}.{2} [%x8], {3};\n  atom.cta.shared.{1}.{2} {4}, [%x8], {3};\n"
          "  bar.sync 0;\n  ld.shared.{5} {4}, [%x8];\n  setp.lt.u32 %q1, %ti, 8;\n"
          "  mad.wide.u32 %x9, %cta, {6}, %x2;\n  @%q1 st.global.{5} [%x9+{7}], {4};\n",
          k.bytes, op, type, k.reg, result, k.load, 8 * k.bytes, 32 * k.bytes);
      add_raw(cases, {fmt::format("atomic/{}_{}", op, type),
                      {in(128 * 8, k.fill, 21), inout(48 * 8, k.fill, 22)},
                      body,
                      {2, 1, 1},
                      {64, 1, 1}});
    }
  }
  // One thread per place: old values, compare-and-swap, exchange, inc and dec, every type.
  const auto own = [&](const char* name, const std::string& body, Fill a, Fill b,
                       const char* target = "sm_80", const char* version = "8.0") {
    add_raw(cases,
            {std::string("atomic/") + name,
             {in(384 * 8, a, 31), inout(384 * 8, b, 32), out(384 * 8)},
             "  mad.wide.u32 %x0, %i, 8, %p0;\n  mad.wide.u32 %x1, %i, 8, %p1;\n  mad.wide.u32 "
             "%x2, %i, 8, %p2;\n" +
                 body,
             {3, 1, 1},
             {128, 1, 1},
             0,
             "",
             target,
             version});
  };
  for (const char* op : {"add.u32", "min.u32", "max.u32", "min.s32", "max.s32", "inc.u32",
                         "dec.u32", "and.b32", "or.b32", "xor.b32", "exch.b32"})
    own(fmt::format("own_{}", op).c_str(),
        fmt::format("  ld.global.u32 %r0, [%x0]; atom.global.{} %r1, [%x1], %r0;\n"
                    "  st.global.u32 [%x2], %r1;\n",
                    op),
        Fill::kInt32, Fill::kInt32);
  for (const char* op : {"add.u64", "min.u64", "max.u64", "min.s64", "max.s64", "and.b64", "or.b64",
                         "xor.b64", "exch.b64"})
    own(fmt::format("own_{}", op).c_str(),
        fmt::format("  ld.global.u64 %x3, [%x0]; atom.global.{} %x4, [%x1], %x3;\n"
                    "  st.global.u64 [%x2], %x4;\n",
                    op),
        Fill::kInt64, Fill::kInt64);
  own("own_cas", R"(
  ld.global.v2.u32 {%r0, %r1}, [%x0];
  and.b32 %r5, %i, 1; setp.eq.u32 %q0, %r5, 0;
  ld.global.u32 %r2, [%x1];
  selp.u32 %r3, %r2, %r0, %q0;
  atom.global.cas.b32 %r4, [%x1], %r3, %r1;
  atom.global.acquire.gpu.cas.b32 %r6, [%x1+4], %r3, %r0;
  st.global.v2.u32 [%x2], {%r4, %r6};
)",
      Fill::kInt32, Fill::kInt32);
  own("own_cas_64", R"(
  ld.global.u64 %x3, [%x0]; ld.global.u64 %x4, [%x1];
  and.b32 %r5, %i, 1; setp.eq.u32 %q0, %r5, 0;
  selp.u64 %x5, %x4, %x3, %q0;
  atom.global.cas.b64 %x6, [%x1], %x5, %x3;
  st.global.u64 [%x2], %x6;
)",
      Fill::kInt64, Fill::kInt64);
  own("own_cas_16", R"(
  ld.global.u16 %h0, [%x0]; ld.global.u16 %h1, [%x1];
  and.b32 %r5, %i, 1; setp.eq.u32 %q0, %r5, 0;
  selp.b16 %h2, %h1, %h0, %q0;
  atom.global.cas.b16 %h3, [%x1], %h2, %h0;
  st.global.u16 [%x2], %h3;
  atom.global.cas.b16 %h4, [%x1+2], %h1, %h0;
  st.global.u16 [%x2+2], %h4;
)",
      Fill::kInt16, Fill::kInt16);
  own("own_f32", R"(
  ld.global.f32 %f0, [%x0]; atom.global.add.f32 %f1, [%x1], %f0;
  red.global.add.f32 [%x1+4], %f0;
  st.global.f32 [%x2], %f1;
)",
      Fill::kF32, Fill::kF32);
  own("own_f64", R"(
  ld.global.f64 %d0, [%x0]; atom.global.add.f64 %d1, [%x1], %d0;
  st.global.f64 [%x2], %d1;
)",
      Fill::kUnit64, Fill::kUnit64);
  own("own_f16x2", R"(
  ld.global.u32 %r0, [%x0]; atom.global.add.noftz.f16x2 %r1, [%x1], %r0;
  ld.global.u16 %h0, [%x0+4]; atom.global.add.noftz.f16 %h1, [%x1+4], %h0;
  red.global.add.noftz.f16x2 [%x1], %r0;
  st.global.u32 [%x2], %r1; st.global.u16 [%x2+4], %h1;
)",
      Fill::kF16, Fill::kF16, "sm_80");
  own("own_bf16x2", R"(
  ld.global.u32 %r0, [%x0]; atom.global.add.noftz.bf16x2 %r1, [%x1], %r0;
  ld.global.u16 %h0, [%x0+4]; atom.global.add.noftz.bf16 %h1, [%x1+4], %h0;
  st.global.u32 [%x2], %r1; st.global.u16 [%x2+4], %h1;
)",
      Fill::kBf16, Fill::kBf16, "sm_90");
  const auto wide = [&](const char* name, const std::string& body, Fill fill, const char* version) {
    add_raw(cases, {std::string("atomic/") + name,
                    {in(128 * 16, fill, 33), inout(128 * 16, fill, 34), out(128 * 16)},
                    "  mad.wide.u32 %x0, %i, 16, %p0;\n  mad.wide.u32 %x1, %i, 16, %p1;\n"
                    "  mad.wide.u32 %x2, %i, 16, %p2;\n" +
                        body,
                    {1, 1, 1},
                    {128, 1, 1},
                    0,
                    "",
                    "sm_90",
                    version});
  };
  wide("vector_f32", R"(
  ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%x0];
  atom.global.v4.f32.add {%f4, %f5, %f6, %f7}, [%x1], {%f0, %f1, %f2, %f3};
  st.global.v4.f32 [%x2], {%f4, %f5, %f6, %f7};
  red.global.v2.f32.add [%x1+8], {%f0, %f1};
)",
       Fill::kUnit32, "8.1");
  wide("vector_f16", R"(
  ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%x0];
  atom.global.v4.f16x2.add.noftz {%r4, %r5, %r6, %r7}, [%x1], {%r0, %r1, %r2, %r3};
  st.global.v4.u32 [%x2], {%r4, %r5, %r6, %r7};
  red.global.v2.f16x2.add.noftz [%x1], {%r0, %r1};
  red.global.v2.f16x2.max.noftz [%x1+8], {%r0, %r1};
)",
       Fill::kHalfUnit, "8.1");
  wide("vector_bf16", R"(
  ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%x0];
  atom.global.v4.bf16x2.add.noftz {%r4, %r5, %r6, %r7}, [%x1], {%r0, %r1, %r2, %r3};
  st.global.v4.u32 [%x2], {%r4, %r5, %r6, %r7};
  red.global.v4.bf16x2.min.noftz [%x1], {%r0, %r1, %r2, %r3};
)",
       Fill::kBf16Unit, "8.1");
  wide("exch_b128", R"(
  .reg .b128 %w<3>;
  ld.global.b128 %w0, [%x0];
  atom.global.exch.b128 %w1, [%x1], %w0;
  atom.global.cas.b128 %w2, [%x1], %w0, %w1;
  st.global.b128 [%x2], %w2;
)",
       Fill::kBits, "8.4");
  // A lock, a ticket and a count: forward progress and order-independent results.
  add_raw(cases, {"atomic/spin_lock",
                  {inout(16, Fill::kZero)},
                  R"(
TRY:
  atom.global.acquire.gpu.cas.b32 %r0, [%p0], 0, 1;
  setp.ne.u32 %q0, %r0, 0;
  @%q0 bra TRY;
  ld.volatile.global.u32 %r1, [%p0+4];
  add.u32 %r1, %r1, %ti;
  st.volatile.global.u32 [%p0+4], %r1;
  membar.gl;
  atom.global.release.gpu.exch.b32 %r2, [%p0], 0;
)",
                  {1, 1, 1},
                  {64, 1, 1}});
  add_raw(cases, {"atomic/inc_dec_ring",
                  {inout(32, Fill::kZero)},
                  R"(
  atom.global.inc.u32 %r0, [%p0], 9;
  atom.global.dec.u32 %r1, [%p0+4], 9;
  red.global.add.u32 [%p0+8], %r0;
  red.global.add.u32 [%p0+12], %r1;
  red.global.inc.u32 [%p0+16], 1000;
)",
                  {2, 1, 1},
                  {100, 1, 1}});
  add_raw(cases, {"atomic/last_block",
                  {inout(64, Fill::kZero), out(64)},
                  R"(
  .shared .u32 last;
  setp.ne.u32 %q0, %ti, 0;
  red.global.add.u32 [%p0], %i;
  membar.gl;
  bar.sync 0;
  @%q0 bra JOIN;
  atom.global.inc.u32 %r0, [%p0+4], 3;
  setp.eq.u32 %q1, %r0, 3;
  selp.u32 %r1, 1, 0, %q1;
  st.shared.u32 [last], %r1;
JOIN:
  bar.sync 0;
  ld.shared.u32 %r2, [last];
  setp.eq.u32 %q2, %r2, 0;
  @%q2 exit;
  ld.global.cg.u32 %r3, [%p0];
  and.b32 %r4, %ti, 15; mad.wide.u32 %x0, %r4, 4, %p1;
  st.global.u32 [%x0], %r3;
)",
                  {4, 1, 1},
                  {64, 1, 1}});
}

}  // namespace hone::differential
