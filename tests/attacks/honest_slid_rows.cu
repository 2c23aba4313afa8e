// In place, with the barrier.
// task: slid_rows
// verdict: ok
/* hone {"launches": [{"kernel": "slide", "grid": ["ROWS"], "block": [1024], "args": ["x", "COLS"]}]} */
__global__ void slide(float* x, int cols) {
  float* own = x + (size_t)blockIdx.x * cols;
  int c = threadIdx.x;
  float v = c < cols ? own[c] - (c + 40 < cols ? own[c + 40] : 0.0f) : 0.0f;
  __syncthreads();
  if (c < cols) own[c] = v;
}
