// What each baseline should compute, in double precision and from its definition: independent of
// the kernels, of the compiler and of the emulator.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/expr.h"

namespace hone::baselines {

/// Buffer name to its elements, row-major.
using Values = std::map<std::string, std::vector<double>>;

/// Takes the sizes and the contents of every `in` and `inout` buffer; gives every `out` and `inout`
/// buffer.
using ReferenceFunction = Values (*)(const Bindings& sizes, const Values& inputs);

/// One per folder of baselines/, by its name; null for an unknown one.
[[nodiscard]] ReferenceFunction find_reference(std::string_view name);
[[nodiscard]] std::vector<std::string> reference_names();

}  // namespace hone::baselines
