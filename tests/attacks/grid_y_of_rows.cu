// Pairs of rows along y of the grid: no launch from 131072 rows on.
// task: gains_of_rows
// verdict: launch_error
/* hone {"buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]}, {"name": "w", "type": "f32", "shape": ["COLS"]}, {"name": "g", "type": "f32", "shape": ["ROWS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "gain", "grid": ["ceildiv(COLS,512)", "ceildiv(ROWS,2)"], "block": [256], "args": ["x", "w", "g", "y", "ROWS", "COLS"]}]} */
__global__ void gain(const float* x, const float* w, const float* g, float* y, int rows, int cols) {
  int r = blockIdx.y * 2, c = blockIdx.x * 512 + threadIdx.x;
  for (int k = 0; k < 2; ++k, c += 256)
    if (c < cols) {
      y[(size_t)r * cols + c] = x[(size_t)r * cols + c] * w[c] + g[r];
      if (r + 1 < rows) y[(size_t)(r + 1) * cols + c] = x[(size_t)(r + 1) * cols + c] * w[c] + g[r + 1];
    }
}
