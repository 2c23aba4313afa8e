// Text for wgmma, of 16-bit operands and of tf32.
#pragma once

#include <string>

namespace hone::generators::contract {

struct Warpgroup {
  int n = 128;
  int k = 16;  ///< 8: tf32
  std::string kind = "bf16";
  bool a_k_rows = false, b_k_rows = false;  ///< a row of shared memory is of one k
};
/// Device functions: descriptor, wgmma_begin, multiply, wgmma_commit, wgmma_wait, publish.
[[nodiscard]] std::string warpgroup_helpers(const Warpgroup& warpgroup, const std::string& prefix);

}  // namespace hone::generators::contract
