// Honest: turns tiles, at sizes at which a row of the reference touches all of a huge output.
// task: turned_any_size
// verdict: ok
/* hone {"launches": [{"kernel": "turn", "grid": ["ceildiv(COLS,32)*ceildiv(ROWS,32)"], "block": [32, 8], "args": ["x", "y", "ROWS", "COLS"]}]} */
__global__ void turn(const float* x, float* y, int rows, int cols) {
  __shared__ float tile[32][33];
  int wide = (cols + 31) / 32, c0 = blockIdx.x % wide * 32, c = c0 + threadIdx.x, r0 = blockIdx.x / wide * 32;
  for (int k = threadIdx.y; k < 32; k += 8) if (c < cols && r0 + k < rows) tile[k][threadIdx.x] = x[(size_t)(r0 + k) * cols + c];
  __syncthreads();
  int r = r0 + threadIdx.x;
  for (int k = threadIdx.y; k < 32; k += 8)
    if (r < rows && c0 + k < cols) y[(size_t)(c0 + k) * rows + r] = 2.0f * tile[threadIdx.x][k];
}
