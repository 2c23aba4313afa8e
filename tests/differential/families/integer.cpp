// Integer arithmetic.
#include <fmt/format.h>

#include "tests/differential/families/ops.h"

namespace hone::differential {
namespace {

struct Width {
  char letter;
  int bits;
  Fill fill;
};
constexpr Width kWidths[] = {
    {'h', 16, Fill::kInt16}, {'r', 32, Fill::kInt32}, {'l', 64, Fill::kInt64}};

std::vector<std::string> for_types(int bits, std::initializer_list<const char*> patterns) {
  std::vector<std::string> all;
  for (const char* p : patterns)
    for (std::string s : expand(std::string(p))) {
      const std::string b = std::to_string(bits);
      for (std::size_t at; (at = s.find('#')) != std::string::npos;) s.replace(at, 1, b);
      all.push_back(std::move(s));
    }
  return all;
}

}  // namespace

void add_integer_cases(std::vector<Case>& cases) {
  for (const Width& w : kWidths) {
    const std::string one(1, w.letter);
    const auto name = [&](const char* what) { return fmt::format("integer/{}_{}", what, w.bits); };
    add_group(cases, {name("add_sub_mul"),
                      w.letter,
                      one + one,
                      {w.fill},
                      for_types(w.bits, {"add.<u|s>#", "sub.<u|s>#", "mul.lo.<u|s>#",
                                         "mul.hi.<u|s>#", "min.<u|s>#", "max.<u|s>#"})});
    add_group(cases, {name("mad_sad"),
                      w.letter,
                      one + one + one,
                      {w.fill},
                      for_types(w.bits, {"mad.lo.<u|s>#", "mad.hi.<u|s>#", "sad.<u|s>#"})});
    // Division by zero has no defined result.
    add_group(cases,
              {name("div_rem"),
               w.letter,
               one + one,
               {w.fill},
               for_types(w.bits, {"{ .reg .b# %z; .reg .pred %e; setp.eq.u# %e, $b, 0; selp.b# %z, "
                                  "7, $b, %e; <div|rem>.<u|s># $d, $a, %z; }"})});
    add_group(cases, {name("abs_neg"),
                      w.letter,
                      one,
                      {w.fill},
                      for_types(w.bits, {"abs.s#", "neg.s#", "not.b#", "cnot.b#"})});
    add_group(
        cases,
        {name("logic"), w.letter, one + one, {w.fill}, for_types(w.bits, {"<and|or|xor>.b#"})});
    add_group(cases, {name("shift"),
                      w.letter,
                      one + "r",
                      {w.fill, Fill::kInt32},
                      for_types(w.bits, {"shl.b#", "shr.<b|u|s>#"})});
    if (w.bits == 64) continue;
    add_group(cases, {name("wide"),
                      w.bits == 16 ? 'r' : 'l',
                      one + one,
                      {w.fill},
                      for_types(w.bits, {"mul.wide.<u|s>#"})});
    const char wide = w.bits == 16 ? 'r' : 'l';
    add_group(cases, {name("mad_wide"),
                      wide,
                      one + one + wide,
                      {w.fill, w.fill, w.bits == 16 ? Fill::kInt32 : Fill::kInt64},
                      for_types(w.bits, {"mad.wide.<u|s>#"})});
  }
  add_group(cases,
            {"integer/mul24", 'r', "rr", {Fill::kInt32}, expand({"mul24.<lo|hi>.<u32|s32>"})});
  add_group(cases, {"integer/mad24",
                    'r',
                    "rrr",
                    {Fill::kInt32},
                    expand({"mad24.<lo|hi>.<u32|s32>", "mad24.hi.sat.s32"})});
  add_group(cases,
            {"integer/saturating", 'r', "rr", {Fill::kInt32}, expand({"<add|sub>.sat.s32"})});
  add_group(cases, {"integer/mad_hi_sat", 'r', "rrr", {Fill::kInt32}, {"mad.hi.sat.s32"}});
  add_group(cases, {"integer/carry_32",
                    'r',
                    "rrr",
                    {Fill::kInt32},
                    {"add.cc.u32 $d, $a, $b; addc.u32 $d, $d, $c;",
                     "add.cc.u32 %t0, $a, $b; addc.cc.u32 %t1, $b, $c; addc.u32 $d, %t0, %t1;",
                     "sub.cc.u32 $d, $a, $b; subc.u32 $d, $d, $c;",
                     "sub.cc.s32 %t0, $a, $b; subc.cc.s32 %t1, $b, $c; subc.s32 $d, %t0, %t1;",
                     "mad.lo.cc.u32 %t0, $a, $b, $c; madc.hi.u32 $d, $a, $b, %t0;",
                     "mad.lo.cc.s32 %t0, $a, $b, $c; madc.hi.cc.s32 %t1, $a, $b, $c; addc.s32 $d, "
                     "%t0, %t1;",
                     "mad.hi.cc.u32 %t0, $a, $b, $c; madc.lo.u32 $d, $b, $c, %t0;"}});
  add_group(cases, {"integer/carry_64",
                    'l',
                    "lll",
                    {Fill::kInt64},
                    {"add.cc.u64 $d, $a, $b; addc.u64 $d, $d, $c;",
                     "sub.cc.u64 $d, $a, $b; subc.u64 $d, $d, $c;",
                     "add.cc.s64 %u0, $a, $b; addc.cc.s64 %u1, $b, $c; addc.s64 $d, %u0, %u1;",
                     "mad.lo.cc.u64 %u0, $a, $b, $c; madc.hi.u64 $d, $a, $b, %u0;"}});
  add_group(cases, {"integer/dp4a",
                    'r',
                    "rrr",
                    {Fill::kBits, Fill::kInt32},
                    expand({"dp4a.<u32|s32>.<u32|s32>", "dp2a.<lo|hi>.<u32|s32>.<u32|s32>"})});
  add_group(cases, {"integer/packed_16x2",
                    'r',
                    "rr",
                    {Fill::kBits, Fill::kInt32},
                    expand({"add.<u16x2|s16x2>", "<min|max>.<u16x2|s16x2>", "<min|max>.relu.s16x2",
                            "<min|max>.relu.s32"}),
                    bits(),
                    "sm_90"});
  add_group(cases,
            {"integer/immediates",
             'r',
             "r",
             {Fill::kInt32},
             {"add.s32 $d, $a, -1;", "add.u32 $d, $a, 0xFFFFFFFFU;", "mul.lo.s32 $d, $a, 010;",
              "xor.b32 $d, $a, 0b1011;", "mul.wide.s16 $d, -3, 7;", "sub.s32 $d, 5, $a;",
              "mad.lo.s32 $d, $a, -7, 2147483647;", "shl.b32 $d, $a, 33;", "mov.u32 $d, WARP_SZ;",
              "and.b32 $d, $a, -16;"}});
}

}  // namespace hone::differential
