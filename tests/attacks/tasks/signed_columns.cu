/* hone {"name": "attacked_signed_columns", "sizes": {"M": 512, "N": 65536}, "check_sizes": [{"M": 33, "N": 65}, {"M": 9, "N": 300}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N", "M"]}, {"name": "flip", "type": "u32", "shape": ["M"], "fill": {"integers": [0, 1]}},
              {"name": "y", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "columns", "grid": ["ceildiv(M,64)"], "block": [64], "args": ["x", "flip", "y", "M", "N"]}],
  "tolerance": {"rtol": 1e-5, "atol": 1e-5}} */
__global__ void columns(const float* x, const unsigned* flip, float* y, int m, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= m) return;
  float s = 0;
  for (int k = 0; k < n; ++k) {
    unsigned bits = __float_as_uint(x[(size_t)k * m + i] * x[(size_t)k * m + i]);
    s += __uint_as_float(bits ^ flip[i] << 31);
  }
  y[i] = s;
}
