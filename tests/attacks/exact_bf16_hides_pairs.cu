// In pairs.
// task: exact_four_terms
// verdict: wrong_result
#include <cuda_bf16.h>
__global__ void terms(const float* x, const float* y, const float* z, const float* w, __nv_bfloat16* out, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) out[i] = __float2bfloat16((x[i] + y[i]) + (z[i] + w[i]));
}
