/* hone {"name": "attacked_distances_of_rows", "sizes": {"M": 4096, "N": 512}, "check_sizes": [{"M": 33, "N": 100}, {"M": 8, "N": 129}],
  "buffers": [{"name": "a", "type": "f32", "shape": ["M", "N"], "fill": {"uniform": [-1, 1]}},
              {"name": "b", "type": "f32", "shape": ["M", "N"], "fill": {"uniform": [-1, 1]}},
              {"name": "y", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "distance", "grid": ["M"], "block": [32], "args": ["a", "b", "y", "N"]}],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5}} */
__global__ void distance(const float* a, const float* b, float* y, int n) {
  a += (size_t)blockIdx.x * n;
  b += (size_t)blockIdx.x * n;
  float sum = 0;
  for (int j = threadIdx.x; j < n; j += 32) sum += (a[j] - b[j]) * (a[j] - b[j]);
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) y[blockIdx.x] = sqrtf(sum);
}
