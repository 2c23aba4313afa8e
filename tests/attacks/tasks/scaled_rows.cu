/* hone {"name": "attacked_scaled_rows", "sizes": {"ROWS": 512, "COLS": 256, "K": 64}, "check_sizes": [{"ROWS": 34, "COLS": 70, "K": 40}, {"ROWS": 17, "COLS": 33, "K": 19}],
  "buffers": [{"name": "a", "type": "f32", "shape": ["ROWS", "K"]}, {"name": "b", "type": "f32", "shape": ["K", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"},
              {"name": "sums", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "product", "grid": ["ROWS"], "block": [64], "args": ["a", "b", "y", "sums", "COLS", "K"]}]} */
__device__ float scale_of(int row) { return row % 2 ? 1e-6f : 1.0f; }
__global__ void product(const float* a, const float* b, float* y, float* sums, int cols, int k) {
  int row = blockIdx.x;
  float scale = scale_of(row);
  for (int c = threadIdx.x; c < cols; c += 64) {
    float s = 0;
    for (int i = 0; i < k; ++i) s += a[row * k + i] * b[i * cols + c];
    y[row * cols + c] = scale * s;
  }
  if (threadIdx.x == 0) {
    float s = 0;
    for (int i = 0; i < k; ++i) s += a[row * k + i];
    sums[row] = scale * s;
  }
}
