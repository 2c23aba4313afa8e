/* hone {"name": "attacked_lengths", "sizes": {"N": 262144}, "check_sizes": [{"N": 300}, {"N": 517}],
  "buffers": [{"name": "a", "type": "f32", "shape": ["N"]}, {"name": "b", "type": "f32", "shape": ["N"]}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "lengths", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["a", "b", "y", "N"]}], "tolerance": {"rtol": 1e-5, "atol": 1e-30}} */
__global__ void lengths(const float* a, const float* b, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = hypotf(a[i], b[i]);
}
