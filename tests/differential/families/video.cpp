// Video instructions: one, two and four parts of a register.
#include <fmt/format.h>

#include "tests/differential/families/ops.h"

namespace hone::differential {

void add_video_cases(std::vector<Case>& cases) {
  const auto group = [&](const std::string& name, std::initializer_list<const char*> patterns) {
    add_group(cases, {"video/" + name,
                      'r',
                      "rrr",
                      {Fill::kInt32, Fill::kInt32, Fill::kInt32},
                      expand(patterns)});
  };
  for (const char* op : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"}) {
    const std::string plain = std::string(op) + ".<u32|s32>.<u32|s32>.<u32|s32><|.sat> $d, $a, $b;";
    const std::string second =
        std::string(op) + ".<u32|s32>.s32.u32<|.sat>.<add|min|max> $d, $a.b2, $b.h0, $c;";
    const std::string merged = std::string(op) + ".<u32|s32>.u32.s32.sat $d.<b3|h1>, $a, $b, $c;";
    group(op, {plain.c_str(), second.c_str(), merged.c_str()});
  }
  group("set_shift", {"vset.<u32|s32>.<u32|s32>.<eq|ne|lt|le|gt|ge> $d, $a, $b;",
                      "vset.s32.u32.lt.<add|min|max> $d, $a.h1, $b.b0, $c;",
                      "vshl.u32.u32.u32.<clamp|wrap> $d, $a, $b;",
                      "vshr.<u32|s32>.<u32|s32>.u32.<clamp|wrap> $d, $a, $b;",
                      "vshr.s32.s32.u32.wrap.add $d, $a.h1, $b.b0, $c;"});
  for (const char* op : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"}) {
    for (const char* parts : {"2", "4"}) {
      const bool two = parts[0] == '2';
      const std::string all = fmt::format(
          "{}{}.<u32.u32.u32|s32.s32.s32|u32.s32.s32|s32.u32.s32><|.sat|.add> $d, $a, $b, $c;", op,
          parts);
      const std::string some =
          fmt::format("{}{}.s32.s32.s32<|.sat|.add> $d.{}, $a.{}, $b.{}, $c;", op, parts,
                      two ? "h1" : "b20", two ? "h12" : "b5210", two ? "h30" : "b7034");
      group(std::string(op) + parts, {all.c_str(), some.c_str()});
    }
  }
  group("vset2_vset4", {"vset<2|4>.<u32.u32|s32.s32|s32.u32>.<eq|lt|ge><|.add> $d, $a, $b, $c;"});
}

}  // namespace hone::differential
