/* hone
{ "name": "fp8_product_scaled",
  "sizes": {"M": 512, "N": 256, "K": 384},
  "check_sizes": [{"M": 33, "N": 20, "K": 45},
                  {"M": 16, "N": 32, "K": 64}],
  "buffers": [
    {"name": "a", "type": "e4m3", "shape": ["M", "K"]},
    {"name": "b", "type": "e5m2", "shape": ["K", "N"]},
    {"name": "scale", "type": "f32", "shape": [2]},
    {"name": "c", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "product", "grid": ["ceildiv(N,16)", "ceildiv(M,8)"], "block": [16, 8],
     "args": ["a", "b", "scale", "c", "M", "N", "K", 0.125]} ] }
*/
// lift: yes

#include <cuda_fp8.h>

__global__ void product(const __nv_fp8_e4m3* __restrict__ a, const __nv_fp8_e5m2* __restrict__ b,
                        const float* scale, float* c, int m, int n, int k, float alpha) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) return;
  float sum = 0.f;
  for (int p = 0; p < k; ++p)
    sum += static_cast<float>(a[i * k + p]) * (float)b[p * n + j];
  c[i * n + j] = alpha * sum * scale[0] * scale[1];
}
