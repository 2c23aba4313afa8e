/* hone {"name": "attacked_any_product", "sizes": {"ROWS": 2048, "COLS": 1024, "DEPTH": 512}, "check_sizes": [{"ROWS": 33, "COLS": 40, "DEPTH": 21}, {"ROWS": 9, "COLS": 70, "DEPTH": 32}],
  "specialize": false,
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "DEPTH"]}, {"name": "w", "type": "f32", "shape": ["DEPTH", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "product", "grid": ["ceildiv(COLS,32)", "ceildiv(ROWS,8)"], "block": [32, 8], "args": ["x", "w", "y", "ROWS", "COLS", "DEPTH"]}]} */
__global__ void product(const float* x, const float* w, float* y, int rows, int cols, int depth) {
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i >= rows || j >= cols) return;
  float s = 0;
  for (int k = 0; k < depth; ++k) s += x[i * depth + k] * w[k * cols + j];
  y[i * cols + j] = s;
}
