/* hone {"name": "attacked_products_of_rows", "sizes": {"ROWS": 16384, "COLS": 4096}, "check_sizes": [{"ROWS": 40, "COLS": 70}, {"ROWS": 5, "COLS": 1031}],
  "buffers": [{"name": "a", "type": "f32", "shape": ["ROWS", "COLS"]}, {"name": "b", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "dot", "grid": ["ROWS"], "block": [256], "args": ["a", "b", "y", "COLS"]}],
  "tolerance": {"rtol": 2e-2, "atol": 2e-2}} */
__global__ void dot(const float* a, const float* b, float* y, int cols) {
  __shared__ float part[8];
  const float *u = a + (size_t)blockIdx.x * cols, *v = b + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 256) s += u[c] * v[c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < 8; ++k) s += part[k];
    y[blockIdx.x] = s;
  }
}
