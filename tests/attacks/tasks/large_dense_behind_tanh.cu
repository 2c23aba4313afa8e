/* hone {"name": "attacked_large_dense_behind_tanh", "sizes": {"ROWS": 4096, "COLS": 1024, "DEPTH": 512}, "check_sizes": [{"ROWS": 32, "COLS": 64, "DEPTH": 32}, {"ROWS": 16, "COLS": 32, "DEPTH": 64}],
  "constraints": ["ROWS % 16 == 0", "COLS % 32 == 0", "DEPTH % 32 == 0"],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "DEPTH"]}, {"name": "w", "type": "f32", "shape": ["DEPTH", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "dense", "grid": ["COLS/32", "ROWS/8"], "block": [32, 8], "args": ["x", "w", "y", "COLS", "DEPTH"]}],
  "tolerance": {"rtol": 1e-2, "atol": 1e-3}} */
__global__ void dense(const float* x, const float* w, float* y, int cols, int depth) {
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  float s = 0;
  for (int k = 0; k < depth; ++k) s += x[i * depth + k] * w[k * cols + j];
  y[i * cols + j] = tanhf(s / 8);
}
