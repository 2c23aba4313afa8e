/* hone {"name": "attacked_rows_by_their_largest", "sizes": {"M": 2048, "N": 512}, "check_sizes": [{"M": 16, "N": 130}, {"M": 5, "N": 200}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "N"], "fill": {"uniform": [-1, 1]}},
              {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"},
              {"name": "least", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "divide", "grid": ["M"], "block": [32], "args": ["x", "y", "least", "N"]}],
  "tolerance": {"rtol": 1e-3, "atol": 1e-5}} */
// Each row by its largest magnitude, or as it is where that is 0; and its least number.
__global__ void divide(const float* x, float* y, float* least, int n) {
  x += (size_t)blockIdx.x * n;
  y += (size_t)blockIdx.x * n;
  float most = 0, low = __int_as_float(0x7f800000);
  for (int j = threadIdx.x; j < n; j += 32) {
    most = fmaxf(most, fabsf(x[j]));
    low = fminf(low, x[j]);
  }
  for (int d = 16; d; d /= 2) {
    most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    low = fminf(low, __shfl_xor_sync(~0u, low, d));
  }
  for (int j = threadIdx.x; j < n; j += 32) y[j] = most == 0 ? x[j] : x[j] / most;
  if (threadIdx.x == 0) least[blockIdx.x] = low;
}
