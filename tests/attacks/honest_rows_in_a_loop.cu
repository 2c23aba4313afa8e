// As many blocks as the device holds, each with every so manieth row.
// task: entropy_of_rows
// verdict: ok
/* hone {"launches": [{"kernel": "entropy", "grid": ["min(ROWS,528)"], "block": [256], "args": ["x", "h", "ROWS", "COLS"]}]} */
__global__ void entropy(const float* x, float* h, int rows, int cols) {
  __shared__ float part[8];
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    const float* row = x + (size_t)r * cols;
    float s = 0;
    for (int c = threadIdx.x; c < cols; c += 256) s -= row[c] * logf(row[c]);
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
      s = 0;
      for (int k = 0; k < 8; ++k) s += part[k];
      h[r] = s;
    }
    __syncthreads();
  }
}
