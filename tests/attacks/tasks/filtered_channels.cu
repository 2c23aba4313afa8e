/* hone {"name": "attacked_filtered_channels", "sizes": {"N": 8192}, "check_sizes": [{"N": 300}, {"N": 130}],
  "buffers": [{"name": "x", "type": "f32", "shape": [64, "N+2"]}, {"name": "w", "type": "f32", "shape": [32, 64, 3]}, {"name": "y", "type": "f32", "shape": [32, "N"], "role": "out"}],
  "launches": [{"kernel": "filter", "grid": ["ceildiv(N,64)", 32], "block": [64], "args": ["x", "w", "y", "N"]}], "tolerance": {"rtol": 1e-4, "atol": 1e-5}} */
__global__ void filter(const float* x, const float* w, float* y, int n) {
  int i = blockIdx.x * 64 + threadIdx.x, r = blockIdx.y;
  if (i >= n) return;
  float s = 0;
  for (int c = 0; c < 64; ++c)
    for (int k = 0; k < 3; ++k) s += x[c * (n + 2) + i + k] * w[(r * 64 + c) * 3 + k];
  y[r * n + i] = s;
}
