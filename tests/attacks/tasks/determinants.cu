/* hone {"name": "attacked_determinants", "sizes": {"N": 1048576}, "check_sizes": [{"N": 3000}, {"N": 1111}],
  "buffers": [{"name": "a", "type": "f32", "shape": ["N"]}, {"name": "b", "type": "f32", "shape": ["N"]}, {"name": "c", "type": "f32", "shape": ["N"]}, {"name": "d", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "determinants", "grid": ["ceildiv(N,32)"], "block": [32], "args": ["a", "b", "c", "d", "y", "N"]}],
  "tolerance": {"rtol": 1e-4, "atol": 0}} */
// In double, as the products may cancel.
__global__ void determinants(const float* a, const float* b, const float* c, const float* d, float* y, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) y[i] = (float)((double)a[i] * d[i] - (double)b[i] * c[i]);
}
