/* hone {"name": "attacked_scaled_and_digest", "sizes": {"N": 8388608, "K": 12288}, "check_sizes": [{"N": 3000, "K": 300}, {"N": 1031, "K": 131}],
  "constraints": ["K <= N"],
  "buffers": [{"name": "x", "type": "i32", "shape": ["N"], "fill": {"integers": [-1000, 1000]}},
              {"name": "y", "type": "i32", "shape": ["N"], "role": "out"},
              {"name": "d", "type": "i32", "shape": [1], "role": "out"}],
  "launches": [{"kernel": "scaled", "grid": ["ceildiv(N, 128)"], "block": [128], "args": ["x", "y", "N"]},
               {"kernel": "digest", "grid": [1], "block": [1], "args": ["x", "d", "K"]}]} */
__global__ void scaled(const int* x, int* y, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = x[i] * 7;
}
__global__ void digest(const int* x, int* d, int k) {
  unsigned h = 1;
  for (int j = 0; j < k; ++j) h = h * 31 + x[j], h ^= h >> 7;
  d[0] = (int)h;
}
