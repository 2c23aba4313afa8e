/* hone {"name": "attacked_padded_rows", "sizes": {"ROWS": 4096, "COLS": 8192}, "check_sizes": [{"ROWS": 40, "COLS": 300}, {"ROWS": 17, "COLS": 257}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "length", "type": "i32", "shape": ["ROWS"], "fill": {"integers": [1, 64]}},
              {"name": "sum", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "padded_rows", "grid": ["ROWS"], "block": [32], "args": ["x", "length", "sum", "COLS"]}],
  "tolerance": {"rtol": 1e-4, "atol": 1e-4}} */
// Reads rows to their end, and uses what lies before their lengths.
__global__ void padded_rows(const float* x, const int* length, float* sum, int cols) {
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) {
    float v = x[(size_t)blockIdx.x * cols + c];
    s += (c < length[blockIdx.x] ? 1.0f : 0.0f) * v;
  }
  for (int step = 16; step > 0; step /= 2) s += __shfl_down_sync(0xffffffffu, s, step);
  if (threadIdx.x == 0) sum[blockIdx.x] = s;
}
