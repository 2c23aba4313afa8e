// Offsets in int, wrong from 2^31 elements on. Each row's gain comes by a variable that a launch before
// has written, so that no block can be run alone.
// task: gains_of_rows
// verdict: fault wrong_result unsupported
__device__ float gains[1 << 24];
/* hone {"buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]}, {"name": "w", "type": "f32", "shape": ["COLS"]}, {"name": "g", "type": "f32", "shape": ["ROWS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "keep", "grid": ["ceildiv(ROWS,256)"], "block": [256], "args": ["g", "ROWS"]},
               {"kernel": "gain", "grid": ["ROWS"], "block": [256], "args": ["x", "w", "g", "y", "ROWS", "COLS"]}]} */
__global__ void keep(const float* g, int rows) {
  int r = blockIdx.x * 256 + threadIdx.x;
  if (r < rows && r < 1 << 24) gains[r] = g[r];
}
__global__ void gain(const float* x, const float* w, const float* g, float* y, int rows, int cols) {
  int r = blockIdx.x;
  float add = r < 1 << 24 ? gains[r] : g[r];
  for (int c = threadIdx.x; c < cols; c += 256) { int i = r * cols + c; y[i] = x[i] * w[c] + add; }
}
