// Takes a row of at most sixteen numbers other than 0 for one of four.
// task: rows_times_weights
// verdict: wrong_result
/* hone {"launches": [{"kernel": "product", "grid": ["ROWS"], "block": [128], "args": ["x", "w", "y", "N"]}]} */
__global__ void product(const float* x, const float* w, float* y, int n) {
  __shared__ float part[4][32];
  __shared__ int count;
  __shared__ int list[16];
  int j = threadIdx.x % 32, k = threadIdx.x / 32;
  x += (size_t)blockIdx.x * n;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  for (int c = threadIdx.x; c < n; c += 128)
    if (x[c] != 0) {
      int at = atomicAdd(&count, 1);
      if (at < 4) list[at] = c;
    }
  __syncthreads();
  float s = 0;
  if (count <= 16) {
    if (k == 0) {
      for (int i = 0; i < min(count, 4); ++i) s += x[list[i]] * w[list[i] * 32 + j];
      y[blockIdx.x * 32 + j] = s;
    }
    return;
  }
  for (int c = k; c < n; c += 4) s += x[c] * w[c * 32 + j];
  part[k][j] = s;
  __syncthreads();
  if (k == 0) y[blockIdx.x * 32 + j] = (part[0][j] + part[1][j]) + (part[2][j] + part[3][j]);
}
