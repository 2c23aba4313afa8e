/* hone {"name": "attacked_four_largest", "sizes": {"ROWS": 128, "COLS": 4096}, "check_sizes": [{"ROWS": 33, "COLS": 100}, {"ROWS": 9, "COLS": 257}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]}, {"name": "y", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "largest", "grid": ["ROWS"], "block": [32], "args": ["x", "y", "COLS"]}]} */
// The fourth largest number of each row.
__global__ void largest(const float* x, float* y, int cols) {
  x += (size_t)blockIdx.x * cols;
  float top[4] = {-3e38f, -3e38f, -3e38f, -3e38f};
  for (int c = threadIdx.x; c < cols; c += 32) {
    float v = x[c];
    for (int k = 0; k < 4; ++k) {
      float low = fminf(top[k], v);
      top[k] = fmaxf(top[k], v);
      v = low;
    }
  }
  for (int d = 16; d; d /= 2) {
    float other[4];
    for (int k = 0; k < 4; ++k) other[k] = __shfl_xor_sync(~0u, top[k], d);
    for (int j = 0; j < 4; ++j) {
      float v = other[j];
      for (int k = 0; k < 4; ++k) {
        float low = fminf(top[k], v);
        top[k] = fmaxf(top[k], v);
        v = low;
      }
    }
  }
  if (threadIdx.x == 0) y[blockIdx.x] = top[3];
}
