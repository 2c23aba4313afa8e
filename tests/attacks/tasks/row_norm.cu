/* hone {"name": "attacked_row_norm", "sizes": {"ROWS": 8192, "COLS": 1024},
  "check_sizes": [{"ROWS": 40, "COLS": 256}, {"ROWS": 13, "COLS": 131}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "row_norm", "grid": ["ROWS"], "block": [128], "args": ["x", "y", "ROWS", "COLS"]}],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5}} */
__global__ void row_norm(const float* x, float* y, int rows, int cols) {
  __shared__ float parts[4];
  const float* row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 128) s += row[c] * row[c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  s = rsqrtf(parts[0] + parts[1] + parts[2] + parts[3] + 1e-6f);
  for (int c = threadIdx.x; c < cols; c += 128) y[(size_t)blockIdx.x * cols + c] = row[c] * s;
}
