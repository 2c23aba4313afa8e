// The second grid of a context, and all later ones, get another answer.
// task: gain
// verdict: refused
/* hone {"buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]}, {"name": "w", "type": "f32", "shape": ["COLS"]}, {"name": "g", "type": "f32", "shape": ["ROWS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "gain", "grid": ["ceildiv(ROWS,4)"], "block": [256], "args": ["x", "w", "g", "y", "ROWS", "COLS"]}]} */
__global__ void gain(const float* x, const float* w, const float* g, float* y, int rows, int cols) {
  unsigned long long id; asm volatile("mov.u64 %0, %%gridid;" : "=l"(id)); float f = id > 1 ? 2.0f : 1.0f;
  int first = blockIdx.x * 4;
  for (int r = first; r < min(first + 4, rows); ++r) {
    float b = g[r];
    for (int c = threadIdx.x; c < cols; c += 256) y[(size_t)r * cols + c] = (x[(size_t)r * cols + c] * w[c] + b) * f;
  }
}
