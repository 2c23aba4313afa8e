// Tensor cores: mma.sync in every shape and type, ldmatrix and its kin, wmma, wgmma. How a tensor
// core adds is not documented: these cases are what says that the emulator does it the same way.
#include <fmt/format.h>

#include "tests/differential/families/raw.h"

namespace hone::differential {
namespace {

constexpr std::uint64_t kThreads = 8 * 128;  // 32 warps

struct Mma {
  const char* text;  ///< after mma.sync.aligned.
  int a, b, c;       ///< 32-bit words of a lane's fragments
  Fill inputs, sums;
  bool wide = false;  ///< f64
};

std::string words(int first, int count, bool wide) {
  std::string list = "{";
  for (int i = 0; i < (wide ? count / 2 : count); ++i)
    list += fmt::format("{}%{}{}", i ? ", " : "", wide ? "x" : "r", first + i);
  return list + "}";
}

void add_mma(std::vector<Case>& cases, const Mma& m, const char* what, Fill inputs, Fill sums,
             std::uint32_t seed) {
  Raw raw;
  raw.name = fmt::format("tensor/mma.{}.{}", m.text, what);
  raw.target = "sm_90";
  raw.version = std::string(m.text).find("f16.e") == std::string::npos &&
                        std::string(m.text).find("k16.row.col.f32.e") == std::string::npos
                    ? "8.4"
                    : "8.7";
  raw.grid = {8, 1, 1};
  raw.block = {128, 1, 1};
  raw.buffers = {in(kThreads * m.a * 4, inputs, seed), in(kThreads * m.b * 4, inputs, seed + 1),
                 inout(kThreads * m.c * 4, sums, seed + 2)};
  // %r8.. A, %r16.. B, %r24.. C; as 64-bit words %x0.., %x8.., %x12..
  const int first[3] = {m.wide ? 0 : 8, m.wide ? 8 : 16, m.wide ? 12 : 24};
  const int count[3] = {m.a, m.b, m.c};
  for (int k = 0; k < 3; ++k) {
    raw.body += fmt::format("  mad.wide.u32 %p{0}, %i, {1}, %p{0};\n", k, count[k] * 4);
    for (int i = 0; i < (m.wide ? count[k] / 2 : count[k]); ++i)
      raw.body += fmt::format("  ld.global.{} %{}{}, [%p{}+{}];\n", m.wide ? "b64" : "b32",
                              m.wide ? "x" : "r", first[k] + i, k, i * (m.wide ? 8 : 4));
  }
  std::string operands[3];
  for (int k = 0; k < 3; ++k) operands[k] = words(first[k], count[k], m.wide);
  // Twice, so that the second starts from sums and not from inputs.
  for (int again = 0; again < 2; ++again)
    raw.body += fmt::format("  mma.sync.aligned.{} {}, {}, {}, {};\n", m.text, operands[2],
                            operands[0], operands[1], operands[2]);
  for (int i = 0; i < (m.wide ? m.c / 2 : m.c); ++i)
    raw.body += fmt::format("  st.global.{} [%p2+{}], %{}{};\n", m.wide ? "b64" : "b32",
                            i * (m.wide ? 8 : 4), m.wide ? "x" : "r", first[2] + i);
  add_raw(cases, raw);
}

const Mma kMmas[] = {
    {"m16n8k8.row.col.f32.f16.f16.f32", 2, 1, 4, Fill::kF16, Fill::kF32},
    {"m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4, Fill::kF16, Fill::kF32},
    {"m16n8k8.row.col.f16.f16.f16.f16", 2, 1, 2, Fill::kF16, Fill::kF16},
    {"m16n8k16.row.col.f16.f16.f16.f16", 4, 2, 2, Fill::kF16, Fill::kF16},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", 2, 1, 4, Fill::kBf16, Fill::kF32},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2, 4, Fill::kBf16, Fill::kF32},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", 2, 1, 4, Fill::kF32, Fill::kF32},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 4, Fill::kF32, Fill::kF32},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", 4, 2, 4, Fill::kBits, Fill::kUnit32},
    {"m16n8k32.row.col.f32.e5m2.e4m3.f32", 4, 2, 4, Fill::kBits, Fill::kUnit32},
    {"m16n8k32.row.col.f16.e5m2.e5m2.f16", 4, 2, 2, Fill::kBits, Fill::kHalfUnit},
    {"m16n8k16.row.col.s32.s8.s8.s32", 2, 1, 4, Fill::kBits, Fill::kInt32},
    {"m8n8k16.row.col.s32.u8.s8.s32", 1, 1, 2, Fill::kBits, Fill::kInt32},
    {"m16n8k32.row.col.s32.s8.u8.s32", 4, 2, 4, Fill::kBits, Fill::kInt32},
    {"m16n8k32.row.col.satfinite.s32.s8.s8.s32", 4, 2, 4, Fill::kBits, Fill::kInt32},
    {"m16n8k64.row.col.s32.s4.u4.s32", 4, 2, 4, Fill::kBits, Fill::kInt32},
    {"m16n8k256.row.col.s32.b1.b1.s32.and.popc", 4, 2, 4, Fill::kBits, Fill::kInt32},
    {"m8n8k4.row.col.f64.f64.f64.f64", 2, 2, 4, Fill::kF64, Fill::kF64, true},
    {"m16n8k8.row.col.f64.f64.f64.f64", 8, 4, 8, Fill::kF64, Fill::kF64, true},
    {"m16n8k16.row.col.f64.f64.f64.f64", 16, 8, 8, Fill::kF64, Fill::kF64, true},
    {"m16n8k4.row.col.f64.f64.f64.f64", 4, 2, 8, Fill::kF64, Fill::kF64, true},
    {"m16n8k16.row.col.f32.e4m3.e5m2.f32", 2, 1, 4, Fill::kBits, Fill::kUnit32},
    {"m16n8k16.row.col.f16.e4m3.e4m3.f16", 2, 1, 2, Fill::kBits, Fill::kHalfUnit},
    {"m8n8k32.row.col.s32.u4.s4.s32", 1, 1, 2, Fill::kBits, Fill::kInt32},
    {"m16n8k32.row.col.satfinite.s32.u4.u4.s32", 2, 1, 4, Fill::kBits, Fill::kInt32},
    {"m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 1, 1, 2, Fill::kBits, Fill::kInt32},
    {"m16n8k128.row.col.s32.b1.b1.s32.and.popc", 2, 1, 4, Fill::kBits, Fill::kInt32},
};

// 8x8 matrices: loaded every way, turned over, and stored every way.
void add_matrices(std::vector<Case>& cases) {
  const std::string tile = ".shared .align 16 .b8 tile[2048];\n";
  const std::string fill =
      "  mad.wide.u32 %p0, %i, 16, %p0;\n  ld.global.v4.b32 {%r0,%r1,%r2,%r3}, [%p0];\n"
      "  mov.u32 %r8, tile;\n  mad.lo.u32 %r9, %ti, 16, %r8;\n"
      "  st.shared.v4.b32 [%r9], {%r0,%r1,%r2,%r3};\n  bar.sync 0;\n"
      "  mad.wide.u32 %p1, %i, 16, %p1;\n";
  for (const char* trans : {"", ".trans"}) {
    for (const int count : {1, 2, 4}) {
      std::string list;
      for (int i = 0; i < count; ++i) list += fmt::format("{}%r{}", i ? "," : "", 16 + i);
      Raw load;
      load.name = fmt::format("tensor/ldmatrix.x{}{}", count, trans);
      load.module = tile;
      load.block = {32, 1, 1};
      load.buffers = {in(512, Fill::kBits, 5), inout(512, Fill::kZero)};
      // Rows in another order than the lanes'.
      load.body = fill +
                  "  mul.lo.u32 %r10, %ti, 5;\n  and.b32 %r10, %r10, 31;\n"
                  "  mad.lo.u32 %r10, %r10, 16, %r8;\n" +
                  fmt::format("  ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {{{}}}, [%r10];\n",
                              count, trans, list);
      for (int i = 0; i < count; ++i)
        load.body += fmt::format("  st.global.b32 [%p1+{}], %r{};\n", i * 4, 16 + i);
      add_raw(cases, load);
      Raw store = load;
      store.name = fmt::format("tensor/stmatrix.x{}{}", count, trans);
      store.target = "sm_90";
      store.body =
          fill +
          "  mul.lo.u32 %r10, %ti, 11;\n  and.b32 %r10, %r10, 31;\n"
          "  mad.lo.u32 %r10, %r10, 16, %r8;\n"
          "  mov.b32 %r16, %r0; mov.b32 %r17, %r1; mov.b32 %r18, %r2; mov.b32 %r19, %r3;\n" +
          fmt::format("  stmatrix.sync.aligned.m8n8.x{}{}.shared.b16 [%r10], {{{}}};\n", count,
                      trans, list) +
          "  bar.sync 0;\n  ld.shared.v4.b32 {%r0,%r1,%r2,%r3}, [%r9];\n"
          "  st.global.v4.b32 [%p1], {%r0,%r1,%r2,%r3};\n";
      add_raw(cases, store);
    }
  }
  Raw move;
  move.name = "tensor/movmatrix";
  move.block = {32, 1, 1};
  move.buffers = {in(128, Fill::kBits, 6), out(128)};
  move.body =
      "  mad.wide.u32 %p0, %i, 4, %p0;\n  mad.wide.u32 %p1, %i, 4, %p1;\n"
      "  ld.global.b32 %r0, [%p0];\n"
      "  movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;\n  st.global.b32 [%p1], %r1;\n";
  add_raw(cases, move);
}

// D = A B + C through wmma, with every element multiplied by its number in the fragment in between:
// that shows which lane holds what.
void add_wmma(std::vector<Case>& cases, const std::string& shape, const std::string& type,
              int a_regs, int b_regs, const std::string& a_layout, const std::string& b_layout,
              int lda, int ldb, int ldc, int n_bytes, Fill fill) {
  Raw raw;
  raw.name = fmt::format("tensor/wmma.{}.{}.{}.{}", shape, type, a_layout, b_layout);
  raw.block = {32, 1, 1};
  raw.buffers = {in(n_bytes, fill, 7), in(n_bytes, fill, 8), in(4096, Fill::kUnit32, 9), out(4096)};
  std::string sums;
  std::string scaled;
  for (int i = 0; i < 8; ++i) {
    sums += fmt::format("{}%f{}", i ? "," : "", i);
    scaled += fmt::format("  mul.f32 %f{0}, %f{0}, 0f{1:08X};\n", i, 0x3F800000 + (i << 20));
  }
  // Lane by lane, too: times 1 + lane / 32.
  scaled += "  cvt.rn.f32.u32 %f20, %lane;\n  fma.rn.f32 %f20, %f20, 0f3D000000, 0f3F800000;\n";
  for (int i = 0; i < 8; ++i) scaled += fmt::format("  mul.f32 %f{0}, %f{0}, %f20;\n", i);
  const std::string types = type == "f16" ? "f32.f32" : fmt::format("f32.{0}.{0}.f32", type);
  raw.body = fmt::format("  wmma.load.a.sync.aligned.{}.{}.global.{} {}, [%p0], {};\n", a_layout,
                         shape, type, words(0, a_regs, false), lda) +
             fmt::format("  wmma.load.b.sync.aligned.{}.{}.global.{} {}, [%p1], {};\n", b_layout,
                         shape, type, words(16, b_regs, false), ldb) +
             fmt::format("  wmma.load.c.sync.aligned.row.{}.global.f32 {{{}}}, [%p2], {};\n", shape,
                         sums, ldc) +
             fmt::format("  wmma.mma.sync.aligned.{}.{}.{}.{} {{{}}}, {}, {}, {{{}}};\n", a_layout,
                         b_layout, shape, types, sums, words(0, a_regs, false),
                         words(16, b_regs, false), sums) +
             scaled +
             fmt::format("  wmma.store.d.sync.aligned.row.{}.global.f32 [%p3], {{{}}}, {};\n",
                         shape, sums, ldc);
  add_raw(cases, raw);
}

// One or two products of a warpgroup with tiles of 128-byte rows, swizzled. Any bytes will do.
void add_wgmma(std::vector<Case>& cases, const std::string& types, const std::string& what, int n,
               int k, int results, Fill image, Fill sums, const std::string& tail,
               std::uint64_t a_descriptor, std::uint64_t b_descriptor) {
  Raw raw;
  raw.name = fmt::format("tensor/wgmma.m64n{}k{}.{}.{}", n, k, types, what);
  raw.target = "sm_90a";
  raw.version = "8.4";
  raw.block = {128, 1, 1};
  raw.module = ".shared .align 1024 .b8 tile[32768];\n";
  raw.buffers = {in(32768, image, 11), inout(static_cast<std::uint64_t>(results) * 512, sums, 12)};
  raw.body =
      "  mov.u32 %r60, tile;\n  mad.lo.u32 %r61, %ti, 256, %r60;\n"
      "  mad.wide.u32 %p0, %ti, 256, %p0;\n  mov.u32 %r62, 0;\n"
      "COPY:\n  ld.global.b32 %r63, [%p0];\n  st.shared.b32 [%r61], %r63;\n"
      "  add.u64 %p0, %p0, 4;\n  add.u32 %r61, %r61, 4;\n  add.u32 %r62, %r62, 4;\n"
      "  setp.lt.u32 %q0, %r62, 256;\n  @%q0 bra COPY;\n"
      "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n" +
      fmt::format("  mad.wide.u32 %p1, %ti, {}, %p1;\n", results * 4);
  for (int i = 0; i < results; ++i)
    raw.body += fmt::format("  ld.global.b32 %r{}, [%p1+{}];\n", i, i * 4);
  const std::string list = words(0, results, false);
  raw.body += fmt::format(
      "  shr.u32 %r60, %r60, 4;\n  cvt.u64.u32 %x0, %r60;\n"
      "  add.u64 %x1, %x0, 0x{:x};\n  add.u64 %x2, %x0, 0x{:x};\n"
      "  setp.eq.u32 %q1, %n, %n;\n  wgmma.fence.sync.aligned;\n"
      "  wgmma.mma_async.sync.aligned.m64n{}k{}.{} {}, %x1, %x2, %q1{};\n"
      "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n",
      a_descriptor, b_descriptor, n, k, types, list, tail);
  for (int i = 0; i < results; ++i)
    raw.body += fmt::format("  st.global.b32 [%p1+{}], %r{};\n", i * 4, i);
  add_raw(cases, raw);
}

std::uint64_t descriptor(int start, int leading, int stride, int mode) {
  return static_cast<std::uint64_t>(start / 16) | static_cast<std::uint64_t>(leading / 16) << 16 |
         static_cast<std::uint64_t>(stride / 16) << 32 | static_cast<std::uint64_t>(mode) << 62;
}

}  // namespace

void add_tensor_cases(std::vector<Case>& cases) {
  std::uint32_t seed = 100;
  for (const Mma& m : kMmas) {
    add_mma(cases, m, "edges", m.inputs, m.sums, seed += 10);
    if (m.wide)  // which of two NaNs goes on is not stated
      cases.back().regions.push_back({2,
                                      0,
                                      cases.back().buffers[2].bytes,
                                      {.kind = Rule::Kind::kFloat, .element = Rule::Element::kF64},
                                      "mma.f64"});
    // Numbers near one, whose sums are rounded.
    const Fill near = m.inputs == Fill::kF16    ? Fill::kHalfUnit
                      : m.inputs == Fill::kBf16 ? Fill::kBf16Unit
                      : m.inputs == Fill::kF32  ? Fill::kUnit32
                      : m.inputs == Fill::kF64  ? Fill::kUnit64
                                                : Fill::kBits;
    const Fill sums = m.sums == Fill::kF16   ? Fill::kHalfUnit
                      : m.sums == Fill::kF32 ? Fill::kUnit32
                      : m.sums == Fill::kF64 ? Fill::kUnit64
                                             : m.sums;
    add_mma(cases, m, "unit", near, sums, seed += 10);
  }
  add_matrices(cases);
  for (const char* a : {"row", "col"})
    for (const char* b : {"row", "col"}) {
      add_wmma(cases, "m16n16k16", "f16", 8, 8, a, b, 24, 24, 20, 2048, Fill::kHalfUnit);
      add_wmma(cases, "m32n8k16", "f16", 8, 8, a, b, 40, 24, 20, 4096, Fill::kHalfUnit);
      add_wmma(cases, "m8n32k16", "f16", 8, 8, a, b, 24, 40, 36, 4096, Fill::kHalfUnit);
      add_wmma(cases, "m16n16k16", "bf16", 4, 4, a, b, 24, 24, 20, 2048, Fill::kBf16Unit);
      add_wmma(cases, "m16n16k8", "tf32", 4, 4, a, b, 20, 20, 20, 4096, Fill::kUnit32);
    }
  const char* f = ", 1, 1, 0, 0";
  struct Mode {
    const char* name;
    int mode, row;
  };
  for (const Mode& m : {Mode{"128B", 1, 128}, Mode{"64B", 2, 64}, Mode{"32B", 3, 32}}) {
    const auto a = descriptor(0, 16, 8 * m.row, m.mode);
    const auto b = descriptor(16384, 16, 8 * m.row, m.mode);
    add_wgmma(cases, "f32.f16.f16", m.name, 64, 16, 32, Fill::kHalfUnit, Fill::kUnit32, f, a, b);
    // Rows that lie across: the next 8 steps of k after an atom, the next rows after two.
    const auto across = [&](int start) { return descriptor(start, 16 * m.row, 8 * m.row, m.mode); };
    add_wgmma(cases, "f32.f16.f16", fmt::format("{}.across", m.name), 64, 16, 32, Fill::kHalfUnit,
              Fill::kUnit32, ", 1, 1, 1, 1", across(0), across(16384));
  }
  add_wgmma(cases, "f32.f16.f16", "plain", 64, 16, 32, Fill::kHalfUnit, Fill::kUnit32, f,
            descriptor(0, 1024, 128, 0), descriptor(16384, 1024, 128, 0));
  add_wgmma(cases, "f32.f16.f16", "plain.across", 64, 16, 32, Fill::kHalfUnit, Fill::kUnit32,
            ", 1, -1, 1, 1", descriptor(0, 128, 256, 0), descriptor(16384, 128, 256, 0));
  const auto a = descriptor(0, 16, 1024, 1);
  const auto b = descriptor(16384, 16, 1024, 1);
  add_wgmma(cases, "f16.f16.f16", "128B", 64, 16, 16, Fill::kHalfUnit, Fill::kHalfUnit, f, a, b);
  add_wgmma(cases, "f32.f16.f16", "edges", 64, 16, 32, Fill::kF16, Fill::kF32, f, a, b);
  add_wgmma(cases, "f32.bf16.bf16", "128B", 64, 16, 32, Fill::kBf16Unit, Fill::kUnit32, f, a, b);
  add_wgmma(cases, "f32.bf16.bf16", "edges", 64, 16, 32, Fill::kBf16, Fill::kF32, f, a, b);
  add_wgmma(cases, "f32.tf32.tf32", "128B", 64, 8, 32, Fill::kUnit32, Fill::kUnit32, ", 1, 1", a,
            b);
  add_wgmma(cases, "f32.e4m3.e4m3", "128B", 64, 32, 32, Fill::kBits, Fill::kUnit32, ", 1, 1", a, b);
  add_wgmma(cases, "f32.e5m2.e4m3", "128B", 64, 32, 32, Fill::kBits, Fill::kUnit32, ", 1, 1", a, b);
  add_wgmma(cases, "f16.e5m2.e5m2", "128B", 64, 32, 16, Fill::kHalfUnit, Fill::kHalfUnit, ", 1, 1",
            a, b);
  add_wgmma(cases, "s32.s8.u8", "128B", 64, 32, 32, Fill::kBits, Fill::kInt32, "", a, b);
  add_wgmma(cases, "s32.u8.u8", "128B", 32, 32, 16, Fill::kBits, Fill::kInt32, "", a, b);
  add_wgmma(cases, "satfinite.s32.s8.s8", "128B", 16, 32, 8, Fill::kBits, Fill::kInt32, "", a, b);
  add_wgmma(cases, "f32.bf16.bf16", "n24.across", 24, 16, 12, Fill::kBf16Unit, Fill::kUnit32,
            ", -1, 1, 0, 1", a, descriptor(16384, 2048, 1024, 1));
  add_wgmma(cases, "f16.e4m3.e5m2", "n8", 8, 32, 2, Fill::kHalfUnit, Fill::kHalfUnit, ", 1, 1", a,
            b);
}

}  // namespace hone::differential
