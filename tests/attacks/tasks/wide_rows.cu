/* hone {"name": "attacked_wide_rows", "sizes": {"ROWS": 256, "COLS": 131072}, "check_sizes": [{"ROWS": 5, "COLS": 3000}, {"ROWS": 3, "COLS": 777}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "squares", "grid": ["ROWS"], "block": [256], "args": ["x", "y", "COLS"]}],
  "tolerance": {"rtol": 1e-4}} */
__global__ void squares(const float* x, float* y, int cols) {
  __shared__ float warps[8];
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 256) s += x[(size_t)blockIdx.x * cols + c] * x[(size_t)blockIdx.x * cols + c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int k = 0; k < 8; ++k) s += warps[k];
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
