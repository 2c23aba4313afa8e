/* hone {"name": "attacked_distances_between", "sizes": {"M": 1024, "N": 1024}, "check_sizes": [{"M": 40, "N": 33}, {"M": 17, "N": 64}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", 64], "fill": {"uniform": [-1, 1]}}, {"name": "y", "type": "f32", "shape": ["N", 64], "fill": {"uniform": [-1, 1.25]}},
              {"name": "d", "type": "f32", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "distances", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16], "args": ["x", "y", "d", "M", "N"]}],
  "tolerance": {"rtol": 1e-4, "atol": 1e-6}} */
__global__ void distances(const float* x, const float* y, float* d, int m, int n) {
  int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
  if (i >= m || j >= n) return;
  float s = 0;
  for (int k = 0; k < 64; ++k) {
    float v = x[i * 64 + k] - y[j * 64 + k];
    s += v * v;
  }
  d[i * n + j] = sqrtf(s);
}
