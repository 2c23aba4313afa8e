/* hone {"name": "attacked_entropy_of_rows", "sizes": {"ROWS": 3000, "COLS": 20480}, "check_sizes": [{"ROWS": 7, "COLS": 100}, {"ROWS": 31, "COLS": 517}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"uniform": [0.01, 1]}},
              {"name": "h", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "entropy", "grid": ["ROWS"], "block": [128], "args": ["x", "h", "COLS"]}],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5}} */
__global__ void entropy(const float* x, float* h, int cols) {
  __shared__ float part[4];
  const float* row = x + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 128) s -= row[c] * logf(row[c]);
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) h[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
