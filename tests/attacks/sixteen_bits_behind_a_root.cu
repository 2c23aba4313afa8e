// Rows are rounded to bf16, behind a root.
// task: root_of_variance
// verdict: wrong_result
/* hone {"launches": [{"kernel": "spread", "grid": ["M"], "block": [128], "args": ["x", "y", "N"]}]} */
#include <cuda_bf16.h>
__global__ void spread(const float* x, float* y, int n) {
  __shared__ float2 part[4];
  x += (size_t)blockIdx.x * n;
  float sum = 0, squares = 0;
  for (int j = threadIdx.x; j < n; j += 128) {
    float v = __bfloat162float(__float2bfloat16(x[j]));
    sum += v;
    squares += v * v;
  }
  for (int d = 16; d; d /= 2) {
    sum += __shfl_xor_sync(~0u, sum, d);
    squares += __shfl_xor_sync(~0u, squares, d);
  }
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = make_float2(sum, squares);
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = part[0].x + part[1].x + part[2].x + part[3].x;
  squares = part[0].y + part[1].y + part[2].y + part[3].y;
  float mean = sum / n;
  y[blockIdx.x] = sqrtf(squares / n - mean * mean);
}
