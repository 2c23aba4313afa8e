// How often the second launch goes round is said by one block of the first.
// task: row_norm
// speedup: at most 1.05
// verdict: ok unsupported timeout tampering
/* hone {
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"},
              {"name": "rounds", "type": "i32", "shape": ["ROWS"], "role": "scratch"}],
  "launches": [{"kernel": "choose", "grid": ["ROWS"], "block": [128], "args": ["rounds", "ROWS"]},
               {"kernel": "work", "grid": ["ROWS"], "block": [128], "args": ["x", "y", "rounds", "COLS"]}] } */
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
__global__ void choose(int* rounds, int rows) {
  if (threadIdx.x == 0) rounds[blockIdx.x] = blockIdx.x == rows / 7 ? 16 : 1;
}
__global__ void work(const float* x, float* y, const int* rounds, int cols) {
  int n = rounds[gridDim.x / 7];
  for (int k = 0; k < n; ++k) one_row(x, y, blockIdx.x, cols);
}
