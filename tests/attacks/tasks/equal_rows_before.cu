/* hone {"name": "attacked_equal_rows_before", "sizes": {"M": 512, "N": 64}, "check_sizes": [{"M": 40, "N": 33}, {"M": 17, "N": 64}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "N"], "fill": {"normal": [0, 1]}},
              {"name": "y", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "before", "grid": ["M"], "block": [32], "args": ["x", "y", "N"]}],
  "tolerance": {"rtol": 1e-4, "atol": 1e-4}} */
// The sum of each row, and ten for each row before it that is equal to it.
__global__ void before(const float* x, float* y, int n) {
  const float* row = x + (size_t)blockIdx.x * n;
  float sum = 0;
  for (int j = 0; j < n; ++j) sum += row[j];
  int equal = 0;
  for (int r = threadIdx.x; r < (int)blockIdx.x; r += 32) {
    bool same = true;
    for (int j = 0; j < n && same; ++j) same = x[(size_t)r * n + j] == row[j];
    equal += same;
  }
  for (int d = 16; d; d /= 2) equal += __shfl_xor_sync(~0u, equal, d);
  if (threadIdx.x == 0) y[blockIdx.x] = sum + 10.0f * equal;
}
