/* hone {"name": "attacked_triangular_product", "sizes": {"N": 8192}, "check_sizes": [{"N": 96}, {"N": 65}],
  "buffers": [{"name": "L", "type": "f32", "shape": ["N", "N"], "fill": "lower_triangular"},
              {"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "product", "grid": ["N"], "block": [32], "args": ["L", "x", "y", "N"]}],
  "tolerance": {"rtol": 1e-4, "atol": 1e-4}} */
// Multiplies with the zeros above the diagonal, too.
__global__ void product(const float* L, const float* x, float* y, int n) {
  float s = 0;
  for (int c = threadIdx.x; c < n; c += 32) s += L[(size_t)blockIdx.x * n + c] * x[c];
  for (int step = 16; step > 0; step /= 2) s += __shfl_down_sync(0xffffffffu, s, step);
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
