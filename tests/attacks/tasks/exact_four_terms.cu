/* hone {"name": "attacked_exact_four_terms", "sizes": {"N": 9000}, "check_sizes": [{"N": 1000}, {"N": 333}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [0, 1]}}, {"name": "y", "type": "f32", "shape": ["N"], "fill": {"uniform": [0, 1]}},
              {"name": "z", "type": "f32", "shape": ["N"], "fill": {"uniform": [0, 1]}}, {"name": "w", "type": "f32", "shape": ["N"], "fill": {"uniform": [0, 1]}},
              {"name": "out", "type": "bf16", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "terms", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "z", "w", "out", "N"]}],
  "math": "exact"} */
#include <cuda_bf16.h>
__global__ void terms(const float* x, const float* y, const float* z, const float* w, __nv_bfloat16* out, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) out[i] = __float2bfloat16(x[i] + y[i] + z[i] + w[i]);
}
