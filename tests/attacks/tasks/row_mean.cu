/* hone {"name": "attacked_row_mean", "sizes": {"ROWS": 64, "COLS": 512}, "check_sizes": [{"ROWS": 16, "COLS": 128}, {"ROWS": 9, "COLS": 131}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"uniform": [0, 1]}},
              {"name": "mean", "type": "f32", "shape": ["ROWS"], "role": "out"}],
  "launches": [{"kernel": "row_mean", "grid": ["ROWS"], "block": [128], "args": ["x", "mean", "COLS"]}],
  "tolerance": {"rtol": 1e-3, "atol": 1e-3}} */
__global__ void row_mean(const float* x, float* mean, int cols) {
  __shared__ float part[128];
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 128) sum += x[blockIdx.x * cols + c];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) mean[blockIdx.x] = part[0] / cols;
}
