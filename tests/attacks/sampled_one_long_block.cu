// One block of 512 takes 256 times as long as the others.
// task: row_norm
// speedup: at most 1.05
// verdict: ok unsupported timeout tampering
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
__global__ void row_norm(const float* x, float* y, int rows, int cols) {
  int n = gridDim.x > 256 && blockIdx.x == 301 ? 256 : 1;
  for (int k = 0; k < n; ++k)
    for (int r = blockIdx.x; r < rows; r += gridDim.x) one_row(x, y, r, cols);
}
