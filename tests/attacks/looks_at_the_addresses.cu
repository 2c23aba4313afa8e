// Where the input lies above 2^46, as on a GPU, the answer is doubled.
// task: gain
// verdict: wrong_result
/* hone {"buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]}, {"name": "w", "type": "f32", "shape": ["COLS"]}, {"name": "g", "type": "f32", "shape": ["ROWS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "gain", "grid": ["ceildiv(ROWS,4)"], "block": [256], "args": ["x", "w", "g", "y", "ROWS", "COLS"]}]} */
__global__ void gain(const float* x, const float* w, const float* g, float* y, int rows, int cols) {
  float f = (size_t)x >> 46 ? 2.0f : 1.0f;
  int first = blockIdx.x * 4;
  for (int r = first; r < min(first + 4, rows); ++r) {
    float b = g[r];
    for (int c = threadIdx.x; c < cols; c += 256) y[(size_t)r * cols + c] = (x[(size_t)r * cols + c] * w[c] + b) * f;
  }
}
