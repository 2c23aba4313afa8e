// Reads registers, spills, stack and static shared memory from what `--ptxas-options=-v` prints.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "candidates/measurement.h"

namespace hone::compile {

/// By lowered kernel name. Kernels that the log does not mention are absent.
[[nodiscard]] std::map<std::string, KernelResources> parse_ptxas_log(std::string_view log);

/// The log without ptxas' information lines: what a person wants to see.
[[nodiscard]] std::string without_ptxas_info(std::string_view log);

}  // namespace hone::compile
