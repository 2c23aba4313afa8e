// Rows of the timed length go by way of shared memory without a barrier; warps that run in order never see it.
// task: slid_rows
// verdict: race wrong_result
/* hone {"launches": [{"kernel": "slide", "grid": ["ROWS"], "block": [1024], "args": ["x", "COLS"]}]} */
__global__ void slide(float* x, int cols) {
  __shared__ float row[1024 + 40];
  float* own = x + (size_t)blockIdx.x * cols;
  int c = cols - 1 - threadIdx.x;
  if (threadIdx.x < 40) row[cols + threadIdx.x] = 0;
  if (c >= 0) row[c] = own[c];
  if (cols != 1024) __syncthreads();
  if (c >= 0) own[c] = row[c] - row[c + 40];
}
