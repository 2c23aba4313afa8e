// Cases from a table: one kernel applies each of a group of instructions to 320 tuples of values
// (all pairs of sixteen edges, then any) and stores every result.
#pragma once

#include <string>
#include <vector>

#include "tests/differential/case.h"

namespace hone::differential {

/// Operands by letter: h b16, r b32, l b64, f f32, d f64; as a result also p: a predicate, gathered
/// with the group's others as bits of one word.
struct Group {
  std::string name;
  char result = 'r';
  std::string operands;     ///< e.g. "rr"
  std::vector<Fill> fills;  ///< per operand
  std::vector<std::string>
      instructions;  ///< "add.s32": operands follow; or a text with $d $a $b $c
  Rule rule{};       ///< of every result
  std::string target = "sm_80";
  std::string version = "8.0";
};

void add_group(std::vector<Case>& cases, const Group& group);

[[nodiscard]] inline Rule bits() { return {}; }
[[nodiscard]] inline Rule floats(Rule::Element e) { return {Rule::Kind::kFloat, e, 0}; }
[[nodiscard]] inline Rule ulp(Rule::Element e, double n) { return {Rule::Kind::kUlp, e, n}; }
[[nodiscard]] inline Rule within(Rule::Element e, double n) {
  return {Rule::Kind::kAbsolute, e, n};
}
[[nodiscard]] inline Rule relative(Rule::Element e, double n) {
  return {Rule::Kind::kRelative, e, n, 0};
}

/// "op.{a,b}.{c,d}" -> op.a.c op.a.d op.b.c op.b.d; an empty alternative drops its dot.
[[nodiscard]] std::vector<std::string> expand(const std::string& pattern);
[[nodiscard]] std::vector<std::string> expand(std::initializer_list<const char*> patterns);

// The families, one file each.
void add_integer_cases(std::vector<Case>& cases);
void add_bit_cases(std::vector<Case>& cases);
void add_float_cases(std::vector<Case>& cases);
void add_half_cases(std::vector<Case>& cases);
void add_approximate_cases(std::vector<Case>& cases);
void add_conversion_cases(std::vector<Case>& cases);
void add_compare_cases(std::vector<Case>& cases);
void add_memory_cases(std::vector<Case>& cases);
void add_atomic_cases(std::vector<Case>& cases);
void add_warp_cases(std::vector<Case>& cases);
void add_control_cases(std::vector<Case>& cases);
void add_tensor_cases(std::vector<Case>& cases);
void add_exact_tensor_cases(std::vector<Case>& cases);
void add_video_cases(std::vector<Case>& cases);
void add_cluster_cases(std::vector<Case>& cases);
void add_bulk_cases(std::vector<Case>& cases);
void add_file_cases(std::vector<Case>& cases);       ///< kernels/*.ptx
void add_generated_cases(std::vector<Case>& cases);  ///< generator.cpp

}  // namespace hone::differential
