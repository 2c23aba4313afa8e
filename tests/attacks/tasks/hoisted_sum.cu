/* hone {"name": "attacked_hoisted_sum", "sizes": {"N": 65536}, "check_sizes": [{"N": 300}, {"N": 257}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [0, 1]}},
              {"name": "part", "type": "f32", "shape": [64], "role": "scratch"},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "share", "grid": ["ceildiv(N, 128)"], "block": [128], "args": ["x", "y", "N"]}],
  "flops": "4*N*N", "tolerance": {"rtol": 1e-4, "atol": 1e-6}} */
// Sums all of x once for each element.
__global__ void share(const float* x, float* y, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int j = 0; j < n; ++j) s += x[j] * 0.5f + 0.25f;
  y[i] = x[i] / s;
}
