// Source and names of the evaluator's own device code.
#pragma once

#include <string>
#include <vector>

namespace hone::cuda {

/// formula.h and kernels.cu as one translation unit.
[[nodiscard]] std::string helper_source();
[[nodiscard]] std::vector<std::string> helper_kernel_names();

}  // namespace hone::cuda
