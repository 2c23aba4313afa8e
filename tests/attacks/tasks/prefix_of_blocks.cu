/* hone {"name": "attacked_prefix", "sizes": {"N": 8192}, "check_sizes": [{"N": 1000}, {"N": 77}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [0, 1]}}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "prefix", "grid": ["ceildiv(N,32)"], "block": [32], "args": ["x", "y", "N"]}],
  "tolerance": {"rtol": 1e-4}} */
__global__ void prefix(const float* x, float* y, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  int end = (blockIdx.x + 1) * 32 < n ? (blockIdx.x + 1) * 32 : n;
  for (int k = 0; k < end; ++k) s += x[k];
  y[i] = s;
}
