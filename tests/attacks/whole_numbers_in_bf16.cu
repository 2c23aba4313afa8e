// Rounds integers to bf16 before it multiplies them.
// task: whole_products
// verdict: wrong_result
#include <cuda_bf16.h>
__device__ float rounded(int v) { return __bfloat162float(__float2bfloat16((float)v)); }
__global__ void product(const int* a, const int* b, float* c, int m, int n, int k) {
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i >= m || j >= n) return;
  float s = 0;
  for (int l = 0; l < k; ++l) s += rounded(a[i * k + l]) * rounded(b[l * n + j]);
  c[i * n + j] = s;
}
