// Bits: fields, permutations, counts, selection.
#include <fmt/format.h>

#include "tests/differential/families/ops.h"

namespace hone::differential {

void add_bit_cases(std::vector<Case>& cases) {
  add_group(cases,
            {"bits/count_32",
             'r',
             "r",
             {Fill::kInt32},
             expand({"<popc|clz|brev>.b32", "bfind.<u32|s32>", "bfind.shiftamt.<u32|s32>"})});
  add_group(cases, {"bits/count_64",
                    'r',
                    "l",
                    {Fill::kInt64},
                    expand({"<popc|clz>.b64", "bfind.<u64|s64>", "bfind.shiftamt.<u64|s64>"})});
  add_group(cases, {"bits/brev_64", 'l', "l", {Fill::kInt64}, {"brev.b64"}});
  // Positions and lengths are read modulo 256.
  add_group(cases, {"bits/bfe_32", 'r', "rrr", {Fill::kInt32}, expand({"bfe.<u32|s32>"})});
  add_group(
      cases,
      {"bits/bfe_small",
       'r',
       "rrr",
       {Fill::kBits, Fill::kSmallInt, Fill::kSmallInt},
       expand({"bfe.<u32|s32>", "bfi.b32 $d, $a, $b, $c, 5;", "bfi.b32 $d, $a, 0x12345678, $b, $c;",
               "bmsk.<clamp|wrap>.b32 $d, $b, $c;", "szext.<clamp|wrap>.<u32|s32> $d, $a, $b;",
               "shf.<l|r>.<wrap|clamp>.b32 $d, $a, 0x89ABCDEF, $b;", "fns.b32 $d, $a, 3, 2;",
               "fns.b32 $d, $a, 20, -2;"})});
  add_group(cases, {"bits/bfe_64",
                    'l',
                    "lrr",
                    {Fill::kInt64, Fill::kSmallInt, Fill::kSmallInt},
                    expand({"bfe.<u64|s64>", "bfi.b64 $d, $a, 0x0123456789ABCDEF, $b, $c;"})});
  add_group(
      cases,
      {"bits/bfi_32_wide", 'r', "rrr", {Fill::kInt32}, {"bfi.b32 $d, $a, 0x12345678, $b, $c;"}});
  add_group(cases, {"bits/shf_bmsk_szext",
                    'r',
                    "rrr",
                    {Fill::kInt32},
                    expand({"shf.<l|r>.<wrap|clamp>.b32", "bmsk.<clamp|wrap>.b32 $d, $b, $c;",
                            "szext.<clamp|wrap>.<u32|s32> $d, $a, $b;"})});
  add_group(cases, {"bits/prmt",
                    'r',
                    "rrr",
                    {Fill::kBits},
                    expand({"prmt.b32", "prmt.b32.<f4e|b4e|rc8|ecl|ecr|rc16>",
                            "prmt.b32 $d, $a, $b, 0x7531;", "prmt.b32 $d, $a, $b, 0x98BA;"})});
  std::vector<std::string> tables;
  for (int table : {0x00, 0x01, 0x17, 0x1E, 0x3C, 0x5A, 0x69, 0x80, 0x96, 0xCA, 0xD8, 0xE8, 0xFE})
    tables.push_back(fmt::format("lop3.b32 $d, $a, $b, $c, {:#x};", table));
  add_group(cases, {"bits/lop3", 'r', "rrr", {Fill::kInt32}, tables});
  add_group(cases,
            {"bits/lop3_predicate",
             'r',
             "rrr",
             {Fill::kInt32},
             {"setp.lt.u32 %q1, $a, $b; lop3.or.b32 %t0|%q2, $a, $b, $c, 0x80, %q1; selp.b32 $d, "
              "%t0, 77, %q2;",
              "setp.lt.u32 %q1, $a, $b; lop3.and.b32 %t0|%q2, $a, $b, $c, 0x96, %q1; selp.b32 $d, "
              "%t0, 77, %q2;",
              "setp.lt.u32 %q1, $a, $b; lop3.or.b32 _|%q2, $a, $b, $c, 0x80, !%q1; selp.b32 $d, "
              "55, 77, %q2;"},
             bits(),
             "sm_80",
             "8.2"});
  add_group(cases, {"bits/select",
                    'r',
                    "rrr",
                    {Fill::kInt32},
                    expand({"slct.<b32|u32|s32>.s32",
                            "setp.gt.s32 %q1, $a, $c; selp.<b32|u32|s32> $d, $a, $b, %q1;",
                            "mov.b32 %f0, $c; slct.<b32|u32>.f32 $d, $a, $b, %f0;",
                            "mov.b32 %f0, $c; slct.ftz.u32.f32 $d, $a, $b, %f0;"})});
  add_group(cases, {"bits/select_64",
                    'l',
                    "llr",
                    {Fill::kInt64, Fill::kInt64, Fill::kInt32},
                    expand({"slct.<b64|u64|s64>.s32",
                            "setp.gt.s32 %q1, $c, 5; selp.<b64|u64|s64> $d, $a, $b, %q1;"})});
  add_group(cases, {"bits/select_16",
                    'h',
                    "hhr",
                    {Fill::kInt16, Fill::kInt16, Fill::kInt32},
                    expand({"slct.<b16|u16|s16>.s32",
                            "setp.gt.s32 %q1, $c, 5; selp.<b16|u16|s16> $d, $a, $b, %q1;"})});
  add_group(
      cases,
      {"bits/predicates",
       'p',
       "rr",
       {Fill::kInt32},
       {"setp.lt.s32 %q1, $a, $b; setp.eq.u32 %q2, $a, 1; and.pred $d, %q1, %q2;",
        "setp.lt.s32 %q1, $a, $b; setp.ne.u32 %q2, $a, 1; or.pred $d, %q1, %q2;",
        "setp.lt.s32 %q1, $a, $b; setp.gt.u32 %q2, $a, 1; xor.pred $d, %q1, %q2;",
        "setp.lt.s32 %q1, $a, $b; not.pred $d, %q1;", "setp.lt.s32 %q1, $a, $b; mov.pred $d, %q1;",
        "mov.pred $d, 1;", "mov.pred $d, 0;", "setp.lt.s32 %q1|%q2, $a, $b; xor.pred $d, %q1, %q2;",
        "setp.lt.s32 %q1|$d, $a, $b;", "setp.eq.u32 %q1, $a, 1; setp.lt.and.s32 $d, $a, $b, %q1;",
        "setp.eq.u32 %q1, $a, 1; setp.lt.or.s32 $d, $a, $b, !%q1;",
        "setp.eq.u32 %q1, $a, 1; setp.lt.xor.s32 %q2|$d, $a, $b, %q1;"}});
  add_group(cases, {"bits/pack_32",
                    'r',
                    "hh",
                    {Fill::kInt16},
                    {"mov.b32 $d, {$a, $b};", "mov.b32 $d, {$b, $a};",
                     "mov.b32 %t0, {$a, $b}; mov.b32 {%h0, %h1}, %t0; mov.b32 $d, {%h1, %h0};",
                     "mov.b32 %t0, {$a, $b}; mov.b32 {%h0, _}, %t0; cvt.u32.u16 $d, %h0;",
                     "mov.b32 %t0, {$a, $b}; mov.b32 {_, %h0}, %t0; cvt.s32.s16 $d, %h0;",
                     "mov.b64 %u0, {$a, $b, $b, $a}; mov.b64 {%t0, %t1}, %u0; xor.b32 $d, %t0, "
                     "%t1;"}});
  add_group(cases, {"bits/pack_64",
                    'l',
                    "rr",
                    {Fill::kInt32},
                    {"mov.b64 $d, {$a, $b};",
                     "mov.b64 %u0, {$a, $b}; mov.b64 {%t0, %t1}, %u0; mov.b64 $d, {%t1, %t0};",
                     "mov.b64 %u0, {$a, $b}; mov.b64 {%h0, %h1, %h2, %h3}, %u0; mov.b64 $d, {%h3, "
                     "%h2, %h1, %h0};",
                     "mov.b64 %u0, {$a, $b}; mov.b64 {_, %t1}, %u0; cvt.u64.u32 $d, %t1;"}});
  add_group(cases, {"bits/wide_128",
                    'l',
                    "ll",
                    {Fill::kInt64},
                    {"{ .reg .b128 %w; mov.b128 %w, {$a, $b}; mov.b128 {_, $d}, %w; }",
                     "{ .reg .b128 %w, %y; mov.b128 %w, {$a, $b}; mov.b128 %y, %w; mov.b128 {$d, "
                     "_}, %y; }"},
                    bits(),
                    "sm_80",
                    "8.3"});
  add_group(cases, {"bits/cvt_pack",
                    'r',
                    "rrr",
                    {Fill::kInt32},
                    expand({"cvt.pack.sat.<u16|s16>.s32 $d, $a, $b;",
                            "cvt.pack.sat.<u8|s8|u4|s4|u2|s2>.s32.b32"})});
}

}  // namespace hone::differential
