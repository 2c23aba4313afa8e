// Text for wgmma, of 8-bit and 16-bit operands and of tf32.
#pragma once

#include <string>

namespace hone::schedules {

struct Warpgroup {
  int n = 128;
  int k = 16;  ///< 8: tf32, 32: 8-bit floats, both only where k runs along the rows
  std::string kind = "bf16";
  std::string kind_b = "";                  ///< of b; empty: as a
  bool a_k_rows = false, b_k_rows = false;  ///< a row of shared memory is of one k
  bool a_in_registers = false;              ///< as mma.sync's, else in shared memory
  std::string name = "multiply";
};
/// Device functions: descriptor, wgmma_begin, wgmma_commit, wgmma_wait, settle, publish.
[[nodiscard]] std::string warpgroup_helpers(const std::string& prefix);
/// The product, a device function of that name.
[[nodiscard]] std::string warpgroup_multiply(const Warpgroup& warpgroup, const std::string& prefix);

}  // namespace hone::schedules
