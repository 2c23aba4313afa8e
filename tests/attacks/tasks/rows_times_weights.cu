/* hone {"name": "attacked_rows_times_weights", "sizes": {"ROWS": 4096, "N": 512}, "check_sizes": [{"ROWS": 24, "N": 256}, {"ROWS": 9, "N": 140}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "N"]}, {"name": "w", "type": "f32", "shape": ["N", 32], "fill": {"uniform": [-1, 1.5]}},
              {"name": "y", "type": "f32", "shape": ["ROWS", 32], "role": "out"}],
  "launches": [{"kernel": "product", "grid": ["ROWS"], "block": [32], "args": ["x", "w", "y", "N"]}],
  "tolerance": {"rtol": 1e-4, "atol": 1e-6}} */
__global__ void product(const float* x, const float* w, float* y, int n) {
  float s = 0;
  for (int c = 0; c < n; ++c) s += x[(size_t)blockIdx.x * n + c] * w[c * 32 + threadIdx.x];
  y[blockIdx.x * 32 + threadIdx.x] = s;
}
