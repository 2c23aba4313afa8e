// f32 and f64 arithmetic that IEEE 754 decides.
#include <fmt/format.h>

#include "tests/differential/families/ops.h"

namespace hone::differential {

using Element = Rule::Element;

void add_float_cases(std::vector<Case>& cases) {
  for (const char* round : {"rn", "rz", "rm", "rp"}) {
    const std::string r = round;
    const auto with = [&](std::initializer_list<const char*> patterns) {
      std::vector<std::string> all;
      for (std::string s : expand(patterns)) {
        for (std::size_t at; (at = s.find('#')) != std::string::npos;) s.replace(at, 1, r);
        all.push_back(std::move(s));
      }
      return all;
    };
    add_group(
        cases,
        {"f32/add_mul_" + r, 'f', "ff", {Fill::kF32}, with({"<add|sub|mul>.#<|.ftz><|.sat>.f32"})});
    add_group(cases, {"f32/fma_" + r, 'f', "fff", {Fill::kF32}, with({"fma.#<|.ftz><|.sat>.f32"})});
    add_group(cases, {"f32/div_" + r, 'f', "ff", {Fill::kF32}, with({"div.#<|.ftz>.f32"})});
    add_group(cases,
              {"f32/rcp_sqrt_" + r, 'f', "f", {Fill::kF32}, with({"<rcp|sqrt>.#<|.ftz>.f32"})});
    add_group(cases, {"f64/add_mul_" + r,
                      'd',
                      "dd",
                      {Fill::kF64},
                      with({"<add|sub|mul>.#.f64"}),
                      floats(Element::kF64)});
    add_group(cases, {"f64/fma_" + r,
                      'd',
                      "ddd",
                      {Fill::kF64},
                      with({"fma.#.f64", "mad.#.f64"}),
                      floats(Element::kF64)});
    add_group(
        cases,
        {"f64/div_" + r, 'd', "dd", {Fill::kF64}, with({"div.#.f64"}), floats(Element::kF64)});
    add_group(cases, {"f64/rcp_sqrt_" + r,
                      'd',
                      "d",
                      {Fill::kF64},
                      with({"<rcp|sqrt>.#.f64"}),
                      floats(Element::kF64)});
  }
  add_group(cases, {"f32/min_max",
                    'f',
                    "ff",
                    {Fill::kF32},
                    expand({"<min|max><|.ftz>.f32", "<min|max><|.ftz>.NaN.f32",
                            "<min|max><|.ftz><|.NaN>.xorsign.abs.f32"}),
                    bits(),
                    "sm_86"});
  // The PTX ISA leaves the NaN of abs and neg open.
  add_group(cases, {"f32/abs_neg",
                    'f',
                    "f",
                    {Fill::kF32},
                    expand({"<abs|neg><|.ftz>.f32"}),
                    floats(Element::kF32)});
  add_group(
      cases,
      {"f64/abs_neg", 'd', "d", {Fill::kF64}, expand({"<abs|neg>.f64"}), floats(Element::kF64)});
  add_group(
      cases,
      {"f64/min_max", 'd', "dd", {Fill::kF64}, expand({"<min|max>.f64"}), floats(Element::kF64)});
  add_group(cases, {"f32/copysign", 'f', "ff", {Fill::kF32}, {"copysign.f32"}});
  add_group(cases, {"f64/copysign", 'd', "dd", {Fill::kF64}, {"copysign.f64"}});
  add_group(cases, {"f32/mov_select",
                    'f',
                    "fff",
                    {Fill::kF32},
                    {"mov.f32 $d, $a;", "slct.f32.s32 $d, $a, $b, -1;",
                     "setp.lt.f32 %q1, $a, $b; selp.f32 $d, $a, $b, %q1;",
                     "slct.f32.f32 $d, $a, $b, $c;", "slct.ftz.f32.f32 $d, $a, $b, $c;"}});
  add_group(cases, {"f64/mov_select",
                    'd',
                    "dd",
                    {Fill::kF64},
                    {"mov.f64 $d, $a;", "setp.lt.f64 %q1, $a, $b; selp.f64 $d, $a, $b, %q1;",
                     "mov.f64 $d, 0d3FF0000000000001;", "slct.f64.s32 $d, $a, $b, 3;"}});
  add_group(cases, {"f32/immediates",
                    'f',
                    "f",
                    {Fill::kF32},
                    {"add.rn.f32 $d, $a, 0f3F800000;", "mul.rn.f32 $d, $a, 0fC0490FDB;",
                     "fma.rn.f32 $d, $a, 0f40000000, 0f00000001;", "add.rn.f32 $d, $a, 1.5;",
                     "sub.rn.f32 $d, 0f7F800000, $a;", "max.f32 $d, $a, 0f00000000;",
                     "fma.rn.ftz.sat.f32 $d, $a, $a, 0fBF800000;"}});
  add_group(cases, {"f64/immediates",
                    'd',
                    "d",
                    {Fill::kF64},
                    {"add.rn.f64 $d, $a, 0d3FF0000000000000;", "mul.rn.f64 $d, $a, 2.5;",
                     "fma.rn.f64 $d, $a, 0d4000000000000000, 0d0000000000000001;",
                     "max.f64 $d, $a, 0d8000000000000000;"},
                    floats(Element::kF64)});
  // What a NaN's payload becomes: as bits, hardware against emulator.
  add_group(cases, {"f64/nan_payload",
                    'd',
                    "dd",
                    {Fill::kF64},
                    expand({"<add|mul>.rn.f64", "<min|max>.f64"}),
                    floats(Element::kF64)});
}

void add_half_cases(std::vector<Case>& cases) {
  struct Kind {
    const char* name;
    char letter;
    Fill fill;
    const char* target;
    Element element;
  };
  const Kind kinds[] = {{"f16", 'h', Fill::kF16, "sm_90", Element::kF16},
                        {"f16x2", 'r', Fill::kF16, "sm_90", Element::kF16},
                        {"bf16", 'h', Fill::kBf16, "sm_90", Element::kBf16},
                        {"bf16x2", 'r', Fill::kBf16, "sm_90", Element::kBf16}};
  for (const Kind& k : kinds) {
    const bool f16 = k.element == Element::kF16;
    const std::string one(1, k.letter);
    const std::string n = k.name;
    const auto typed = [&](std::initializer_list<const char*> patterns) {
      std::vector<std::string> all;
      for (std::string s : expand(patterns)) all.push_back(s + "." + n);
      return all;
    };
    add_group(cases, {n + "/add_sub_mul",
                      k.letter,
                      one + one,
                      {k.fill},
                      f16 ? typed({"<add|sub|mul>.rn<|.ftz><|.sat>"}) : typed({"<add|sub|mul>.rn"}),
                      bits(),
                      k.target});
    add_group(cases, {n + "/fma",
                      k.letter,
                      one + one + one,
                      {k.fill},
                      f16 ? typed({"fma.rn<|.ftz><|.sat>", "fma.rn<|.ftz>.relu"})
                          : typed({"fma.rn<|.relu>"}),
                      bits(),
                      k.target});
    add_group(cases, {n + "/min_max",
                      k.letter,
                      one + one,
                      {k.fill},
                      f16 ? typed({"<min|max><|.ftz><|.NaN><|.xorsign.abs>"})
                          : typed({"<min|max><|.NaN><|.xorsign.abs>"}),
                      bits(),
                      k.target});
    add_group(cases, {n + "/abs_neg",
                      k.letter,
                      one,
                      {k.fill},
                      f16 ? typed({"<abs|neg><|.ftz>"}) : typed({"<abs|neg>"}),
                      floats(k.element),
                      k.target});
    const std::string pair = k.letter == 'r' ? "pair" : "";
    // set: a mask or 1.0
    std::vector<std::string> sets;
    for (const char* c : {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu",
                          "geu", "num", "nan"}) {
      sets.push_back(fmt::format("set.{}.{}.{}", c, n, n));
    }
    add_group(cases, {n + "/set_float", k.letter, one + one, {k.fill}, sets, bits(), k.target});
    if (k.letter == 'r') {
      sets.clear();
      for (const char* c : {"eq", "ne", "lt", "ge", "equ", "ltu", "num", "nan"}) {
        sets.push_back(fmt::format("set.{}.u32.{}", c, n));
        sets.push_back(fmt::format("set.{}{}.{}.{} $d, $a, $b;", c, f16 ? ".ftz" : "", "u32", n));
      }
      add_group(cases, {n + "/set_mask", 'r', one + one, {k.fill}, sets, bits(), k.target});
    }
    std::vector<std::string> compares;
    for (const char* c : {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu",
                          "geu", "num", "nan"}) {
      if (k.letter == 'h') {
        compares.push_back(fmt::format("setp.{}.{}", c, n));
        if (f16) compares.push_back(fmt::format("setp.{}.ftz.{}", c, n));
      } else {
        compares.push_back(fmt::format("setp.{}.{} $d|%q2, $a, $b; xor.pred $d, $d, %q2;", c, n));
        compares.push_back(fmt::format("setp.{}.{} $d|%q2, $a, $b;", c, n));
      }
    }
    add_group(cases, {n + "/setp", 'p', one + one, {k.fill}, compares, bits(), k.target});
  }
  add_group(cases, {"f16/select",
                    'h',
                    "hhh",
                    {Fill::kF16},
                    {"setp.lt.f16 %q1, $a, $b; selp.b16 $d, $a, $c, %q1;", "mov.b16 $d, $a;",
                     "mov.b16 %h0, 0x3C00; fma.rn.f16 $d, $a, %h0, $c;"},
                    bits(),
                    "sm_90"});
}

}  // namespace hone::differential
