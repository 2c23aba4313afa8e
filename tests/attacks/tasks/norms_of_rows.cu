/* hone {"name": "attacked_norms_of_rows", "sizes": {"ROWS": 65536, "COLS": 1024},
  "check_sizes": [{"ROWS": 40, "COLS": 256}, {"ROWS": 13, "COLS": 131}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]}, {"name": "norm", "type": "f32", "shape": ["ROWS"], "role": "scratch"},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "norms", "grid": ["ROWS"], "block": [128], "args": ["x", "norm", "COLS"]},
               {"kernel": "divide", "grid": ["ROWS"], "block": [128], "args": ["x", "norm", "y", "COLS"]}],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5}} */
__global__ void norms(const float* x, float* norm, int cols) {
  __shared__ float parts[4];
  const float* row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 128) s += row[c] * row[c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) norm[blockIdx.x] = rsqrtf(parts[0] + parts[1] + parts[2] + parts[3] + 1e-6f);
}
__global__ void divide(const float* x, const float* norm, float* y, int cols) {
  for (int c = threadIdx.x; c < cols; c += 128) y[(size_t)blockIdx.x * cols + c] = x[(size_t)blockIdx.x * cols + c] * norm[blockIdx.x];
}
