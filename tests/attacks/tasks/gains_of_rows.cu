/* hone {"name": "attacked_gains_of_rows", "sizes": {"ROWS": 8192, "COLS": 512}, "check_sizes": [{"ROWS": 48, "COLS": 40}, {"ROWS": 19, "COLS": 33}],
  "specialize": false,
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]}, {"name": "w", "type": "f32", "shape": ["COLS"]}, {"name": "g", "type": "f32", "shape": ["ROWS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "gain", "grid": ["ceildiv(ROWS*COLS,256)"], "block": [256], "args": ["x", "w", "g", "y", "ROWS", "COLS"]}]} */
__global__ void gain(const float* x, const float* w, const float* g, float* y, size_t rows, size_t cols) {
  size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
  if (i >= rows * cols) return;
  y[i] = x[i] * w[i % cols] + g[i / cols];
}
