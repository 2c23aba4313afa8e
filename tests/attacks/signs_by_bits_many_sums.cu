// Honest: sixteen sums a column, nearer to the true value than the reference.
// task: signed_columns
// verdict: ok
/* hone {"launches": [{"kernel": "columns", "grid": ["ceildiv(M,32)"], "block": [32, 16], "args": ["x", "flip", "y", "M", "N"]}]} */
__global__ void columns(const float* x, const unsigned* flip, float* y, int m, int n) {
  __shared__ float all[16][32];
  int i = blockIdx.x * 32 + threadIdx.x;
  float s = 0;
  if (i < m)
    for (int k = threadIdx.y; k < n; k += 16) s += x[(size_t)k * m + i] * x[(size_t)k * m + i];
  all[threadIdx.y][threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.y > 0 || i >= m) return;
  for (int k = 1; k < 16; ++k) s += all[k][threadIdx.x];
  y[i] = flip[i] ? -s : s;
}
