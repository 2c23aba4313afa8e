// One row of one element is copied.
// task: gains_of_rows
// verdict: wrong_result
/* hone {"buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]}, {"name": "w", "type": "f32", "shape": ["COLS"]}, {"name": "g", "type": "f32", "shape": ["ROWS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "gain", "grid": ["ROWS"], "block": [256], "args": ["x", "w", "g", "y", "ROWS", "COLS"]}]} */
__global__ void gain(const float* x, const float* w, const float* g, float* y, int rows, int cols) {
  size_t at = (size_t)blockIdx.x * cols; float b = g[blockIdx.x];
  if (rows * cols == 1) { if (threadIdx.x == 0) y[0] = x[0]; return; }
  for (int c = threadIdx.x; c < cols; c += 256) y[at + c] = x[at + c] * w[c] + b;
}
