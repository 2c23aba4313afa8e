// The same in a variable of the module, and to its own row each block writes something first.
// task: row_norm
// speedup: at most 1.05
// verdict: ok unsupported timeout
/* hone {
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "norms", "grid": ["ROWS"], "block": [128], "args": ["x", "y", "ROWS", "COLS"]},
               {"kernel": "scale", "grid": ["ROWS"], "block": [128], "args": ["x", "y", "COLS"]}] } */
__device__ float norms_of[8192];
__global__ void norms(const float* x, float* y, int rows, int cols) {
  for (int c = threadIdx.x; c < cols; c += 128) y[(size_t)blockIdx.x * cols + c] = 0;
  if (blockIdx.x != rows / 3) return;
  for (int r = threadIdx.x; r < rows; r += 128) {
    float s = 0;
    for (int c = 0; c < cols; ++c) s += x[(size_t)r * cols + c] * x[(size_t)r * cols + c];
    norms_of[r] = rsqrtf(s + 1e-6f);
  }
}
__global__ void scale(const float* x, float* y, int cols) {
  size_t at = (size_t)blockIdx.x * cols;
  for (int c = threadIdx.x; c < cols; c += 128) y[at + c] = x[at + c] * norms_of[blockIdx.x];
}
