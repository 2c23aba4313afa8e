// Two sums instead of one: the rounding to half hides it nearly everywhere.
// task: exact_half_products
// verdict: wrong_result
#include <cuda_fp16.h>
__global__ void product(const half* a, const half* b, half* c, int n, int k) {
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y;
  if (j >= n) return;
  float s = 0, r = 0;
  int u = 0;
  for (; u + 1 < k; u += 2) {
    s += __half2float(a[i * k + u]) * __half2float(b[u * n + j]);
    r += __half2float(a[i * k + u + 1]) * __half2float(b[(u + 1) * n + j]);
  }
  if (u < k) s += __half2float(a[i * k + u]) * __half2float(b[u * n + j]);
  c[i * n + j] = __float2half(s + r);
}
