// The first blocks have most rows, the last have few.
// task: row_norm
// verdict: ok
/* hone {
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "row_norm", "grid": ["min(ROWS, 512)"], "block": [128], "args": ["x", "y", "ROWS", "COLS"]}] } */
__device__ void one_row(const float* x, float* y, int r, int cols) {
  __shared__ float parts[4];
  const float* row = x + (size_t)r * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 128) s += row[c] * row[c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  s = rsqrtf(parts[0] + parts[1] + parts[2] + parts[3] + 1e-6f);
  for (int c = threadIdx.x; c < cols; c += 128) y[(size_t)r * cols + c] = row[c] * s;
}
// Block b of n ends with the row at which the squares of what is left of n are used up.
__device__ int first_row(int b, int n, int rows) {
  float left = (float)(n - b) / n;
  return b >= n ? rows : min(rows, (int)((1.0f - left * left) * rows));
}
__global__ void row_norm(const float* x, float* y, int rows, int cols) {
  int end = first_row(blockIdx.x + 1, gridDim.x, rows);
  for (int r = first_row(blockIdx.x, gridDim.x, rows); r < end; ++r) one_row(x, y, r, cols);
}
