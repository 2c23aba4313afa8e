// Weights rounded to bf16 on their way through shared memory, behind a function that no exact answer passes.
// task: dense_behind_tanh
// verdict: wrong_result
#include <cuda_bf16.h>
__global__ void dense(const float* x, const float* w, float* y, int cols, int depth) {
  __shared__ float2 xs[8][16];
  __shared__ __nv_bfloat162 ws[16][32];
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  float s = 0;
  for (int k = 0; k < depth; k += 32) {
    __syncthreads();
    ((float*)xs[threadIdx.y])[threadIdx.x] = x[i * depth + k + threadIdx.x];
    for (int q = threadIdx.y; q < 16; q += 8) ws[q][threadIdx.x] = __floats2bfloat162_rn(w[(k + 2 * q) * cols + j], w[(k + 2 * q + 1) * cols + j]);
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 16; ++q) {
      float2 a = xs[threadIdx.y][q], b = __bfloat1622float2(ws[q][threadIdx.x]);
      s += a.x * b.x;
      s += a.y * b.y;
    }
  }
  y[i * cols + j] = tanhf(s / 8);
}
