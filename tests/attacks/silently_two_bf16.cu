// Keeps each number as two bf16, sixteen bits: half the shared memory of three. No tensor cores.
// task: dense_layer
// verdict: wrong_result
#include <cuda_bf16.h>
__device__ float kept(float v) {
  float high = __bfloat162float(__float2bfloat16(v));
  return high + __bfloat162float(__float2bfloat16(v - high));
}
__global__ void dense(const float* x, const float* w, float* y, int m, int n, int k) {
  __shared__ float a[16][17], b[16][17];
  int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y, jb = blockIdx.x * 16 + threadIdx.y;
  float s = 0;
  for (int c = 0; c < k; c += 16) {
    a[threadIdx.y][threadIdx.x] = i < m && c + threadIdx.x < k ? kept(x[i * k + c + threadIdx.x]) : 0;
    b[threadIdx.y][threadIdx.x] = jb < n && c + threadIdx.x < k ? kept(w[jb * k + c + threadIdx.x]) : 0;
    __syncthreads();
    for (int u = 0; u < 16; ++u) s += a[threadIdx.y][u] * b[threadIdx.x][u];
    __syncthreads();
  }
  if (i < m && j < n) y[i * n + j] = s;
}
