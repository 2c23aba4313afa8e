// cvt in every rounding, and comparisons.
#include <fmt/format.h>

#include "tests/differential/families/ops.h"

namespace hone::differential {
namespace {

using Element = Rule::Element;

struct Scalar {
  const char* name;
  char letter;
  Fill fill;
};
const Scalar kIntegers[] = {{"u8", 'r', Fill::kInt32},  {"s8", 'r', Fill::kInt32},
                            {"u16", 'h', Fill::kInt16}, {"s16", 'h', Fill::kInt16},
                            {"u32", 'r', Fill::kInt32}, {"s32", 'r', Fill::kInt32},
                            {"u64", 'l', Fill::kInt64}, {"s64", 'l', Fill::kInt64}};
const Scalar kFloats[] = {{"f16", 'h', Fill::kF16},
                          {"bf16", 'h', Fill::kBf16},
                          {"f32", 'f', Fill::kF32},
                          {"f64", 'd', Fill::kF64}};

/// May `to` be too small for a value of `from`? Only then is .sat allowed.
bool clamps(const std::string& to, const std::string& from) {
  const int t = std::stoi(to.substr(1));
  const int f = std::stoi(from.substr(1));
  if (to[0] == from[0]) return t < f;
  return to[0] == 'u' || t <= f;
}

}  // namespace

void add_conversion_cases(std::vector<Case>& cases) {
  for (const Scalar& from : kIntegers) {
    const std::string f = from.name;
    const std::string a(1, from.letter);
    std::vector<std::string> narrow;
    std::vector<std::string> wide;
    for (const Scalar& to : kIntegers) {
      const std::string t = to.name;
      auto& list = to.letter == 'l' ? wide : narrow;
      if (to.letter == 'h') {
        list.push_back(fmt::format("cvt.{0}.{1} %h0, $a; cvt.{2}.{0} $d, %h0;", t, f,
                                   t[0] == 's' ? "s32" : "u32"));
        if (clamps(t, f))
          list.push_back(fmt::format("cvt.sat.{0}.{1} %h0, $a; cvt.{2}.{0} $d, %h0;", t, f,
                                     t[0] == 's' ? "s32" : "u32"));
        continue;
      }
      list.push_back(fmt::format("cvt.{}.{}", t, f));
      if (clamps(t, f)) list.push_back(fmt::format("cvt.sat.{}.{}", t, f));
    }
    add_group(cases, {"cvt/integer_from_" + f, 'r', a, {from.fill}, narrow});
    add_group(cases, {"cvt/integer64_from_" + f, 'l', a, {from.fill}, wide});
    add_group(cases,
              {"cvt/f32_from_" + f, 'f', a, {from.fill}, expand("cvt.<rn|rz|rm|rp>.f32." + f)});
    add_group(cases,
              {"cvt/f64_from_" + f, 'd', a, {from.fill}, expand("cvt.<rn|rz|rm|rp>.f64." + f)});
    add_group(cases,
              {"cvt/f16_from_" + f, 'h', a, {from.fill}, expand("cvt.<rn|rz|rm|rp>.f16." + f)});
    if (f != "u8" && f != "s8")
      add_group(cases, {"cvt/bf16_from_" + f,
                        'h',
                        a,
                        {from.fill},
                        expand("cvt.<rn|rz|rm|rp>.bf16." + f),
                        bits(),
                        "sm_90",
                        "8.1"});
  }
  for (const Scalar& from : kFloats) {
    const std::string f = from.name;
    const std::string a(1, from.letter);
    const bool bf = f == "bf16";
    const std::string target = bf ? "sm_90" : "sm_80";
    const std::string version = bf ? "8.1" : "8.0";
    const bool ftz = f == "f32";
    std::vector<std::string> narrow;
    std::vector<std::string> wide;
    for (const Scalar& to : kIntegers) {
      const std::string t = to.name;
      if (bf && t.ends_with('8')) continue;
      for (const char* r : {"rni", "rzi", "rmi", "rpi"}) {
        auto& list = to.letter == 'l' ? wide : narrow;
        const std::string m =
            fmt::format("cvt.{}{}.{}.{}", r, ftz && r[1] == 'z' ? ".ftz" : "", t, f);
        if (to.letter == 'h')
          list.push_back(fmt::format("{} %h0, $a; cvt.u32.u16 $d, %h0;", m));
        else
          list.push_back(m);
      }
    }
    add_group(cases,
              {"cvt/integer_from_" + f, 'r', a, {from.fill}, narrow, bits(), target, version});
    add_group(cases,
              {"cvt/integer64_from_" + f, 'l', a, {from.fill}, wide, bits(), target, version});
  }
  const auto group = [&](const char* name, char d, const char* operands, Fill fill,
                         std::vector<std::string> instructions, Rule rule = bits(),
                         const char* target = "sm_80", const char* version = "8.0") {
    add_group(cases, {std::string("cvt/") + name,
                      d,
                      operands,
                      {fill},
                      std::move(instructions),
                      rule,
                      target,
                      version});
  };
  group("f32_rounding", 'f', "f", Fill::kF32,
        expand("cvt.<rni|rzi|rmi|rpi><|.ftz><|.sat>.f32.f32"));
  group("f32_sat", 'f', "f", Fill::kF32, expand("cvt<.sat|.ftz.sat|.ftz>.f32.f32"));
  group("f64_rounding", 'd', "d", Fill::kF64, expand("cvt.<rni|rzi|rmi|rpi><|.sat>.f64.f64"),
        floats(Element::kF64));
  group("f16_rounding", 'h', "h", Fill::kF16, expand("cvt.<rni|rzi|rmi|rpi><|.sat>.f16.f16"));
  group("bf16_rounding", 'h', "h", Fill::kBf16, expand("cvt.<rni|rzi|rmi|rpi>.bf16.bf16"), bits(),
        "sm_90", "8.1");
  group("f16_from_f32", 'h', "f", Fill::kF32,
        expand({"cvt.<rn|rz><|.ftz><|.sat>.f16.f32", "cvt.<rm|rp><|.ftz>.f16.f32",
                "cvt.<rn|rz>.relu.f16.f32"}));
  group("f16_satfinite", 'h', "f", Fill::kF32, expand("cvt.<rn|rz><|.relu>.satfinite.f16.f32"),
        bits(), "sm_80", "8.1");
  group("bf16_from_f32", 'h', "f", Fill::kF32, expand("cvt.<rn|rz><|.relu>.bf16.f32"));
  group("bf16_satfinite", 'h', "f", Fill::kF32, expand("cvt.<rn|rz><|.relu>.satfinite.bf16.f32"),
        bits(), "sm_80", "8.1");
  group("f16x2_from_f32", 'r', "ff", Fill::kF32, expand("cvt.<rn|rz><|.relu>.<f16x2|bf16x2>.f32"));
  group("f16x2_satfinite", 'r', "ff", Fill::kF32,
        expand("cvt.<rn|rz><|.relu>.satfinite.<f16x2|bf16x2>.f32"), bits(), "sm_80", "8.1");
  group("f16_from_f64", 'h', "d", Fill::kF64, expand("cvt.<rn|rz|rm|rp>.f16.f64"));
  group("bf16_from_f64", 'h', "d", Fill::kF64, expand("cvt.<rn|rz|rm|rp>.bf16.f64"), bits(),
        "sm_90", "8.1");
  group("f32_from_f64", 'f', "d", Fill::kF64, expand("cvt.<rn|rz|rm|rp><|.ftz><|.sat>.f32.f64"));
  group("f64_from_f32", 'd', "f", Fill::kF32, expand("cvt<|.ftz><|.sat>.f64.f32"),
        floats(Element::kF64));
  group("f64_from_f16", 'd', "h", Fill::kF16, {"cvt.f64.f16"}, floats(Element::kF64));
  group("f64_from_bf16", 'd', "h", Fill::kBf16, {"cvt.f64.bf16"}, floats(Element::kF64), "sm_90",
        "8.1");
  group("f32_from_f16", 'f', "h", Fill::kF16, expand("cvt<|.ftz><|.sat>.f32.f16"));
  group("f32_from_bf16", 'f', "h", Fill::kBf16, expand("cvt<|.ftz>.f32.bf16"), bits(), "sm_90",
        "8.1");
  group("bf16_from_f16", 'h', "h", Fill::kF16, expand("cvt.<rn|rz|rm|rp>.bf16.f16"), bits(),
        "sm_90", "8.1");
  group("f16_from_bf16", 'h', "h", Fill::kBf16, expand("cvt.<rn|rz|rm|rp>.f16.bf16"), bits(),
        "sm_90", "8.1");
  group("tf32_from_f32", 'r', "f", Fill::kF32,
        {"cvt.rna.tf32.f32 $d, $a;", "cvt.rn.tf32.f32 $d, $a;", "cvt.rz.tf32.f32 $d, $a;",
         "cvt.rn.relu.tf32.f32 $d, $a;", "cvt.rz.relu.tf32.f32 $d, $a;"},
        bits(), "sm_90");
  group("f8_from_f32", 'h', "ff", Fill::kF32,
        expand("cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f32"), bits(), "sm_90", "8.1");
  group("f8_from_f16x2", 'h', "r", Fill::kF16,
        expand("cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f16x2"), bits(), "sm_90", "8.1");
  group("f16x2_from_f8", 'r', "h", Fill::kInt16, expand("cvt.rn<|.relu>.f16x2.<e4m3x2|e5m2x2>"),
        bits(), "sm_90", "8.1");
}

void add_compare_cases(std::vector<Case>& cases) {
  struct Type {
    const char* name;
    char letter;
    Fill fill;
  };
  for (const Type& t : {Type{"u16", 'h', Fill::kInt16},
                        {"s16", 'h', Fill::kInt16},
                        {"u32", 'r', Fill::kInt32},
                        {"s32", 'r', Fill::kInt32},
                        {"u64", 'l', Fill::kInt64},
                        {"s64", 'l', Fill::kInt64}}) {
    const std::string one(1, t.letter);
    std::vector<std::string> list = expand("setp.<eq|ne|lt|le|gt|ge>." + std::string(t.name));
    if (t.name[0] == 'u')
      for (const std::string& s : expand("setp.<lo|ls|hi|hs>." + std::string(t.name)))
        list.push_back(s);
    for (const std::string& s : expand("set.<eq|lt|ge>.u32." + std::string(t.name) +
                                       " %t0, $a, $b; setp.eq.u32 $d, %t0, 0xFFFFFFFF;"))
      list.push_back(s);
    for (const std::string& s : expand("set.<ne|gt>.f32." + std::string(t.name) +
                                       " %f0, $a, $b; setp.eq.f32 $d, %f0, 0f3F800000;"))
      list.push_back(s);
    add_group(cases, {std::string("compare/") + t.name, 'p', one + one, {t.fill}, list});
  }
  for (const Type& t :
       {Type{"b16", 'h', Fill::kInt16}, {"b32", 'r', Fill::kInt32}, {"b64", 'l', Fill::kInt64}}) {
    const std::string one(1, t.letter);
    add_group(cases, {std::string("compare/") + t.name,
                      'p',
                      one + one,
                      {t.fill},
                      expand("setp.<eq|ne>." + std::string(t.name))});
  }
  const std::string all = "<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>";
  add_group(cases, {"compare/f32", 'p', "ff", {Fill::kF32}, expand("setp." + all + "<|.ftz>.f32")});
  add_group(cases, {"compare/f64", 'p', "dd", {Fill::kF64}, expand("setp." + all + ".f64")});
  add_group(cases, {"compare/testp",
                    'p',
                    "f",
                    {Fill::kF32},
                    expand("testp.<finite|infinite|number|notanumber|normal|subnormal>.f32")});
  add_group(cases, {"compare/testp_f64",
                    'p',
                    "d",
                    {Fill::kF64},
                    expand("testp.<finite|infinite|number|notanumber|normal|subnormal>.f64")});
  add_group(cases, {"compare/set_f32",
                    'r',
                    "ff",
                    {Fill::kF32},
                    expand("set.<eq|neu|lt|nan><|.ftz>.<u32|s32>.f32")});
  add_group(cases,
            {"compare/set_to_f32",
             'f',
             "ff",
             {Fill::kF32},
             expand({"set.<eq|neu|lt|nan>.f32.f32",
                     "setp.gt.f32 %q1, $a, 0f00000000; set.<le|gtu>.<and|or|xor>.f32.f32 $d, "
                     "$a, $b, %q1;"})});
  add_group(
      cases,
      {"compare/set_f64", 'r', "dd", {Fill::kF64}, expand("set.<eq|neu|lt|nan>.<u32|s32>.f64")});
}

}  // namespace hone::differential
