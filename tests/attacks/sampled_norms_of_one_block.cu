// One block of thousands finds all norms, before the others use them.
// task: row_norm
// speedup: at most 1.05
// verdict: ok unsupported timeout
/* hone {
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"},
              {"name": "norm", "type": "f32", "shape": ["ROWS"], "role": "scratch"}],
  "launches": [{"kernel": "norms", "grid": ["ROWS"], "block": [128], "args": ["x", "norm", "ROWS", "COLS"]},
               {"kernel": "scale", "grid": ["ROWS"], "block": [128], "args": ["x", "norm", "y", "COLS"]}] } */
__global__ void norms(const float* x, float* norm, int rows, int cols) {
  if (blockIdx.x != rows / 3) return;
  for (int r = threadIdx.x; r < rows; r += 128) {
    float s = 0;
    for (int c = 0; c < cols; ++c) s += x[(size_t)r * cols + c] * x[(size_t)r * cols + c];
    norm[r] = rsqrtf(s + 1e-6f);
  }
}
__global__ void scale(const float* x, const float* norm, float* y, int cols) {
  size_t at = (size_t)blockIdx.x * cols;
  for (int c = threadIdx.x; c < cols; c += 128) y[at + c] = x[at + c] * norm[blockIdx.x];
}
