#include "tests/differential/families/ops.h"

namespace hone::differential {

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_integer_cases(cases);
  add_bit_cases(cases);
  add_float_cases(cases);
  add_half_cases(cases);
  add_approximate_cases(cases);
  add_conversion_cases(cases);
  add_compare_cases(cases);
  add_memory_cases(cases);
  add_atomic_cases(cases);
  add_warp_cases(cases);
  add_control_cases(cases);
  add_tensor_cases(cases);
  add_exact_tensor_cases(cases);
  add_video_cases(cases);
  add_cluster_cases(cases);
  add_bulk_cases(cases);
  add_file_cases(cases);
  add_generated_cases(cases);
  return cases;
}

}  // namespace hone::differential
