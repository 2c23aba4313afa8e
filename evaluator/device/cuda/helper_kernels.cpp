#include "evaluator/device/cuda/helper_kernels.h"

#include "evaluator/fill/fill.h"

namespace hone::cuda {

std::string helper_source() {
  // A large function that is called in several places takes seconds to compile, if each has a copy.
  std::string source =
      "#define HONE_FN static __device__ inline\n"
      "#define HONE_LARGE_FN static __device__ __noinline__\n";
  source += fill::formula_text();
  source += fill::kernels_text();
  return source;
}

std::vector<std::string> helper_kernel_names() {
  return {"hone_fill_kernel",      "hone_hash_kernel",       "hone_guard_kernel",
          "hone_unwritten_kernel", "hone_squares_kernel",    "hone_compare_kernel",
          "hone_local_kernel",     "hone_non_finite_kernel", "hone_mask_kernel",
          "hone_read_kernel",      "hone_rms_kernel"};
}

}  // namespace hone::cuda
