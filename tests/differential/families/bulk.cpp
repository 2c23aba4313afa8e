// Bulk reductions in global memory: each type and operation, on edges and on plain numbers.
#include <fmt/format.h>

#include "tests/differential/families/raw.h"

namespace hone::differential {

void add_bulk_cases(std::vector<Case>& cases) {
  const auto add = [&](const std::string& op, const std::string& what, Fill fill) {
    Raw raw;
    raw.name = fmt::format("bulk/reduce.{}.{}", op, what);
    raw.target = "sm_90";
    raw.version = "8.4";
    raw.module = ".shared .align 128 .b8 tile[1024];\n";
    raw.buffers = {in(1024, fill, 31), inout(1024, fill, 32)};
    raw.body = fmt::format(
        "  mad.wide.u32 %p0, %ti, 16, %p0;\n  ld.global.v4.b32 {{%r0,%r1,%r2,%r3}}, [%p0];\n"
        "  mov.u32 %r8, tile;\n  mad.lo.u32 %r9, %ti, 16, %r8;\n"
        "  st.shared.v4.b32 [%r9], {{%r0,%r1,%r2,%r3}};\n"
        "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n  setp.eq.u32 %q0, %ti, 0;\n"
        "  @!%q0 bra END;\n"
        "  cp.reduce.async.bulk.global.shared::cta.bulk_group.{} [%p1], [%r8], 1024;\n"
        "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\nEND:\n",
        op);
    add_raw(cases, raw);
  };
  for (const char* op : {"and", "or", "xor"})
    for (const char* type : {"b32", "b64"}) add(fmt::format("{}.{}", op, type), "any", Fill::kBits);
  for (const char* type : {"u32", "s32", "u64"})
    add(fmt::format("add.{}", type), "edges", Fill::kInt32);
  for (const char* op : {"inc", "dec"}) add(fmt::format("{}.u32", op), "edges", Fill::kInt32);
  for (const char* op : {"min", "max"}) {
    for (const char* type : {"u32", "s32"})
      add(fmt::format("{}.{}", op, type), "edges", Fill::kInt32);
    for (const char* type : {"u64", "s64"})
      add(fmt::format("{}.{}", op, type), "edges", Fill::kInt64);
    add(fmt::format("{}.f16", op), "unit", Fill::kHalfUnit);
    add(fmt::format("{}.f16", op), "edges", Fill::kF16);
    add(fmt::format("{}.bf16", op), "unit", Fill::kBf16Unit);
    add(fmt::format("{}.bf16", op), "edges", Fill::kBf16);
  }
  add("add.f32", "unit", Fill::kUnit32);
  add("add.f32", "edges", Fill::kF32);
  add("add.f64", "unit", Fill::kUnit64);
  add("add.noftz.f16", "unit", Fill::kHalfUnit);
  add("add.noftz.f16", "edges", Fill::kF16);
  add("add.noftz.bf16", "unit", Fill::kBf16Unit);
  add("add.noftz.bf16", "edges", Fill::kBf16);
}

}  // namespace hone::differential
