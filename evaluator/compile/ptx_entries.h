// Reads the kernels' signatures out of PTX text: names, parameters, launch limits. Only the
// declarations; the instructions are the emulator's business.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evaluator/compile_types.h"

namespace hone::compile {

struct PtxEntry {
  std::string name;  ///< lowered
  std::vector<KernelParameter> parameters;
  int parameter_bytes = 0;  // [B]
  int max_threads = 0;      ///< .maxntid / .reqntid product, 0 when none
  bool marks_pointers = false;
};

[[nodiscard]] std::vector<PtxEntry> ptx_entries(std::string_view ptx);

/// "_Z5scalePKfPfi" -> {"float const*", "float*", "int"}; empty when not mangled.
[[nodiscard]] std::vector<std::string> parameter_types(const std::string& lowered_name);

/// "_Z5scalePKfPfi" -> "scale(float const*, float*, int)"; itself when not mangled.
[[nodiscard]] std::string demangle(const std::string& lowered_name);

}  // namespace hone::compile
