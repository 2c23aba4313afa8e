/* hone {"name": "attacked_sums_between_offsets", "sizes": {"M": 16384}, "check_sizes": [{"M": 60}, {"M": 33}],
  "buffers": [{"name": "offset", "type": "i32", "shape": ["M+1"], "fill": {"iota": [0, 24]}},
              {"name": "x", "type": "f32", "shape": ["24*M"]},
              {"name": "y", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "sums", "grid": ["ceildiv(M,64)"], "block": [64], "args": ["offset", "x", "y", "M"]}],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5}} */
__global__ void sums(const int* offset, const float* x, float* y, int m) {
  int row = blockIdx.x * 64 + threadIdx.x;
  if (row >= m) return;
  float sum = 0;
  for (int i = offset[row]; i < offset[row + 1]; ++i) sum += x[i];
  y[row] = sum;
}
