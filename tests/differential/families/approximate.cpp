// Instructions whose result is only bounded. The bounds are those of the PTX ISA, plus half a unit
// in the last place for the emulator, which rounds the true value; README.md has the table.
#include <cmath>

#include "tests/differential/families/ops.h"

namespace hone::differential {

using Element = Rule::Element;

void add_approximate_cases(std::vector<Case>& cases) {
  const auto f32_ulp = [](double n) { return ulp(Element::kF32, n + 0.5); };
  const auto f32_relative = [](int bits_right) {
    return relative(Element::kF32, std::ldexp(1.0, -bits_right) + 0x1p-24);
  };
  add_group(cases,
            {"approx/rcp", 'f', "f", {Fill::kF32}, expand({"rcp.approx<|.ftz>.f32"}), f32_ulp(1)});
  add_group(cases, {"approx/rsqrt",
                    'f',
                    "f",
                    {Fill::kF32},
                    expand({"rsqrt.approx<|.ftz>.f32"}),
                    relative(Element::kF32, std::pow(2.0, -22.9) + 0x1p-24)});
  add_group(cases, {"approx/sqrt",
                    'f',
                    "f",
                    {Fill::kF32},
                    expand({"sqrt.approx<|.ftz>.f32"}),
                    f32_relative(23)});
  add_group(cases,
            {"approx/ex2", 'f', "f", {Fill::kF32}, expand({"ex2.approx<|.ftz>.f32"}), f32_ulp(2)});
  add_group(cases, {"approx/ex2_unit",
                    'f',
                    "f",
                    {Fill::kUnit32},
                    {"mul.rn.f32 %f0, $a, 0f41200000; ex2.approx.ftz.f32 $d, %f0;"},
                    f32_ulp(2)});
  // Absolute 2^-22 near one, relative 2^-22 elsewhere.
  Rule lg2 = f32_relative(22);
  lg2.floor = 0x1p-22;
  add_group(cases, {"approx/lg2", 'f', "f", {Fill::kF32}, expand({"lg2.approx<|.ftz>.f32"}), lg2});
  add_group(cases, {"approx/lg2_near_one",
                    'f',
                    "f",
                    {Fill::kUnit32},
                    {"fma.rn.f32 %f0, $a, 0f3F400000, 0f3FA00000; lg2.approx.f32 $d, %f0;"},
                    within(Element::kF32, 0x1p-22 + 0x1p-24)});
  add_group(cases,
            {"approx/sin_cos",
             'f',
             "f",
             {Fill::kUnit32},
             expand({"mul.rn.f32 %f0, $a, 0f40490FDB; <sin|cos>.approx<|.ftz>.f32 $d, %f0;"}),
             within(Element::kF32, std::pow(2.0, -20.5) + 0x1p-24)});
  add_group(cases,
            {"approx/sin_cos_wide",
             'f',
             "f",
             {Fill::kUnit32},
             expand({"mul.rn.f32 %f0, $a, 0f40C90FDB; <sin|cos>.approx<|.ftz>.f32 $d, %f0;"}),
             within(Element::kF32, std::pow(2.0, -14.7))});
  add_group(cases, {"approx/tanh",
                    'f',
                    "f",
                    {Fill::kF32},
                    {"tanh.approx.f32"},
                    relative(Element::kF32, 0x1p-11)});
  add_group(cases, {"approx/div",
                    'f',
                    "ff",
                    {Fill::kF32, Fill::kPositive},
                    expand({"div.approx<|.ftz>.f32", "div.full<|.ftz>.f32"}),
                    f32_ulp(2)});
  add_group(cases, {"approx/tanh_f16",
                    'h',
                    "h",
                    {Fill::kF16},
                    {"tanh.approx.f16"},
                    within(Element::kF16, std::pow(2.0, -10.987) + 0x1p-12)});
  add_group(cases, {"approx/tanh_f16x2",
                    'r',
                    "r",
                    {Fill::kF16},
                    {"tanh.approx.f16x2"},
                    within(Element::kF16, std::pow(2.0, -10.987) + 0x1p-12)});
  add_group(cases, {"approx/tanh_bf16",
                    'h',
                    "h",
                    {Fill::kBf16},
                    {"tanh.approx.bf16"},
                    relative(Element::kBf16, 0x1p-8 + 0x1p-8),
                    "sm_90"});
  add_group(cases, {"approx/tanh_bf16x2",
                    'r',
                    "r",
                    {Fill::kBf16},
                    {"tanh.approx.bf16x2"},
                    relative(Element::kBf16, 0x1p-8 + 0x1p-8),
                    "sm_90"});
  add_group(cases, {"approx/ex2_f16",
                    'h',
                    "h",
                    {Fill::kF16},
                    {"ex2.approx.f16"},
                    ulp(Element::kF16, 2),
                    "sm_90"});
  add_group(cases, {"approx/ex2_f16x2",
                    'r',
                    "r",
                    {Fill::kF16},
                    {"ex2.approx.f16x2"},
                    ulp(Element::kF16, 2),
                    "sm_90"});
  add_group(cases, {"approx/ex2_bf16",
                    'h',
                    "h",
                    {Fill::kBf16},
                    {"ex2.approx.ftz.bf16"},
                    ulp(Element::kBf16, 1.5),
                    "sm_90"});
  add_group(cases, {"approx/ex2_bf16x2",
                    'r',
                    "r",
                    {Fill::kBf16},
                    {"ex2.approx.ftz.bf16x2"},
                    ulp(Element::kBf16, 1.5),
                    "sm_90"});
  add_group(cases, {"approx/rcp_f64",
                    'd',
                    "d",
                    {Fill::kF64},
                    {"rcp.approx.ftz.f64"},
                    relative(Element::kF64, 0x1p-19)});
  add_group(cases, {"approx/rsqrt_f64",
                    'd',
                    "d",
                    {Fill::kF64},
                    {"rsqrt.approx.ftz.f64"},
                    relative(Element::kF64, 0x1p-19)});
  add_group(cases, {"approx/rsqrt_f64_plain",
                    'd',
                    "d",
                    {Fill::kF64},
                    {"rsqrt.approx.f64"},
                    relative(Element::kF64, 0x1p-51)});
}

}  // namespace hone::differential
