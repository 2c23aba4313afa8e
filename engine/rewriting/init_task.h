// `hone init`: a first version of a task from a kernel's signature and accesses.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "candidates/result.h"

namespace hone {

struct InitResult {
  nlohmann::ordered_json task;     ///< in the order a person would write it
  std::vector<std::string> notes;  ///< what was guessed and wants a look
};

/// Buffers from pointer parameters (const: in; otherwise by how they are accessed), sizes from
/// integer parameters, numbers from floating ones; shapes from the index expressions where they are
/// plain, else from the sizes. All kernels of the file become launches, in order. Errors: no
/// kernel, a parameter that no task can pass.
[[nodiscard]] Result<InitResult> init_task(const std::string& source, const std::string& name);

}  // namespace hone
