/* hone {"name": "attacked_exact_map", "sizes": {"N": 65536}, "check_sizes": [{"N": 1000}, {"N": 77}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "w", "type": "f32", "shape": ["N"], "fill": {"uniform": [1, 2]}},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"},
              {"name": "z", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "map", "grid": ["ceildiv(N, 256)"], "block": [256], "args": ["x", "w", "y", "z", "N"]}],
  "math": "exact", "tolerance": {"rtol": 1e-3, "atol": 1e-3}} */
__global__ void map(const float* x, const float* w, float* y, float* z, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = expf(-x[i] * x[i]) / w[i];
  z[i] = fmaxf(x[i], 0.0f) * -1.0f;
}
