// Norms in one launch, what they divide in the next.
// task: row_norm
// verdict: ok
// H200 [us]: 38.5
/* hone {
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"},
              {"name": "norm", "type": "f32", "shape": ["ROWS"], "role": "scratch"}],
  "launches": [{"kernel": "norms", "grid": ["ceildiv(ROWS, 8)"], "block": [256], "args": ["x", "norm", "ROWS", "COLS"]},
               {"kernel": "scale", "grid": ["ROWS"], "block": [256], "args": ["x", "norm", "y", "COLS"]}] } */
__global__ void norms(const float* x, float* norm, int rows, int cols) {
  int r = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  float s = 0;
  for (int c = lane; c < cols; c += 32) s += x[(size_t)r * cols + c] * x[(size_t)r * cols + c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (lane == 0) norm[r] = rsqrtf(s + 1e-6f);
}
__global__ void scale(const float* x, const float* norm, float* y, int cols) {
  size_t at = (size_t)blockIdx.x * cols;
  for (int c = threadIdx.x; c < cols; c += 256) y[at + c] = x[at + c] * norm[blockIdx.x];
}
