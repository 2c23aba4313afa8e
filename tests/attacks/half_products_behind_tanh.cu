// Products of f16, eight terms at a time, behind a function that no exact answer passes.
// task: dense_behind_tanh
// verdict: wrong_result
#include <cuda_fp16.h>
__global__ void dense(const float* x, const float* w, float* y, int cols, int depth) {
  __shared__ __half2 xs[8][16];
  __shared__ __half2 ws[16][32];
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  float s = 0;
  for (int k = 0; k < depth; k += 32) {
    __syncthreads();
    ((__half*)xs[threadIdx.y])[threadIdx.x] = __float2half(x[i * depth + k + threadIdx.x]);
    for (int q = threadIdx.y; q < 16; q += 8) ws[q][threadIdx.x] = __floats2half2_rn(w[(k + 2 * q) * cols + j], w[(k + 2 * q + 1) * cols + j]);
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 16; q += 4) {
      __half2 t = __hmul2(xs[threadIdx.y][q], ws[q][threadIdx.x]);
#pragma unroll
      for (int u = 1; u < 4; ++u) t = __hfma2(xs[threadIdx.y][q + u], ws[q + u][threadIdx.x], t);
      float2 f = __half22float2(t);
      s += f.x + f.y;
    }
  }
  y[i * cols + j] = tanhf(s / 8);
}
