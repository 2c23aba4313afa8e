// The standard headers that kernels habitually include and NVRTC does not have: small texts that
// declare what device code uses of them.
#pragma once

#include <string_view>
#include <vector>

namespace hone {

struct StdHeader {
  const char* name;  ///< "stdint.h"
  const char* text;
};

[[nodiscard]] const std::vector<StdHeader>& std_headers();
[[nodiscard]] bool is_std_header(std::string_view name);

}  // namespace hone
