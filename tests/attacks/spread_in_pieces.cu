// Honest: sixteen sums and sixteen minima a column.
// task: spread_of_rows
// verdict: ok
/* hone {"launches": [{"kernel": "spread", "grid": ["ceildiv(M,32)"], "block": [32, 16], "args": ["x", "y", "M", "N"]}]} */
__global__ void spread(const float* x, float* y, int m, int n) {
  __shared__ float sums[16][32], leasts[16][32];
  int i = blockIdx.x * 32 + threadIdx.x;
  float s = 0, least = __int_as_float(0x7f800000);
  if (i < m)
    for (int k = threadIdx.y; k < n; k += 16) {
      float v = x[(size_t)k * m + i];
      least = fminf(least, v);
      s += v;
    }
  sums[threadIdx.y][threadIdx.x] = s;
  leasts[threadIdx.y][threadIdx.x] = least;
  __syncthreads();
  if (threadIdx.y > 0 || i >= m) return;
  for (int k = 1; k < 16; ++k) {
    s += sums[k][threadIdx.x];
    least = fminf(least, leasts[k][threadIdx.x]);
  }
  y[i] = s - n * least;
}
