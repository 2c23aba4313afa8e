// Honest: two elements a thread, the same sums.
// task: exact_four_terms
// verdict: ok
/* hone {"launches": [{"kernel": "terms", "grid": ["ceildiv(N,256)"], "block": [128], "args": ["x", "y", "z", "w", "out", "N"]}]} */
#include <cuda_bf16.h>
__global__ void terms(const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ z,
                      const float* __restrict__ w, __nv_bfloat16* out, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < min(n, (int)(blockIdx.x + 1) * 256); i += 128)
    out[i] = __float2bfloat16(x[i] + y[i] + z[i] + w[i]);
}
