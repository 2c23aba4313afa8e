// Tensor cores on small integers, whose sums are exact in any order (tensor.cpp has the rest), and
// copies to shared memory that land later.
#include <fmt/format.h>

#include "tests/differential/families/raw.h"

namespace hone::differential {
namespace {

std::string registers(char name, int first, int count) {
  std::string s = "{";
  for (int i = 0; i < count; ++i) s += fmt::format("{}%{}{}", i ? ", " : "", name, first + i);
  return s + "}";
}

/// d = a * b + c with `na` and `nb` words of a and b, four of c and d, in each lane.
void add_mma(std::vector<Case>& cases, const std::string& name, const std::string& op, int na,
             int nb, char c_letter, int nc, Fill ab, Fill c, const char* target = "sm_80") {
  std::string body;
  const auto load = [&](char reg, const char* buffer, int first, int count) {
    body += fmt::format("  mad.wide.u32 %x0, %i, {}, {};\n", 4 * count, buffer);
    for (int k = 0; k < count; ++k)
      body += fmt::format("  ld.global.b32 %{}{}, [%x0+{}];\n", reg, first + k, 4 * k);
  };
  load('r', "%p0", 0, na);
  load('r', "%p1", 10, nb);
  load(c_letter, "%p2", 20, nc);
  body += fmt::format("  {} {}, {}, {}, {};\n", op, registers(c_letter, 30, nc),
                      registers('r', 0, na), registers('r', 10, nb), registers(c_letter, 20, nc));
  body += fmt::format("  mad.wide.u32 %x1, %i, {}, %p3;\n", 4 * nc);
  for (int k = 0; k < nc; ++k)
    body += fmt::format("  st.global.b32 [%x1+{}], %{}{};\n", 4 * k, c_letter, 30 + k);
  const std::uint64_t lanes = 64;
  add_raw(cases, {"tensor/" + name,
                  {in(lanes * 4 * na, ab, 71), in(lanes * 4 * nb, ab, 72),
                   in(lanes * 4 * nc, c, 73), out(lanes * 4 * nc)},
                  body,
                  {1, 1, 1},
                  {64, 1, 1},
                  0,
                  "",
                  target});
}

}  // namespace

void add_exact_tensor_cases(std::vector<Case>& cases) {
  add_mma(cases, "mma_m16n8k16_f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 'f',
          4, Fill::kHalfInts, Fill::kF32Ints);
  add_mma(cases, "mma_m16n8k8_f16", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 2, 1, 'f',
          4, Fill::kHalfInts, Fill::kF32Ints);
  add_mma(cases, "mma_m16n8k16_f16_into_f16", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
          4, 2, 'r', 2, Fill::kHalfInts, Fill::kHalfInts);
  add_mma(cases, "mma_m16n8k16_bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2,
          'f', 4, Fill::kBf16Ints, Fill::kF32Ints);
  add_mma(cases, "mma_m16n8k8_bf16", "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 2, 1,
          'f', 4, Fill::kBf16Ints, Fill::kF32Ints);
  add_mma(cases, "mma_m16n8k8_tf32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2,
          'f', 4, Fill::kF32Ints, Fill::kF32Ints);
  add_mma(cases, "mma_m16n8k4_tf32", "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 2, 1,
          'f', 4, Fill::kF32Ints, Fill::kF32Ints);
  for (const char* types : {"s8.s8", "u8.u8", "s8.u8", "u8.s8"}) {
    std::string suffix = types;
    suffix[2] = '_';
    add_mma(cases, "mma_m16n8k32_" + suffix,
            fmt::format("mma.sync.aligned.m16n8k32.row.col.s32.{}.s32", types), 4, 2, 'r', 4,
            Fill::kBits, Fill::kBits);
    add_mma(cases, "mma_m16n8k16_" + suffix,
            fmt::format("mma.sync.aligned.m16n8k16.row.col.s32.{}.s32", types), 2, 1, 'r', 4,
            Fill::kBits, Fill::kBits);
  }
  add_mma(cases, "mma_m16n8k32_s8_satfinite",
          "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", 4, 2, 'r', 4, Fill::kBits,
          Fill::kInt32);
  for (const char* form : {"x1", "x2", "x4", "x1.trans", "x2.trans", "x4.trans"}) {
    const std::string text = form;
    const int count = text[1] - '0';
    std::string name = text;
    if (name.size() > 2) name[2] = '_';
    std::string body = R"(
  .shared .align 16 .b8 s[512];
  mad.wide.u32 %x0, %i, 16, %p0;
  ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%x0];
  mov.u32 %r30, s;
  mad.lo.u32 %r31, %ti, 16, %r30;
  st.shared.v4.u32 [%r31], {%r20, %r21, %r22, %r23};
  bar.sync 0;
  mov.u32 %r0, 0; mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;
)";
    body += fmt::format("  ldmatrix.sync.aligned.m8n8.{}.shared.b16 {}, [%r31];\n", form,
                        registers('r', 0, count));
    body += "  mad.wide.u32 %x1, %i, 16, %p1;\n  st.global.v4.u32 [%x1], {%r0, %r1, %r2, %r3};\n";
    add_raw(cases, {"tensor/ldmatrix_" + name,
                    {in(512, Fill::kBits, 74), out(512)},
                    body,
                    {1, 1, 1},
                    {32, 1, 1}});
  }
  add_raw(cases, {"tensor/cp_async",
                  {in(2048, Fill::kBits, 75), out(2048)},
                  R"(
  .shared .align 16 .b8 s[2048];
  mad.wide.u32 %x0, %ti, 16, %p0;
  mov.u32 %r30, s;
  mad.lo.u32 %r31, %ti, 16, %r30;
  cp.async.cg.shared.global [%r31], [%x0], 16;
  cp.async.commit_group;
  cp.async.ca.shared.global [%r31+1024], [%x0+1024], 8;
  cp.async.ca.shared.global [%r31+1032], [%x0+1032], 8, 4;
  cp.async.commit_group;
  cp.async.wait_group 1;
  bar.sync 0;
  xor.b32 %r1, %ti, 63; mad.lo.u32 %r2, %r1, 16, %r30;
  ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r2];
  cp.async.wait_all;
  bar.sync 0;
  ld.shared.v4.u32 {%r8, %r9, %r10, %r11}, [%r2+1024];
  mad.wide.u32 %x1, %ti, 16, %p1;
  st.global.v4.u32 [%x1], {%r4, %r5, %r6, %r7};
  st.global.v4.u32 [%x1+1024], {%r8, %r9, %r10, %r11};
)",
                  {1, 1, 1},
                  {64, 1, 1}});
}

}  // namespace hone::differential
