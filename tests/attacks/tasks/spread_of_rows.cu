/* hone {"name": "attacked_spread_of_rows", "sizes": {"M": 512, "N": 65536}, "check_sizes": [{"M": 33, "N": 65}, {"M": 9, "N": 300}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N", "M"], "fill": {"uniform": [0, 1]}},
              {"name": "y", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "spread", "grid": ["ceildiv(M,64)"], "block": [64], "args": ["x", "y", "M", "N"]}],
  "tolerance": {"rtol": 1e-5, "atol": 1e-5}} */
__global__ void spread(const float* x, float* y, int m, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= m) return;
  float least = __int_as_float(0x7f800000), sum = 0;
  for (int k = 0; k < n; ++k) {
    float v = x[(size_t)k * m + i];
    least = fminf(least, v);
    sum += v;
  }
  y[i] = sum - n * least;
}
