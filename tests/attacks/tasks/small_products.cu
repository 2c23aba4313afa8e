/* hone {"name": "a6_small_products", "sizes": {"B": 2112}, "check_sizes": [{"B": 5}, {"B": 3}],
  "buffers": [{"name": "a", "type": "f16", "shape": ["B", 64, 64]}, {"name": "b", "type": "f16", "shape": [64, 64]},
              {"name": "d", "type": "f32", "shape": ["B", 64, 64], "role": "out"}], "tolerance": {"rtol": 1e-3, "atol": 1e-3},
  "launches": [{"kernel": "product", "grid": ["B"], "block": [128], "args": ["a", "b", "d"]}]} */
#include <cuda_fp16.h>
__global__ void product(const __half* a, const __half* b, float* d) {
  for (int k = threadIdx.x; k < 4096; k += 128) {
    float s = 0;
    for (int l = 0; l < 64; ++l) s += __half2float(a[(size_t)blockIdx.x * 4096 + k / 64 * 64 + l]) * __half2float(b[l * 64 + k % 64]);
    d[(size_t)blockIdx.x * 4096 + k] = s;
  }
}
