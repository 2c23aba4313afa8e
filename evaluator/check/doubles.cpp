#include "evaluator/check/doubles.h"

#include "evaluator/check/atomics.h"

namespace hone::check {

bool computes_in_doubles(std::string_view ptx) {
  return !any_statement(ptx, [](std::string_view statement) {
    const std::string_view opcode = statement.substr(0, statement.find_first_of(" \t"));
    for (const std::string_view harmless :
         {"ld.", "st.", "mov.", "cvt.f64.f32", "cvt.f64.f16", ".",
          // exp() and its like compare the upper half of a double as if it were a float.
          "abs.f32", "neg.f32", "setp."})
      if (opcode.starts_with(harmless)) return false;
    for (const std::string_view narrow : {".f32", ".f16", ".bf16", ".tf32", ".e4m3", ".e5m2"})
      if (opcode.find(narrow) != opcode.npos) return true;
    return false;
  });
}

}  // namespace hone::check
