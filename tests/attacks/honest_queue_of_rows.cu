// Blocks that stay draw one row after another from a counter, which the last one sets back.
// task: row_norm
// verdict: ok
// H200 [us]: 27.4
__device__ unsigned next, left;
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
/* hone {
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "row_norm", "grid": [1056], "block": [128], "args": ["x", "y", "ROWS", "COLS"]}] } */
__global__ void row_norm(const float* x, float* y, int rows, int cols) {
  __shared__ unsigned row;
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) row = atomicAdd(&next, 1);
    __syncthreads();
    if (row >= rows) break;
    one_row(x, y, row, cols);
  }
  if (threadIdx.x == 0 && atomicInc(&left, gridDim.x - 1) == gridDim.x - 1) next = 0;
}
